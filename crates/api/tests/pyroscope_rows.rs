//! Rows of the compatibility checklist, each a test named after its number; `docs/compat/pyroscope.md` lists them.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use api::{ApiOptions, Tenancy};
use serde_json::{Value, json};
use support::{Reply, Server};

const CPU: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
const QUERIER: &str = "/querier.v1.QuerierService";

/// Start of most profiles, s.
const START: i64 = 1_730_000_000;

async fn ask(server: &Server, method: &str, mut message: Value) -> Value {
    if message.get("start").is_none() {
        message["start"] = json!((START - 60) * 1000);
        message["end"] = json!((START + 3600) * 1000);
    }
    server.rpc(&format!("{QUERIER}/{method}"), message).await.expect(200).json()
}

/// `main;a`=3, `main;b;c`=2, `main`=1 ns of CPU, times a thousand.
async fn worked(server: &Server) {
    ingest(server, "checkout", "&sampleRate=1000000", "main;a 3\nmain;b;c 2\nmain 1\n").await.expect(200);
}

async fn ingest(server: &Server, name: &str, more: &str, body: &str) -> Reply {
    let path = format!("/ingest?name={name}&from={START}&until={}{more}", START + 15);
    server.call("POST", &path, &[], body.to_owned()).await
}

/// A multipart body of file parts.
fn multipart(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let head =
            format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--B--\r\n");
    body
}

const MULTIPART: [(&str, &str); 1] = [("content-type", "multipart/form-data; boundary=B")];

#[tokio::test]
async fn row_01_everything_is_served_at_one_address() {
    let server = Server::start().await;
    for path in ["/ingest", "/pyroscope/ingest"] {
        server.call("POST", &format!("{path}?name=app&from={START}"), &[], "main 1\n").await.expect(200);
    }
    // A gRPC frame, compressed or not, holds an empty message.
    let plain = vec![0; 5];
    let mut packed = vec![1, 0, 0, 0];
    let gzip = formats::gzip(b"");
    packed.push(u8::try_from(gzip.len()).unwrap());
    packed.extend_from_slice(&gzip);
    for method in [
        "push.v1.PusherService/Push",
        "querier.v1.QuerierService/ProfileTypes",
        "settings.v1.SettingsService/Get",
        "adhocprofiles.v1.AdHocProfileService/List",
        "version.v1.Version/Version",
        "capabilities.v1.FeatureFlagsService/GetFeatureFlags",
    ] {
        // An empty push says what is missing; the others have an answer.
        let (status, code) = if method.starts_with("push") { (400, "3") } else { (200, "0") };
        let path = format!("/{method}");
        server.rpc(&path, json!({})).await.expect(status);
        let proto = [("content-type", "application/proto")];
        server.call("POST", &path, &proto, "").await.expect(status);
        let gzipped = [proto[0], ("content-encoding", "gzip")];
        server.call("POST", &path, &gzipped, gzip.clone()).await.expect(status);
        for content_type in ["application/grpc", "application/grpc-web"] {
            for (body, encoding) in [(&plain, "identity"), (&packed, "gzip")] {
                let headers = [("content-type", content_type), ("grpc-encoding", encoding)];
                let reply = server.call("POST", &path, &headers, body.clone()).await.expect(200);
                let refused = reply.header("grpc-status") == "3"
                    || String::from_utf8_lossy(&reply.body).replace(' ', "").contains("grpc-status:3");
                assert_eq!(refused, code == "3", "{path} {content_type} {encoding}: {reply:?}");
            }
        }
    }
    let query = format!("query={CPU}&from={START}&leftQuery={CPU}&rightQuery={CPU}&label=service_name");
    for path in ["render", "render-diff", "label-values", "labels"] {
        server.get(&format!("/pyroscope/{path}?{query}")).await.expect(200);
    }
    server.get("/api/v1/status/buildinfo").await.expect(200);
    let vcs = server.rpc("/vcs.v1.VCSService/GithubApp", json!({})).await;
    assert_eq!(vcs.json()["code"], "unimplemented");
}

