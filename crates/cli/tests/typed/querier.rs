//! Every method of `querier.v1.QuerierService`.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use serde_json::{Value, json};
use testkit::{
    grafana::{self, list, number, texts, tree_of_bytes, tree_of_pprof},
    graphs::{self, Tree},
};

use super::{
    PROTOCOLS, TypedClient,
    kept::{Kept, Pushed, Question, SERVICE, SPANS, TRACE, label, shown},
};
use crate::pyroscope::CPU;

/// Labels that every profile type answers.
const TYPE_LABELS: [&str; 6] =
    ["__name__", "__period_type__", "__period_unit__", "__profile_type__", "__type__", "__unit__"];

/// Most nodes of a graph that is not to be cut.
const NODES: usize = 100_000;

#[test]
fn pyroscopes_typed_client_of_the_querier_over_what_an_sdk_pushed() {
    let pushed = Pushed::by_pyroscope_go(|_| {});
    for protocol in PROTOCOLS {
        let mut client = TypedClient::start(&pushed.server, protocol);
        listings(&pushed, &mut client);
        merges(&pushed, &mut client);
        older_merges(&pushed, &mut client);
        diffs(&pushed, &mut client);
        series(&pushed, &mut client);
        heatmaps(&pushed, &mut client);
        overviews(&pushed, &mut client);
    }
}

impl TypedClient {
    #[track_caller]
    fn query(&mut self, method: &str, request: &Value) -> Value {
        self.ask(&format!("querier.v1.QuerierService/{method}"), request)
    }
}

fn with(mut message: Value, fields: Value) -> Value {
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message
}

/// Trees are long, so only what differs is said.
#[track_caller]
fn same<V: PartialEq + std::fmt::Debug>(
    found: &BTreeMap<Vec<String>, V>,
    wanted: &BTreeMap<Vec<String>, V>,
    context: &Value,
) {
    let paths: BTreeSet<_> = found.keys().chain(wanted.keys()).collect();
    let differing = paths.into_iter().filter(|path| found.get(*path) != wanted.get(*path));
    let differing: Vec<_> = differing.map(|path| (path, found.get(path), wanted.get(path))).take(3).collect();
    assert!(differing.is_empty(), "{context}: path, found, wanted: {differing:#?}");
}

fn sorted(value: &Value) -> BTreeSet<String> {
    let all = texts(value);
    let set: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(set.len(), all.len(), "each is there once: {all:?}");
    set
}

/// ProfileTypes, LabelNames, LabelValues, Series.
fn listings(pushed: &Pushed, client: &mut TypedClient) {
    let range = json!({ "start": pushed.range.0.to_string(), "end": pushed.range.1.to_string() });
    let own = |fields: Value| {
        with(with(range.clone(), json!({ "matchers": [format!("{{service_name=\"{SERVICE}\"}}")] })), fields)
    };
    let rows = || pushed.kept.iter().flat_map(|kept| kept.samples.iter().map(move |sample| (kept, sample)));

    let types = client.query("ProfileTypes", &range);
    for found in list(&types["profileTypes"]) {
        let part = |field: &str| found[field].as_str().unwrap_or_default();
        let parts = ["name", "sampleType", "sampleUnit", "periodType", "periodUnit"].map(part);
        assert_eq!(part("ID"), parts.join(":"));
    }
    let ids: BTreeSet<&str> =
        list(&types["profileTypes"]).iter().map(|found| found["ID"].as_str().unwrap()).collect();
    assert_eq!(ids, pushed.types());

    let mut names: BTreeSet<String> = TYPE_LABELS.map(str::to_owned).into();
    names.extend(rows().flat_map(|(kept, sample)| kept.labels.keys().chain(sample.labels.keys())).cloned());
    assert!(names.contains("region") && names.contains("k8s.pod.name"), "{names:?}");
    assert_eq!(sorted(&client.query("LabelNames", &own(json!({})))["names"]), names);

    for name in ["region", "k8s.pod.name", "otel.scope.name", "service_name"] {
        let values: BTreeSet<String> =
            rows().filter_map(|(kept, sample)| label(kept, sample, name)).map(str::to_owned).collect();
        let found = client.query("LabelValues", &own(json!({ "name": name })));
        assert_eq!(sorted(&found["names"]), values, "{name}");
    }
    let types: BTreeSet<String> = pushed.types().into_iter().map(str::to_owned).collect();
    let found = client.query("LabelValues", &own(json!({ "name": "__profile_type__" })));
    assert_eq!(sorted(&found["names"]), types);

    // A series is there with its own labels, and again with those of its samples.
    let wanted = ["__profile_type__", "client", "region"];
    let mut sets = BTreeSet::new();
    for (kept, sample) in rows() {
        for kind in &kept.types {
            for labels in [&BTreeMap::new(), &sample.labels] {
                let of = |name: &&str| match *name {
                    "__profile_type__" => Some(kind.clone()),
                    name => labels.get(name).or_else(|| kept.labels.get(name)).cloned(),
                };
                let set = wanted.iter().filter_map(|name| Some(((*name).to_owned(), of(name)?)));
                sets.insert(set.collect::<Vec<(String, String)>>());
            }
        }
    }
    let found = client.query("Series", &own(json!({ "labelNames": wanted })));
    assert_eq!(list(&found["labelsSet"]).iter().map(pairs).collect::<BTreeSet<_>>(), sets);
    assert_eq!(list(&found["labelsSet"]).len(), sets.len());
}

