//! The binary flame reply of 100,000 nodes: written and compressed, against compressing alone.
//!
//! Merging is not in it, see `merge`.

use query::{Control, Engine, NameMode};

use super::{Sets, ingest::ingest_all, merge};
use crate::{
    BenchError,
    clock::timed,
    figure::{Figure, Limit},
};

const ROUNDS: usize = 9;
const NODES: usize = 100_000;

/// Most bytes of the reply as it goes out.
const PACKED_BYTES_MAX: usize = 300 << 10;

/// `flame-reply`, `flame-reply-ms`, `flame-reply-kib`.
///
/// # Errors
/// When the set is refused or cannot be read back.
pub fn measure(sets: &mut Sets) -> Result<Vec<Figure>, BenchError> {
    let taken = ingest_all(sets.one()?)?;
    let head = taken.services.values().next().ok_or("the set has no service")?.snapshot();
    let engine = Engine::over(vec![merge::pack(head.as_ref())?]);
    let tree = engine.flame(&merge::cpu()?, NameMode::Display, NODES, &Control::default())?.data;
    let stats = wire::Stats::default();
    let (mut both, mut packing) = (f64::INFINITY, f64::INFINITY);
    let mut packed = Vec::new();
    for _ in 0..ROUNDS {
        let (seconds, reply) = timed(|| {
            let bytes = api::flame_format::encode_flame(&tree, &stats)?;
            let packed = zstd::bulk::compress(&bytes, api::limits::ZSTD_LEVEL)?;
            Ok::<_, BenchError>((bytes, packed))
        });
        let (bytes, reply) = reply?;
        both = both.min(seconds);
        packed = reply;
        let (seconds, alone) = timed(|| zstd::bulk::compress(&bytes, api::limits::ZSTD_LEVEL));
        packing = packing.min(seconds);
        if alone? != packed {
            return Err("equal bytes are not compressed alike".into());
        }
    }
    let fault = (tree.nodes.len() < NODES).then(|| format!("only {} nodes", tree.nodes.len()));
    let reference = format!("zstd alone {:.1} ms; {} nodes", packing * 1e3, tree.nodes.len());
    let size = format!("of at most {} KiB", PACKED_BYTES_MAX >> 10);
    let kib = packed.len() as f64 / 1024.0;
    Ok(vec![
        Figure::new("flame-reply", both / packing, "×", Limit::AtMost(2.5), reference)
            .with_fault(fault.clone()),
        Figure::new(
            "flame-reply-ms",
            both * 1e3,
            "ms",
            Limit::AtMost(30.0),
            "thread CPU, best of several".into(),
        )
        .with_fault(fault.clone()),
        Figure::new("flame-reply-kib", kib, "KiB", Limit::AtMost(300.0), size).with_fault(fault),
    ])
}