#[tokio::test]
async fn row_02_credentials_and_the_tenant_header_are_taken() {
    let single = Server::start().await;
    for credentials in ["Basic dGVhbTp0b2tlbg==", "Bearer token"] {
        let headers = [("authorization", credentials), ("x-scope-orgid", "ignored")];
        let path = format!("/ingest?name=app&from={START}");
        single.call("POST", &path, &headers, credentials.len().to_string() + "main 1\n").await.expect(200);
    }
    assert_eq!(ask(&single, "LabelValues", json!({ "name": "service_name" })).await["names"], json!(["app"]));
    let options = ApiOptions { tenancy: Tenancy::Multi, ..ApiOptions::default() };
    let multi = Server::start_on(testkit::ForgetfulDisk::new(), options).await;
    let path = format!("/ingest?name=app&from={START}");
    multi.call("POST", &path, &[("x-scope-orgid", "a")], "main 1\n").await.expect(200);
    multi.call("POST", &path, &[], "main 1\n").await.expect(401);
    let range = json!({ "start": 1, "end": (START + 60) * 1000 });
    for (tenant, found) in [("a", true), ("b", false), ("a|b", true)] {
        let path = format!("{QUERIER}/ProfileTypes");
        let types =
            multi.rpc_with(&path, &[("x-scope-orgid", tenant)], range.clone()).await.expect(200).json();
        assert_eq!(types.get("profileTypes").is_some(), found, "{tenant}");
    }
}

#[tokio::test]
async fn row_03_multipart_is_seen_whatever_the_format_says() {
    let server = Server::start().await;
    let pprof = testkit::fixture("go-hot/cpu.pb.gz");
    let mut decoder = formats::Decoder::new();
    let plain = decoder.inflate(&pprof, &api::limits::decoder()).unwrap().bytes.to_vec();
    let config = br#"{"samples":{"display-name":"cpu"}}"#;
    let formats = ["", "pprof", "folded", "groups", "lines", "trie", "tree", "speedscope", "jfr", "nonsense"];
    for format in formats {
        for (kind, body) in [("gzip", &pprof), ("plain", &plain)] {
            let parts = multipart(&[("profile", body), ("sample_type_config", config)]);
            let path = format!("/ingest?name=app{format}{kind}&format={format}");
            server.call("POST", &path, &MULTIPART, parts).await.expect(200);
        }
    }
    let path = "/ingest?name=bare";
    server.call("POST", path, &MULTIPART, multipart(&[("profile", &pprof)])).await.expect(200);
    // All were read as what they are: each service has the same types, and the same functions.
    let all = json!({ "labelNames": ["service_name", "__profile_type__"], "start": 1, "end": 4_000_000_000_000_i64 });
    let sets = ask(&server, "Series", all).await["labelsSet"].as_array().unwrap().clone();
    let mut types = std::collections::BTreeMap::<String, Vec<String>>::new();
    for set in &sets {
        let text = |number: usize| set["labels"][number]["value"].as_str().unwrap().to_owned();
        types.entry(text(1)).or_default().push(text(0));
    }
    assert_eq!(types.len(), 2 * formats.len() + 1, "{types:?}");
    assert!(types.values().all(|found| *found == types["bare"]), "{types:?}");
    // What is none of it is read as `format` says.
    let stacks = multipart(&[("profile", b"main;a\nmain;b\n")]);
    server.call("POST", "/ingest?name=lines&format=lines", &MULTIPART, stacks).await.expect(200);
    for query in ["name=app&format=jfr", "name=app"] {
        let jfr = multipart(&[("jfr", b"FLR\0\0\x02\0\0")]);
        server.call("POST", &format!("/ingest?{query}"), &MULTIPART, jfr).await.expect(415);
    }
}

#[tokio::test]
async fn row_04_ingest_answers_200_empty() {
    let server = Server::start().await;
    let reply = ingest(&server, "app", "", "main 1\n").await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (200, 0));
    let parts = multipart(&[("profile", &testkit::fixture("go-hot/cpu.pb.gz"))]);
    let reply = server.call("POST", "/ingest?name=app", &MULTIPART, parts).await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (200, 0));
}

#[tokio::test]
async fn row_05_times_are_read_by_their_digits() {
    let server = Server::start().await;
    for (service, from) in [
        ("seconds", "1730000000"),
        ("millis", "1730000000000"),
        ("micros", "1730000000000000"),
        ("nanos", "1730000000000000000"),
        ("date", "20241027"),
    ] {
        let path = format!("/ingest?name={service}&from={from}");
        server.call("POST", &path, &[], "main 1\n").await.expect(200);
        let start = if service == "date" { 1_729_987_200_000_i64 } else { START * 1000 };
        let range = json!({ "name": "service_name", "start": start, "end": start });
        let names = ask(&server, "LabelValues", range).await;
        assert!(names["names"].as_array().unwrap().contains(&json!(service)), "{service}: {names}");
    }
    server.call("POST", "/ingest?name=relative&from=now-10m", &[], "main 1\n").await.expect(200);
    let recent = server.get("/pyroscope/label-values?label=service_name&from=now-1h&until=now").await;
    assert_eq!(recent.expect(200).json(), json!(["relative"]));
    for nonsense in ["foo", "now-foo", "-5", "99999999999999999999"] {
        let path = format!("/pyroscope/label-values?label=service_name&from={nonsense}");
        server.get(&path).await.expect(400);
        server.get(&format!("/pyroscope/render?query={CPU}&until={nonsense}")).await.expect(400);
        // A push is worth more than its time: it is kept as of now, and says so.
        let path = format!("/ingest?name=odd&from={nonsense}");
        let reply = server.call("POST", &path, &[], format!("{nonsense} 1\n")).await.expect(200);
        assert!(reply.header("everflame-altered").contains("parameter_defaulted=1"), "{nonsense}");
    }
}

