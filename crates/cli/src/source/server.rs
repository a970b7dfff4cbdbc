//! Asks a server, by the native API.

use std::collections::BTreeMap;

use client::{Client, ClientError, ClientOptions, Download, Question};
use profile::{LabelSet, ProfileType, Timestamp};
use query::{
    AnswerStats, CallersTable, DiffNode, DiffTree, FlameNode, FlameTree, FunctionSide, TopRow, TopTable,
};

use super::{Told, ValueArguments, nothing::Nothing};
use crate::{alike, failure::Failure, output, time};

/// Which server is asked.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Server")]
pub struct ServerArguments {
    /// Server to ask
    #[arg(long, value_name = "URL", env = "EVERFLAME_SERVER", default_value = client::SERVER_DEFAULT)]
    pub server: String,
    /// Secret of the server's --token-file
    #[arg(long, value_name = "SECRET", env = "EVERFLAME_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Tenant, for a server with --multi-tenant
    #[arg(long, value_name = "NAME", env = "EVERFLAME_TENANT")]
    pub tenant: Option<String>,
}

impl ServerArguments {
    /// A client of the server.
    ///
    /// # Errors
    /// When address or token cannot be used.
    pub fn client(&self) -> Result<Client, Failure> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Client::new(ClientOptions {
            server: self.server.clone(),
            token: filled(&self.token),
            tenant: filled(&self.tenant),
        })
        .map_err(|error| Failure::Usage(error.to_string()))
    }
}

/// Beginning of all time (D12: a command without --from asks for everything).
pub const FROM_ALWAYS: &str = "0";

/// End of all time: servers take profiles whose clock is up to 10 minutes ahead (D11).
pub const TO_ALWAYS: &str = "now+1h";

/// Largest graph that a server gives.
const NODES_ALL: usize = 200_000;

/// A server and what it is asked about.
pub struct Remote {
    client: Client,
    has_tenant: bool,
    selectors: Vec<String>,
    values: ValueArguments,
    /// Range of the left side where it is another one.
    left_range: Option<(Option<String>, Option<String>)>,
}

/// A range as typed.
fn range_words((from, to): &(Option<String>, Option<String>)) -> String {
    match (from, to) {
        (Some(from), to) => format!("{from} to {}", to.as_deref().unwrap_or("now")),
        (None, Some(to)) => format!("until {to}"),
        (None, None) => "all".to_owned(),
    }
}

fn tell_seconds(text: &str) {
    if let Some(said) = time::seconds_for_millis(text) {
        output::say(&said);
    }
}

/// What to say of a selector whose quotes are not those that it has to have: a shell takes them away, an editor bends them.
fn about_quotes(selector: &str) -> Option<String> {
    if selector.contains(['“', '”', '„', '‘', '’']) {
        return Some("write straight quotes, \"".to_owned());
    }
    let is_bare = selector.contains('{') && selector.contains('=') && !selector.contains(['"', '\'', '`']);
    let text =
        "a shell takes the quotes away unless single ones are around it all: 'cpu{service_name=\"api\"}'";
    is_bare.then(|| text.to_owned())
}

impl Remote {
    /// One selector, or two for a comparison.
    ///
    /// # Errors
    /// When address or token cannot be used, or a column is named by a position that the newest profile does not have.
    pub fn new(
        server: &ServerArguments,
        values: &ValueArguments,
        selectors: Vec<String>,
    ) -> Result<Self, Failure> {
        for text in [&values.from, &values.to].into_iter().flatten() {
            tell_seconds(text);
        }
        let mut remote = Self {
            client: server.client()?,
            has_tenant: server.tenant.is_some(),
            selectors,
            values: values.clone(),
            left_range: None,
        };
        if let Some(position) = remote.values.sample_index.as_ref().and_then(|text| text.parse().ok()) {
            remote.values.sample_index = remote.type_at(position)?;
        }
        Ok(remote)
    }

