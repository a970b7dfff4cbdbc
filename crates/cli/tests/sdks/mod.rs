//! Programs of `tests/clients`: other people's SDKs, unchanged, that send profiles of work which is known beforehand.
//!
//! Each goes on until its standard input ends, so a test waits until the server has what it asks for, however long that
//! takes on a busy machine, and ends the program then. `make setup` installs the SDKs.

mod built;
mod pages;
mod pushed;

use std::{
    collections::BTreeMap,
    io::Read,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::{
    pyroscope::label_sets,
    support::{PATIENCE, TestServer, encoded, repository_file},
};

/// A program that sends profiles. It is killed when dropped.
pub struct Client {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Client {
    /// Starts it with a server and a service.
    pub fn start(command: Command, server: &TestServer, service: &str) -> Self {
        Self::start_at(command, &server.url, service)
    }

    /// Starts it with an address and a service.
    pub fn start_at(mut command: Command, url: &str, service: &str) -> Self {
        command.args([url, service]).env("RUST_LOG", "warn");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}; run make setup"));
        let log = Arc::new(Mutex::new(String::new()));
        let mut stderr = child.stderr.take().unwrap();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut buffer) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        Self { child, log }
    }

    /// Waits until functions have at least these totals, each under its profile type.
    #[track_caller]
    pub fn until(&mut self, server: &TestServer, service: &str, wanted: &[(&str, &str, i64)]) {
        let begun = Instant::now();
        let mut missing: Vec<_> = wanted.to_vec();
        loop {
            missing.retain(|(kind, function, total)| {
                let table = table(server, kind, &format!("{{service_name=\"{service}\"}}"));
                table.functions.get(*function).is_none_or(|value| value < total)
            });
            if missing.is_empty() {
                return;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && begun.elapsed() < PATIENCE,
                "{missing:?} never came (ended: {ended:?}); the client said:\n{}\nand the server knows {:?}",
                self.log.lock().unwrap(),
                label_sets(server, &["service_name", "__profile_type__"]),
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Lets it end as it would by itself: the SDK sends what it has left.
    #[track_caller]
    pub fn stop(mut self) {
        drop(self.child.stdin.take());
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "the client does not end: {}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{status}: {}", self.log.lock().unwrap());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The table of functions of a selection.
#[derive(Debug)]
pub struct Table {
    /// By display name, the value in a function and what it calls.
    pub functions: BTreeMap<String, i64>,
    /// The function with the largest own value.
    pub hottest: String,
    /// Of the whole selection.
    pub total: i64,
    /// `bytes`, `nanoseconds`, `count`.
    pub unit: String,
}

impl Table {
    /// The value in a function and what it calls.
    #[track_caller]
    pub fn total_of(&self, function: &str) -> i64 {
        *self.functions.get(function).unwrap_or_else(|| panic!("no {function} in {self:?}"))
    }

    /// A function's total as a share of everything, per cent.
    #[track_caller]
    pub fn percent(&self, function: &str) -> i64 {
        self.total_of(function) * 100 / self.total
    }
}

/// The table of a profile type over the last hour. Values of memory in use and goroutines are averages over rounds.
#[track_caller]
pub fn table(server: &TestServer, profile_type: &str, selector: &str) -> Table {
    let (selector, kind) = (encoded(selector), encoded(profile_type));
    let reply = server.get(&format!("/api/v1/top?q={selector}&type={kind}&from=now-1h&limit=0"));
    let reply = reply.expect(200).json();
    let number = |value: &serde_json::Value| value.as_i64().unwrap();
    let rows = reply["rows"].as_array().unwrap();
    let name = |row: &serde_json::Value| row["name"].as_str().unwrap().to_owned();
    let row = |row| (name(row), number(&row["total"]));
    Table {
        functions: rows.iter().map(row).collect(),
        hottest: rows.first().map(name).unwrap_or_default(),
        total: number(&reply["total"]),
        unit: reply["unit"].as_str().unwrap().to_owned(),
    }
}

/// The profile types of a service, sorted.
pub fn types_of(server: &TestServer, service: &str) -> Vec<String> {
    let sets = label_sets(server, &["service_name", "__profile_type__"]);
    let of = format!("service_name={service:?}");
    let mut types: Vec<String> = sets
        .iter()
        .filter(|set| set.contains(&of))
        .filter_map(|set| set.split("__profile_type__=\"").nth(1)?.split('"').next())
        .map(str::to_owned)
        .collect();
    types.sort();
    types
}

/// Asserts that nothing that this server was sent was refused or altered. An SDK that ends sends what it has, which may be
/// a moment without any sample, and a sampler may catch a thread between its frames, so neither counts.
#[track_caller]
pub fn nothing_refused_or_altered(server: &TestServer) {
    let told = server.get("/api/v1/ingest/explain").expect(200).json();
    assert!(told["accepted"].as_u64().unwrap() > 0, "{told}");
    let altered = told["altered"].as_array().unwrap().iter();
    let altered: Vec<_> =
        altered.filter(|entry| entry["reason"] != "empty" && entry["reason"] != "no_stack").collect();
    assert!(told["refused"].as_array().unwrap().is_empty() && altered.is_empty(), "{told}");
}

/// The version of a client's SDK that its lock file pins.
pub fn locked_version(client: &str) -> String {
    let read = |file: &str| {
        let path: PathBuf = repository_file("tests/clients").join(client).join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let after = |text: &str, start: &str| {
        let rest = text.split_once(start).unwrap_or_else(|| panic!("no {start} for {client}")).1;
        rest.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect()
    };
    match client {
        "go-push" => after(&read("go.mod"), "github.com/grafana/pyroscope-go v"),
        "python-push" => after(&read("requirements.txt"), "pyroscope-io=="),
        "node-push" => {
            let lock: serde_json::Value = serde_json::from_str(&read("package-lock.json")).unwrap();
            lock["packages"]["node_modules/@pyroscope/nodejs"]["version"].as_str().unwrap().to_owned()
        }
        "rust-push" => after(&read("Cargo.lock"), "name = \"pyroscope\"\nversion = \""),
        _ => panic!("no client is called {client}"),
    }
}
