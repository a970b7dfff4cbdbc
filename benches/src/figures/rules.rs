//! What recording rules add to ingest: every profile of the mixed set decoded and pushed into a store, with ten rules and
//! without any.
//!
//! A push does nothing for rules; profiles are counted when somebody looks, which here is after each hundred: at the
//! 133 profiles a second of 2,000 pods, oftener than any scrape comes. Half of the rules ask for a function, so that stacks
//! are walked; one makes a group of each pod. The log is one in memory, written by a thread of its own, so that the ratio
//! is one of work and not of a disk.

use std::{collections::BTreeMap, sync::Arc};

use formats::{Decoder, Limits};
use profile::{ProfileType, Tenant, TimeRange};
use query::{Control, Engine, NameMode, Selection, TypeSelector};
use rules::{RuleBook, RuleChange, RuleSpec};
use store::{Store, StoreOptions};
use testkit::ForgetfulDisk;
use tokio::runtime::Runtime;

use super::{Sets, merge::cpu};
use crate::{
    BenchError,
    clock::Best,
    figure::{Figure, Limit},
    set::Set,
};

const ROUNDS: usize = 5;

/// Profiles between two looks at the counters.
const LOOK_EVERY: usize = 100;

/// CPU time of programs in Go.
const CPU: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

/// Allocations of programs in Go.
const ALLOCATIONS: &str = "memory:alloc_space:bytes:space:bytes";

/// `rules-ingest`.
///
/// # Errors
/// When the set or a rule is refused.
pub fn measure(sets: &mut Sets) -> Result<Vec<Figure>, BenchError> {
    let set = sets.mix()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _inside = runtime.enter();
    let looks = set.profiles.len().div_ceil(LOOK_EVERY);
    let (mut bare, mut ruled) = (Best::of(set.profiles.len()), Best::of(set.profiles.len()));
    let (mut unused, mut counting) = (Best::of(looks), Best::of(looks));
    let (store, _) = run(&runtime, set, &[], &mut bare, &mut unused)?;
    let functions = functions(&store)?;
    let specs = specs(&functions)?;
    let mut fault = None;
    // Turn about, so that a change in the machine's mood meets both.
    for _ in 0..ROUNDS {
        run(&runtime, set, &[], &mut bare, &mut unused)?;
        let (_, book) = run(&runtime, set, &specs, &mut ruled, &mut counting)?;
        fault = fault.or(wrong(&book, &functions));
    }
    let (bare, ruled, counting) = (bare.sum(), ruled.sum(), counting.sum());
    let each = |seconds: f64| seconds / set.profiles.len() as f64 * 1e6;
    let reference = format!(
        "ingest {:.0} us each without rules, {:.0} with {} and {:.1} for counting, {} profiles",
        each(bare),
        each(ruled),
        specs.len(),
        each(counting),
        set.profiles.len()
    );
    let figure = Figure::new("rules-ingest", (ruled + counting) / bare, "×", Limit::AtMost(1.4), reference);
    Ok(vec![figure.with_fault(fault)])
}

/// Takes in the whole set, and looks at the counters of the rules after each [`LOOK_EVERY`] profiles.
fn run(
    runtime: &Runtime,
    set: &Set,
    specs: &[RuleSpec],
    ingest: &mut Best,
    counting: &mut Best,
) -> Result<(Arc<Store>, Arc<RuleBook>), BenchError> {
    let options = StoreOptions::by_hand("unused");
    let (book, disk, tenant) = (RuleBook::new(), Arc::new(ForgetfulDisk::new()), Tenant::anonymous());
    let store = runtime.block_on(Store::open_counting_on(disk, options, Arc::clone(&book) as Arc<_>))?;
    for spec in specs {
        let change = RuleChange { spec: spec.clone(), ..RuleChange::default() };
        runtime.block_on(book.upsert(&store, &tenant, change))?;
    }
    let (limits, mut decoder) = (Limits::default(), Decoder::new());
    for (position, entry) in set.profiles.iter().enumerate() {
        let accepted = ingest.timed(position, || -> Result<_, BenchError> {
            let (decoded, _) = decoder.pprof(set.body(entry), &limits)?;
            Ok(store.push(&entry.pushed(&tenant, decoded))?)
        })?;
        if (position + 1) % LOOK_EVERY == 0 || position + 1 == set.profiles.len() {
            runtime.block_on(store.durable(accepted.ticket))?;
            counting.timed(position / LOOK_EVERY, || store.count_durable());
        }
    }
    Ok((store, book))
}