/// Names and values of a message with `labels`.
fn pairs(labels: &Value) -> Vec<(String, String)> {
    let text = |pair: &Value, field: &str| pair[field].as_str().unwrap().to_owned();
    list(&labels["labels"]).iter().map(|pair| (text(pair, "name"), text(pair, "value"))).collect()
}

/// Questions of every profile type, of labels, spans, a trace, single profiles, a call site and a part of the time.
fn questions(pushed: &Pushed) -> Vec<Question> {
    let mut questions: Vec<Question> = pushed.types().into_iter().map(Question::of).collect();
    let cpu = || Question::of(CPU);
    let profiles: Vec<&Kept> =
        pushed.kept.iter().filter(|kept| kept.types.iter().any(|kind| kind == CPU)).collect();
    assert!(profiles.len() > 1, "{} CPU profiles", profiles.len());
    let middle = profiles[profiles.len() / 2].nanos.div_euclid(1_000_000);
    questions.push(Question { matchers: vec![("region", "north")], ..cpu() });
    questions.push(Question { spans: vec![SPANS[0]], ..cpu() });
    questions.push(Question { traces: vec![TRACE], ..cpu() });
    questions.push(Question { ids: vec![profiles[0].id.clone()], ..cpu() });
    questions.push(Question { ids: profiles[..2].iter().map(|kept| kept.id.clone()).collect(), ..cpu() });
    questions.push(Question { range: Some((middle, pushed.range.1)), ..cpu() });
    let hot = pushed.rows(&cpu()).find(|(_, sample, _)| sample.stack().contains(&"main.burnHot"));
    let site = hot.unwrap().1.stack()[..2].iter().map(|name| (*name).to_owned()).collect();
    questions.push(Question { call_site: site, ..cpu() });
    questions
}

fn stacktraces(pushed: &Pushed, question: &Question) -> Value {
    let mut message = pushed.message(question);
    let site: Vec<Value> = question.call_site.iter().map(|name| json!({ "name": name })).collect();
    for (field, value) in [
        ("spanSelector", json!(question.spans)),
        ("traceIdSelector", json!(question.traces)),
        ("profileIdSelector", json!(question.ids)),
    ] {
        if !value.as_array().unwrap().is_empty() {
            message[field] = value;
        }
    }
    if !site.is_empty() {
        message["stackTraceSelector"] = json!({ "callSite": site });
    }
    message
}

