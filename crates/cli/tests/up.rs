//! `everflame up`: a live flame graph by itself, whose widest leaf is the demo's hot function with its known share.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use support::{PATIENCE, Reply, encoded};

struct Up {
    child: Child,
    url: String,
    lines: Receiver<String>,
}

impl Up {
    /// Starts it on a free port, with a folder for temporary files and what it finds on its path.
    fn start(temporary: &Path, arguments: &[&str]) -> Self {
        let programs = temporary.join("bin");
        std::fs::create_dir_all(&programs).unwrap();
        let opener = programs.join("xdg-open");
        std::fs::write(&opener, "#!/bin/sh\necho \"$1\" > \"$(dirname \"$0\")/opened\"\n").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&opener, executable).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(support::program());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("EVERFLAME_") {
                command.env_remove(name);
            }
        }
        command.env("TMPDIR", temporary).env("PATH", path).env("DISPLAY", ":0");
        command.args(["up", "--listen", "127.0.0.1:0"]).args(arguments);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut up = Self { child, url: String::new(), lines };
        while up.url.is_empty() {
            let line = up.lines.recv_timeout(PATIENCE).expect("it says where it runs");
            if let Some((_, url)) = line.split_once("running at ") {
                up.url = url.to_owned();
            }
        }
        up
    }

    fn get(&self, path: &str) -> Reply {
        support::call(&format!("{}{path}", self.url), "GET", &[], None)
    }

    /// Ctrl-C.
    fn interrupt(self) -> (ExitStatus, Vec<String>) {
        self.end_by(rustix::process::Signal::INT)
    }

    fn end_by(mut self, signal: rustix::process::Signal) -> (ExitStatus, Vec<String>) {
        let id = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        (status, self.lines.try_iter().collect())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Samples in all, and own samples of each function, largest first.
fn leaves(up: &Up) -> (u64, Vec<(String, u64)>) {
    let selector = format!("samples{{service_name=\"{}\"}}", server::DEMO_SERVICE);
    let reply = up.get(&format!("/api/v1/top?limit=0&q={}", encoded(&selector)));
    if reply.status == 400 {
        // There is no profile of this type yet.
        return (0, Vec::new());
    }
    let reply = reply.expect(200).json();
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let rows = reply["rows"].as_array().unwrap().iter();
    let rows = rows.map(|row| (row["name"].as_str().unwrap().to_owned(), number(&row["self"])));
    (number(&reply["total"]), rows.collect())
}

#[test]
fn the_widest_leaf_is_the_hot_function_with_its_known_share() {
    let temporary = tempfile::tempdir().unwrap();
    let up = Up::start(temporary.path(), &[]);
    let (hot, hundredths) = server::DEMO_SHARES[0];
    let share = hundredths as f64 / 100.0;
    let begun = Instant::now();
    // Counts decide: with n samples, the share that is found lies within three times √(p·(1-p)/n) of the true one.
    loop {
        let (samples, rows) = leaves(&up);
        let found = rows.iter().find(|(name, _)| name.contains(hot)).map_or(0, |(_, own)| *own);
        let (n, seen) = (samples as f64, found as f64 / (samples as f64).max(1.0));
        let sigma = (share * (1.0 - share) / n.max(1.0)).sqrt();
        if samples >= 200 && (seen - share).abs() <= 3.0 * sigma {
            assert!(rows[0].0.contains(hot), "the widest leaf is {:?}", rows[0]);
            break;
        }
        let text =
            format!("{found} of {samples} samples are of {hot}: {seen:.3} instead of {share:.3}; {rows:?}");
        assert!(begun.elapsed() < PATIENCE, "{text}");
        std::thread::sleep(Duration::from_millis(200));
    }
    // The server's own profile is there too, and the page.
    let services = up.get("/api/v1/services").expect(200).json();
    let names: Vec<&str> =
        services["services"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&server::DEMO_SERVICE), "{names:?}");
    up.get("/explore").expect(200);
    let refused = up.get("/api/v1/ingest/explain").expect(200).json()["refused"].clone();
    assert_eq!(refused, serde_json::json!([]));

    let (status, lines) = up.interrupt();
    assert_eq!(status.code(), Some(0), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("WARN") || line.contains("ERROR")), "{lines:?}");
    // Neither its temporary folder nor a browser is left; nobody sits at a terminal here.
    let left: Vec<_> = std::fs::read_dir(temporary.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, ["bin"]);
    assert!(!temporary.path().join("bin/opened").exists());
}

#[test]
fn a_folder_that_is_named_keeps_the_data() {
    let temporary = tempfile::tempdir().unwrap();
    let data = temporary.path().join("data");
    let up = Up::start(temporary.path(), &["--data-dir", data.to_str().unwrap(), "--no-browser"]);
    let (status, lines) = up.interrupt();
    assert_eq!(status.code(), Some(0), "{lines:?}");
    assert!(data.join("lock").exists());
}

#[test]
fn a_terminal_that_is_closed_ends_it_as_ctrl_c_does() {
    let temporary = tempfile::tempdir().unwrap();
    let (status, lines) = Up::start(temporary.path(), &["--no-browser"]).end_by(rustix::process::Signal::HUP);
    assert_eq!(status.code(), Some(0), "{lines:?}");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 1, "its folder is left");
}

#[test]
fn a_port_that_is_taken_is_a_failure_that_names_the_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let finished = support::run(&["up", "--listen", &address]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("--listen"), "{finished:?}");
    assert_eq!(support::run(&["up", "--listen", "nowhere"]).code, Some(2));
}