/// The CPU time of everything, and functions of the set with theirs: the one with most of its own, one on half of all
/// stacks or more, and one in the middle of the table.
fn functions(store: &Store) -> Result<(i64, BTreeMap<String, i64>), BenchError> {
    let table = top(store)?;
    let rows = &table.rows;
    let broad =
        rows.iter().find(|row| row.total >= table.total / 2).ok_or("the set has no broad function")?;
    let picked = [&rows[0], broad, &rows[rows.len() / 2]];
    Ok((table.total, picked.into_iter().map(|row| (row.name.clone(), row.total)).collect()))
}

fn top(store: &Store) -> Result<query::TopTable, BenchError> {
    let engine = Engine::over(store.view(&Tenant::anonymous(), TimeRange::ALL).datasets);
    let selection = Selection { profile_type: TypeSelector::Exact(ProfileType::parse(CPU)?), ..cpu()? };
    Ok(engine.top(&selection, NameMode::Display, &Control::default())?.data)
}

/// Ten rules as people write them.
fn specs((_, functions): &(i64, BTreeMap<String, i64>)) -> Result<Vec<RuleSpec>, BenchError> {
    let rule = |number: usize, selector: String, group_by: &[&str], function: Option<&str>| RuleSpec {
        metric: format!("profiles_recorded_{number}"),
        selectors: vec![selector],
        group_by: group_by.iter().map(|name| (*name).to_owned()).collect(),
        function: function.map(str::to_owned),
        labels: BTreeMap::new(),
    };
    let names: Vec<&str> = functions.keys().map(String::as_str).collect();
    let [first, second, third] = names[..] else {
        return Err("the set has fewer functions than rules".into());
    };
    let all = |kind: &str| format!("{kind}{{}}");
    let of = |kind: &str, matcher: &str| format!("{kind}{{{matcher}}}");
    Ok(vec![
        rule(0, all(CPU), &[], None),
        rule(1, all(CPU), &[], Some(first)),
        rule(2, all(CPU), &[], Some(second)),
        rule(3, all(CPU), &["service_name"], Some(third)),
        rule(4, all(CPU), &["service_name"], None),
        rule(5, of(CPU, "service_name=\"checkout-go\""), &["pod"], None),
        rule(6, of(CPU, "service_name=~\"checkout-go|search-go\""), &["node"], Some(first)),
        rule(7, all(ALLOCATIONS), &["service_name", "namespace"], None),
        rule(8, of(ALLOCATIONS, "node!=\"node-00\""), &[], None),
        rule(9, all(ALLOCATIONS), &["service_name"], Some("runtime.main")),
    ])
}

/// What the first counters say that a query does not.
fn wrong(book: &RuleBook, (total, functions): &(i64, BTreeMap<String, i64>)) -> Option<String> {
    let series = book.series(&Tenant::anonymous());
    let sum_of = |number: usize| -> i128 {
        let metric = format!("profiles_recorded_{number}");
        series.iter().filter(|one| one.metric == metric).map(|one| one.value).sum()
    };
    let expected: Vec<i64> = std::iter::once(*total).chain(functions.values().copied()).collect();
    for (number, expected) in expected.into_iter().enumerate() {
        if sum_of(number) != i128::from(expected) {
            return Some(format!("rule {number} counted {}, not {expected}", sum_of(number)));
        }
    }
    None
}