/// SelectMergeStacktraces in every format.
fn merges(pushed: &Pushed, client: &mut TypedClient) {
    for question in questions(pushed) {
        let message = stacktraces(pushed, &question);
        let whole = pushed.tree(&question);
        let mut ask = |format: &str, nodes: usize| {
            let fields =
                json!({ "format": format!("PROFILE_FORMAT_{format}"), "maxNodes": nodes.to_string() });
            client.query("SelectMergeStacktraces", &with(message.clone(), fields))
        };
        for nodes in [NODES, 12] {
            let wanted = graphs::cut(&whole, nodes);
            same(&grafana::single(&ask("FLAMEGRAPH", nodes)["flamegraph"]), &wanted, &message);
            let tree = ask("TREE", nodes)["tree"].clone();
            same(&tree_of_bytes(&bytes(&tree)), &wanted, &message);
        }
        same(&shown_pprof(&ask("PPROF", NODES)["pprof"]["profile"]), &whole, &message);
        let table = table(pushed, &question);
        let dot = ask("DOT", table.len() + 1)["dot"].as_str().unwrap().to_owned();
        let drawn = drawn(&dot);
        assert_eq!(drawn.keys().collect::<Vec<_>>(), table.keys().collect::<Vec<_>>(), "{message}");
        for (name, (own, total)) in &table {
            let (own_text, total_text) = &drawn[name];
            assert!(
                says(own_text, *own) && says(total_text, *total),
                "{name} {own} {total}: {:?}",
                drawn[name]
            );
        }
    }
}

/// The tree of a pprof answer, which has raw names, by shown ones.
fn shown_pprof(profile: &Value) -> Tree {
    let mut tree = Tree::new();
    for (path, (own, total)) in tree_of_pprof(profile) {
        let sums = tree.entry(path.iter().map(|name| shown(name)).collect()).or_default();
        *sums = (sums.0 + own, sums.1 + total);
    }
    tree
}

fn bytes(base64: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(base64.as_str().unwrap()).unwrap()
}

/// Own and total value by function; each stack counts once per function.
fn table(pushed: &Pushed, question: &Question) -> BTreeMap<String, (i64, i64)> {
    let mut table: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for (_, sample, value) in pushed.rows(question) {
        let stack = sample.stack();
        table.entry((*stack.last().unwrap()).to_owned()).or_default().0 += value;
        for name in stack.into_iter().collect::<BTreeSet<_>>() {
            table.entry(name.to_owned()).or_default().1 += value;
        }
    }
    table
}

/// Own and total value of each node of a DOT graph, as they are written.
fn drawn(dot: &str) -> BTreeMap<String, (String, String)> {
    let nodes = dot.lines().filter(|line| line.starts_with('N') && !line.contains(" -> "));
    let node = |line: &str| {
        let label = line.split("label=\"").nth(1).unwrap().split('"').next().unwrap();
        let parts: Vec<&str> = label.split("\\n").collect();
        let amount = |text: &str| text.trim_start_matches("of ").split(' ').next().unwrap().to_owned();
        (parts[0].to_owned(), (amount(parts[1]), amount(parts[2])))
    };
    nodes.map(node).collect()
}

/// Whether a text with a unit and two digits says a number.
fn says(text: &str, exact: i64) -> bool {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let factor = match &text[digits..] {
        "" | "ns" | "B" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "mins" => 6e10,
        "hrs" => 3.6e12,
        "kB" => 1024.0,
        "MB" => 1_048_576.0,
        "GB" => 1_073_741_824.0,
        unit => panic!("{unit:?} of {text:?} is not known here"),
    };
    let said = text[..digits].parse::<f64>().unwrap() * factor;
    (said - exact as f64).abs() <= 0.006 * factor
}

/// SelectMergeProfile and SelectMergeSpanProfile.
fn older_merges(pushed: &Pushed, client: &mut TypedClient) {
    for question in questions(pushed) {
        let message = stacktraces(pushed, &question);
        let wanted = pushed.tree(&question);
        if question.spans.is_empty() {
            same(&shown_pprof(&client.query("SelectMergeProfile", &message)), &wanted, &message);
        }
        if question.traces.is_empty() && question.ids.is_empty() && question.call_site.is_empty() {
            let flames = client.query("SelectMergeSpanProfile", &message);
            let cut = graphs::cut(&wanted, 8_192);
            same(&grafana::single(&flames["flamegraph"]), &cut, &message);
            let fields = json!({ "format": "PROFILE_FORMAT_TREE", "maxNodes": "7" });
            let message = with(message, fields);
            let tree = client.query("SelectMergeSpanProfile", &message);
            same(&tree_of_bytes(&bytes(&tree["tree"])), &graphs::cut(&wanted, 7), &message);
        }
    }
    // For Go's compiler: the innermost locations.
    let question = Question::of(CPU);
    for keep in [1, 3] {
        let selector = json!({ "goPgo": { "keepLocations": keep, "aggregateCallees": true } });
        let message = with(pushed.message(&question), json!({ "stackTraceSelector": selector }));
        let innermost = pushed.rows(&question).map(|(_, sample, value)| {
            let kept = &sample.locations[sample.locations.len().saturating_sub(keep)..];
            (kept.iter().flatten().map(String::as_str).collect(), value)
        });
        let found = client.query("SelectMergeProfile", &message);
        same(&shown_pprof(&found), &graphs::tree(innermost), &message);
    }
}