    /// Any failure of a request.
    fn failed(&self, error: &ClientError) -> Failure {
        let is_selector = |field: &str| matches!(field, "q" | "left" | "right");
        let hint = match error {
            ClientError::Refused { field, .. } if is_selector(field) => {
                self.selectors.iter().find_map(|selector| about_quotes(selector))
            }
            _ => None,
        };
        Failure::Failed(match hint {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })
    }

    /// The profile type at a position among the columns of the newest profile; `None` where there is no profile. Servers
    /// know columns by name only, because the profiles of one answer may differ in their order.
    fn type_at(&self, position: usize) -> Result<Option<String>, Failure> {
        let of_any_type = ValueArguments { sample_index: None, profile_type: None, ..self.values.clone() };
        let question = self.question(&of_any_type).with("limit", "1");
        let reply = self.client.profiles(&question).map_err(|error| self.failed(&error))?;
        let Some(newest) = reply.profiles.into_iter().next_back() else { return Ok(None) };
        match newest.types.get(position) {
            Some(named) => Ok(Some(named.clone())),
            None => Err(Failure::Usage(format!(
                "the newest profile has no sample type {position}; it has {}",
                newest.types.join(", ")
            ))),
        }
    }

    /// Gives the left side of a comparison its own range.
    #[must_use]
    pub fn with_left_range(self, from: Option<String>, to: Option<String>) -> Self {
        for text in [&from, &to].into_iter().flatten() {
            if ![&self.values.from, &self.values.to].into_iter().flatten().any(|said| said == text) {
                tell_seconds(text);
            }
        }
        Self { left_range: Some((from, to)), ..self }
    }

    /// The selectors; with their ranges where the sides of a comparison have several.
    #[must_use]
    pub fn title(&self) -> String {
        let shown =
            |selector: &String| if selector.is_empty() { "everything".to_owned() } else { selector.clone() };
        let selectors: Vec<String> = self.selectors.iter().map(shown).collect();
        let right = (self.values.from.clone(), self.values.to.clone());
        let (Some(left), [first, second]) =
            (self.left_range.as_ref().filter(|left| **left != right), selectors.as_slice())
        else {
            return selectors.join(" → ");
        };
        let (left, right) = (range_words(left), range_words(&right));
        if first == second {
            return format!("{first}  ·  {left} → {right}");
        }
        format!("{first} ({left}) → {second} ({right})")
    }

    /// What to say where the ranges of a comparison differ in length, since the longer one has more of everything.
    #[must_use]
    pub fn unequal_ranges(&self, now: Timestamp) -> Option<String> {
        let length = |(from, to): &(Option<String>, Option<String>)| {
            let from = time::instant(from.as_deref()?, now).ok()?;
            let to = time::instant(to.as_deref().unwrap_or("now"), now).ok()?;
            to.0.checked_sub(from.0).filter(|nanos| *nanos > 0)
        };
        let left = length(self.left_range.as_ref()?)?;
        let right = length(&(self.values.from.clone(), self.values.to.clone()))?;
        // "now" is another instant at each of its mentions.
        if left.abs_diff(right) <= left.max(right).unsigned_abs() / 100 {
            return None;
        }
        Some(format!(
            "the left range has {}, the right one {}, and amounts such as CPU time are added up over each; ranges of one \
             length compare like with like",
            time::length(left),
            time::length(right)
        ))
    }

    fn selector(&self) -> &str {
        self.selectors.first().map_or("", String::as_str)
    }

    /// Selector, type and range: what every operation knows.
    #[must_use]
    pub fn common(&self) -> Question {
        self.question(&self.values)
    }

    fn question(&self, values: &ValueArguments) -> Question {
        let selector = Some(self.selector()).filter(|selector| !selector.is_empty());
        Question::new()
            .with_some("q", selector)
            .with_some("type", values.wanted_type())
            .with("from", values.from.as_deref().unwrap_or(FROM_ALWAYS))
            .with("to", values.to.as_deref().unwrap_or(TO_ALWAYS))
    }