#[tokio::test]
async fn row_06_names_and_types_are_those_of_dashboards() {
    let server = Server::start().await;
    let types = [
        ("", CPU),
        (".cpu", CPU),
        (".itimer", CPU),
        (".wall", "wall:wall:nanoseconds:cpu:nanoseconds"),
        (".inuse_objects", "memory:inuse_objects:count::"),
        (".alloc_space", "memory:alloc_space:bytes::"),
        (".goroutines", "goroutine:goroutines:count::"),
        (".mutex_count", "mutex:contentions:count::"),
        (".mutex_duration", "mutex:delay:nanoseconds::"),
        (".block_duration", "block:delay:nanoseconds::"),
        (".lock_count", "block:contentions:count::"),
        (".live", "memory:live:count::"),
        (".exceptions", "exceptions:samples:count::"),
    ];
    for (suffix, profile_type) in types {
        // The same body each time: the type is a part of what makes a push what it is.
        ingest(&server, &format!("app{suffix}"), "&spyName=rbspy", "main 1\n").await.expect(200);
        let types = ask(&server, "ProfileTypes", json!({})).await;
        let found = types["profileTypes"].as_array().unwrap().iter().any(|found| found["ID"] == profile_type);
        assert!(found, "{suffix}: {types}");
    }
    ingest(&server, "app.nonsense", "", "main 1\n").await.expect(400);
    let names = ask(&server, "LabelNames", json!({})).await["names"].clone();
    for name in ["__profile_type__", "pyroscope_spy", "service_name"] {
        assert!(names.as_array().unwrap().contains(&json!(name)), "{name}: {names}");
    }
    let spies = ask(&server, "LabelValues", json!({ "name": "pyroscope_spy" })).await;
    assert_eq!(spies["names"], json!(["rbspy"]));
}

/// As decision D8 has it: what a client pushes is stored as sent, whatever `__delta__` says.
#[tokio::test]
async fn row_07_pushed_values_are_kept_as_sent() {
    let server = Server::start().await;
    for (from, value) in [(START, 100), (START + 15, 150), (START + 30, 200)] {
        let path = format!("/ingest?name=app.alloc_space&from={from}");
        server.call("POST", &path, &[], format!("main {value}\n")).await.expect(200);
    }
    for (service, delta) in [("said", "false"), ("denied", "true")] {
        for (from, value) in [(START, 100), (START + 15, 150)] {
            let name = format!("{service}.alloc_space%7B__delta__%3D{delta}%7D");
            let path = format!("/ingest?name={name}&from={from}");
            server.call("POST", &path, &[], format!("main {value}\n")).await.expect(200);
        }
    }
    for (service, total) in [("app", "450"), ("said", "250"), ("denied", "250")] {
        let selector = format!("{{service_name=\"{service}\"}}");
        let message = json!({ "profileTypeID": "memory:alloc_space:bytes::", "labelSelector": selector });
        assert_eq!(ask(&server, "SelectMergeStacktraces", message).await["flamegraph"]["total"], total);
    }
}

#[tokio::test]
async fn row_08_json_is_protojson_and_input_is_taken_in_both_spellings() {
    let server = Server::start().await;
    worked(&server).await;
    let (start, end) = ((START - 60) * 1000, (START + 60) * 1000);
    let camel = json!({ "profileTypeID": CPU, "labelSelector": "{}", "start": start, "end": end.to_string(),
        "maxNodes": 8192, "format": "PROFILE_FORMAT_FLAMEGRAPH", "unknown": { "x": 1 } });
    let snake = json!({ "profile_typeID": CPU, "label_selector": "{}", "start": start.to_string(), "end": end,
        "max_nodes": "8192", "format": 1 });
    let answer = ask(&server, "SelectMergeStacktraces", camel).await;
    assert_eq!(answer, ask(&server, "SelectMergeStacktraces", snake).await);
    assert_eq!(answer["flamegraph"]["maxSelf"], "3000");
    // Fields without a value are left out.
    assert_eq!(ask(&server, "Series", json!({ "matchers": ["{a=\"b\"}"] })).await, json!({}));
}

