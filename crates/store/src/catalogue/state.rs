//! What the catalogue says, and how an edit changes it.

use std::collections::{BTreeMap, BTreeSet};

use profile::{Tenant, TimeRange, Timestamp};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// A block as the catalogue knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockEntry {
    /// Name of its object.
    pub name: String,
    /// Whose data it holds.
    pub tenant: String,
    /// Size of the object, bytes.
    pub bytes: u64,
    /// Log generation that it was flushed from.
    pub generation: u64,
    /// Start of the earliest profile, ns.
    pub time_first: i64,
    /// Start of the latest profile, ns.
    pub time_last: i64,
    /// Latest end of a profile, ns (D13).
    pub data_end: i64,
    /// Latest arrival of a profile, ns (D13).
    pub arrived: i64,
    /// Number of profiles.
    pub profiles: u64,
    /// Number of rows.
    pub rows: u64,
}

impl BlockEntry {
    /// Whether the block belongs to a tenant and has a profile that may start in the range.
    #[must_use]
    pub fn touches(&self, tenant: &Tenant, range: TimeRange) -> bool {
        self.tenant == tenant.as_str() && range.touches(Timestamp(self.time_first), Timestamp(self.time_last))
    }

    /// What retention counts from: the later of the data's end and its arrival (D13).
    #[must_use]
    pub fn age_from(&self) -> i64 {
        self.data_end.max(self.arrived)
    }
}

/// One change, seen whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// New blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<BlockEntry>,
    /// Names of blocks that go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Log generations whose every profile is in blocks; their log files are no longer needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations_done: Vec<u64>,
    /// Name of the object with the tally of everything up to here, where that is another now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tally: Option<String>,
}

/// All blocks and finished generations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueState {
    /// Blocks by name.
    blocks: BTreeMap<String, BlockEntry>,
    /// All generations below are done.
    generations_done_below: u64,
    /// Done generations from there on.
    generations_done: BTreeSet<u64>,
    /// Name of the object with the tally of the done generations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tally: Option<String>,
}

impl CatalogueState {
    /// All blocks, sorted by name.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = &BlockEntry> {
        self.blocks.values()
    }

    /// A block.
    #[must_use]
    pub fn block(&self, name: &str) -> Option<&BlockEntry> {
        self.blocks.get(name)
    }

    /// Whether a generation's log is no longer needed.
    #[must_use]
    pub fn is_generation_done(&self, generation: u64) -> bool {
        generation < self.generations_done_below || self.generations_done.contains(&generation)
    }

    /// A generation that no edit has mentioned, nor any below an edit's; a log must not use one below it again.
    #[must_use]
    pub fn generation_unused(&self) -> u64 {
        let highest_done = self.generations_done.last().map_or(0, |last| last.saturating_add(1));
        let highest_block = self.blocks.values().map(|block| block.generation.saturating_add(1)).max();
        self.generations_done_below.max(highest_done).max(highest_block.unwrap_or(0))
    }

    /// Name of the object with the tally of the done generations; `None` = nothing was ever counted.
    #[must_use]
    pub fn tally(&self) -> Option<&str> {
        self.tally.as_deref()
    }

    /// Bytes of all blocks.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.blocks.values().fold(0, |sum, block| sum.saturating_add(block.bytes))
    }

    /// Whether every block is found by its own name; what is read from a file may say otherwise.
    pub(super) fn has_names_of_blocks(&self) -> bool {
        self.blocks.iter().all(|(name, block)| *name == block.name)
    }

    /// Whether the edit's effect is here already.
    pub(super) fn has(&self, edit: &Edit) -> bool {
        edit.added.iter().all(|block| self.blocks.get(&block.name) == Some(block))
            && edit.removed.iter().all(|name| !self.blocks.contains_key(name))
            && edit.generations_done.iter().all(|&generation| self.is_generation_done(generation))
            && edit.tally.as_ref().is_none_or(|tally| self.tally.as_ref() == Some(tally))
    }

    /// Whether the edit may be applied.
    pub(super) fn check(&self, edit: &Edit) -> Result<(), StoreError> {
        let wrong = |reason: String| Err(StoreError::Io { what: "catalogue edit".into(), reason });
        for block in &edit.added {
            if self.blocks.contains_key(&block.name) {
                return wrong(format!("adds block {}, which is there already", block.name));
            }
        }
        for name in &edit.removed {
            if !self.blocks.contains_key(name) {
                return wrong(format!("removes block {name}, which is not there"));
            }
        }
        Ok(())
    }

    /// Applies an edit.
    pub(super) fn apply(&mut self, edit: &Edit) -> Result<(), StoreError> {
        self.check(edit)?;
        for block in &edit.added {
            self.blocks.insert(block.name.clone(), block.clone());
        }
        for name in &edit.removed {
            self.blocks.remove(name);
        }
        self.generations_done.extend(&edit.generations_done);
        if let Some(tally) = &edit.tally {
            self.tally = Some(tally.clone());
        }
        // The last of all numbers stays in the set: there is none above it.
        while let Some(next) = self.generations_done_below.checked_add(1)
            && self.generations_done.remove(&self.generations_done_below)
        {
            self.generations_done_below = next;
        }
        Ok(())
    }
}
