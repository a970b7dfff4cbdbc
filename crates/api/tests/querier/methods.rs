//! Each method over random profiles, against the model.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use testkit::{
    Oracle, Random,
    grafana::{tree_of_bytes, tree_of_pprof},
};

use crate::{
    grafana,
    model::{self, Profile, Question},
    server::{CPU, START, Server, list, number, texts},
};

/// Servers with random profiles.
fn each(stream: u64, seeds: u64, mut test: impl FnMut(&Server, &[Profile], &mut Random, &str)) {
    for seed in 0..seeds {
        let mut random = Random::new(seed, stream);
        let profiles = model::profiles(&mut random);
        let server = Server::start();
        model::push(&server, &profiles, &mut random);
        for _ in 0..4 {
            test(&server, &profiles, &mut random, &format!("seed {seed}"));
        }
    }
}

fn nodes_max(random: &mut Random) -> usize {
    [1, 2, 5, 12, 8_192][random.below(5)]
}

fn base64(value: &Value) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap_or_default()).unwrap()
}

#[test]
fn select_merge_stacktraces_in_every_format() {
    each(11, 25, |server, profiles, random, seed| {
        let question = Question::random(random);
        let nodes_max = nodes_max(random);
        let mut message = question.message();
        message["maxNodes"] = json!(nodes_max);
        let whole = model::tree(question.stacks(profiles).into_iter());
        let wanted = model::cut(&whole, nodes_max);
        let context = format!("{seed} {question:?} {nodes_max}");
        let answer = server.ask("SelectMergeStacktraces", message.clone());
        assert_eq!(grafana::single(&answer["flamegraph"]), wanted, "{context}");
        message["format"] = json!("PROFILE_FORMAT_TREE");
        let answer = server.ask("SelectMergeStacktraces", message.clone());
        assert_eq!(tree_of_bytes(&base64(&answer["tree"])), wanted, "{context}");
        message["format"] = json!(4);
        let pprof = server.ask("SelectMergeStacktraces", message.clone())["pprof"]["profile"].clone();
        assert_eq!(tree_of_pprof(&pprof), whole, "{context}: pprof is never cut");
        message["format"] = json!("PROFILE_FORMAT_DOT");
        message["maxNodes"] = json!(1_000);
        let dot = server.ask("SelectMergeStacktraces", message)["dot"].clone();
        assert_eq!(
            dot_values(dot.as_str().unwrap_or_default()),
            table(&question.stacks(profiles)),
            "{context}"
        );
    });
}

/// Own and total value by function; each stack counts once per function.
fn table(stacks: &[(Vec<&str>, i64)]) -> BTreeMap<String, (i64, i64)> {
    let mut table: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for (stack, value) in stacks {
        table.entry((*stack.last().unwrap()).to_owned()).or_default().0 += value;
        for name in stack.iter().collect::<BTreeSet<_>>() {
            table.entry((*name).to_owned()).or_default().1 += value;
        }
    }
    table
}

/// Labels of nodes: `name\n12ns (…%)\nof 30ns (…%)`. Values here are below a microsecond or written as one.
fn dot_values(dot: &str) -> BTreeMap<String, (i64, i64)> {
    let amount = |text: &str| -> i64 {
        let text = text.trim_start_matches("of ").split(' ').next().unwrap();
        match (text.strip_suffix("us"), text.strip_suffix("ns")) {
            (Some(micros), _) => (micros.parse::<f64>().unwrap() * 1_000.0).round() as i64,
            (_, Some(nanos)) => nanos.parse().unwrap(),
            _ => text.parse().unwrap(),
        }
    };
    let nodes = dot.lines().filter(|line| line.starts_with('N') && !line.contains(" -> "));
    nodes
        .map(|line| {
            let label = line.split("label=\"").nth(1).unwrap().split('"').next().unwrap();
            let parts: Vec<&str> = label.split("\\n").collect();
            (parts[0].to_owned(), (amount(parts[1]), amount(parts[2])))
        })
        .collect()
}

