//! The program's allocator, and what a server does for its memory to be small.
//!
//! The kernel takes longer to hand out a page than most work on it takes, so what was freed is kept for a moment: most of
//! it is wanted again at once. It has to go back all the same while nothing is allocated any more (C024), and by itself
//! the allocator looks after that only when it is called. A giant's buffers are the kernel's and are not kept at all.
//!
//! Not here: how much memory requests may hold (`api`, `memory.rs`), and pages that an idle thread's heap keeps, which only
//! that thread could give back.

#![allow(unsafe_code, reason = "an allocator can only be written with it")]

use std::{
    alloc::{GlobalAlloc, Layout},
    ptr::null_mut,
    thread,
    time::Duration,
};

use mimalloc::MiMalloc;
use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

use crate::output;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Decoding and merging allocate in bursts from several threads, where mimalloc is faster than the system's allocator and
/// gives memory back. A block of a size that is seldom wanted again comes from the kernel and goes back there at once, so
/// that a giant's buffers are never there twice, and grows without being copied.
struct Allocator;

/// From so many bytes on, a block is the kernel's.
const MAPPED_BYTES_MIN: usize = 16 << 20;

/// What the kernel's blocks are aligned to at least, bytes: the smallest page of any Linux.
const PAGE_BYTES: usize = 4096;

/// Whether a block is the kernel's: known from its layout alone, when it comes and when it goes.
const fn is_mapped(size: usize, align: usize) -> bool {
    size >= MAPPED_BYTES_MIN && align <= PAGE_BYTES
}

/// A block of zeros from the kernel; null where it has none. Rare, like what follows: kept out of where all others allocate.
#[cold]
#[inline(never)]
fn map(size: usize) -> *mut u8 {
    // SAFETY: a new private mapping at a place of the kernel's choice touches nothing that is there.
    let mapped =
        unsafe { mmap_anonymous(null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
    mapped.map_or(null_mut(), <*mut _>::cast)
}

/// Gives a block back to the kernel, which refuses when it has no memory for its own tables; the block then stays, which
/// harms nobody.
///
/// # Safety
/// The block is a mapping of this size, and nobody has a reference into it any more.
#[cold]
#[inline(never)]
unsafe fn unmap(block: *mut u8, size: usize) {
    // SAFETY: as demanded of the caller.
    let _ = unsafe { munmap(block.cast(), size) };
}

/// Makes a block of the kernel's larger or smaller; null, and the block as it was, where that cannot be.
///
/// # Safety
/// The block is a mapping of the old size, which the caller gives up unless it gets null.
#[cold]
#[inline(never)]
unsafe fn remap(block: *mut u8, old_size: usize, size: usize) -> *mut u8 {
    // SAFETY: as demanded of the caller.
    let moved = unsafe { mremap(block.cast(), old_size, size, MremapFlags::MAYMOVE) };
    moved.map_or(null_mut(), <*mut _>::cast)
}

// SAFETY: every block goes back where it came from, because both times its layout says where that is; the kernel's blocks
// have the size asked for and are aligned to pages, and mimalloc is an allocator.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout.size(), layout.align()) {
            return map(layout.size());
        }
        // SAFETY: the caller keeps to what every allocator demands.
        unsafe { MiMalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout.size(), layout.align()) {
            return map(layout.size());
        }
        // SAFETY: the caller keeps to what every allocator demands.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_mapped(layout.size(), layout.align()) {
            // SAFETY: it was mapped with this layout, and the caller gives it up.
            return unsafe { unmap(block, layout.size()) };
        }
        // SAFETY: the caller keeps to what every allocator demands.
        unsafe { MiMalloc.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (is_mapped(layout.size(), layout.align()), is_mapped(size, layout.align())) {
            // SAFETY: the caller keeps to what every allocator demands.
            (false, false) => unsafe { MiMalloc.realloc(block, layout, size) },
            // SAFETY: it was mapped with this layout, and the caller gives it up unless it gets null.
            (true, true) => unsafe { remap(block, layout.size(), size) },
            // SAFETY: the size is not 0 and fits with the alignment, as the caller has to see to; the new block is
            // another one than the old, and both have as many bytes as are copied.
            _ => unsafe {
                let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !new.is_null() {
                    new.copy_from_nonoverlapping(block, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                new
            },
        }
    }
}

/// How long a server keeps freed memory at most, but for the kernel's blocks, which it never keeps.
const KEPT: Duration = Duration::from_secs(1);

/// What a server wants beyond what a command does: no huge pages, which double the memory of many small growing tables and
/// are slow to come by; and a thread that gives freed memory back. Where that fails the server runs all the same and only
/// needs more memory.
pub(crate) fn serve() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        output::say(&format!("huge pages stay on: {error}"));
    }
    let give_back = || {
        loop {
            thread::sleep(KEPT);
            give_back();
        }
    };
    if let Err(error) = thread::Builder::new().name("memory".to_owned()).spawn(give_back) {
        output::say(&format!("freed memory is given back late: {error}"));
    }
}

/// Gives freed memory of all threads back to the system, but for pages that a thread keeps for what it asks for next.
fn give_back() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: declared as in mimalloc.h. It takes no pointer, and any thread may call it at any time.
    unsafe { mi_collect(true) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_content_when_they_change_sides() {
        let mut bytes = vec![7_u8; MAPPED_BYTES_MIN - 1];
        bytes.reserve_exact(1);
        bytes.push(8);
        assert!(is_mapped(bytes.capacity(), 1));
        bytes.resize(3 * MAPPED_BYTES_MIN + 1, 9);
        assert_eq!((bytes[MAPPED_BYTES_MIN - 1], bytes[MAPPED_BYTES_MIN], bytes[0]), (8, 9, 7));
        bytes.truncate(MAPPED_BYTES_MIN + 5);
        bytes.shrink_to_fit();
        assert_eq!(
            (bytes[MAPPED_BYTES_MIN - 2..].to_vec(), bytes.capacity()),
            (vec![7, 8, 9, 9, 9, 9, 9], bytes.len())
        );
        bytes.truncate(1000);
        bytes.shrink_to_fit();
        assert_eq!(bytes, [7; 1000]);
        let zeroed = vec![0_u64; MAPPED_BYTES_MIN / 8];
        assert!(zeroed.iter().all(|&word| word == 0));
    }

    #[test]
    fn blocks_that_pages_are_too_small_for_are_aligned() {
        #[repr(align(65536))]
        struct Wide([u8; 1 << 16]);
        let wide: Vec<Wide> = (0..300).map(|_| Wide([1; 1 << 16])).collect();
        assert_eq!(wide.as_ptr().addr() % (1 << 16), 0);
        assert!(size_of_val(wide.as_slice()) > MAPPED_BYTES_MIN && wide.iter().all(|one| one.0[9] == 1));
    }
}