/// Diff.
fn diffs(pushed: &Pushed, client: &mut TypedClient) {
    let cpu = || Question::of(CPU);
    let region = |name| Question { matchers: vec![("region", name)], ..cpu() };
    let span = |id| Question { spans: vec![id], ..cpu() };
    for [left, right] in
        [[cpu(), region("north")], [region("north"), region("east")], [span(SPANS[0]), span(SPANS[1])]]
    {
        let both = graphs::double(&pushed.tree(&left), &pushed.tree(&right));
        for nodes in [NODES, 9] {
            let side =
                |question| with(stacktraces(pushed, question), json!({ "maxNodes": nodes.to_string() }));
            let message = json!({ "left": side(&left), "right": side(&right) });
            let found = grafana::double(&client.query("Diff", &message)["flamegraph"]);
            same(&found, &graphs::cut_double(&both, nodes), &message);
        }
    }
}

/// What one profile or span adds to a group.
#[derive(Clone, Debug, PartialEq)]
struct Event<'k> {
    group: Vec<(String, String)>,
    /// Which point, ms.
    at: i64,
    value: i64,
    kept: &'k Kept,
    span: &'k str,
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.id)
    }
}

/// Points of steps in ms from the start of a range on: each has what lies in the step before it.
struct Along<'k> {
    start: i64,
    end: i64,
    step: i64,
    group_by: &'k [&'static str],
    of_spans: bool,
}

impl Along<'_> {
    fn message(&self, kind: &str) -> Value {
        let matcher = format!("{{service_name=\"{SERVICE}\"}}");
        json!({
            "profileTypeID": kind, "labelSelector": matcher, "groupBy": self.group_by,
            "start": self.start.to_string(), "end": self.end.to_string(), "step": self.step as f64 / 1_000.0,
        })
    }

    fn events<'k>(&self, pushed: &'k Pushed, kind: &str) -> Vec<Event<'k>> {
        let mut events: Vec<Event<'k>> = Vec::new();
        let (start, step) = (self.start * 1_000_000, self.step * 1_000_000);
        // A range that is shorter than a step has the point after it.
        let last = ((self.end - self.start) / self.step).max(1);
        let question = Question { range: Some((self.start - self.step, self.end)), ..Question::of(kind) };
        for (kept, sample, value) in pushed.rows(&question) {
            let number = (kept.nanos - start + step - 1).div_euclid(step);
            if !(0..=last).contains(&number) || self.of_spans && sample.span.is_empty() {
                continue;
            }
            let of = |name: &&str| Some(((*name).to_owned(), label(kept, sample, name)?.to_owned()));
            let group: Vec<_> = self.group_by.iter().filter_map(of).collect();
            let span = if self.of_spans { sample.span.as_str() } else { "" };
            let at = self.start + number * self.step;
            let same =
                |event: &&mut Event<'_>| event.group == group && event.kept == kept && event.span == span;
            match events.iter_mut().find(same) {
                Some(event) => event.value += value,
                None => events.push(Event { group, at, value, kept, span }),
            }
        }
        assert!(!events.is_empty(), "nothing was sent of {kind}");
        events
    }
}

