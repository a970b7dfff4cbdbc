//! Answers that are not read yet, over the whole router: what they hold is counted, and too much is refused.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use serde_json::json;
use support::Server;

#[tokio::test]
async fn what_unread_answers_hold_is_counted_and_bounded() {
    let server = Server::start().await;
    let lines: Vec<String> = (0..2_000).map(|number| format!("main;function_number_{number} 1\n")).collect();
    server.call("POST", "/ingest?name=a&format=folded", &[], lines.concat()).await.expect(200);
    let budget = &server.state.answers;
    assert_eq!(budget.used(), 0);
    let flame = server.get("/api/v1/flame?q=cpu").await.expect(200);
    assert!(flame.body.len() > api::limits::ANSWER_BYTES_FREE);
    assert_eq!(budget.used(), flame.body.len());
    drop(flame);
    let call = "/querier.v1.QuerierService/SelectMergeStacktraces";
    let message = json!({
        "profileTypeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "labelSelector": "{service_name=\"a\"}",
        "start": 1, "end": 4_000_000_000_000_i64,
    });
    let merged = server.rpc(call, message.clone()).await.expect(200);
    assert!(merged.body.len() > api::limits::ANSWER_BYTES_FREE, "{merged:?}");
    assert_eq!(budget.used(), merged.body.len());
    drop(merged);
    let all = budget.claim(budget.limit()).unwrap();
    let refused = server.get("/api/v1/flame?q=cpu").await.expect(503);
    assert_eq!(refused.header("retry-after"), "1");
    assert!(refused.json()["message"].as_str().unwrap().contains("not read yet"), "{refused:?}");
    assert_eq!(server.rpc(call, message.clone()).await.expect(503).json()["code"], "unavailable");
    let grpc = [("content-type", "application/grpc-web+json")];
    let text = message.to_string();
    let enveloped = [&[0][..], &u32::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    let refused = server.call("POST", call, &grpc, enveloped).await.expect(200);
    assert!(String::from_utf8_lossy(&refused.body).contains("grpc-status: 14"), "{refused:?}");
    server.get("/api/v1/services").await.expect(200);
    server.call("POST", "/ingest?name=b&format=folded", &[], "main 1\n").await.expect(200);
    drop(all);
    server.get("/api/v1/flame?q=cpu").await.expect(200);
    assert_eq!(budget.used(), 0);
}
