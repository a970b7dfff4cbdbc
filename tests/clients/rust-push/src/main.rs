//! Does known work and sends its own profile with Pyroscope's Rust SDK, unchanged, until its standard input ends: CPU in
//! `burn_hot` under the label `region=north`.
//!
//! ```text
//! rust-push URL SERVICE
//! ```

use std::{
    hint::black_box,
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use pyroscope::{
    backend::{BackendConfig, PprofConfig, pprof_backend},
    pyroscope::PyroscopeAgentBuilder,
};

/// Where nearly all of the time goes.
#[inline(never)]
fn burn_hot(length: Duration) {
    let mut x = 88_172_645_463_325_252_u64;
    let begun = Instant::now();
    while begun.elapsed() < length {
        // No iterator, which would be a function of its own in a build without optimisation.
        let mut round = 0;
        while round < 1 << 16 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            round += 1;
        }
    }
    black_box(x);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, url, service] = arguments.as_slice() else {
        eprintln!("usage: rust-push URL SERVICE");
        std::process::exit(2);
    };
    let backend = pprof_backend(PprofConfig::default(), BackendConfig::default());
    let agent = PyroscopeAgentBuilder::new(url, service, 100, "pyroscope-rs", "2.1.5", backend)
        .tags(vec![("client", "pyroscope-rs"), ("k8s-app", "bank")])
        .upload_interval(Duration::from_secs(1))
        .build()?;
    let running = agent.start()?;
    let (add_tag, remove_tag) = running.tag_wrapper();
    let ended = Arc::new(AtomicBool::new(false));
    let worker = std::thread::spawn({
        let ended = Arc::clone(&ended);
        move || {
            while !ended.load(Ordering::Relaxed) {
                let _ = add_tag("region".to_owned(), "north".to_owned());
                burn_hot(Duration::from_millis(100));
                let _ = remove_tag("region".to_owned(), "north".to_owned());
            }
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    ended.store(true, Ordering::Relaxed);
    worker.join().map_err(|_| "the worker panicked")?;
    running.stop()?.shutdown();
    Ok(())
}
