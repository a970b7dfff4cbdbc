//! What a real SDK sent and the server kept, and what follows from it.
//!
//! Samples are those of the bodies that went over the wire, read with `prost`; of the server come only the ids, times and
//! labels that it gave them, each of which is held against the body that it belongs to.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    process::Command,
};

use serde_json::{Value, json};
use testkit::{
    grafana::list,
    graphs::{self, Tree},
    proto::{self, Message},
};

use super::sent::{Relay, Sent};
use crate::{built, pyroscope::CPU, sdks::Client, support::TestServer};

/// The service that pushes.
pub const SERVICE: &str = "bank";

/// The spans that it says it works for, and their trace.
pub const SPANS: [&str; 2] = ["00f067aa0ba902b7", "00f067aa0ba902b8"];
pub const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// One profile.
pub struct Kept {
    pub id: String,
    /// Profile types, one per column.
    pub types: Vec<String>,
    /// Labels of its series.
    pub labels: BTreeMap<String, String>,
    /// Start, ns.
    pub nanos: i64,
    pub samples: Vec<Sample>,
    /// Samples of different addresses or labels.
    pub rows: usize,
    /// The pprof body as the SDK sent it, inflated.
    pub body: Vec<u8>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// Functions of each location as they are shown, outermost first; what has no name is its address.
    pub locations: Vec<Vec<String>>,
    pub values: Vec<i64>,
    pub labels: BTreeMap<String, String>,
    pub span: String,
    pub trace: String,
}

impl Sample {
    /// Functions from the root to the leaf.
    pub fn stack(&self) -> Vec<&str> {
        self.locations.iter().flatten().map(String::as_str).collect()
    }
}

/// A function's name as it is shown to people. How names are shown is judged elsewhere.
pub fn shown(name: &str) -> String {
    names::display_name(name, "").map_or_else(|| name.to_owned(), std::borrow::Cow::into_owned)
}

/// Samples of a pprof body that say something, those of equal stack and labels added up.
fn samples(profile: &proto::Profile) -> Vec<Sample> {
    let text = |index: i64| {
        String::from_utf8(profile.string_table[usize::try_from(index).unwrap()].clone()).unwrap()
    };
    let functions: BTreeMap<u64, String> =
        profile.function.iter().map(|function| (function.id, text(function.name))).collect();
    let location = |location: &proto::Location| -> Vec<String> {
        let address = || format!("0x{:x}", location.address);
        let names = location.line.iter().rev().map(|line| functions[&line.function_id].clone());
        let names: Vec<String> =
            names.map(|name| if name.is_empty() { address() } else { shown(&name) }).collect();
        if names.is_empty() { vec![address()] } else { names }
    };
    let locations: BTreeMap<u64, Vec<String>> =
        profile.location.iter().map(|found| (found.id, location(found))).collect();
    let mut sums: BTreeMap<Sample, Vec<i64>> = BTreeMap::new();
    for sample in &profile.sample {
        let mut labels: BTreeMap<String, String> =
            sample.label.iter().map(|label| (text(label.key), text(label.str))).collect();
        let key = Sample {
            locations: sample.location_id.iter().rev().map(|id| locations[id].clone()).collect(),
            values: Vec::new(),
            span: labels.remove("span_id").unwrap_or_default(),
            trace: labels.remove("trace_id").unwrap_or_default(),
            labels,
        };
        let sum = sums.entry(key).or_insert_with(|| vec![0; sample.value.len()]);
        for (sum, value) in sum.iter_mut().zip(&sample.value) {
            *sum += value;
        }
    }
    sums.into_iter()
        .filter(|(_, values)| values.iter().any(|value| *value != 0))
        .map(|(sample, values)| Sample { values, ..sample })
        .collect()
}

