//! A small program to look at: a thread that serves made-up requests, so that `everflame up` has something to show
//! before anything of one's own is profiled (D35).
//!
//! Each request passes through functions whose parts of the work are known: their loops are alike to the instruction
//! and only their lengths differ, so what a sampler finds can be held against [`SHARES`]. It uses half of one core at
//! most. Nothing here is inlined, neither allocates nor waits, but for the pause between two requests.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Name of the thread; samples of it are the demo's.
pub(crate) const THREAD: &str = "everflame-demo";

/// Functions that do the work and their parts of it in hundredths, largest first.
pub const SHARES: [(&str, u64); 4] =
    [("decode_cart", 50), ("apply_discounts", 20), ("escape_text", 18), ("compress_page", 12)];

/// A thread at work; it ends when this is dropped.
pub(crate) struct Demo {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Demo {
    /// Starts it.
    pub fn start() -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name(THREAD.to_owned()).spawn(move || serve(&told))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there has been told by the thread itself.
            let _ = thread.join();
        }
    }
}

/// Requests until it is told to stop: as long at rest as at work.
#[inline(never)]
fn serve(stop: &AtomicBool) -> u64 {
    let mut seed = 1_u64;
    let mut sum = 0;
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        sum ^= handle_requests(&mut seed);
        std::thread::sleep(begun.elapsed().min(Duration::from_millis(100)));
    }
    sum
}

/// Some milliseconds of requests between two rests, so that going to sleep takes no part of the time that counts.
///
/// Each is far shorter than a tick of the kernel's clock, and no two are of one length. The kernel looks at the timer at
/// its ticks, and on a busy machine a thread often comes back at one: with one long request between two rests, what is
/// done first would be seen too seldom.
#[inline(never)]
fn handle_requests(seed: &mut u64) -> u64 {
    let mut sum = 0;
    let count = 100 + *seed % 100;
    for _ in 0..count {
        *seed = (*seed * 48_271) % 0x7fff_ffff;
        sum ^= handle_request(*seed, 100 + *seed % 300);
    }
    black_box(sum)
}

#[inline(never)]
fn handle_request(seed: u64, size: u64) -> u64 {
    let cart = read_cart(seed, size);
    let priced = price_cart(cart, size);
    let page = render_receipt(priced, size);
    // The last call is no tail call, so that this function stays on the stack.
    black_box(page) ^ seed
}

#[inline(never)]
fn read_cart(seed: u64, size: u64) -> u64 {
    black_box(decode_cart(seed, size * SHARES[0].1)) ^ 1
}

#[inline(never)]
fn price_cart(cart: u64, size: u64) -> u64 {
    black_box(apply_discounts(cart, size * SHARES[1].1)) ^ 2
}

#[inline(never)]
fn render_receipt(priced: u64, size: u64) -> u64 {
    let text = escape_text(priced, size * SHARES[2].1);
    black_box(compress_page(text, size * SHARES[3].1)) ^ 3
}

/// A function that does `rounds` rounds of one and the same work. Written out by a macro, with plain operators only, so
/// that no debug information names an inlined function as the innermost; the multipliers differ, so that the linker
/// does not join the functions.
macro_rules! work {
    ($name:ident, $multiplier:literal) => {
        #[inline(never)]
        fn $name(seed: u64, rounds: u64) -> u64 {
            let mut value = seed | 1;
            let mut left = rounds;
            while left > 0 {
                left -= 1;
                // 32 bits times 31 bits: it cannot overflow.
                value = (value & 0xffff_ffff) * $multiplier;
                value ^= value >> 29;
            }
            black_box(value)
        }
    };
}

work!(decode_cart, 0x4182_bed5);
work!(apply_discounts, 0x5851_f42d);
work!(escape_text, 0x6c07_8965);
work!(compress_page, 0x7fef_4ed3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_of_one_whole_and_the_first_is_the_largest() {
        assert_eq!(SHARES.iter().map(|(_, share)| share).sum::<u64>(), 100);
        assert!(SHARES[1..].iter().all(|(_, share)| share * 2 < SHARES[0].1));
    }

    #[test]
    fn it_ends_when_it_is_dropped() {
        let demo = Demo::start().unwrap();
        let stop = Arc::clone(&demo.stop);
        drop(demo);
        assert!(stop.load(Ordering::Relaxed));
        // The thread had the other clone.
        assert_eq!(Arc::strong_count(&stop), 1);
    }

    #[test]
    fn the_loops_do_something_that_nobody_can_leave_out() {
        let results =
            [decode_cart(7, 100), apply_discounts(7, 100), escape_text(7, 100), compress_page(7, 100)];
        for (position, result) in results.iter().enumerate() {
            assert!(!results[..position].contains(result), "{results:?}");
        }
        assert_ne!(handle_request(7, 10), handle_request(8, 10));
    }
}
