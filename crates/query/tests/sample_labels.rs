//! Queries on sample labels (D6): the work they take, when they stop, and what they count as answered.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::sync::{Arc, atomic::Ordering};

use profile::TimeRange;
use query::{Control, Engine, NameMode, QueryError, SampleLabels, Selection, StepRange, limits};
use support::{watched::watched, *};

/// A profile of `names` label names: all on one sample, or each on one of its own.
fn with_names(names: usize, on_one_sample: bool) -> Service {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    for number in 0..names {
        if number == 0 || !on_one_sample {
            made.stack("main", &[1]);
        }
        made.label(&format!("name{number:05}"), "v");
    }
    let mut service = Service::new("a");
    service.push("process_cpu", &[], 0, &made.profile());
    service
}

#[test]
fn a_listing_by_very_many_names_takes_work_by_the_labels_that_are_there() {
    const NAMES: usize = 3_000;
    for on_one_sample in [true, false] {
        let (engine, watch) = watched(&with_names(NAMES, on_one_sample));
        let names = engine.label_names(&select("{}"), &control()).unwrap().data;
        assert_eq!(names.len(), NAMES + 1, "the names and service_name");
        watch.asked.store(0, Ordering::Relaxed);
        let sets = engine.series(&select("{}"), &names, SampleLabels::All, &control()).unwrap().data;
        assert_eq!(sets.len(), 1 + if on_one_sample { 1 } else { NAMES });
        assert!(sets.iter().all(|set| set.get("service_name") == Some("a")));
        assert_eq!(sets.iter().map(|set| set.len() - 1).sum::<usize>(), NAMES);
        let asked = watch.asked.load(Ordering::Relaxed);
        assert!(asked <= 4 * NAMES as u64, "{asked} look-ups for {NAMES} labels");
    }
}

#[test]
fn listings_and_matchers_of_sample_labels_stop_when_they_are_told_to() {
    const NAMES: usize = 12_000;
    let service = with_names(NAMES, false);
    let by: Vec<String> = (0..NAMES).map(|number| format!("name{number:05}")).collect();
    type Query<'q> = &'q dyn Fn(&Engine, &Control) -> Result<(), QueryError>;
    let queries: [(&str, Query<'_>); 5] = [
        ("names", &|engine, control| engine.label_names(&select("{}"), control).map(drop)),
        ("values", &|engine, control| engine.label_values(&select("{}"), "none", control).map(drop)),
        ("series", &|engine, control| {
            engine.series(&select("{}"), &by, SampleLabels::All, control).map(drop)
        }),
        ("matcher", &|engine, control| {
            engine.top(&select("{name00000=\"v\"}"), NameMode::Raw, control).map(drop)
        }),
        ("groups", &|engine, control| {
            let range = TimeRange { from: seconds(0), to: seconds(10) };
            let steps = StepRange { range, step_nanos: 10_000_000_000 };
            engine.timeline(&select("{}"), steps, &["none".into()], control).map(drop)
        }),
    ];
    for (name, query) in queries {
        let (engine, watch) = watched(&service);
        watch.cancel_after.store(1_000, Ordering::Relaxed);
        let control = Control { cancelled: Arc::clone(&watch.cancelled), ..control() };
        let result = query(&engine, &control);
        assert!(matches!(result, Err(QueryError::Cancelled)), "{name}: {result:?}");
        let asked = watch.asked.load(Ordering::Relaxed);
        let most = 1_000 + 4 * limits::SAMPLE_LABELS_PER_CHECK as u64;
        assert!(asked <= most, "{name}: {asked} look-ups, told to stop after 1,000");
    }
}

#[test]
fn a_listing_of_large_label_sets_is_cut_and_says_so() {
    let large = "v".repeat(60_000);
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    for number in 0..700 {
        made.stack("main", &[1]);
        made.label("large", &large);
        made.label("number", &number.to_string());
    }
    let mut service = Service::new("a");
    service.push("process_cpu", &[], 0, &made.profile());
    let by = ["large".to_owned(), "number".to_owned()];
    let answer = service.engine().series(&select("{}"), &by, SampleLabels::All, &control()).unwrap();
    assert!(answer.data.len() * 60_000 < limits::SAMPLE_LABEL_SET_BYTES_MAX + 200_000);
    assert!(answer.stats.notices.iter().any(|notice| notice.contains("left out")), "{:?}", answer.stats);
}

/// One profile has the label on a sample, one on another sample only, and one on none.
#[test]
fn only_profiles_with_a_row_that_is_taken_are_counted() {
    let mut service = Service::new("a");
    for (at, env) in [(0, Some("prod")), (10, Some("test")), (20, None)] {
        let mut made = cpu(&[("main;work", 5), ("main;rest", 2)]);
        if let Some(env) = env {
            made.label("env", env);
        }
        service.push("process_cpu", &[("pod", env.unwrap_or("none"))], at, &made.profile());
    }
    let engine = service.engine();
    let prod: Selection = select("{env=\"prod\"}");
    let table = engine.top(&prod, NameMode::Display, &control()).unwrap();
    assert_eq!((table.data.total, table.stats.profiles, table.stats.series), (2, 1, 1));
    let flame = engine.flame(&prod, NameMode::Display, 0, &control()).unwrap();
    assert_eq!((flame.data.nodes[0].total, flame.stats.profiles), (2, 1));
    assert_eq!(engine.pprof(&prod, &control()).unwrap().stats.profiles, 1);
    let steps =
        StepRange { range: TimeRange { from: seconds(0), to: seconds(30) }, step_nanos: 10_000_000_000 };
    assert_eq!(engine.timeline(&prod, steps, &[], &control()).unwrap().stats.profiles, 1);
    let sides = engine.diff(&prod, &select("{}"), NameMode::Display, 0, &control()).unwrap();
    assert_eq!((sides.stats.profiles, sides.stats.series), (1 + 3, 1 + 3));
    // Without the label as much as with another value of it.
    let other = engine.top(&select("{env!=\"prod\"}"), NameMode::Display, &control()).unwrap();
    assert_eq!((other.data.total, other.stats.profiles), (19, 3));
}

/// Pyroscope makes series of texts at samples, never of numbers. Each type of a series answers, with them and without.
#[test]
fn label_sets_by_texts_leave_numbers_out() {
    let mut made = Made::new(&[("inuse_objects", "count"), ("inuse_space", "bytes")]);
    made.stack("main;a", &[1, 16]);
    made.number("bytes", 16, "bytes");
    made.stack("main;b", &[1, 32]);
    made.number("bytes", 32, "bytes");
    made.label("endpoint", "/x");
    let mut service = Service::new("a");
    service.push("memory", &[("pod", "p")], 0, &made.profile());
    let names = ["bytes", "endpoint", "pod", "__type__"].map(str::to_owned);
    let sets =
        |of_samples| service.engine().series(&select("{}"), &names, of_samples, &control()).unwrap().data;
    let of_type = |kind: &'static str, more: &[(&'static str, &'static str)]| {
        let pairs: Vec<_> = [("__type__", kind), ("pod", "p")].iter().chain(more).copied().collect();
        labels(&pairs)
    };
    let types = ["inuse_objects", "inuse_space"];
    let set_of_both = |more: &[&[(&'static str, &'static str)]]| {
        let mut sets: Vec<_> =
            types.iter().flat_map(|kind| more.iter().map(|more| of_type(kind, more))).collect();
        sets.sort();
        sets
    };
    assert_eq!(sets(SampleLabels::Texts), set_of_both(&[&[], &[("endpoint", "/x")]]));
    let with_numbers =
        set_of_both(&[&[], &[("bytes", "16bytes")], &[("bytes", "32bytes"), ("endpoint", "/x")]]);
    assert_eq!(sets(SampleLabels::All), with_numbers);
}