fn read(body: &[u8]) -> proto::Profile {
    let mut inflated = Vec::new();
    match body.starts_with(&[0x1f, 0x8b]) {
        true => flate2::read::GzDecoder::new(body).read_to_end(&mut inflated).unwrap(),
        false => (&mut &*body).read_to_end(&mut inflated).unwrap(),
    };
    proto::Profile::decode(inflated.as_slice()).unwrap()
}

/// What a question is about.
#[derive(Clone, Default)]
pub struct Question {
    pub kind: String,
    pub matchers: Vec<(&'static str, &'static str)>,
    pub ids: Vec<String>,
    pub spans: Vec<&'static str>,
    pub traces: Vec<&'static str>,
    pub call_site: Vec<String>,
    /// ms, both ends inside; everything where there is none.
    pub range: Option<(i64, i64)>,
}

impl Question {
    pub fn of(kind: &str) -> Self {
        Self { kind: kind.into(), ..Self::default() }
    }

    pub fn selector(&self) -> String {
        let matchers = self.matchers.iter().map(|(name, value)| format!(",{name}=\"{value}\""));
        format!("{{service_name=\"{SERVICE}\"{}}}", matchers.collect::<String>())
    }
}

/// A server, what an SDK pushed into it, and the oracle's copy.
pub struct Pushed {
    pub server: TestServer,
    pub kept: Vec<Kept>,
    /// Before and after all of it, ms.
    pub range: (i64, i64),
}

impl Pushed {
    /// Runs Pyroscope's Go SDK until it has sent some of everything. `first` is done before.
    pub fn by_pyroscope_go(first: impl FnOnce(&TestServer)) -> Self {
        let server = TestServer::start(&[]);
        first(&server);
        let relay = Relay::to(&server.url);
        let mut client = Client::start_at(Command::new(built("go-push")), &relay.url, SERVICE);
        client.until(
            &server,
            SERVICE,
            &[
                (CPU, "main.burnHot", 2_000_000_000),
                (CPU, "main.serveOrder", 400_000_000),
                ("memory:inuse_space:bytes:space:bytes", "main.openAccounts", 1 << 20),
                ("mutex:delay:nanoseconds:contentions:count", "main.bookEntry", 1),
                ("goroutine:goroutine:count:goroutine:count", "main.acceptOrders", 1),
            ],
        );
        client.stop();
        crate::sdks::nothing_refused_or_altered(&server);
        let kept = kept(&server, &relay.sent());
        let times = || kept.iter().map(|kept| kept.nanos.div_euclid(1_000_000));
        let range = (times().min().unwrap(), times().max().unwrap() + 1);
        Self { server, kept, range }
    }

    /// Profile types, sorted.
    pub fn types(&self) -> BTreeSet<&str> {
        self.kept.iter().flat_map(|kept| &kept.types).map(String::as_str).collect()
    }

    /// Profiles with the rows and values that a question is about.
    pub fn rows(&self, question: &Question) -> impl Iterator<Item = (&Kept, &Sample, i64)> {
        let question = question.clone();
        let (from, to) = question.range.unwrap_or(self.range);
        let inside = move |nanos: i64| from * 1_000_000 <= nanos && nanos <= to * 1_000_000;
        let rows = self.kept.iter().filter(move |kept| inside(kept.nanos));
        let rows = rows.flat_map(|kept| kept.samples.iter().map(move |sample| (kept, sample)));
        rows.filter_map(move |(kept, sample)| {
            let column = kept.types.iter().position(|kind| *kind == question.kind)?;
            let label = |name: &str| label(kept, sample, name).unwrap_or_default();
            let taken = question.matchers.iter().all(|(name, value)| label(name) == *value)
                && (question.ids.is_empty() || question.ids.contains(&kept.id))
                && (question.spans.is_empty() || question.spans.contains(&sample.span.as_str()))
                && (question.traces.is_empty() || question.traces.contains(&sample.trace.as_str()))
                && begins_with(&sample.stack(), &question.call_site);
            (taken && sample.values[column] != 0).then_some((kept, sample, sample.values[column]))
        })
    }