    /// What operations over rows know as well.
    fn rows(&self, question: Question) -> Question {
        let values = &self.values;
        let question = self.ids(question).with("agg", values.agg.word());
        if values.raw_names { question.with("names", "raw") } else { question }
    }

    /// Ids of profiles, spans and traces.
    fn ids(&self, question: Question) -> Question {
        let values = &self.values;
        let lists = [
            ("profile_id", &values.profile_ids),
            ("span_id", &values.span_ids),
            ("trace_id", &values.trace_ids),
        ];
        lists
            .into_iter()
            .filter(|(_, ids)| !ids.is_empty())
            .fold(question, |question, (name, ids)| question.with(name, ids.join(",")))
    }

    /// See [`super::Source::why_nothing`].
    #[must_use]
    pub fn why_nothing(&self, side: usize) -> Option<String> {
        let values = &self.values;
        let own = (values.from.clone(), values.to.clone());
        let left = self.left_range.as_ref().filter(|_| side == 0);
        let (from, to) = left.unwrap_or(&own);
        Nothing {
            client: &self.client,
            has_tenant: self.has_tenant,
            selector: self.selectors.get(side).map_or(self.selector(), String::as_str),
            profile_type: values.wanted_type(),
            from: from.as_deref(),
            from_flag: if left.is_some() { "--left-from" } else { "--from" },
            to: to.as_deref(),
            has_ids: [&values.profile_ids, &values.span_ids, &values.trace_ids]
                .iter()
                .any(|ids| !ids.is_empty()),
        }
        .reason()
    }

    /// Names that there are instead of a label that the selection does not have.
    #[must_use]
    pub fn labels_instead(&self, name: &str) -> Option<String> {
        let names = self.label_names().ok().filter(|names| !names.is_empty())?;
        Some(alike::instead(name, names.iter().map(String::as_str)))
    }

    /// See [`super::Source::flame`]; so for all below.
    ///
    /// # Errors
    /// When the server has no answer.
    pub fn flame(&self, nodes_max: usize) -> Result<Told<FlameTree>, Failure> {
        let question = self.rows(self.common()).with("max_nodes", nodes(nodes_max));
        let reply = self.client.flame(&question).map_err(|error| self.failed(&error))?;
        let columns = [reply.name.len(), reply.self_value.len(), reply.node_total.len()];
        check_columns(reply.parent.len(), &columns, &reply.parent, &reply.name, reply.names.len())?;
        let nodes = (0..reply.parent.len())
            .map(|node| FlameNode {
                parent: reply.parent[node],
                name: reply.name[node],
                self_value: reply.self_value[node],
                total: reply.node_total[node],
            })
            .collect();
        let tree = FlameTree {
            nodes,
            names: reply.names,
            files: reply.files,
            unit: reply.unit,
            other: reply.other,
            ..FlameTree::default()
        };
        Ok(Told { data: tree, stats: stats(reply.stats) })
    }