#[test]
fn select_merge_profile_is_a_pprof_file() {
    each(12, 15, |server, profiles, random, seed| {
        let question = Question { spans: Vec::new(), ..Question::random(random) };
        let message = question.message();
        let request: rpc::querier::v1::SelectMergeProfileRequest =
            serde_json::from_value(message.clone()).unwrap();
        let headers = [("content-type", "application/proto")];
        let path = "/querier.v1.QuerierService/SelectMergeProfile";
        let reply = server.call("POST", path, &headers, &buffa::Message::encode_to_vec(&request)).ok();
        let oracle = Oracle::read(&reply.body).unwrap();
        let stacks = oracle.samples.iter().map(|(path, values)| {
            (path.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), values[0])
        });
        let wanted = model::tree(question.stacks(profiles).into_iter());
        assert_eq!(model::tree(stacks), wanted, "{seed} {question:?}");
        assert_eq!(tree_of_pprof(&server.ask("SelectMergeProfile", message)), wanted, "{seed} {question:?}");
    });
}

#[test]
fn select_merge_span_profile_is_the_older_form() {
    each(13, 10, |server, profiles, random, seed| {
        let question = Question {
            service: "shop",
            spans: vec![model::span(1 + random.below(2))],
            ..Question::default()
        };
        let mut message = question.message();
        message["format"] = json!("PROFILE_FORMAT_FLAMEGRAPH");
        let wanted = model::cut(&model::tree(question.stacks(profiles).into_iter()), 8_192);
        let answer = server.ask("SelectMergeSpanProfile", message.clone());
        assert_eq!(grafana::single(&answer["flamegraph"]), wanted, "{seed}");
        message["format"] = json!("PROFILE_FORMAT_TREE");
        assert_eq!(
            tree_of_bytes(&base64(&server.ask("SelectMergeSpanProfile", message.clone())["tree"])),
            wanted
        );
        message["format"] = json!("PROFILE_FORMAT_DOT");
        assert_eq!(server.json("SelectMergeSpanProfile", &message).status, 400);
    });
}

#[test]
fn profile_ids_choose_profiles() {
    each(14, 6, |server, profiles, random, seed| {
        let step = json!({ "profileTypeID": CPU, "labelSelector": "{}", "step": 1.0, "start": START, "end": START + 100_000, "exemplarType": "EXEMPLAR_TYPE_INDIVIDUAL" });
        let points = server.ask("SelectSeries", step)["series"][0]["points"].clone();
        let chosen = &list(&points)[random.below(list(&points).len())];
        let exemplar = &chosen["exemplars"][0];
        let profile = profiles.iter().find(|profile| profile.time == number(&exemplar["timestamp"])).unwrap();
        let message = json!({ "profileTypeID": CPU, "labelSelector": "{}", "profileIdSelector": [exemplar["profileId"]] });
        let stacks = profile.samples.iter().map(|sample| (sample.stack.clone(), sample.value));
        let wanted = model::cut(&model::tree(stacks), 8_192);
        let answer = server.ask("SelectMergeStacktraces", message);
        assert_eq!(grafana::single(&answer["flamegraph"]), wanted, "{seed}");
    });
}

#[test]
fn diff_lays_two_questions_over_each_other() {
    each(15, 25, |server, profiles, random, seed| {
        let (left, right) = (Question::random(random), Question::random(random));
        let nodes_max = nodes_max(random);
        let mut sides = [left.message(), right.message()];
        sides[0]["maxNodes"] = json!(nodes_max);
        // The format of a side says nothing.
        sides[1]["format"] = json!("PROFILE_FORMAT_PPROF");
        let answer = server.ask("Diff", json!({ "left": sides[0], "right": sides[1] }));
        let tree = |question: &Question| model::tree(question.stacks(profiles).into_iter());
        let wanted = model::cut_double(&model::double(&tree(&left), &tree(&right)), nodes_max);
        assert_eq!(grafana::double(&answer["flamegraph"]), wanted, "{seed} {left:?} {right:?} {nodes_max}");
    });
}