/// A label that the series has is not looked for at samples: no row is read.
#[test]
fn labels_of_series_are_listed_without_a_look_at_samples() {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    made.stack("main", &[1]);
    made.label("pod", "of a sample");
    made.label("__type__", "of a sample");
    let mut service = Service::new("a");
    service.push("process_cpu", &[("pod", "p")], 0, &made.profile());
    let (engine, watch) = watched(&service);
    let names = ["pod", "service_name", "__type__"].map(str::to_owned);
    let series = engine.series(&select("{}"), &names, SampleLabels::All, &control()).unwrap();
    assert_eq!(series.data, [labels(&[("__type__", "cpu"), ("pod", "p"), ("service_name", "a")])]);
    let values = engine.label_values(&select("{}"), "pod", &control()).unwrap();
    assert_eq!(values.data, ["p"]);
    assert_eq!((series.stats.samples, values.stats.samples), (0, 0));
    assert_eq!(watch.asked.load(Ordering::Relaxed), 0);
    // Where one series lacks it, its samples answer, and only those.
    service.push("process_cpu", &[], 1, &made.profile());
    let values = service.engine().label_values(&select("{}"), "pod", &control()).unwrap();
    assert_eq!((values.data, values.stats.samples), (vec!["of a sample".to_owned(), "p".to_owned()], 1));
}

#[test]
fn a_group_by_of_very_many_labels_is_refused() {
    let service = with_names(1, true);
    let range = TimeRange { from: seconds(0), to: seconds(10) };
    let steps = StepRange { range, step_nanos: 10_000_000_000 };
    let by = vec!["name00000".to_owned(); limits::GROUP_LABELS_MAX + 1];
    let result = service.engine().timeline(&select("{}"), steps, &by, &control());
    assert!(matches!(result, Err(QueryError::Invalid { field, .. }) if field == "group_by"));
}
