//! Bounds the memory of decoded tables against the size of the body that they come from (R1, D20).
//!
//! Every table grows through [`Budget::room`]; a body whose tables would pass the budget is refused instead of taking
//! the machine's memory. Tables that a decoder kept from earlier bodies are counted too.

use std::{fmt::Debug, sync::Arc};

use crate::{
    DecodeError,
    limits::{Limits, TABLE_BYTES_MIN, TABLE_BYTES_PER_BYTE_MAX},
};

/// Memory that several decoders share. Asked when the tables of a body grow beyond what every body may have
/// ([`TABLE_BYTES_MIN`]), so usual bodies never come here.
pub trait TableMemory: Debug + Send + Sync {
    /// Takes so many further bytes; `false` when they are not there.
    fn take(&self, bytes: usize) -> bool;
}

/// The tables would pass the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// How many bytes the tables of one body may take, and take.
#[derive(Debug)]
pub(crate) struct Budget {
    limit_bytes: usize,
    used_bytes: usize,
    memory: Option<Arc<dyn TableMemory>>,
    /// Bytes that were free or given by the memory.
    given_bytes: usize,
    is_refused: bool,
}

impl Budget {
    /// A budget for a body of `body_bytes`, of which `used_bytes` are taken by kept tables.
    pub(crate) fn new(body_bytes: usize, used_bytes: usize, limits: &Limits) -> Self {
        let own_bytes = body_bytes.saturating_mul(TABLE_BYTES_PER_BYTE_MAX).saturating_add(TABLE_BYTES_MIN);
        Self {
            limit_bytes: own_bytes.min(limits.table_bytes_max),
            used_bytes,
            memory: limits.table_memory.clone(),
            given_bytes: TABLE_BYTES_MIN.max(used_bytes),
            is_refused: false,
        }
    }

    /// Starts over after all tables have been given back; what the memory gave stays given.
    pub(crate) fn forget_tables(&mut self) {
        self.used_bytes = 0;
    }

    /// Whether the shared memory was gone, whatever the body itself may have.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// The error for a body whose tables do not fit.
    pub(crate) fn error(&self) -> DecodeError {
        if self.is_refused {
            return DecodeError::no_memory("profile", "other profiles hold the memory that its tables need");
        }
        let reason = format!(
            "its tables would take more than {} bytes (limit for a body of this size)",
            self.limit_bytes
        );
        DecodeError::too_large("profile", reason)
    }

    /// Makes room for `extra` further entries, so that pushing them allocates nothing.
    #[inline(always)]
    pub(crate) fn room<T>(&mut self, table: &mut Vec<T>, extra: usize) -> Result<(), Full> {
        if table.capacity() - table.len() >= extra { Ok(()) } else { self.grow(table, extra) }
    }

    /// Takes `bytes` for a table that is not a vector.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Full> {
        let used_bytes = self.used_bytes.saturating_add(bytes);
        if used_bytes > self.limit_bytes {
            return Err(Full);
        }
        if used_bytes > self.given_bytes {
            self.ask(used_bytes)?;
        }
        self.used_bytes = used_bytes;
        Ok(())
    }

    /// Asks the shared memory, so that `used_bytes` are given.
    #[cold]
    fn ask(&mut self, used_bytes: usize) -> Result<(), Full> {
        /// Least that is asked for at once, bytes: entries of hash tables come one by one.
        const ASKED_BYTES_MIN: usize = 1 << 20;
        let more = used_bytes.saturating_sub(self.given_bytes).max(ASKED_BYTES_MIN);
        if self.memory.as_ref().is_some_and(|memory| !memory.take(more)) {
            self.is_refused = true;
            return Err(Full);
        }
        self.given_bytes = self.given_bytes.saturating_add(more);
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
        let used_bytes = self.used_bytes + (wanted - before) * entry_bytes;
        if used_bytes > self.given_bytes {
            self.ask(used_bytes)?;
        }
        table.try_reserve_exact(wanted - table.len()).map_err(|_| Full)?;
        self.used_bytes += (table.capacity() - before) * entry_bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Debug)]
    struct Shared(AtomicUsize);

    impl TableMemory for Shared {
        fn take(&self, bytes: usize) -> bool {
            let less = |left: usize| left.checked_sub(bytes);
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        }
    }

    fn limits(shared: &Arc<Shared>) -> Limits {
        Limits { table_memory: Some(Arc::<Shared>::clone(shared)), ..Limits::default() }
    }

    #[test]
    fn large_tables_are_asked_for_and_small_ones_are_free() {
        let shared = Arc::new(Shared(AtomicUsize::new(64 << 20)));
        let mut budget = Budget::new(64 << 20, 0, &limits(&shared));
        let mut table: Vec<u64> = Vec::new();
        budget.room(&mut table, TABLE_BYTES_MIN / 8).unwrap();
        assert_eq!(shared.0.load(Ordering::Relaxed), 64 << 20);
        budget.room(&mut table, 5 << 20).unwrap();
        let left = shared.0.load(Ordering::Relaxed);
        assert!(left <= (64 << 20) + TABLE_BYTES_MIN - (40 << 20), "{left}");
        let mut other: Vec<u64> = Vec::new();
        assert_eq!(budget.room(&mut other, 8 << 20), Err(Full));
        assert!(budget.is_refused() && other.capacity() == 0);
        assert_eq!(budget.error().kind, crate::DecodeErrorKind::NoMemory);
    }

    #[test]
    fn a_body_that_could_never_fit_is_too_large() {
        let limits = Limits { table_bytes_max: 1 << 20, ..Limits::default() };
        let mut budget = Budget::new(64 << 20, 0, &limits);
        assert_eq!(budget.take(2 << 20), Err(Full));
        assert_eq!(budget.error().kind, crate::DecodeErrorKind::TooLarge);
    }
}
