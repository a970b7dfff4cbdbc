//! Pyroscope's older HTTP calls: render as JSON and DOT, render-diff, labels and their values, build information.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use serde_json::{Value, json};
use support::Server;

const CPU: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

/// Start of the first profile, s.
const START: i64 = 1_730_000_000;

/// The worked example: side `l` is `main;a`=3, `main;b;c`=2, `main`=1, side `r` is `main;a`=1, `main;d`=4.
async fn filled() -> Server {
    let server = Server::start().await;
    for (side, body) in [("l", "main;a 3\nmain;b;c 2\nmain 1\n"), ("r", "main;a 1\nmain;d 4\n")] {
        // 1,000,000,000 samples per second: each counts a nanosecond.
        let path = format!(
            "/ingest?name=checkout%7Bside%3D{side}%7D&from={START}&until={}&sampleRate=1000000",
            START + 15
        );
        server.call("POST", &path, &[], body).await.expect(200);
    }
    server
}

/// A value of a query string.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn query(side: &str) -> String {
    encoded(&format!("{CPU}{{service_name=\"checkout\",side=~\"{side}\"}}"))
}

async fn render(server: &Server, side: &str, more: &str) -> support::Reply {
    let path = format!("/pyroscope/render?query={}&from={START}&until={}{more}", query(side), START + 3600);
    server.get(&path).await
}

#[tokio::test]
async fn render_answers_the_worked_example() {
    let server = filled().await;
    let reply = render(&server, "l", "&format=json").await.expect(200);
    assert_eq!(reply.header("content-type"), "application/json");
    let document = reply.json();
    let levels = json!([
        [0, 6_000, 0, 0],
        [0, 6_000, 1_000, 1],
        [1_000, 3_000, 3_000, 4, 0, 2_000, 0, 2],
        [4_000, 2_000, 2_000, 3],
    ]);
    let flamebearer = json!({ "names": ["total", "main", "b", "c", "a"], "levels": levels, "numTicks": 6_000, "maxSelf": 3_000 });
    assert_eq!(document["flamebearer"], flamebearer);
    let metadata = json!({ "format": "single", "spyName": "", "sampleRate": 1_000_000_000, "units": "samples", "name": "cpu" });
    assert_eq!(document["metadata"], metadata);
    assert_eq!((&document["groups"], &document["heatmap"]), (&Value::Null, &Value::Null));
    assert!(document.get("leftTicks").is_none());
    let timeline = &document["timeline"];
    assert_eq!((&timeline["durationDelta"], &timeline["watermarks"]), (&json!(15), &Value::Null));
    assert_eq!(timeline["startTime"], START - START % 15);
    assert_eq!(timeline["samples"][0], 6_000);
}

#[tokio::test]
async fn render_groups_by_the_first_label_and_averages_where_asked() {
    let server = filled().await;
    let sum = |timeline: &Value| -> u64 {
        timeline["samples"].as_array().unwrap().iter().map(|sample| sample.as_u64().unwrap()).sum()
    };
    let grouped = render(&server, ".*", "&groupBy=side&groupBy=nothing").await.expect(200).json();
    assert_eq!((sum(&grouped["groups"]["l"]), sum(&grouped["groups"]["r"])), (6_000, 5_000));
    // Unlike there the line of all series is theirs together.
    assert_eq!(sum(&grouped["timeline"]), 11_000);
    let averaged = render(&server, ".*", "&aggregation=avg").await.expect(200).json();
    assert_eq!(sum(&averaged["timeline"]), 5_500);
    assert_eq!(averaged["flamebearer"]["numTicks"], 11_000);
    assert_eq!(
        render(&server, "l", "&aggregation=sum").await.expect(200).json()["flamebearer"]["numTicks"],
        6_000
    );
    render(&server, "l", "&aggregation=max").await.expect(400);
}

#[tokio::test]
async fn render_draws_a_call_graph() {
    let server = filled().await;
    let dot = render(&server, "l", "&format=dot").await.expect(200);
    assert_eq!(dot.header("content-type"), "text/plain; charset=utf-8");
    let text = String::from_utf8(dot.body.to_vec()).unwrap();
    assert!(
        text.starts_with("digraph") && ["main", "\"b", "c"].iter().all(|name| text.contains(name)),
        "{text}"
    );
    let few = render(&server, "l", "&format=dot&max-nodes=1").await.expect(200);
    assert!(few.body.len() < dot.body.len(), "{few:?}");
    let none = render(&server, "nobody", "&format=dot").await.expect(200);
    assert!(none.body.is_empty(), "{none:?}");
    render(&server, "l", "&format=svg").await.expect(400);
}