/// An exemplar is one of the largest of its place.
#[track_caller]
fn is_exemplar_of(exemplar: &Value, events: &[&Event<'_>], group_by: &[&str]) {
    let largest = events.iter().map(|event| event.value).max().unwrap();
    let text = |field: &str| exemplar[field].as_str().unwrap_or_default();
    let event =
        events.iter().find(|event| event.kept.id == text("profileId") && event.span == text("spanId"));
    let event = event.unwrap_or_else(|| panic!("{exemplar} is none of {events:?}"));
    assert_eq!((number(&exemplar["value"]), event.value), (largest, largest), "{exemplar}");
    assert_eq!(number(&exemplar["timestamp"]), event.kept.nanos.div_euclid(1_000_000));
    assert_eq!(text("traceId"), if event.span.is_empty() { "" } else { TRACE });
    let mut labels = event.kept.labels.clone();
    labels.retain(|name, _| !group_by.contains(&name.as_str()));
    assert_eq!(pairs(exemplar).into_iter().collect::<BTreeMap<_, _>>(), labels);
}

/// Grids that begin on a profile, and groups of no, a series', a sample's label and both.
fn grids(pushed: &Pushed, of_spans: bool) -> Vec<Along<'static>> {
    let (start, end) = pushed.range;
    let groups: [&[&str]; 4] = [&[], &["client"], &["region"], &["client", "region"]];
    let grid = |(group_by, step)| Along { start, end, step, group_by, of_spans };
    groups.into_iter().zip([1_000, 2_500, 1_500, 600_000]).map(grid).collect()
}

/// SelectSeries.
fn series(pushed: &Pushed, client: &mut TypedClient) {
    for along in grids(pushed, false) {
        for kind in [CPU, "memory:alloc_space:bytes:space:bytes", "goroutine:goroutine:count:goroutine:count"]
        {
            let message = along.message(kind);
            let events = along.events(pushed, kind);
            let groups: BTreeSet<_> = events.iter().map(|event| event.group.clone()).collect();
            let totals = |group: &[(String, String)]| -> i64 {
                events.iter().filter(|event| event.group == group).map(|event| event.value).sum()
            };
            for (aggregation, exemplars) in [("SUM", "NONE"), ("AVERAGE", "INDIVIDUAL")] {
                let fields = json!({
                    "aggregation": format!("TIME_SERIES_AGGREGATION_TYPE_{aggregation}"),
                    "exemplarType": format!("EXEMPLAR_TYPE_{exemplars}"),
                });
                let found = client.query("SelectSeries", &with(message.clone(), fields));
                let mut seen = Vec::new();
                for one in list(&found["series"]) {
                    let group = pairs(one);
                    let points = events.iter().filter(|event| event.group == group).map(|event| event.at);
                    let points: BTreeSet<i64> = points.collect();
                    let times = list(&one["points"]).iter().map(|point| number(&point["timestamp"]));
                    assert_eq!(times.collect::<Vec<_>>(), Vec::from_iter(points), "{message}");
                    for point in list(&one["points"]) {
                        let at = number(&point["timestamp"]);
                        let here: Vec<&Event<'_>> =
                            events.iter().filter(|event| event.group == group && event.at == at).collect();
                        let sum: i64 = here.iter().map(|event| event.value).sum();
                        let divisor = if aggregation == "AVERAGE" { here.len() as f64 } else { 1.0 };
                        let (value, wanted) = (point["value"].as_f64().unwrap(), sum as f64 / divisor);
                        // Reading the decimals of a third may miss by the last bit.
                        assert!(
                            (value - wanted).abs() <= wanted * 2.0 * f64::EPSILON,
                            "{message}: {value} for {wanted}"
                        );
                        let exemplars_here = list(&point["exemplars"]);
                        assert_eq!(exemplars_here.len(), usize::from(exemplars == "INDIVIDUAL"));
                        exemplars_here.iter().for_each(|one| is_exemplar_of(one, &here, along.group_by));
                    }
                    seen.push(group);
                }
                assert_eq!(seen.iter().cloned().collect::<BTreeSet<_>>(), groups, "{message}");
                let sums: Vec<i64> = seen.iter().map(|group| totals(group)).collect();
                assert!(sums.is_sorted_by(|left, right| left >= right), "{message}: {sums:?}");
                let first = client.query("SelectSeries", &with(message.clone(), json!({ "limit": "1" })));
                assert_eq!(list(&first["series"]).iter().map(pairs).collect::<Vec<_>>(), seen[..1]);
            }
        }
    }
    // Only stacks below a call site.
    let question = questions(pushed).pop().unwrap();
    let (start, end) = pushed.range;
    let message = with(
        stacktraces(pushed, &question),
        json!({ "start": start.to_string(), "end": (end + 10_000).to_string(), "step": 10 }),
    );
    let found = client.query("SelectSeries", &message);
    let points = list(&found["series"]).iter().flat_map(|one| list(&one["points"]));
    let sum: f64 = points.map(|point| point["value"].as_f64().unwrap()).sum();
    assert_eq!(sum, pushed.tree(&question)[&Vec::new()].1 as f64, "{message}");
}

