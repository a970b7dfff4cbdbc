//! An allocator that counts, so that tests can hold memory against a bound instead of watching a process (D20).
//!
//! A test makes it the allocator of its program: `#[global_allocator] static ALLOCATOR: CountingAllocator =
//! CountingAllocator;`. What one thread allocates and another frees stays counted; work that is measured must run on the
//! thread that measures it.
#![allow(unsafe_code, reason = "an allocator has to forward to the system's")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Counts what each thread holds, and the most that it held.
#[derive(Debug)]
pub struct CountingAllocator;

fn book(bytes: isize) {
    // at the end of a thread its counters are gone before its last memory is
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        book(signed(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        book(-signed(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        book(signed(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // the old and the new block may exist at once
        book(signed(size));
        book(-signed(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Memory that `work` needed at its peak beyond what this thread held before, bytes; 0 where the program's allocator is
/// not [`CountingAllocator`].
pub fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, usize::try_from(PEAK.get() - before).unwrap_or_default())
}
