//! CPU clocks: of this thread, of this process, and of child processes.

use std::{
    fs::File,
    io,
    path::Path,
    process::{Command, Stdio},
};

use rustix::time::{ClockId, clock_gettime};

/// Ticks per second in /proc/PID/stat; Linux reports 100 to programs on every architecture.
pub const TICKS_PER_SECOND: f64 = 100.0;

/// CPU seconds of the calling thread.
#[must_use]
pub fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// CPU seconds of all threads of this process.
#[must_use]
pub fn process_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// CPU seconds that `work` takes on this thread, and what it returns.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let before = thread_seconds();
    let out = work();
    (thread_seconds() - before, out)
}

/// The best time of each part of some work that is done again and again. Their sum is what the whole takes when nothing
/// else disturbs it: a neighbour on the same machine slows down some parts of every round, but none in all of them.
#[derive(Clone, Debug)]
pub struct Best {
    parts: Vec<f64>,
}

impl Best {
    /// Of so many parts, none of them timed yet.
    #[must_use]
    pub fn of(parts: usize) -> Self {
        Self { parts: vec![f64::INFINITY; parts] }
    }

    /// Does a part, notes how long it took, and gives what it returns.
    pub fn timed<T>(&mut self, part: usize, work: impl FnOnce() -> T) -> T {
        let (seconds, out) = timed(work);
        self.parts[part] = self.parts[part].min(seconds);
        out
    }

    /// Seconds of all parts together.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.parts.iter().sum()
    }
}

/// User and system seconds of all children that were waited for so far (100 ticks a second).
///
/// # Errors
/// Where there is no /proc.
pub fn children_seconds() -> io::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |position: usize| -> f64 {
        fields.get(position).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default()
    };
    Ok((ticks(13) + ticks(14)) / TICKS_PER_SECOND)
}

/// CPU seconds that `gzip -dc` takes for a file of gzip members, all in one process.
///
/// # Errors
/// When gzip cannot be run or refuses the file.
pub fn gzip_seconds(file: &Path) -> io::Result<f64> {
    let before = children_seconds()?;
    let status = Command::new("gzip")
        .arg("-dc")
        .stdin(File::open(file)?)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .status()?;
    if !status.success() {
        return Err(io::Error::other(format!("gzip -dc: {status}")));
    }
    Ok(children_seconds()? - before)
}
