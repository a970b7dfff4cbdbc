//! Bounds the memory of decoded tables against the size of the body that they come from (R1, D20).
//!
//! Every table grows through [`Budget::room`]; a body whose tables would pass the budget is refused instead of taking
//! the machine's memory. Tables that a decoder kept from earlier bodies are counted too.

use crate::limits::{TABLE_BYTES_MIN, TABLE_BYTES_PER_BYTE_MAX};

/// The tables would pass the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// How many bytes the tables of one body may take, and take.
#[derive(Debug)]
pub(crate) struct Budget {
    limit_bytes: usize,
    used_bytes: usize,
}

impl Budget {
    /// A budget for a body of `body_bytes`, of which `used_bytes` are taken by kept tables.
    pub(crate) fn new(body_bytes: usize, used_bytes: usize) -> Self {
        let limit_bytes = body_bytes.saturating_mul(TABLE_BYTES_PER_BYTE_MAX).saturating_add(TABLE_BYTES_MIN);
        Self { limit_bytes, used_bytes }
    }

    /// Bytes that the tables may take at most.
    pub(crate) fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Makes room for `extra` further entries, so that pushing them allocates nothing.
    #[inline(always)]
    pub(crate) fn room<T>(&mut self, table: &mut Vec<T>, extra: usize) -> Result<(), Full> {
        if table.capacity() - table.len() >= extra { Ok(()) } else { self.grow(table, extra) }
    }

    /// Takes `bytes` for a table that is not a vector.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Full> {
        let used_bytes = self.used_bytes.saturating_add(bytes);
        if used_bytes > self.limit_bytes {
            return Err(Full);
        }
        self.used_bytes = used_bytes;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn grow<T>(&mut self, table: &mut Vec<T>, extra: usize) -> Result<(), Full> {
        let entry_bytes = size_of::<T>().max(1);
        let needed = table.len().saturating_add(extra);
        let free_bytes = self.limit_bytes.saturating_sub(self.used_bytes);
        // Old and new table exist at once while one is copied to the other, so the new one must fit beside the old.
        let affordable = free_bytes / entry_bytes;
        if needed > affordable {
            return Err(Full);
        }
        let wanted = needed.max(table.capacity().saturating_mul(2)).max(64).min(affordable);
        let before = table.capacity();
        table.try_reserve_exact(wanted - table.len()).map_err(|_| Full)?;
        self.used_bytes += (table.capacity() - before) * entry_bytes;
        Ok(())
    }
}