/// What one profile or span adds to a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    group: Vec<String>,
    /// Which point, ms.
    at: i64,
    value: i64,
    /// Start of the profile, ms.
    time: i64,
    span: String,
    trace: String,
}

/// Events of a question on a grid.
fn events(
    question: &Question,
    profiles: &[Profile],
    group_by: &[&str],
    step: i64,
    of_spans: bool,
) -> Vec<Event> {
    let (start, end) = question.range.unwrap();
    // A range that is shorter than a step has the point after it, with what lies in the range.
    let last = if end - start < step { end } else { start + (end - start) / step * step };
    let mut sums: BTreeMap<(Vec<String>, i64, String, String), i64> = BTreeMap::new();
    for profile in profiles {
        let in_service = question.service.is_empty() || question.service == profile.service;
        if !in_service || profile.time <= start - step || profile.time > last {
            continue;
        }
        for sample in &profile.samples {
            if !question.takes_row(sample) || !question.takes_stack(&sample.stack) {
                continue;
            }
            if of_spans && sample.span.is_empty() {
                continue;
            }
            let value = |name: &&str| match *name {
                "pod" => profile.pod.to_owned(),
                "service_name" => profile.service.to_owned(),
                _ => sample.endpoint.to_owned(),
            };
            let group = group_by.iter().map(value).collect();
            let (span, trace) =
                if of_spans { (sample.span.clone(), sample.trace.clone()) } else { Default::default() };
            *sums.entry((group, profile.time, span, trace)).or_default() += sample.value;
        }
    }
    sums.into_iter()
        .map(|((group, time, span, trace), value)| {
            let at = start + (time - start + step - 1).div_euclid(step) * step;
            Event { group, at, value, time, span, trace }
        })
        .collect()
}

fn group_of(series: &Value, group_by: &[&str]) -> Vec<String> {
    let value = |name: &&str| {
        let pair = list(&series["labels"]).iter().find(|pair| pair["name"] == **name);
        pair.map_or(String::new(), |pair| pair["value"].as_str().unwrap().to_owned())
    };
    group_by.iter().map(value).collect()
}

/// The largest, of equal ones the earliest.
fn best<'e>(events: impl Iterator<Item = &'e Event>) -> Vec<&'e Event> {
    let all: Vec<&Event> = events.collect();
    let key = |event: &Event| (-event.value, event.time);
    let first = all.iter().map(|event| key(event)).min();
    all.into_iter().filter(|event| Some(key(event)) == first).collect()
}

fn assert_exemplar(exemplar: &Value, of: &[&Event], group_by: &[&str], profiles: &[Profile]) {
    let time = number(&exemplar["timestamp"]);
    let text = |field: &str| exemplar[field].as_str().unwrap_or("").to_owned();
    let fits = |event: &&&Event| {
        event.time == time
            && event.value == number(&exemplar["value"])
            && event.span == text("spanId")
            && event.trace == text("traceId")
    };
    assert!(of.iter().any(|event| fits(&event)), "{exemplar} is none of {of:?}");
    let profile = profiles.iter().find(|profile| profile.time == time).unwrap();
    let wanted: BTreeSet<(&str, &str)> = [("pod", profile.pod), ("service_name", profile.service)]
        .into_iter()
        .filter(|(name, _)| !group_by.contains(name))
        .collect();
    let labels = list(&exemplar["labels"]).iter();
    let labels = labels.map(|pair| (pair["name"].as_str().unwrap(), pair["value"].as_str().unwrap()));
    assert_eq!(labels.collect::<BTreeSet<_>>(), wanted);
    assert_eq!(text("profileId").len(), 36, "{exemplar}");
}

const GROUPS: [&[&str]; 5] = [&[], &["pod"], &["service_name", "pod"], &["endpoint"], &["pod", "endpoint"]];

