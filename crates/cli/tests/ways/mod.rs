//! The four ways in, for tests of odd pprof bodies: what each does with a body, and what it has kept of it.

use std::io::Read;

use testkit::proto::{Function, Line, Location, Message as _, Profile, Sample, ValueType};

use super::{
    pyroscope::{CPU, ingest, push, total},
    support::{Reply, TestServer, encoded, now_nanos},
};

/// How a profile comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Native,
    Profefe,
    Ingest,
    Push,
}

pub const WAYS: [Way; 4] = [Way::Native, Way::Profefe, Way::Ingest, Way::Push];

impl Way {
    /// Also the name of the service that a test pushes to.
    pub fn service(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub fn send(self, server: &TestServer, body: &[u8]) -> Reply {
        let service = self.service();
        match self {
            Self::Native => server.post(&format!("/api/v1/push?service={service}"), body),
            Self::Profefe => server.post(&format!("/api/0/profiles?service={service}&type=cpu"), body),
            Self::Ingest => ingest(server, &format!("name={service}&format=pprof"), body),
            Self::Push => push(server, &service, &[], body),
        }
    }
}

/// `root` calls `leaf`: one CPU sample of value 10, everything in order.
pub fn small() -> Profile {
    let strings = ["", "cpu", "nanoseconds", "root", "leaf", "file.c", "key", "text"];
    Profile {
        sample_type: vec![ValueType { r#type: 1, unit: 2 }],
        period_type: Some(ValueType { r#type: 1, unit: 2 }),
        sample: vec![Sample { location_id: vec![2, 1], value: vec![10], label: vec![] }],
        location: (1..=2).map(|id| located(id, id)).collect(),
        function: vec![named(1, 3), named(2, 4)],
        string_table: strings.iter().map(|text| text.as_bytes().to_vec()).collect(),
        time_nanos: now_nanos(),
        ..Profile::default()
    }
}

pub fn named(id: u64, name: i64) -> Function {
    Function { id, name, filename: 5, ..Function::default() }
}

pub fn located(id: u64, function_id: u64) -> Location {
    let line = vec![Line { function_id, line: 5, column: 0 }];
    Location { id, line, ..Location::default() }
}

pub fn string(profile: &mut Profile, text: impl AsRef<[u8]>) -> i64 {
    profile.string_table.push(text.as_ref().to_vec());
    i64::try_from(profile.string_table.len()).unwrap() - 1
}

pub fn metric(server: &TestServer, reason: &str) -> u64 {
    let start = format!("everflame_altered_total{{reason=\"{reason}\"}} ");
    let text = server.get("/metrics").text();
    text.lines().find_map(|line| line.strip_prefix(&start)).map_or(0, |count| count.parse().unwrap())
}

/// No way in takes the body; each says all of the words, and nothing is stored.
#[track_caller]
pub fn assert_refused(server: &TestServer, body: &[u8], words: &[&str]) {
    for way in WAYS {
        let reply = way.send(server, body);
        let statuses: &[u16] = if way == Way::Ingest { &[422, 415] } else { &[400, 415] };
        assert!(statuses.contains(&reply.status), "{way:?}: {reply:?}");
        let text = reply.text().replace("\\\"", "\"");
        assert!(words.iter().all(|word| text.contains(word)), "{way:?}: {words:?} are not in {reply:?}");
    }
    let listed = server.get("/api/v1/profiles?from=0&to=now%2B1h").expect(200).json();
    assert_eq!(listed["profiles"], serde_json::json!([]));
}

/// Every way in takes the profile, says what it changed, counts it, and has the same sum.
#[track_caller]
pub fn assert_altered(server: &TestServer, profile: &Profile, changes: &[(&str, u64)], sum: i64) {
    let words: Vec<String> = changes.iter().map(|(reason, count)| format!("{reason}={count}")).collect();
    for way in WAYS {
        let reply = way.send(server, &profile.encode_to_vec()).expect(200);
        let said = Some(words.join(", ")).filter(|words| !words.is_empty());
        assert_eq!(reply.header("everflame-altered"), said.as_deref(), "{way:?}");
        assert_eq!(total(server, CPU, &format!("{{service_name=\"{}\"}}", way.service())), sum, "{way:?}");
    }
    for (reason, count) in changes {
        assert_eq!(metric(server, reason), count * WAYS.len() as u64, "{reason}");
    }
}

/// The one profile that a way has stored, as it is downloaded.
pub fn downloaded(server: &TestServer, way: Way) -> Profile {
    let q = encoded(&format!("{{service_name=\"{}\"}}", way.service()));
    let listed = server.get(&format!("/api/v1/profiles?q={q}&from=0&to=now%2B1h")).expect(200).json();
    let id = listed["profiles"][0]["id"].as_str().unwrap().to_owned();
    let body = server.get(&format!("/api/v1/profiles/{id}")).expect(200).body;
    let profile = inflated(&body);
    assert_eq!(server.get(&format!("/api/0/profiles/{id}")).expect(200).body, body, "both downloads are one");
    profile
}

pub fn inflated(body: &[u8]) -> Profile {
    let mut raw = Vec::new();
    flate2::read::MultiGzDecoder::new(body).read_to_end(&mut raw).unwrap();
    Profile::decode(raw.as_slice()).unwrap()
}

/// Pushes a legal profile by every way and gives what each gives back.
#[track_caller]
pub fn there_and_back(profile: &Profile) -> Vec<Profile> {
    let server = TestServer::start(&[]);
    let sum = profile.sample.iter().map(|sample| sample.value[0]).sum();
    assert_altered(&server, profile, &[], sum);
    WAYS.iter().map(|&way| downloaded(&server, way)).collect()
}

pub fn text(profile: &Profile, index: i64) -> String {
    String::from_utf8(profile.string_table[usize::try_from(index).unwrap()].clone()).unwrap()
}
