//! What is counted profile by profile is what a timeline and a table say of the same profiles.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use query::{CountQuery, Counting, CountingCache, Engine, Group, NameMode, Selector, StepRange};
use support::*;

const TYPE: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

fn query(selector: &str, group_by: &[&str], function: Option<&str>) -> CountQuery {
    let group_by: Vec<String> = group_by.iter().map(|name| (*name).to_owned()).collect();
    CountQuery::new(&Selector::parse(selector).unwrap(), &group_by, function).unwrap()
}

/// Counts with a dataset that grows between two calls, as a head does.
fn count(
    queries: &[CountQuery],
    services: &mut [Service],
    push: impl Fn(usize, &mut Service),
) -> Vec<BTreeMap<Group, i128>> {
    let counting = Counting::new(queries.to_vec());
    let mut caches: Vec<CountingCache> = services.iter().map(|_| CountingCache::default()).collect();
    let mut sums = vec![BTreeMap::new(); queries.len()];
    for round in 0..6 {
        for (service, cache) in services.iter_mut().zip(&mut caches) {
            let before = service.dataset().profile_count();
            push(round, service);
            let dataset = service.dataset();
            for profile in before..dataset.profile_count() {
                let add = |query: usize, group: &Group, value| {
                    *sums[query].entry(group.clone()).or_insert(0) += value;
                };
                counting.count(cache, &*dataset, profile, |_| true, add).unwrap();
            }
        }
    }
    sums
}

/// What a timeline says, group by group.
fn timeline(engine: &Engine, selector: &str, group_by: &[&str]) -> BTreeMap<Group, i128> {
    let group_by: Vec<String> = group_by.iter().map(|name| (*name).to_owned()).collect();
    let range = profile::TimeRange { from: seconds(0), to: seconds(1_000) };
    let steps = StepRange { range, step_nanos: 1_000_000_000_000 };
    let selection = query::Selection { aggregation: query::Aggregation::Sum, ..select(selector) };
    let answer = engine.timeline(&selection, steps, &group_by, &control()).unwrap().data;
    let group = |series: &query::TimelineSeries| {
        group_by.iter().map(|name| series.labels.get(name).map(ToOwned::to_owned)).collect()
    };
    answer.series.iter().map(|series| (group(series), i128::from(series.total))).collect()
}

fn total(engine: &Engine, selector: &str, function: &str) -> i128 {
    let top = engine.top(&select(selector), NameMode::Display, &control()).unwrap().data;
    top.rows.iter().find(|row| row.name == function).map_or(0, |row| i128::from(row.total))
}

/// A profile whose shape depends on a number: recursion, mangled names, sample labels, several series.
fn push(number: u64, service: &mut Service) {
    let mut made = Made::new(&[("samples", "count"), ("cpu", "nanoseconds")]);
    let value = i64::try_from(number % 97).unwrap() + 1;
    made.stack("main;work;_ZN3foo3barEv", &[1, value]);
    made.stack("main;_ZN3foo3barEv;leaf;_ZN3foo3barEv", &[1, value * 2]);
    made.stack(&format!("main;only{}", number % 5), &[1, 7]);
    made.stack("", &[1, 3]);
    if number.is_multiple_of(3) {
        made.stack("main;work", &[1, 11]);
        made.label("pod", ["a", "b", ""][usize::try_from(number % 4).unwrap().min(2)]);
        made.label("zone", "z");
    }
    let extra: &[(&str, &str)] = match number % 4 {
        0 => &[],
        1 => &[("pod", "a")],
        2 => &[("pod", "c"), ("zone", "y")],
        _ => &[("pod", "")],
    };
    service.push("process_cpu", extra, i64::try_from(number % 900).unwrap(), &made.profile());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn sums_equal_those_of_timeline_and_table(numbers in prop::collection::vec(0u64..10_000, 12)) {
        let selectors = ["", "pod=\"a\"", "pod!=\"a\"", "pod=\"\"", "pod=~\"a|c\",zone!=\"y\"", "service_name=\"one\"", "zone=\"z\""];
        let groups: [&[&str]; 4] = [&[], &["service_name"], &["pod"], &["zone", "pod"]];
        let full = |matchers: &str| format!("{TYPE}{{{matchers}}}");
        let mut queries = Vec::new();
        for matchers in selectors {
            for group_by in groups {
                queries.push((full(matchers), group_by, None));
            }
            for function in ["foo::bar()", "work", "main", "absent", "only3"] {
                queries.push((full(matchers), groups[0], Some(function)));
            }
        }
        let asked: Vec<CountQuery> = queries.iter().map(|(selector, group_by, function)| query(selector, group_by, *function)).collect();
        let mut services = [Service::new("one"), Service::new("two")];
        let sums = count(&asked, &mut services, |round, service| {
            push(numbers[round * 2], service);
            push(numbers[round * 2 + 1], service);
        });
        let engine = Engine::over(services.iter().map(Service::dataset).collect());
        for ((selector, group_by, function), sums) in queries.iter().zip(sums) {
            match function {
                None => prop_assert_eq!(sums, normal(timeline(&engine, selector, group_by)), "{} by {:?}", selector, group_by),
                Some(function) => prop_assert_eq!(
                    sums.values().sum::<i128>(), total(&engine, selector, function), "{} in {}", function, selector
                ),
            }
        }
    }
}

/// The empty value is none.
fn normal(sums: BTreeMap<Group, i128>) -> BTreeMap<Group, i128> {
    let mut normal = BTreeMap::new();
    for (group, value) in sums {
        let group: Group = group.into_iter().map(|value| value.filter(|value| !value.is_empty())).collect();
        *normal.entry(group).or_insert(0) += value;
    }
    normal
}

#[test]
fn questions_that_cannot_be_counted_are_refused_by_field() {
    let refused = |selector: &str, group_by: &[&str], function: Option<&str>| {
        let group_by: Vec<String> = group_by.iter().map(|name| (*name).to_owned()).collect();
        let selector = Selector::parse(selector).unwrap();
        CountQuery::new(&selector, &group_by, function).unwrap_err().to_string()
    };
    let typed = format!("{TYPE}{{}}");
    assert!(refused("{}", &[], None).starts_with("selector: names no profile type"));
    assert!(refused("cpu{}", &[], None).starts_with("selector: profile type \"cpu\" is not of the form"));
    assert!(refused("{__profile_type__=~\".*\"}", &[], None).contains("compared with ="));
    assert!(refused("a:b:c:d:e{__profile_type__=\"a:b:c:d:f\"}", &[], None).contains("several"));
    assert!(refused(&format!("{TYPE}{{span_id=\"1\"}}"), &[], None).starts_with("selector: \"span_id\""));
    assert!(refused(&typed, &["trace_id"], None).starts_with("group_by: \"trace_id\""));
    assert!(refused(&typed, &["pod", "pod"], None).contains("twice"));
    assert!(refused(&typed, &["__name__"], None).starts_with("group_by: "));
    assert!(refused(&typed, &[], Some("")).starts_with("function: "));
    let many: Vec<String> = (0..65).map(|number| format!("l{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(refused(&typed, &many, None).contains("limit 64"));
}