#[tokio::test]
async fn row_09_flame_graphs_are_laid_out_as_there() {
    let server = Server::start().await;
    worked(&server).await;
    let flames = |nodes: i64| {
        ask(
            &server,
            "SelectMergeStacktraces",
            json!({ "profileTypeID": CPU, "labelSelector": "{}", "maxNodes": nodes }),
        )
    };
    let graph = flames(0).await["flamegraph"].clone();
    assert_eq!(graph["names"], json!(["total", "main", "b", "c", "a"]));
    let levels: Vec<Value> =
        graph["levels"].as_array().unwrap().iter().map(|level| level["values"].clone()).collect();
    let wanted = json!([
        ["0", "6000", "0", "0"],
        ["0", "6000", "1000", "1"],
        ["1000", "3000", "3000", "4", "0", "2000", "0", "2"],
        ["4000", "2000", "2000", "3"],
    ]);
    assert_eq!(json!(levels), wanted);
    let cut = flames(2).await["flamegraph"].clone();
    let last = cut["levels"][2]["values"].as_array().unwrap();
    let name: usize = last[last.len() - 1].as_str().unwrap().parse().unwrap();
    assert_eq!(cut["names"][name], "other", "the rest is the last child: {cut}");
    assert_eq!((&cut["total"], &last[last.len() - 3]), (&json!("6000"), &json!("2000")));
}

#[tokio::test]
async fn row_10_points_lie_at_start_and_steps_and_are_sums() {
    let server = Server::start().await;
    for (from, value) in [(START, 1), (START + 1, 10), (START + 15, 100), (START + 46, 1000)] {
        let path = format!("/ingest?name=app&sampleRate=1000000&from={from}");
        server.call("POST", &path, &[], format!("main {value}\n")).await.expect(200);
    }
    let message = json!({ "profileTypeID": CPU, "labelSelector": "{}", "step": 15, "groupBy": ["service_name"],
        "start": START * 1000, "end": (START + 60) * 1000 });
    let series = ask(&server, "SelectSeries", message).await["series"].clone();
    let points: Vec<(i64, f64)> = series[0]["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| {
            (point["timestamp"].as_str().unwrap().parse().unwrap(), point["value"].as_f64().unwrap())
        })
        .collect();
    let at = |steps: i64| (START + steps * 15) * 1000;
    assert_eq!(points, [(at(0), 1_000.0), (at(1), 110_000.0), (at(4), 1_000_000.0)], "no empty steps");
}

#[tokio::test]
async fn row_11_profile_types_need_no_range_and_label_names_hide_nothing() {
    let server = Server::start().await;
    server.call("POST", "/ingest?name=app%7Bk8s.pod%3Dx%7D&from=now-5m", &[], "main 1\n").await.expect(200);
    let types = server.rpc(&format!("{QUERIER}/ProfileTypes"), json!({})).await.expect(200).json();
    assert_eq!(types["profileTypes"][0]["ID"], CPU);
    for accept in ["*/*", "*/*; allow-utf8-labelnames=true"] {
        let path = format!("{QUERIER}/LabelNames");
        let names = server.rpc_with(&path, &[("accept", accept)], json!({})).await.expect(200).json();
        assert!(names["names"].as_array().unwrap().contains(&json!("k8s.pod")), "{accept}: {names}");
    }
}