    /// Functions by own value, and how many there are in all.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn top(&self, rows_max: usize) -> Result<(Told<TopTable>, usize), Failure> {
        let question = self.rows(self.common()).with("limit", rows_max.to_string());
        let reply = self.client.top(&question).map_err(|error| self.failed(&error))?;
        let rows: Vec<TopRow> = reply.rows.into_iter().map(row).collect();
        let all = usize::try_from(reply.rows_total).unwrap_or(usize::MAX).max(rows.len());
        let data = TopTable { unit: reply.unit, total: reply.total, rows };
        Ok((Told { data, stats: stats(reply.stats) }, all))
    }

    /// Callers and callees.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn callers(&self, function: &str) -> Result<Told<CallersTable>, Failure> {
        let question = self.rows(self.common()).with("function", function);
        let reply = self.client.callers(&question).map_err(|error| self.failed(&error))?;
        let side =
            |side: wire::FunctionSide| FunctionSide { name: side.name, file: side.file, value: side.value };
        let table = CallersTable {
            unit: reply.unit,
            total: reply.total,
            function: row(reply.function),
            callers: reply.callers.into_iter().map(side).collect(),
            callees: reply.callees.into_iter().map(side).collect(),
        };
        Ok(Told { data: table, stats: stats(reply.stats) })
    }

    /// Both sides.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn diff(&self, nodes_max: usize) -> Result<Told<DiffTree>, Failure> {
        let values = &self.values;
        let right_range = (values.from.clone(), values.to.clone());
        let left_range = self.left_range.clone().unwrap_or_else(|| right_range.clone());
        let left = self.selector();
        let right = self.selectors.get(1).map_or(left, String::as_str);
        let filled = |selector: &'static str, text: &str, question: Question| {
            question.with_some(selector, Some(text).filter(|text| !text.is_empty()))
        };
        let question = filled("left", left, filled("right", right, Question::new()))
            .with("left_from", left_range.0.as_deref().unwrap_or(FROM_ALWAYS))
            .with("left_to", left_range.1.as_deref().unwrap_or(TO_ALWAYS))
            .with("right_from", right_range.0.as_deref().unwrap_or(FROM_ALWAYS))
            .with("right_to", right_range.1.as_deref().unwrap_or(TO_ALWAYS))
            .with_some("type", values.wanted_type())
            .with("max_nodes", nodes(nodes_max));
        let reply = self.client.diff(&self.rows(question)).map_err(|error| self.failed(&error))?;
        let columns = [
            reply.name.len(),
            reply.left_self.len(),
            reply.left_total.len(),
            reply.right_self.len(),
            reply.right_total.len(),
        ];
        check_columns(reply.parent.len(), &columns, &reply.parent, &reply.name, reply.names.len())?;
        let nodes = (0..reply.parent.len())
            .map(|node| DiffNode {
                parent: reply.parent[node],
                name: reply.name[node],
                left_self: reply.left_self[node],
                left_total: reply.left_total[node],
                right_self: reply.right_self[node],
                right_total: reply.right_total[node],
            })
            .collect();
        let tree = DiffTree {
            nodes,
            names: reply.names,
            unit: reply.unit,
            other: reply.other,
            ..DiffTree::default()
        };
        Ok(Told { data: tree, stats: stats(reply.stats) })
    }

    /// Merged into one pprof, a gzip stream.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn pprof(&self) -> Result<Told<Vec<u8>>, Failure> {
        let download = self.client.pprof(&self.ids(self.common())).map_err(|error| self.failed(&error))?;
        // A server that says nothing is not taken for one that found nothing.
        let unsaid = || AnswerStats { profiles: 1, ..AnswerStats::default() };
        Ok(Told { data: download.body, stats: download.stats.map_or_else(unsaid, stats) })
    }

    /// One profile as it was pushed.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn profile_pprof(&self, id: &str) -> Result<Download, Failure> {
        self.client.profile_pprof(id).map_err(|error| self.failed(&error))
    }

    /// Names of labels.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn label_names(&self) -> Result<Vec<String>, Failure> {
        self.client.label_names(&self.common()).map(|reply| reply.names).map_err(|error| self.failed(&error))
    }

    /// Values of a label.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn label_values(&self, name: &str) -> Result<Vec<String>, Failure> {
        self.client
            .label_values(name, &self.common())
            .map(|reply| reply.values)
            .map_err(|error| self.failed(&error))
    }

    /// What labels spread the selection out into.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn cardinality(&self) -> Result<wire::CardinalityReply, Failure> {
        self.client.cardinality(&self.common()).map_err(|error| self.failed(&error))
    }

    /// Label sets.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn series(&self, by: &[String]) -> Result<Vec<BTreeMap<String, String>>, Failure> {
        let question = if by.is_empty() { self.common() } else { self.common().with("by", by.join(",")) };
        let reply = self.client.series(&question).map_err(|error| self.failed(&error))?;
        Ok(reply.series.into_iter().map(|item| item.labels).collect())
    }

    /// Single profiles.
    ///
    /// # Errors
    /// See [`Remote::flame`].
    pub fn profiles(&self, limit: usize) -> Result<wire::ProfilesReply, Failure> {
        let mut question = self.common().with("limit", limit.to_string());
        if !self.values.profile_ids.is_empty() {
            question = question.with("profile_id", self.values.profile_ids.join(","));
        }
        self.client.profiles(&question).map_err(|error| self.failed(&error))
    }
}

