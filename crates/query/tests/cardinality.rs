//! Counting what labels spread a selection out into.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use query::{Cardinality, Engine, LabelCardinality, limits};
use support::*;

fn counted(engine: &Engine, selector: &str, top: usize) -> Cardinality {
    engine.cardinality(&select(selector), top, &control()).unwrap().data
}

fn of<'a>(counted: &'a Cardinality, name: &str) -> &'a LabelCardinality {
    counted.labels.iter().find(|label| label.name == name).unwrap()
}

#[test]
fn the_label_that_makes_the_series_comes_first() {
    let mut service = Service::new("cart");
    for pod in 0..20 {
        let (pod, zone) = (format!("p{pod}"), ["a", "b"][pod % 2]);
        service.cpu(&[("pod", &pod), ("zone", zone)], 1, &[("main", 1)]);
        service.cpu(&[("pod", &pod), ("zone", zone)], 2, &[("main", 1)]);
    }
    service.cpu(&[("zone", "a")], 3, &[("main", 1)]);
    // The same series in memory and in a block are one.
    for datasets in [vec![service.dataset()], vec![service.dataset(), service.packed()]] {
        let counted = counted(&Engine::over(datasets), "{}", 2);
        assert_eq!(counted.series, 21);
        let names: Vec<(&str, u64)> =
            counted.labels.iter().map(|label| (label.name.as_str(), label.values)).collect();
        assert_eq!(names, [("pod", 20), ("zone", 2), ("service_name", 1)]);
        let pod = of(&counted, "pod");
        // Without pods the one series without a pod falls together with those of its zone.
        assert_eq!((pod.series, pod.series_without, pod.sample_values), (20, 2, 0));
        assert_eq!(pod.top, [("p0".to_owned(), 1), ("p1".to_owned(), 1)]);
        let zone = of(&counted, "zone");
        assert_eq!((zone.series, zone.series_without), (21, 21));
        assert_eq!(zone.top, [("a".to_owned(), 11), ("b".to_owned(), 10)]);
    }
    let chosen = counted(&service.engine(), r#"{zone="b"}"#, 5);
    assert_eq!((chosen.series, of(&chosen, "zone").values), (10, 1));
    assert_eq!(counted(&service.engine(), r#"{zone="c"}"#, 5), Cardinality::default());
}

#[test]
fn labels_of_samples_are_counted_apart() {
    let mut service = Service::new("cart");
    let mut made = cpu(&[]);
    for user in ["u1", "u2", "u3"] {
        made.stack("main", &[1]);
        made.label("user", user);
        made.label("pod", "p9");
    }
    service.push("process_cpu", &[("pod", "p1")], 1, &made.profile());
    let counted = counted(&service.engine(), "{}", 10);
    assert_eq!(counted.series, 1);
    let user = of(&counted, "user");
    assert_eq!((user.values, user.series, user.series_without, user.sample_values), (3, 0, 1, 3));
    let pod = of(&counted, "pod");
    assert_eq!((pod.values, pod.series, pod.sample_values), (2, 1, 1));
    assert_eq!(pod.top, [("p1".to_owned(), 1), ("p9".to_owned(), 3)]);
}

#[test]
fn services_are_named_by_how_many_values_they_have() {
    let (mut cart, mut shop) = (Service::new("cart"), Service::new("shop"));
    for pod in 0..5 {
        let pod = format!("p{pod}");
        cart.cpu(&[("pod", &pod), ("zone", "a")], 1, &[("main", 1)]);
        cart.cpu(&[("pod", &pod), ("zone", "b")], 1, &[("main", 1)]);
    }
    shop.cpu(&[("pod", "p0"), ("zone", "a")], 1, &[("main", 1)]);
    let mut made = cpu(&[]);
    for user in ["u1", "u2"] {
        made.stack("main", &[1]);
        made.label("user", user);
    }
    shop.push("process_cpu", &[("zone", "a")], 1, &made.profile());
    let counted =
        |top| counted(&Engine::over(vec![cart.dataset(), cart.packed(), shop.dataset()]), "{}", top);
    let services = |name: &str| of(&counted(5), name).services.clone();
    let named = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    assert_eq!(services("pod"), named(&[("cart", 5), ("shop", 1)]));
    assert_eq!(services("zone"), named(&[("cart", 2), ("shop", 1)]));
    assert_eq!(services("user"), named(&[("shop", 2)]));
    assert_eq!(services("service_name"), []);
    assert_eq!(of(&counted(1), "pod").services, named(&[("cart", 5)]));
}

/// Clients that make names up: the report stays within its limit, and the labels with most values are in it.
#[test]
fn more_labels_than_a_report_has_are_cut_and_said() {
    let mut service = Service::new("cart");
    for number in 0..limits::CARDINALITY_LABELS_MAX {
        let name = format!("n{number}");
        service.cpu(&[(&name, "1"), ("zz", ["a", "b"][number % 2])], 1, &[("main", 1)]);
    }
    let answer = service.engine().cardinality(&select("{}"), 1, &control()).unwrap();
    assert_eq!(answer.data.labels.len(), limits::CARDINALITY_LABELS_MAX);
    assert_eq!((answer.data.labels[0].name.as_str(), answer.data.labels[0].values), ("zz", 2));
    assert_eq!(answer.data.series, u64::try_from(limits::CARDINALITY_LABELS_MAX).unwrap());
    assert!(answer.stats.notices.iter().any(|notice| notice.contains("1002 labels")), "{:?}", answer.stats);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against sets of strings.
    #[test]
    fn counts_are_those_of_sets(pushed in prop::collection::vec((0_u8..4, 0_u8..3, 0_u8..3), 1..40)) {
        let mut service = Service::new("cart");
        let mut series: BTreeSet<(u8, u8, u8)> = BTreeSet::new();
        for (at, &(a, b, c)) in pushed.iter().enumerate() {
            let texts = [a, b, c].map(|number| number.to_string());
            // 0 = the label is not there.
            let pairs: Vec<(&str, &str)> =
                ["a", "b", "c"].into_iter().zip(texts.iter().map(String::as_str)).filter(|(_, text)| *text != "0").collect();
            service.cpu(&pairs, i64::try_from(at).unwrap(), &[("main", 1)]);
            series.insert((a, b, c));
        }
        let counted = counted(&service.engine(), "{}", usize::MAX);
        prop_assert_eq!(counted.series, series.len() as u64);
        for (name, pick) in [("a", 0), ("b", 1), ("c", 2)] {
            let value = |one: &(u8, u8, u8)| [one.0, one.1, one.2][pick];
            let values: BTreeSet<u8> = series.iter().map(value).filter(|&value| value > 0).collect();
            let without: BTreeSet<[u8; 3]> = series
                .iter()
                .map(|one| {
                    let mut rest = [one.0, one.1, one.2];
                    rest[pick] = 0;
                    rest
                })
                .collect();
            let Some(label) = counted.labels.iter().find(|label| label.name == name) else {
                prop_assert!(values.is_empty());
                continue;
            };
            prop_assert_eq!(label.values, values.len() as u64);
            prop_assert_eq!(label.series_without, without.len() as u64);
            prop_assert_eq!(label.series, series.iter().filter(|one| value(one) > 0).count() as u64);
            prop_assert_eq!(label.top.iter().map(|(_, count)| count).sum::<u64>(), label.series);
        }
    }
}
