//! How much work one request may ask for: bytes that its profiles inflate to, and only while its client is there.
//!
//! A body of 64 MiB has room for thousands of profiles that inflate to 256 MiB each, an hour of work. What comes after
//! the allowance is used up is refused, never dropped in silence.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{ApiError, ErrorKind, limits, state::CancelOnDrop};

/// What is left for one request.
#[derive(Debug)]
pub(super) struct Allowance {
    used_bytes: u64,
    is_cancelled: Arc<AtomicBool>,
}

impl Allowance {
    /// A whole one. It ends when the guard is dropped, so the guard belongs to the future that waits for the reply.
    pub(super) fn new() -> (Self, CancelOnDrop) {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let guard = CancelOnDrop(Arc::clone(&is_cancelled));
        (Self { used_bytes: 0, is_cancelled }, guard)
    }

    /// Inflated bytes so far.
    pub(super) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Notes what a profile inflated to, whatever became of it.
    pub(super) fn charge(&mut self, inflated_bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_add(inflated_bytes);
    }

    /// Whether the next profile may be worked on.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(ApiError::new(ErrorKind::Cancelled, "", "the client has gone"));
        }
        let (used, limit) = (self.used_bytes, limits::INFLATED_BYTES_PER_REQUEST_MAX);
        if used >= limit {
            let message = format!(
                "not looked at: the profiles before it inflated to {used} bytes (limit of one request: {limit}); \
                 send fewer in one request"
            );
            return Err(ApiError::new(ErrorKind::TooLarge, "", message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_allowance_is_refused() {
        let (mut allowance, _guard) = Allowance::new();
        allowance.charge(limits::INFLATED_BYTES_PER_REQUEST_MAX - 1);
        assert!(allowance.check().is_ok());
        allowance.charge(1);
        let error = allowance.check().unwrap_err();
        assert_eq!(error.status().as_u16(), 413, "{error}");
    }

    #[test]
    fn nothing_is_worked_on_for_a_client_that_has_gone() {
        let (allowance, guard) = Allowance::new();
        assert!(allowance.check().is_ok());
        drop(guard);
        assert_eq!(allowance.check().unwrap_err().kind, ErrorKind::Cancelled);
    }
}
