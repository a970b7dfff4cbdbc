//! Merge of 10,240 profiles of one service to a tree of at most 8,192 nodes: as held right after the push, and from
//! one packed block.
//!
//! Warm: symbols are decoded and files are in memory; no answer is kept from one round to the next.

use std::sync::Arc;

use block::{Block, BlockInput, Dataset, DatasetPart, MemoryFile, write_block};
use profile::{Tenant, Timestamp};
use query::{Control, Engine, NameMode, Selection, Selector, TypeSelector};

use super::{Sets, ingest::ingest_all};
use crate::{
    BenchError,
    accumulate::{PlainRows, ROWS_PER_SECOND_MIN},
    clock::timed,
    figure::{Figure, Limit},
};

const ROUNDS: usize = 9;
/// Nodes of the flame graphs that are asked for.
pub(super) const NODES_MAX: usize = 8192;

/// `merge-block`, `merge-block-ms`, `merge-head`, `merge-head-ms`.
///
/// # Errors
/// When the set is refused or cannot be read back.
pub fn measure(sets: &mut Sets) -> Result<Vec<Figure>, BenchError> {
    let taken = ingest_all(sets.one()?)?;
    let head = taken.services.values().next().ok_or("the set has no service")?.snapshot();
    let packed = pack(head.as_ref())?;
    let mut figures = one_dataset("merge-block", &packed, 2.5, 60.0)?;
    figures.extend(one_dataset("merge-head", &head, 5.0, 150.0)?);
    Ok(figures)
}

/// Writes a dataset as a block and opens it again.
pub(super) fn pack(head: &dyn Dataset) -> Result<Arc<dyn Dataset>, BenchError> {
    let tenant = Tenant::anonymous();
    let mut file = Vec::new();
    let input = BlockInput {
        tenant: &tenant,
        datasets: vec![DatasetPart { dataset: head, profiles: (0..head.profile_count()).collect() }],
        attachments: Vec::new(),
        arrived: Timestamp::now(),
    };
    write_block(&input, &mut file)?;
    let block = Block::open(Arc::new(MemoryFile::new("bench", file)))?;
    Ok(Arc::new(block.dataset(0)?))
}

/// All of the CPU time.
pub(super) fn cpu() -> Result<Selection, BenchError> {
    Ok(Selection {
        tenants: vec![Tenant::anonymous()],
        selector: Selector::parse("{}")?,
        profile_type: TypeSelector::Short("cpu".to_owned()),
        ..Selection::default()
    })
}

fn one_dataset(
    name: &str,
    dataset: &Arc<dyn Dataset>,
    ratio_max: f64,
    milliseconds_max: f64,
) -> Result<Vec<Figure>, BenchError> {
    // Columns are samples and cpu; cpu is what the type below asks for.
    let mut plain = PlainRows::of(dataset.as_ref(), 1)?;
    let expected = plain.accumulate();
    let engine = Engine::over(vec![Arc::clone(dataset)]);
    let selection = cpu()?;
    let control = Control::default();
    // Once unmeasured: decodes symbols and builds the display tree.
    engine.flame(&selection, NameMode::Display, NODES_MAX, &control)?;
    let (mut merging, mut adding) = (f64::INFINITY, f64::INFINITY);
    let mut fault = None;
    let mut profiles = 0;
    for _ in 0..ROUNDS {
        let (seconds, answer) = timed(|| engine.flame(&selection, NameMode::Display, NODES_MAX, &control));
        let answer = answer?;
        merging = merging.min(seconds);
        profiles = answer.stats.profiles;
        let total = answer.data.nodes.first().map_or(0, |root| root.total);
        if total != expected {
            fault = Some(format!("total {total}, but the rows add up to {expected}"));
        }
        // The cut counts real nodes; "other" nodes stand beside them.
        let real = answer.data.nodes.iter().filter(|node| !answer.data.is_other(node)).count();
        if real > NODES_MAX {
            fault = Some(format!("{real} nodes, more than {NODES_MAX}"));
        }
        let (seconds, sum) = timed(|| plain.accumulate());
        adding = adding.min(seconds);
        if sum != expected {
            fault = Some("the bare accumulate is not stable".to_owned());
        }
    }
    let speed = plain.len() as f64 / adding;
    if speed < ROWS_PER_SECOND_MIN {
        fault = fault.or(Some(format!("accumulate below {:.0} M rows/s", ROWS_PER_SECOND_MIN / 1e6)));
    }
    let reference = format!(
        "bare accumulate {:.1} ms = {:.0} M rows/s; {profiles} profiles, {:.2} M rows, {:.0} k nodes",
        adding * 1e3,
        speed / 1e6,
        plain.len() as f64 / 1e6,
        f64::from(dataset.symbols()?.node_count()) / 1e3
    );
    Ok(vec![
        Figure::new(name, merging / adding, "×", Limit::AtMost(ratio_max), reference.clone())
            .with_fault(fault.clone()),
        Figure::new(
            &format!("{name}-ms"),
            merging * 1e3,
            "ms",
            Limit::AtMost(milliseconds_max),
            "thread CPU, best of several".to_owned(),
        )
        .with_fault(fault),
    ])
}
