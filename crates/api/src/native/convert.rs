//! From what the engine answers to what stands in JSON.

use std::collections::BTreeMap;

use profile::{LabelSet, ProfileType, TimeRange};
use query::{AnswerStats, CallersTable, DiffTree, FlameTree, FunctionSide, ProfileItem, ServiceItem, TopRow};
use store::Attachment;

use super::time;

pub(super) fn label_cardinality(label: query::LabelCardinality) -> wire::LabelCardinality {
    let query::LabelCardinality { name, values, series, series_without, sample_values, top, services } =
        label;
    let counted = |pairs: Vec<(String, u64)>| {
        pairs.into_iter().map(|(value, count)| wire::ValueCount { value, count }).collect()
    };
    let (top, services) = (counted(top), counted(services));
    wire::LabelCardinality { name, values, series, series_without, sample_values, top, services }
}

pub(crate) fn stats(stats: AnswerStats, range: TimeRange) -> wire::Stats {
    wire::Stats {
        from: time::bound(range.from),
        to: time::bound(range.to),
        profiles: stats.profiles,
        samples: stats.samples,
        series: stats.series,
        rounds: stats.rounds,
        bytes_scanned: stats.bytes_scanned,
        cut_nodes: stats.cut_nodes,
        cut_value: stats.cut_value,
        unsymbolised_value: stats.unsymbolised_value,
        aggregation: stats.aggregation.to_owned(),
        profile_type: stats.profile_type.map(|of| of.to_string()).unwrap_or_default(),
        notices: stats.notices,
    }
}

pub(crate) fn labels(labels: &LabelSet) -> BTreeMap<String, String> {
    labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(crate) fn types(types: &[ProfileType]) -> Vec<String> {
    types.iter().map(ToString::to_string).collect()
}

pub(crate) fn service(item: ServiceItem) -> wire::ServiceItem {
    wire::ServiceItem {
        types: types(&item.types),
        name: item.name,
        profiles: item.profiles,
        last: time::text(item.last),
    }
}

pub(crate) fn profile(item: ProfileItem) -> wire::ProfileItem {
    wire::ProfileItem {
        id: item.id.to_string(),
        name: item.name,
        types: types(&item.types),
        labels: labels(&item.labels),
        time: time::text(item.time),
        duration_nanos: item.duration_nanos,
        samples: item.samples,
        totals: item.totals,
    }
}

pub(crate) fn attachment(attachment: Attachment) -> wire::AttachmentItem {
    wire::AttachmentItem {
        id: attachment.id.to_string(),
        kind: attachment.kind,
        labels: labels(&attachment.labels),
        time: time::text(attachment.time),
        bytes: attachment.length,
    }
}

pub(crate) fn flame(tree: FlameTree, stats: wire::Stats) -> wire::FlameReply {
    let nodes = &tree.nodes;
    wire::FlameReply {
        total: nodes.first().map_or(0, |root| root.total),
        parent: nodes.iter().map(|node| node.parent).collect(),
        name: nodes.iter().map(|node| node.name).collect(),
        self_value: nodes.iter().map(|node| node.self_value).collect(),
        node_total: nodes.iter().map(|node| node.total).collect(),
        unit: tree.unit,
        names: tree.names,
        other: tree.other,
        files: tree.files,
        stats,
    }
}

pub(crate) fn row(row: TopRow) -> wire::FunctionRow {
    wire::FunctionRow { name: row.name, file: row.file, self_value: row.self_value, total: row.total }
}

pub(crate) fn callers(table: CallersTable, stats: wire::Stats) -> wire::CallersReply {
    let side =
        |side: FunctionSide| wire::FunctionSide { name: side.name, file: side.file, value: side.value };
    wire::CallersReply {
        unit: table.unit,
        total: table.total,
        function: row(table.function),
        callers: table.callers.into_iter().map(side).collect(),
        callees: table.callees.into_iter().map(side).collect(),
        stats,
    }
}

pub(crate) fn diff(tree: DiffTree, stats: wire::Stats) -> wire::DiffReply {
    let nodes = &tree.nodes;
    wire::DiffReply {
        parent: nodes.iter().map(|node| node.parent).collect(),
        name: nodes.iter().map(|node| node.name).collect(),
        left_self: nodes.iter().map(|node| node.left_self).collect(),
        left_total: nodes.iter().map(|node| node.left_total).collect(),
        right_self: nodes.iter().map(|node| node.right_self).collect(),
        right_total: nodes.iter().map(|node| node.right_total).collect(),
        unit: tree.unit,
        names: tree.names,
        other: tree.other,
        stats,
    }
}
