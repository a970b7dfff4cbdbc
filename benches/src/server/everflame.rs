//! The release binary as a process: start, watch, stop.

use std::{
    fs, io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{BenchError, clock::TICKS_PER_SECOND};

/// Longest wait for a server to be ready or idle.
const PATIENCE: Duration = Duration::from_secs(300);

/// The program under test.
pub struct Binary {
    /// Where it is.
    pub path: PathBuf,
}

impl Binary {
    /// The one that was built beside this program.
    ///
    /// # Errors
    /// When it is not there.
    pub fn find() -> Result<Self, BenchError> {
        let path = std::env::current_exe()?.with_file_name("everflame");
        if !path.is_file() {
            return Err(format!("{} is missing: cargo build --release -p cli", path.display()).into());
        }
        Ok(Self { path })
    }

    /// Size of the file, bytes.
    ///
    /// # Errors
    /// When it is gone.
    pub fn bytes(&self) -> io::Result<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }

    /// Starts a server with an empty data folder and waits until it is ready.
    ///
    /// # Errors
    /// When it does not get ready.
    pub fn start(&self, name: &str, flags: &[&str]) -> Result<Server, BenchError> {
        let mut server = self.spawn(name, flags)?;
        server.wait_ready()?;
        Ok(server)
    }

    /// The same with all threads of the server on one core: what a profile costs then is its work, not what threads that
    /// share the machine with the load generator cost each other.
    ///
    /// # Errors
    /// When it does not get ready.
    pub fn start_on_one_core(&self, name: &str, flags: &[&str]) -> Result<Server, BenchError> {
        let mut server = on_one_core(|| self.spawn(name, flags))??;
        server.wait_ready()?;
        Ok(server)
    }

    /// Starts a server with an empty data folder.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn spawn(&self, name: &str, flags: &[&str]) -> Result<Server, BenchError> {
        let data_dir = crate::set::sets_folder()?.join(format!("data-{name}"));
        if data_dir.exists() {
            fs::remove_dir_all(&data_dir)?;
        }
        fs::create_dir_all(&data_dir)?;
        // A port that is free now; nobody else binds ports on this machine while we measure.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let log = fs::File::create(data_dir.with_extension("log"))?;
        let child = Command::new(&self.path)
            .args(["server", "--listen", &address, "--log-level", "warn", "--data-dir"])
            .arg(&data_dir)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        Ok(Server { child, url: format!("http://{address}"), data_dir, agent: agent() })
    }
}

/// Does something while this thread is bound to the last of its cores, which a process started meanwhile inherits.
fn on_one_core<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    let all = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&core| all.is_set(core)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one)?;
    let done = work();
    sched_setaffinity(None, &all)?;
    Ok(done)
}

/// A client that takes every status as an answer.
fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
    config.build().new_agent()
}

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub url: String,
    /// Its data folder.
    pub data_dir: PathBuf,
    agent: ureq::Agent,
}

impl Server {
    /// Process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for `/ready`.
    ///
    /// # Errors
    /// When the process ends or stays unready.
    pub fn wait_ready(&mut self) -> Result<(), BenchError> {
        let begun = Instant::now();
        loop {
            if self.agent.get(&format!("{}/ready", self.url)).call().is_ok_and(|reply| reply.status() == 200)
            {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                let log = fs::read_to_string(self.data_dir.with_extension("log")).unwrap_or_default();
                return Err(format!("the server ended: {status}\n{log}").into());
            }
            if begun.elapsed() > PATIENCE {
                return Err("the server does not get ready".into());
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends a body and returns status and text.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn post(&self, path: &str, body: &[u8]) -> Result<(u16, String), BenchError> {
        let mut reply = self.agent.post(&format!("{}{path}", self.url)).send(body)?;
        Ok((reply.status().as_u16(), reply.body_mut().read_to_string()?))
    }

    /// All of `/metrics`.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn metrics(&self) -> Result<String, BenchError> {
        Ok(self.agent.get(&format!("{}/metrics", self.url)).call()?.body_mut().read_to_string()?)
    }

    /// A number of `/metrics`.
    ///
    /// # Errors
    /// When there is no answer or no such number: a figure that is not there must not pass for 0.
    pub fn metric(&self, name: &str) -> Result<f64, BenchError> {
        let text = self.metrics()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.trim().parse().ok())
            .ok_or_else(|| format!("/metrics has no {name}").into())
    }

    /// CPU seconds so far, all threads.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn cpu_seconds(&self) -> io::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id()))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        Ok((ticks(11) + ticks(12)) / TICKS_PER_SECOND)
    }

    /// A line of /proc/PID/status in MB: `VmRSS`, `VmHWM` (highest so far).
    ///
    /// # Errors
    /// When the process is gone.
    pub fn memory_mb(&self, line: &str) -> io::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let value = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
        let kib = value.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0);
        Ok(kib * 1024.0 / 1e6)
    }

    /// Begins a new highest memory, where the kernel allows it.
    pub fn reset_peak(&self) {
        _ = fs::write(format!("/proc/{}/clear_refs", self.id()), "5");
    }

    /// Waits until every profile is in a block and the process has done nothing for two seconds.
    ///
    /// # Errors
    /// When that does not come.
    pub fn settle(&self) -> Result<(), BenchError> {
        // Asking costs the server CPU which is not the set's: a minute of a question a second is a hundredth of `mix`.
        const PAUSE: Duration = Duration::from_secs(10);
        let begun = Instant::now();
        while self.metric("everflame_head_profiles")? > 0.0 {
            if begun.elapsed() > PATIENCE {
                return Err("profiles stay in the head".into());
            }
            thread::sleep(PAUSE);
        }
        let mut quiet = 0;
        while quiet < 2 {
            let before = self.cpu_seconds()?;
            thread::sleep(Duration::from_secs(1));
            quiet = if self.cpu_seconds()? - before > 0.03 { 0 } else { quiet + 1 };
            if begun.elapsed() > PATIENCE {
                return Err("the server does not get idle".into());
            }
        }
        Ok(())
    }

    /// Bytes that the data folder takes on the disk.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn disk_bytes(&self) -> io::Result<u64> {
        allocated(&self.data_dir)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        _ = fs::remove_dir_all(&self.data_dir);
    }
}

/// Bytes that the files below a folder take.
fn allocated(folder: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { allocated(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}
