//! The program's allocator, and what a server does for its memory to be small.
//!
//! The kernel takes longer to hand out a page than most work on it takes, so what was freed is kept for a moment: most of
//! it is wanted again at once. It has to go back all the same while nothing is allocated any more (C024), and by itself
//! the allocator looks after that only when it is called.

use std::{thread, time::Duration};

use crate::output;

/// Decoding and merging allocate in bursts from several threads, where this allocator is faster and gives memory back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a server keeps freed memory at most.
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
#[allow(unsafe_code, reason = "the allocator's crate offers no call of its own for this")]
fn give_back() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: declared as in mimalloc.h. It takes no pointer, and any thread may call it at any time.
    unsafe { mi_collect(true) };
}