/// SelectHeatmap: twenty bands of equal height from the smallest value to the largest.
fn heatmaps(pushed: &Pushed, client: &mut TypedClient) {
    for of_spans in [false, true] {
        for along in grids(pushed, of_spans) {
            let what = if of_spans { "SPAN" } else { "INDIVIDUAL" };
            let fields = json!({
                "queryType": format!("HEATMAP_QUERY_TYPE_{what}"),
                "exemplarType": format!("EXEMPLAR_TYPE_{what}"),
            });
            let message = with(along.message(CPU), fields);
            let events = along.events(pushed, CPU);
            let low = events.iter().map(|event| event.value).min().unwrap();
            let high = events.iter().map(|event| event.value).max().unwrap();
            let band = |value: i64| if high == low { 0 } else { ((value - low) * 20 / (high - low)).min(19) };
            let mut wanted: BTreeMap<_, Vec<&Event<'_>>> = BTreeMap::new();
            for event in &events {
                wanted.entry((event.group.clone(), event.at, band(event.value))).or_default().push(event);
            }
            let found = client.query("SelectHeatmap", &message);
            let mut cells = 0;
            for one in list(&found["series"]) {
                for slot in list(&one["slots"]) {
                    let (bottoms, counts) = (list(&slot["yMin"]), list(&slot["counts"]));
                    let exemplars = list(&slot["exemplars"]);
                    assert_eq!((bottoms.len(), bottoms.len()), (counts.len(), exemplars.len()), "{message}");
                    for ((bottom, count), exemplar) in bottoms.iter().zip(counts).zip(exemplars) {
                        let is_here = |band: &i64| {
                            let edge = low as f64 + (high - low) as f64 * *band as f64 / 20.0;
                            Some(edge) == bottom.as_f64()
                        };
                        let band = (0..20).find(is_here).unwrap_or_else(|| panic!("{bottom} is no edge"));
                        let events = &wanted[&(pairs(one), number(&slot["timestamp"]), band)];
                        assert_eq!(count.as_u64(), Some(events.len() as u64), "{message}");
                        is_exemplar_of(exemplar, events, along.group_by);
                        cells += 1;
                    }
                }
            }
            assert_eq!(cells, wanted.len(), "{message}");
        }
    }
}

/// GetProfileStats and AnalyzeQuery.
fn overviews(pushed: &Pushed, client: &mut TypedClient) {
    let times = || pushed.kept.iter().map(|kept| kept.nanos.div_euclid(1_000_000));
    let wanted = json!({
        "dataIngested": true,
        "oldestProfileTime": times().min().unwrap().to_string(),
        "newestProfileTime": times().max().unwrap().to_string(),
    });
    assert_eq!(client.query("GetProfileStats", &json!({})), wanted);
    let (start, end) = pushed.range;
    for profile_type in ["", CPU] {
        let query = format!("{profile_type}{{service_name=\"{SERVICE}\"}}");
        let message = json!({ "start": start.to_string(), "end": end.to_string(), "query": query });
        let found = client.query("AnalyzeQuery", &message);
        let sum = |field: &str| -> i64 {
            list(&found["queryScopes"]).iter().map(|scope| number(&scope[field])).sum()
        };
        let is_meant =
            |kept: &&Kept| profile_type.is_empty() || kept.types.iter().any(|kind| kind == profile_type);
        let kept = || pushed.kept.iter().filter(is_meant);
        let rows: usize = kept().map(|kept| kept.rows).sum();
        let series: BTreeSet<_> = kept().map(|kept| (&kept.labels, &kept.types)).collect();
        assert_eq!(
            [sum("profileCount"), sum("sampleCount"), number(&found["queryImpact"]["totalQueriedSeries"])],
            [kept().count(), rows, series.len()].map(|count| i64::try_from(count).unwrap()),
            "{query}"
        );
        let bytes = sum("indexBytes") + sum("profileBytes") + sum("symbolBytes");
        assert!(bytes > 0 && bytes == number(&found["queryImpact"]["totalBytesInTimeRange"]), "{found}");
    }
}