/// A question about time: no spans, a range of its own, a grid.
fn timed(random: &mut Random) -> (Question, Value, i64) {
    let mut question = Question { spans: Vec::new(), traces: Vec::new(), ..Question::random(random) };
    let start = START + i64::try_from(random.below(60)).unwrap() * 1_000;
    question.range = Some((start, start + i64::try_from(random.below(70)).unwrap() * 1_000));
    let step = [1, 7, 15, 100][random.below(4)] * 1_000;
    let mut message = question.message();
    let fields = message.as_object_mut().unwrap();
    fields.remove("spanSelector");
    fields.remove("trace_id_selector");
    message["step"] = json!(step as f64 / 1_000.0);
    (question, message, step)
}

#[test]
fn select_series_with_groups_averages_limits_and_exemplars() {
    each(16, 25, |server, profiles, random, seed| {
        let (question, mut message, step) = timed(random);
        let group_by = GROUPS[random.below(GROUPS.len())];
        let averages = random.below(2) == 1;
        let exemplar_type = ["NONE", "INDIVIDUAL", "SPAN"][random.below(3)];
        message["groupBy"] = json!(group_by);
        message["exemplarType"] = json!(format!("EXEMPLAR_TYPE_{exemplar_type}"));
        if averages {
            message["aggregation"] = json!("TIME_SERIES_AGGREGATION_TYPE_AVERAGE");
        }
        let context = format!("{seed} {message}");
        let events = events(&question, profiles, group_by, step, false);
        let mut wanted: BTreeMap<Vec<String>, BTreeMap<i64, (i64, i64)>> = BTreeMap::new();
        for event in &events {
            let point = wanted.entry(event.group.clone()).or_default().entry(event.at).or_default();
            *point = (point.0 + event.value, point.1 + 1);
        }
        let of_spans = self::events(&question, profiles, group_by, step, true);
        let answer = server.ask("SelectSeries", message.clone());
        let mut totals = Vec::new();
        let mut found = BTreeMap::new();
        for series in list(&answer["series"]) {
            let group = group_of(series, group_by);
            let mut points = BTreeMap::new();
            totals.push(wanted[&group].values().map(|(sum, _)| *sum).sum::<i64>());
            for point in list(&series["points"]) {
                let at = number(&point["timestamp"]);
                let (sum, count) = wanted[&group][&at];
                let value = if averages { sum as f64 / count as f64 } else { sum as f64 };
                assert_eq!(point["value"].as_f64(), Some(value), "{context}");
                points.insert(at, (sum, count));
                let here = |event: &&Event| event.group == group && event.at == at;
                let best = match exemplar_type {
                    "INDIVIDUAL" => best(events.iter().filter(here)),
                    "SPAN" => best(of_spans.iter().filter(here)),
                    _ => Vec::new(),
                };
                assert_eq!(list(&point["exemplars"]).len(), usize::from(!best.is_empty()), "{context}");
                if !best.is_empty() {
                    assert_exemplar(&point["exemplars"][0], &best, group_by, profiles);
                }
            }
            found.insert(group, points);
        }
        assert_eq!(found, wanted, "{context}");
        assert!(totals.is_sorted_by(|left, right| left >= right), "{context}: {totals:?}");
        message["limit"] = json!("2");
        let limited = server.ask("SelectSeries", message);
        assert_eq!(
            list(&limited["series"]),
            &list(&answer["series"])[..list(&answer["series"]).len().min(2)]
        );
    });
}

