//! Bytes that requests hold at the same time: bodies as received and as inflated (D19), decoded tables, and answers.
//!
//! A [`Budget`] hands out [`Claim`]s; who gets none answers 503 with `Retry-After`. A claim gives its bytes back when it
//! is dropped, so a request that ends in any way frees them.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::{ApiError, limits};

/// A number of bytes that claims share.
#[derive(Clone, Debug)]
pub struct Budget {
    used: Arc<AtomicUsize>,
    limit: usize,
}

/// Bytes taken from a [`Budget`].
#[derive(Debug)]
pub struct Claim {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { used: Arc::new(AtomicUsize::new(0)), limit }
    }

    /// Bytes claimed now.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that claims may have together.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// 503 when they are not there.
    pub fn claim(&self, bytes: usize) -> Result<Claim, ApiError> {
        let mut claim = Claim { budget: self.clone(), bytes: 0 };
        claim.grow_to(bytes)?;
        Ok(claim)
    }
}

impl Claim {
    /// Bytes of this claim.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes the claim at least so large.
    ///
    /// # Errors
    /// 503 when the bytes are not there; the claim is then as it was.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let more = bytes.saturating_sub(self.bytes);
        let limit = self.budget.limit;
        let taken = self.budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(more).filter(|&sum| sum <= limit)
        });
        if taken.is_err() {
            return Err(ApiError::unavailable(
                format!("requests in flight hold {} of {limit} bytes", self.budget.used()),
                limits::RETRY_AFTER_SECONDS,
            ));
        }
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes of one decoder's tables, claimed as they grow.
#[derive(Debug)]
pub(crate) struct TableClaim(Mutex<Claim>);

impl TableClaim {
    /// Nothing yet, from a budget.
    pub(crate) fn new(budget: &Budget) -> Result<Self, ApiError> {
        Ok(Self(Mutex::new(budget.claim(0)?)))
    }

    /// Adds bytes that working on the tables takes. A profile that would need more than the whole budget gets all of it:
    /// it is taken in when nothing else large is.
    ///
    /// # Errors
    /// 503 when others hold them.
    pub(crate) fn add_work(&self, bytes: usize) -> Result<(), ApiError> {
        let mut claim = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = claim.bytes.saturating_add(bytes).min(claim.budget.limit);
        claim.grow_to(bytes)
    }
}

impl formats::TableMemory for TableClaim {
    fn take(&self, bytes: usize) -> bool {
        let mut claim = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = claim.bytes.saturating_add(bytes);
        claim.grow_to(bytes).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_share_and_give_back() {
        let budget = Budget::new(100);
        let mut first = budget.claim(60).unwrap();
        assert_eq!(budget.claim(50).unwrap_err().status(), 503);
        first.grow_to(100).unwrap();
        assert!(first.grow_to(101).is_err());
        assert_eq!(first.bytes(), 100);
        drop(first);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn work_on_tables_shares_their_budget_and_a_giant_is_taken_in_alone() {
        let budget = Budget::new(100);
        let (giant, other) = (TableClaim::new(&budget).unwrap(), TableClaim::new(&budget).unwrap());
        other.add_work(10).unwrap();
        assert_eq!(giant.add_work(1000).unwrap_err().status(), 503);
        drop(other);
        giant.add_work(1000).unwrap();
        giant.add_work(1000).unwrap();
        assert_eq!(budget.used(), 100);
        let late = TableClaim::new(&budget).unwrap();
        assert_eq!(late.add_work(1).unwrap_err().status(), 503);
        drop((giant, late));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn large_tables_of_bodies_at_once_share_a_budget() {
        let budget = Budget::new(40 << 20);
        let decoder_limits = || formats::Limits {
            table_memory: Some(Arc::new(TableClaim::new(&budget).unwrap())),
            ..limits::decoder()
        };
        // Two bytes for an entry of eight: tables are four times the body and more.
        let greedy = [&b"\x0a\0"[..], &b"\x32\0".repeat(4 << 20)].concat();
        let (first, second) = (decoder_limits(), decoder_limits());
        let mut decoder = formats::Decoder::new();
        assert!(decoder.pprof(&greedy, &first).is_ok());
        assert!(budget.used() > 20 << 20, "{}", budget.used());
        let error = formats::Decoder::new().pprof(&greedy, &second).map(|_| ()).unwrap_err();
        let error = ApiError::from(error);
        assert_eq!((error.status().as_u16(), error.retry_after_seconds), (503, Some(1)), "{error}");
        drop((first, second));
        assert_eq!(budget.used(), 0);
        assert!(formats::Decoder::new().pprof(&greedy, &decoder_limits()).is_ok());
    }
}