    /// The call tree of a question; one without anything would prove nothing.
    #[track_caller]
    pub fn tree(&self, question: &Question) -> Tree {
        let tree = graphs::tree(self.rows(question).map(|(_, sample, value)| (sample.stack(), value)));
        assert!(tree[&Vec::new()].1 > 0, "nothing was sent of {}", question.kind);
        tree
    }

    /// The fields that most calls share.
    pub fn message(&self, question: &Question) -> Value {
        let (start, end) = question.range.unwrap_or(self.range);
        json!({
            "profileTypeID": question.kind, "labelSelector": question.selector(),
            "start": start.to_string(), "end": end.to_string(),
        })
    }
}

fn begins_with(stack: &[&str], call_site: &[String]) -> bool {
    stack.len() >= call_site.len() && stack.iter().zip(call_site).all(|(name, wanted)| name == wanted)
}

/// A label of a row: the sample's own, else its series'.
pub fn label<'k>(kept: &'k Kept, sample: &'k Sample, name: &str) -> Option<&'k str> {
    sample.labels.get(name).or_else(|| kept.labels.get(name)).map(String::as_str)
}

/// All profiles of the server. Each has to be what one of the bodies sent says, and each body has to be kept unless it
/// says nothing.
fn kept(server: &TestServer, sent: &[Sent]) -> Vec<Kept> {
    let bodies = sent.iter().map(Sent::profile).map(|body| (read(&body), body));
    let mut bodies: Vec<(proto::Profile, Vec<u8>)> = bodies.collect();
    bodies.retain(|(profile, _)| !samples(profile).is_empty());
    let listed = server.get("/api/v1/profiles?q=%7B%7D&from=now-1h&limit=10000").expect(200).json();
    let mut all = Vec::new();
    for item in list(&listed["profiles"]) {
        let id = item["id"].as_str().unwrap().to_owned();
        let given_back = read(&server.get(&format!("/api/v1/profiles/{id}")).expect(200).body);
        let wanted = samples(&given_back);
        let fits = |(sent, _): &(proto::Profile, Vec<u8>)| {
            sent.time_nanos == given_back.time_nanos && samples(sent) == wanted
        };
        let position = bodies.iter().position(fits);
        let position = position.unwrap_or_else(|| panic!("{item} is none of what was sent"));
        let (sent, body) = bodies.swap_remove(position);
        let labels = serde_json::from_value(item["labels"].clone()).unwrap();
        let types = types(item["name"].as_str().unwrap(), &given_back);
        assert_eq!(json!(types), item["types"]);
        let says_something = |sample: &&proto::Sample| sample.value.iter().any(|value| *value != 0);
        let row = |sample: &proto::Sample| {
            let labels =
                sample.label.iter().map(|label| (label.key, label.str, label.num)).collect::<BTreeSet<_>>();
            (sample.location_id.clone(), labels)
        };
        let rows = sent.sample.iter().filter(says_something).map(row).collect::<BTreeSet<_>>().len();
        all.push(Kept { id, types, labels, nanos: sent.time_nanos, samples: samples(&sent), rows, body });
    }
    assert!(bodies.is_empty(), "{} bodies were sent and not kept", bodies.len());
    assert!(all.len() > 5, "{} profiles", all.len());
    all
}

/// Profile types of a body under a name.
fn types(name: &str, profile: &proto::Profile) -> Vec<String> {
    let text = |index: i64| String::from_utf8_lossy(&profile.string_table[usize::try_from(index).unwrap()]);
    let period = profile.period_type.as_ref().unwrap();
    let (period, unit) = (text(period.r#type), text(period.unit));
    let column =
        |kind: &proto::ValueType| format!("{name}:{}:{}:{period}:{unit}", text(kind.r#type), text(kind.unit));
    profile.sample_type.iter().map(column).collect()
}