#[test]
fn select_heatmap_counts_profiles_and_spans() {
    each(17, 25, |server, profiles, random, seed| {
        let (question, mut message, step) = timed(random);
        let question = Question {
            call_site: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            include_pattern: None,
            ..question
        };
        let group_by = GROUPS[random.below(GROUPS.len())];
        let of_spans = random.below(2) == 1;
        let kind = if of_spans { "SPAN" } else { "INDIVIDUAL" };
        message["group_by"] = json!(group_by);
        message["query_type"] = json!(format!("HEATMAP_QUERY_TYPE_{kind}"));
        message["exemplar_type"] = json!(format!("EXEMPLAR_TYPE_{kind}"));
        let events = events(&question, profiles, group_by, step, of_spans);
        let low = events.iter().map(|event| event.value).min().unwrap_or(0);
        let high = events.iter().map(|event| event.value).max().unwrap_or(0);
        let band = |value: i64| if high == low { 0 } else { ((value - low) * 20 / (high - low)).min(19) };
        let low_end = |band: i64| low as f64 + (high - low) as f64 * band as f64 / 20.0;
        let mut wanted: BTreeMap<(Vec<String>, i64, i64), i64> = BTreeMap::new();
        for event in &events {
            *wanted.entry((event.group.clone(), event.at, band(event.value))).or_default() += 1;
        }
        let answer = server.ask("SelectHeatmap", message.clone());
        let mut found = BTreeMap::new();
        for series in list(&answer["series"]) {
            let group = group_of(series, group_by);
            for slot in list(&series["slots"]) {
                let at = number(&slot["timestamp"]);
                let cells =
                    list(&slot["yMin"]).iter().zip(list(&slot["counts"])).zip(list(&slot["exemplars"]));
                assert_eq!(list(&slot["yMin"]).len(), list(&slot["exemplars"]).len());
                for ((y_min, count), exemplar) in cells {
                    let of_end = (0..20).find(|band| Some(low_end(*band)) == y_min.as_f64()).unwrap();
                    found.insert((group.clone(), at, of_end), count.as_i64().unwrap());
                    let here = |event: &&Event| {
                        event.group == group && event.at == at && band(event.value) == of_end
                    };
                    assert_exemplar(exemplar, &best(events.iter().filter(here)), group_by, profiles);
                }
            }
        }
        assert_eq!(found, wanted, "{seed} {message}");
    });
}

#[test]
fn listings_say_what_there_is() {
    each(18, 15, |server, profiles, random, seed| {
        let service = ["shop", "cart"][random.below(2)];
        let matcher = format!("{{service_name=\"{service}\"}}");
        let of = profiles.iter().filter(|profile| profile.service == service);
        let values = |name: &str| {
            texts(&server.ask("LabelValues", json!({ "name": name, "matchers": [matcher] }))["names"])
        };
        let pods: BTreeSet<&str> = of.clone().map(|profile| profile.pod).collect();
        assert_eq!(values("pod"), pods.into_iter().collect::<Vec<_>>(), "{seed}");
        let rows = || of.clone().flat_map(|profile| &profile.samples);
        let endpoints: BTreeSet<&str> =
            rows().map(|sample| sample.endpoint).filter(|text| !text.is_empty()).collect();
        assert_eq!(values("endpoint"), endpoints.iter().copied().collect::<Vec<_>>(), "{seed}");
        let is_there = of.clone().next().is_some();
        let types = if is_there { vec![CPU, "process_cpu:samples:count:cpu:nanoseconds"] } else { vec![] };
        assert_eq!(values("__profile_type__"), types);
        let names = texts(&server.ask("LabelNames", json!({ "matchers": [matcher] }))["names"]);
        for (name, wanted) in
            [("pod", is_there), ("__profile_type__", is_there), ("endpoint", !endpoints.is_empty())]
        {
            assert_eq!(names.contains(&name.to_owned()), wanted, "{seed} {name} {names:?}");
        }
        let all = server.ask("ProfileTypes", json!({}));
        assert_eq!(list(&all["profileTypes"]).len(), 2);
        assert_eq!(all["profileTypes"][0]["ID"], CPU);
        let message = json!({ "labelNames": ["service_name", "__profile_type__"], "matchers": ["{}"] });
        let series = server.ask("Series", message);
        let services: BTreeSet<&str> = profiles.iter().map(|profile| profile.service).collect();
        assert_eq!(list(&series["labelsSet"]).len(), services.len() * 2, "{seed}");
        let message = json!({ "labelNames": ["service_name", "pod"], "matchers": [] });
        let series = server.ask("Series", message);
        let sets: BTreeSet<_> = profiles.iter().map(|profile| (profile.pod, profile.service)).collect();
        let found = list(&series["labelsSet"]).iter().map(|set| {
            (set["labels"][0]["value"].as_str().unwrap(), set["labels"][1]["value"].as_str().unwrap())
        });
        assert_eq!(found.collect::<BTreeSet<_>>(), sets, "{seed}");
    });
}

