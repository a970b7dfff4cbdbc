//! Asking for memory before it is needed, so that cache misses do not add up.

/// Asks for the first cache line of a value and does not wait for it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn prefetch<T>(value: &T) {
    safe_arch::prefetch_t0(value);
}

/// Asks for nothing: there is no instruction for it that code without `unsafe` can reach.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn prefetch<T>(_: &T) {}