#[tokio::test]
async fn row_12_the_landing_page_lists_services_and_types() {
    let server = Server::start().await;
    for service in ["b", "a"] {
        ingest(&server, service, "", "main 1\n").await.expect(200);
        ingest(&server, &format!("{service}.alloc_space"), "", "main 1\n").await.expect(200);
    }
    let memory = "memory:alloc_space:bytes::";
    for matchers in [json!([]), json!(["{}"])] {
        let message = json!({ "matchers": matchers, "labelNames": ["service_name", "__profile_type__"] });
        let sets = ask(&server, "Series", message).await["labelsSet"].clone();
        let mut pairs: Vec<String> = sets
            .as_array()
            .unwrap()
            .iter()
            .map(|set| {
                let labels = set["labels"].as_array().unwrap();
                assert_eq!(
                    (&labels[0]["name"], &labels[1]["name"]),
                    (&json!("__profile_type__"), &json!("service_name"))
                );
                format!("{} {}", labels[1]["value"].as_str().unwrap(), labels[0]["value"].as_str().unwrap())
            })
            .collect();
        pairs.sort();
        let wanted =
            ["a", "b"].iter().flat_map(|service| [memory, CPU].map(|found| format!("{service} {found}")));
        assert_eq!(pairs, wanted.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn row_13_frame_filters_are_honoured() {
    let server = Server::start().await;
    worked(&server).await;
    for (filter, total) in [
        (json!({ "includeFunctionNames": ["b"] }), "2000"),
        (json!({ "excludeFunctionNames": ["b"] }), "4000"),
        (json!({ "includeFunctionNameRegexes": ["^[ac]$"] }), "5000"),
        (json!({ "excludeFunctionNameRegexes": ["^(a|b)$"] }), "1000"),
    ] {
        let message = json!({ "profileTypeID": CPU, "labelSelector": "{}", "stackTraceSelector": { "frameFilter": filter } });
        let answer = ask(&server, "SelectMergeStacktraces", message).await;
        assert_eq!(answer["flamegraph"]["total"], total, "{filter}");
    }
}

#[tokio::test]
async fn row_14_errors_have_code_and_message_with_connects_status() {
    let server = Server::start().await;
    let merge = format!("{QUERIER}/SelectMergeStacktraces");
    for (reply, status, code) in [
        (server.rpc(&merge, json!({})).await, 400, "invalid_argument"),
        (server.rpc("/vcs.v1.VCSService/GetFile", json!({})).await, 501, "unimplemented"),
        (
            server
                .rpc(
                    "/adhocprofiles.v1.AdHocProfileService/Get",
                    json!({ "id": "01HZZZZZZZZZZZZZZZZZZZZZZZ-a" }),
                )
                .await,
            404,
            "not_found",
        ),
        (server.get("/pyroscope/render").await, 400, "invalid_argument"),
        (ingest(&server, "", "", "main 1\n").await, 400, "invalid_argument"),
        (ingest(&server, "app", "&format=pprof", "\n\u{5}ab").await, 422, "invalid_argument"),
    ] {
        let reply = reply.expect(status);
        let error = reply.json();
        assert_eq!(error["code"], code, "{error}");
        assert!(!error["message"].as_str().unwrap().is_empty(), "{error}");
        assert_eq!(reply.header("content-type"), "application/json");
    }
}

#[tokio::test]
async fn row_15_long_ranges_and_large_profiles_are_answered() {
    let server = Server::start().await;
    // 16,001 stacks, more than 4 MiB of text, a year ago and now.
    let stacks: String = (0..16_001).map(|number| format!("main;{}{number} 1\n", "f".repeat(270))).collect();
    assert!(stacks.len() > 4 << 20);
    ingest(&server, "app", "&sampleRate=1000000", &stacks).await.expect(200);
    let path = "/ingest?name=app&sampleRate=1000000&from=now-1h";
    server.call("POST", path, &[], "main 1\n").await.expect(200);
    let message =
        json!({ "profileTypeID": CPU, "labelSelector": "{}", "start": 1, "end": 4_000_000_000_000_i64 });
    assert_eq!(ask(&server, "SelectMergeStacktraces", message).await["flamegraph"]["total"], "16002000");
}

/// The recorded answers of the original, and those recorded trees, are compared by the querier's own tests; here one of
/// the original's exported flame graphs is read and comes back.
#[tokio::test]
async fn row_17_a_recorded_flame_graph_comes_back() {
    use base64::Engine as _;
    let Some(shared) = testkit::skip_without_shared("row_17_a_recorded_flame_graph_comes_back") else {
        return;
    };
    let recorded = std::fs::read(shared.join("corpus/wire/flamebearer/profile.json")).unwrap();
    let wanted: Value = serde_json::from_slice(&recorded).unwrap();
    let server = Server::start().await;
    let profile = base64::engine::general_purpose::STANDARD.encode(&recorded);
    let upload = json!({ "name": "recorded.json", "profile": profile });
    let answer = server.rpc("/adhocprofiles.v1.AdHocProfileService/Upload", upload).await.expect(200).json();
    let shown: Value = serde_json::from_str(answer["flamebearerProfile"].as_str().unwrap()).unwrap();
    assert_eq!(shown["flamebearer"]["numTicks"], wanted["flamebearer"]["numTicks"]);
    assert_eq!(shown["flamebearer"]["maxSelf"], wanted["flamebearer"]["maxSelf"]);
    let count = |document: &Value| -> usize {
        document["flamebearer"]["levels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|level| level.as_array().unwrap().len() / 4)
            .sum()
    };
    assert_eq!(count(&shown), count(&wanted));
    // The recorded one has more in its metadata, of the call that made it.
    for field in shown["metadata"].as_object().unwrap().keys() {
        assert!(wanted["metadata"].get(field).is_some(), "{field}");
    }
}