#[test]
fn stats_and_analysis_count_what_was_pushed() {
    let server = Server::start();
    let empty = server.ask("GetProfileStats", json!({}));
    assert_eq!(empty, json!({}), "nothing is false and zero, which protojson leaves out");
    each(19, 10, |server, profiles, _, seed| {
        let times = || profiles.iter().map(|profile| profile.time);
        let wanted = json!({
            "dataIngested": true,
            "oldestProfileTime": times().min().unwrap().to_string(),
            "newestProfileTime": times().max().unwrap().to_string(),
        });
        assert_eq!(server.ask("GetProfileStats", json!({})), wanted, "{seed}");
        for (query, takes) in
            [("{}".to_owned(), None), (format!("{CPU}{{service_name=\"shop\"}}"), Some("shop"))]
        {
            let answer = server.ask("AnalyzeQuery", json!({ "query": query }));
            let of: Vec<_> =
                profiles.iter().filter(|profile| takes.is_none_or(|one| one == profile.service)).collect();
            let sum = |field: &str| -> i64 {
                list(&answer["queryScopes"]).iter().map(|scope| number(&scope[field])).sum()
            };
            assert_eq!(sum("profileCount"), i64::try_from(of.len()).unwrap(), "{seed} {answer}");
            let series: BTreeSet<_> = of.iter().map(|profile| (profile.service, profile.pod)).collect();
            assert_eq!(
                number(&answer["queryImpact"]["totalQueriedSeries"]),
                i64::try_from(series.len()).unwrap()
            );
            let bytes = sum("indexBytes") + sum("profileBytes") + sum("symbolBytes");
            assert_eq!(number(&answer["queryImpact"]["totalBytesInTimeRange"]), bytes);
            assert_eq!(bytes > 0, !of.is_empty());
        }
    });
}

/// Stacks for Go's compiler: the innermost calls, and callees without lines.
#[test]
fn go_pgo_trims_stacks() {
    each(20, 10, |server, profiles, random, seed| {
        let keep = 1 + random.below(3);
        let message = json!({
            "profileTypeID": CPU, "labelSelector": "{}", "format": "PROFILE_FORMAT_PPROF",
            "stackTraceSelector": { "goPgo": { "keepLocations": keep, "aggregateCallees": true } },
        });
        let pprof = server.ask("SelectMergeStacktraces", message.clone())["pprof"]["profile"].clone();
        let all = Question::default().stacks(profiles);
        let kept =
            all.iter().map(|(stack, value)| (stack[stack.len().saturating_sub(keep)..].to_vec(), *value));
        assert_eq!(tree_of_pprof(&pprof), model::tree(kept), "{seed} {keep}");
        // A called function has no line of its own, its callers have.
        let line = |id: &Value| {
            let location = list(&pprof["location"]).iter().find(|location| location["id"] == *id).unwrap();
            number(&location["line"][0]["line"])
        };
        for sample in list(&pprof["sample"]) {
            let lines: Vec<i64> = list(&sample["locationId"]).iter().map(line).collect();
            assert!(lines[0] == 0 && lines[1..].iter().all(|&line| line == 7), "{seed} {lines:?}");
        }
        let mut flame = message;
        flame["format"] = json!("PROFILE_FORMAT_FLAMEGRAPH");
        let refused = server.json("SelectMergeStacktraces", &flame);
        assert_eq!(refused.status, 400, "a trimmed flame graph would be taken for the whole");
    });
}