/// A server takes 0 for its default, so "all" is its largest number.
fn nodes(nodes_max: usize) -> String {
    if nodes_max == 0 { NODES_ALL } else { nodes_max }.to_string()
}

fn row(row: wire::FunctionRow) -> TopRow {
    TopRow { name: row.name, file: row.file, self_value: row.self_value, total: row.total }
}

/// Refuses trees that are none, so that drawing them cannot go out of range.
fn check_columns(
    nodes: usize,
    columns: &[usize],
    parents: &[u32],
    names: &[u32],
    names_count: usize,
) -> Result<(), Failure> {
    let wrong = |what: &str| Err(Failure::Failed(format!("the server's answer is no tree: {what}")));
    if columns.iter().any(|&length| length != nodes) {
        return wrong("its columns differ in length");
    }
    if names.iter().any(|&name| name as usize >= names_count) {
        return wrong("a name is out of range");
    }
    let parents_first = parents
        .iter()
        .enumerate()
        .all(|(node, &parent)| (parent as usize) < node || (node == 0 && parent == 0));
    if parents_first { Ok(()) } else { wrong("a node stands before its parent") }
}

/// The engine's form of what a server says about an answer.
fn stats(stats: wire::Stats) -> AnswerStats {
    AnswerStats {
        profiles: stats.profiles,
        samples: stats.samples,
        series: stats.series,
        rounds: stats.rounds,
        bytes_scanned: stats.bytes_scanned,
        cut_nodes: stats.cut_nodes,
        cut_value: stats.cut_value,
        unsymbolised_value: stats.unsymbolised_value,
        aggregation: match stats.aggregation.as_str() {
            "avg" => "avg",
            "last" => "last",
            "sum" => "sum",
            _ => "",
        },
        profile_type: ProfileType::parse(&stats.profile_type).ok(),
        notices: stats.notices,
    }
}

/// Labels as a map, for listings.
#[must_use]
pub fn label_map(labels: &LabelSet) -> BTreeMap<String, String> {
    labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_that_are_none_are_refused() {
        assert!(check_columns(2, &[2, 2], &[0, 0], &[0, 1], 2).is_ok());
        assert!(check_columns(0, &[0], &[], &[], 0).is_ok());
        for (parents, names, columns) in [
            (vec![0, 1], vec![0, 0], vec![2]),
            (vec![1, 0], vec![0, 0], vec![2]),
            (vec![0, 0], vec![0, 9], vec![2]),
            (vec![0, 0], vec![0, 0], vec![1]),
        ] {
            assert!(check_columns(2, &columns, &parents, &names, 2).is_err(), "{parents:?} {names:?}");
        }
    }

    #[test]
    fn d12_without_a_range_everything_is_asked_for() {
        let values = ValueArguments { profile_type: Some("cpu".into()), ..ValueArguments::default() };
        let remote = Remote::new(&ServerArguments::default(), &values, vec!["{a=\"b\"}".into()]).unwrap();
        let question = remote.common();
        assert_eq!(question.get("q"), Some("{a=\"b\"}"));
        assert_eq!(question.get("type"), Some("cpu"));
        assert_eq!((question.get("from"), question.get("to")), (Some("0"), Some("now+1h")));
    }
}
