//! What the system tests share: they start the real program on a free port with a data folder of their own, and talk to
//! it over sockets as any client would.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]
#![allow(clippy::print_stderr, reason = "the log of a server is part of why a test failed")]

pub mod body;
pub mod schema;

use std::{
    ffi::{OsStr, OsString},
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Longest wait for anything that a server is to do by itself. Far above what is needed, for machines that are busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test: the one built beside the tests, or the one that `EVERFLAME_PROGRAM` names.
pub fn program() -> OsString {
    std::env::var_os("EVERFLAME_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_everflame").into())
}

/// A running server. It is killed when dropped.
pub struct TestServer {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub url: String,
    /// `127.0.0.1:PORT`
    pub address: String,
    data: Arc<DataDir>,
    log: Arc<Mutex<String>>,
}

/// A data folder that is gone when nobody uses it any more.
pub struct DataDir {
    folder: TempDir,
}

impl DataDir {
    /// A new one.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { folder: TempDir::with_prefix("everflame-test-").unwrap() })
    }

    /// One within a folder, such as a file system of its own.
    pub fn within(folder: &Path) -> Arc<Self> {
        Arc::new(Self { folder: TempDir::with_prefix_in("everflame-test-", folder).unwrap() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl TestServer {
    /// Starts a server with an empty data folder and waits until it is ready.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_in(DataDir::new(), flags)
    }

    /// Starts a server with a data folder.
    pub fn start_in(data: Arc<DataDir>, flags: &[&str]) -> Self {
        Self::start_with(data, flags, &[])
    }

    /// Starts a server with a data folder and environment variables.
    pub fn start_with(data: Arc<DataDir>, flags: &[&str], variables: &[(&str, &OsStr)]) -> Self {
        let mut command = Command::new(program());
        without_settings(&mut command).envs(variables.iter().copied());
        Self::spawn(command, data, flags)
    }

    /// Starts a server whose process may have so many files open at first (the soft limit).
    pub fn start_with_open_files(data: Arc<DataDir>, open_files: u32, flags: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -S -n {open_files} && exec \"$0\" \"$@\"")).arg(program());
        without_settings(&mut command);
        Self::spawn(command, data, flags)
    }

    /// Starts a server that can write to its data folder and to nothing else of the disk: in a mount namespace of its own,
    /// where the root file system is read-only. `None` where the machine allows no such namespace.
    pub fn start_on_read_only_root(
        data: Arc<DataDir>,
        flags: &[&str],
        variables: &[(&str, &OsStr)],
    ) -> Option<Self> {
        let script = "mount --bind \"$DATA\" \"$DATA\" && mount -o remount,bind,ro / && exec \"$0\" \"$@\"";
        let within = |inside: &OsStr| {
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(inside);
            command.env("DATA", data.path());
            command
        };
        let tried = within(OsStr::new("true")).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !tried.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut command = within(program().as_ref());
        without_settings(&mut command).envs(variables.iter().copied());
        Some(Self::spawn(command, data, flags))
    }

    fn spawn(mut command: Command, data: Arc<DataDir>, flags: &[&str]) -> Self {
        command.arg("server").arg("--data-dir").arg(data.path()).args(flags);
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let url = url_from_log(&mut child, &log);
        let address = url.strip_prefix("http://").unwrap().to_owned();
        let server = Self { child, url, address, data, log };
        server.wait_for("/ready", |reply| reply.status == 200);
        server
    }

    /// The data folder, for a later server.
    pub fn data(&self) -> Arc<DataDir> {
        Arc::clone(&self.data)
    }

    /// Everything that it has said on stderr.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, as a power cut would (SIGKILL).
    pub fn kill(mut self) -> Arc<DataDir> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.data()
    }

    /// Asks it to end (SIGTERM).
    pub fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Has it read files again (SIGHUP).
    pub fn hang_up(&self) {
        self.signal(rustix::process::Signal::HUP);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits until it has said something on stderr.
    pub fn wait_for_log(&self, words: &str) {
        let begun = Instant::now();
        while !self.log().contains(words) {
            assert!(begun.elapsed() < PATIENCE, "{words:?} is not in the server's log:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks it to end and waits.
    pub fn stop(mut self) -> (ExitStatus, Arc<DataDir>) {
        self.terminate();
        let status = self.wait();
        (status, self.data())
    }

    /// Waits until it has ended by itself.
    pub fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the server did not end; its log:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// `GET`
    pub fn get(&self, path: &str) -> Reply {
        self.call("GET", path, &[], None)
    }

    /// `POST` with a body.
    pub fn post(&self, path: &str, body: &[u8]) -> Reply {
        self.call("POST", path, &[], Some(body))
    }

    /// Any call; the path begins with a slash and may have a query string.
    pub fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Reply {
        call(&format!("{}{path}", self.url), method, headers, body)
    }

    /// Calls until the reply is as wanted.
    pub fn wait_for(&self, path: &str, wanted: impl Fn(&Reply) -> bool) -> Reply {
        let begun = Instant::now();
        loop {
            let reply = self.get(path);
            if wanted(&reply) {
                return reply;
            }
            assert!(begun.elapsed() < PATIENCE, "{path} stays {reply:?}; the server's log:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log.lock().map(|log| log.clone()).unwrap_or_default();
            eprintln!("log of the server at {}:\n{log}", self.url);
        }
    }
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Finished {
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::null());
    let output = without_settings(&mut command).output().unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What a program left behind.
#[derive(Debug)]
pub struct Finished {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Data.
    pub stdout: String,
    /// Talk.
    pub stderr: String,
}

/// Takes away variables that would change what the program does.
fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("EVERFLAME_") {
            command.env_remove(name);
        }
    }
    command
}

/// Reads stderr until the server says where it listens, and goes on reading it behind the scenes.
fn url_from_log(child: &mut Child, log: &Arc<Mutex<String>>) -> String {
    let (sender, receiver) = std::sync::mpsc::channel();
    let stderr = child.stderr.take().unwrap();
    let kept = Arc::clone(log);
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some(start) = line.find("url=http://") {
                let url: String =
                    line[start + 4..].chars().take_while(|letter| !letter.is_whitespace()).collect();
                let _ = sender.send(url);
            }
            let mut log = kept.lock().unwrap();
            log.push_str(&line);
            log.push('\n');
        }
    });
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ = child.kill();
        panic!("the server did not start; its log:\n{}", log.lock().unwrap())
    })
}

/// An answer.
#[derive(Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// This reply, if it has the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text: String = self.text().chars().take(2_000).collect();
        write!(formatter, "{} {:?} {text}", self.status, self.headers)
    }
}

/// One HTTP/1.1 call with a connection of its own.
pub fn call(url: &str, method: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Reply {
    try_call(url, method, headers, body).unwrap_or_else(|error| panic!("{method} {url}: {error}"))
}

/// Like [`call`], for servers that may be gone.
pub fn try_call(
    url: &str,
    method: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Result<Reply, ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .timeout_global(Some(PATIENCE))
        .build()
        .into();
    let mut request = ureq::http::Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = match body {
        Some(body) => agent.run(request.body(body).unwrap())?,
        None => agent.run(request.body(()).unwrap())?,
    };
    let headers = response.headers().iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let headers = headers.collect();
    let status = response.status().as_u16();
    let mut body = Vec::new();
    response.body_mut().as_reader().read_to_end(&mut body)?;
    Ok(Reply { status, headers, body })
}

/// Percent encoding of a query value.
pub fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A file of the repository.
pub fn repository_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Now, ns since the epoch.
pub fn now_nanos() -> i64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(elapsed.as_nanos()).unwrap()
}