#[tokio::test]
async fn render_diff_answers_the_worked_example() {
    let server = filled().await;
    let until = START + 3600;
    let sides = format!(
        "leftQuery={}&leftFrom={START}&leftUntil={until}&rightQuery={}&rightFrom={START}000&rightUntil={until}000",
        query("l"),
        query("r"),
    );
    let document = server.get(&format!("/pyroscope/render-diff?{sides}")).await.expect(200).json();
    let levels = json!([
        [0, 6_000, 0, 0, 5_000, 0, 0],
        [0, 6_000, 1_000, 0, 5_000, 0, 1],
        [1_000, 3_000, 3_000, 0, 1_000, 1_000, 5, 0, 2_000, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4_000, 4_000, 2],
        [4_000, 2_000, 2_000, 1_000, 0, 0, 4],
    ]);
    assert_eq!(document["flamebearer"]["levels"], levels);
    assert_eq!(document["flamebearer"]["names"], json!(["total", "main", "d", "b", "c", "a"]));
    assert_eq!((&document["leftTicks"], &document["rightTicks"]), (&json!(6_000), &json!(5_000)));
    assert_eq!(document["metadata"]["format"], "double");
    assert_eq!(document["flamebearer"]["numTicks"], 11_000);
    let cut = server.get(&format!("/pyroscope/render-diff?{sides}&max-nodes=2")).await.expect(200).json();
    assert!(cut["flamebearer"]["names"].as_array().unwrap().contains(&json!("other")), "{cut}");
    for (from, to, word) in [
        ("rightQuery=process_cpu%3Acpu", "rightQuery=process_cpu%3Asamples", ""),
        ("leftQuery=", "leftQuery=&x=", "leftQuery"),
        ("leftUntil=", "leftUntil=1&x=", "before"),
        ("rightFrom=", "rightFrom=foo&x=", "rightFrom"),
    ] {
        let path = format!("/pyroscope/render-diff?{}", sides.replacen(from, to, 1));
        let reply = server.get(&path).await;
        if from.starts_with("rightQuery") {
            // A type that nothing has is an empty side, never another type's values.
            assert_eq!(reply.expect(200).json().get("rightTicks"), None);
            continue;
        }
        let error = reply.expect(400).json();
        assert_eq!(error["code"], "invalid_argument");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}

#[tokio::test]
async fn labels_and_their_values_are_lists() {
    let server = filled().await;
    let range = format!("from={START}&until={}", START + 3600);
    let list = async |path: String| server.get(&path).await.expect(200).json();
    let types = list(format!("/pyroscope/label-values?label=__name__&{range}")).await;
    assert_eq!(types, json!([CPU]));
    assert_eq!(list(format!("/pyroscope/label-values?label=side&{range}")).await, json!(["l", "r"]));
    let one = format!("/pyroscope/label-values?label=side&{range}&query={}", encoded("{side!=\"l\"}"));
    assert_eq!(list(one).await, json!(["r"]));
    assert_eq!(list(format!("/pyroscope/label-values?label=nothing&{range}")).await, json!([]));
    let names = list(format!("/pyroscope/labels?{range}")).await;
    assert!(names.as_array().unwrap().contains(&json!("side")), "{names}");
    // Without a range: the last hour, in which there is nothing.
    assert_eq!(list("/pyroscope/label-values?label=side".into()).await, json!([]));
    let error = server.get("/pyroscope/label-values").await.expect(400).json();
    assert_eq!(error, json!({ "code": "invalid_argument", "message": "label: is required" }));
    server.get("/pyroscope/labels?from=foo").await.expect(400);
}

/// A number for each step of each group: 10,000 groups over all of time were 36 million, 400 MB.
#[tokio::test]
async fn render_of_many_groups_over_many_steps_is_refused_in_words() {
    let server = Server::start().await;
    for number in 0..1_300 {
        let path = format!("/ingest?name=group{number}&from={START}&until={}", START + 15);
        server.call("POST", &path, &[], "main 1\n").await.expect(200);
    }
    let ask = async |from: &str| {
        let query = encoded(&format!("{CPU}{{}}"));
        server
            .get(&format!(
                "/pyroscope/render?query={query}&from={from}&until=9000000000&groupBy=service_name"
            ))
            .await
    };
    let message = ask("1").await.expect(400).json()["message"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with("groupBy: gives 1300 groups of 3473 steps, more than 4194304 numbers"),
        "{message}"
    );
}

#[tokio::test]
async fn the_build_is_told() {
    let server = Server::start().await;
    let build = server.get("/api/v1/status/buildinfo").await.expect(200).json();
    assert_eq!(
        (&build["status"], &build["data"]["version"]),
        (&json!("success"), &json!(env!("CARGO_PKG_VERSION")))
    );
    for field in ["revision", "branch", "buildUser", "buildDate", "goVersion"] {
        assert!(build["data"][field].is_string(), "{field}: {build}");
    }
}

/// What makes much of itself in memory when it is decoded: 60 KB compressed took 2.5 GB.
#[tokio::test]
async fn json_messages_of_too_many_values_are_413_before_they_are_decoded() {
    let server = Server::start().await;
    let path = "/push.v1.PusherService/Push";
    let series = |count: usize| format!(r#"{{"series":[{}{{}}]}}"#, "{},".repeat(count));
    let json = ("content-type", "application/json");
    let wide = series(api::limits::JSON_VALUES_MAX);
    let compressed = formats::gzip(wide.as_bytes());
    let gzip = ("content-encoding", "gzip");
    for (headers, body) in [(vec![json], wide.clone().into_bytes()), (vec![json, gzip], compressed.clone())] {
        let refused = server.call("POST", path, &headers, body).await.expect(413).json();
        assert_eq!(refused["code"], "resource_exhausted");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("values in JSON (limit 1048576)"), "{message}");
    }
    let length = u32::try_from(compressed.len()).unwrap().to_be_bytes();
    let enveloped = [&[1][..], &length, &compressed].concat();
    let headers = [("content-type", "application/grpc-web+json"), ("grpc-encoding", "gzip")];
    let refused = server.call("POST", path, &headers, enveloped).await.expect(200);
    let trailers = String::from_utf8_lossy(&refused.body).into_owned();
    assert!(trailers.contains("grpc-status: 8") && trailers.contains("values in JSON"), "{trailers}");
    // Much text is not many values, and is read as before, compressed or not.
    let name = "[,{".repeat(api::limits::JSON_VALUES_MAX);
    let large = json!({ "series": [{ "labels": [{ "name": "a", "value": name }] }] }).to_string();
    for (headers, body) in
        [(vec![json], large.clone().into_bytes()), (vec![json, gzip], formats::gzip(large.as_bytes()))]
    {
        let answer = server.call("POST", path, &headers, body).await.expect(400).json();
        assert_eq!(answer["message"], "series: no profiles received");
    }
}

#[tokio::test]
async fn a_media_type_that_is_not_spoken_is_told_which_are() {
    let server = Server::start().await;
    for content_type in [&[("content-type", "text/plain")][..], &[]] {
        let reply = server.call("POST", "/push.v1.PusherService/Push", content_type, "x").await.expect(415);
        assert!(reply.header("accept-post").contains("application/proto"), "{reply:?}");
        let message = reply.json()["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("Content-Type: ") && message.contains("application/proto"), "{message}");
    }
}

/// Names of media types and codings mean the same in capitals, whatever the library makes of them.
#[tokio::test]
async fn media_types_and_codings_are_known_in_any_case() {
    let server = Server::start().await;
    let path = "/querier.v1.QuerierService/LabelNames";
    let zipped = formats::gzip(b"{}");
    for content_type in ["application/json", "Application/JSON", "APPLICATION/json; charset=UTF-8"] {
        for encoding in ["gzip", "GZIP"] {
            let headers = [("content-type", content_type), ("content-encoding", encoding)];
            let reply = server.call("POST", path, &headers, zipped.clone()).await.expect(200);
            assert_eq!(reply.header("content-type"), "application/json", "{content_type}");
        }
    }
    let message = [&[1][..], &u32::try_from(zipped.len()).unwrap().to_be_bytes(), &zipped].concat();
    let headers = [("content-type", "application/GRPC-Web+JSON"), ("grpc-encoding", "GZip")];
    let reply = server.call("POST", path, &headers, message).await.expect(200);
    assert_eq!(reply.header("content-type"), "application/grpc-web+json");
    assert!(String::from_utf8_lossy(&reply.body).contains("grpc-status: 0"), "{reply:?}");
    // What is counted before it is decoded is counted in capitals too.
    let wide = format!(r#"{{"matchers":[{}""]}}"#, r#""","#.repeat(api::limits::JSON_VALUES_MAX));
    server.call("POST", path, &[("content-type", "APPLICATION/JSON")], wide).await.expect(413);
    // A refusal in the words of the protocol that was spoken.
    let headers = [("content-type", "Application/gRPC")];
    let reply = server.call("POST", "/nothing.v1.Nothing/Here", &headers, "").await.expect(200);
    assert_eq!(reply.header("grpc-status"), "12", "{reply:?}");
}

#[tokio::test]
async fn wrong_methods_of_rpc_are_refused_in_words() {
    let server = Server::start().await;
    for method in ["GET", "OPTIONS", "PUT", "DELETE", "PURGE"] {
        for path in ["/push.v1.PusherService/Push", "/querier.v1.QuerierService/Series"] {
            for headers in [&[][..], &[("content-type", "application/grpc")]] {
                let reply = server.call(method, path, headers, "").await.expect(405);
                assert_eq!(reply.header("allow"), "POST", "{method} {path}");
                let error = reply.json();
                assert_eq!(error["code"], "unimplemented", "{method} {path}");
                assert!(error["message"].as_str().unwrap().starts_with(&format!("{method} does not fit")));
            }
        }
    }
}
