//! Bytes that requests hold at the same time: bodies as received and as inflated (D19).
//!
//! A [`Budget`] hands out [`Claim`]s; who gets none answers 503 with `Retry-After`. A claim gives its bytes back when it
//! is dropped, so a request that ends in any way frees them.

use std::sync::{
    Arc,
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
}
