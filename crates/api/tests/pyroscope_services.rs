//! Pyroscope's services beside push and querier: settings, ad hoc profiles, version, feature flags, and what is not there.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::time::Duration;

use api::{ApiOptions, Tenancy};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use store::StoreState;
use support::Server;

const SETTINGS: &str = "/settings.v1.SettingsService";
const AD_HOC: &str = "/adhocprofiles.v1.AdHocProfileService";

async fn set(server: &Server, name: &str, value: &str, modified_at: i64) -> support::Reply {
    let setting = json!({ "name": name, "value": value, "modifiedAt": modified_at.to_string() });
    server.rpc(&format!("{SETTINGS}/Set"), json!({ "setting": setting })).await
}

#[tokio::test]
async fn settings_are_kept_replaced_and_removed() {
    let server = Server::start().await;
    let get = async || server.rpc(&format!("{SETTINGS}/Get"), json!({})).await.expect(200).json();
    assert_eq!(get().await, json!({}));
    let reply = set(&server, "pluginSettings", "{\"maxNodes\":16384}", 5).await.expect(200).json();
    let wanted = json!({ "name": "pluginSettings", "value": "{\"maxNodes\":16384}", "modifiedAt": "5" });
    assert_eq!(reply, json!({ "setting": wanted }));
    set(&server, "another", "x", 7).await.expect(200);
    assert_eq!(get().await["settings"][1], wanted);
    // Of the same time: the later call wins; older ones are refused.
    set(&server, "pluginSettings", "new", 5).await.expect(200);
    let stale = set(&server, "pluginSettings", "old", 4).await.expect(409).json();
    assert_eq!(stale["code"], "already_exists");
    assert!(stale["message"].as_str().unwrap().contains("modified at 5"), "{stale}");
    assert_eq!(get().await["settings"][1]["value"], "new");
    // Without a time it is of now.
    let unstamped =
        server.rpc(&format!("{SETTINGS}/Set"), json!({ "setting": { "name": "a", "value": "b" } })).await;
    let stamp: i64 = unstamped.expect(200).json()["setting"]["modifiedAt"].as_str().unwrap().parse().unwrap();
    assert!(stamp > 1_700_000_000_000, "{stamp}");
    for _ in 0..2 {
        let removed = server.rpc(&format!("{SETTINGS}/Delete"), json!({ "name": "pluginSettings" })).await;
        assert_eq!(removed.expect(200).json(), json!({}));
    }
    assert_eq!(get().await["settings"].as_array().unwrap().len(), 2);
    for message in [json!({}), json!({ "setting": {} }), json!({ "setting": { "value": "x" } })] {
        let refused = server.rpc(&format!("{SETTINGS}/Set"), message).await.expect(400).json();
        assert_eq!(refused["code"], "invalid_argument");
    }
    server.rpc(&format!("{SETTINGS}/Delete"), json!({})).await.expect(400);
}

#[tokio::test]
async fn settings_survive_a_power_cut() {
    let server = Server::start().await;
    set(&server, "a", "kept", 1).await.expect(200);
    server.disk.crash();
    let server = Server::start_on(server.disk.clone(), ApiOptions::default()).await;
    let found = server.rpc(&format!("{SETTINGS}/Get"), json!({})).await.expect(200).json();
    assert_eq!(found["settings"][0]["value"], "kept");
}

#[tokio::test]
async fn damaged_settings_are_an_error_and_never_none() {
    let server = Server::start().await;
    set(&server, "a", "kept", 1).await.expect(200);
    server.disk.damage("settings/anonymous", |bytes| bytes[60] ^= 1).unwrap();
    let error = server.rpc(&format!("{SETTINGS}/Get"), json!({})).await.expect(500).json();
    assert!(error["message"].as_str().unwrap().contains("settings/anonymous"), "{error}");
    set(&server, "b", "x", 1).await.expect(500);
}

#[tokio::test]
async fn each_tenant_has_its_own() {
    let options = ApiOptions { tenancy: Tenancy::Multi, ..ApiOptions::default() };
    let server = Server::start_on(testkit::ForgetfulDisk::new(), options).await;
    let set = async |tenant: &str, value: &str| {
        let message = json!({ "setting": { "name": "n", "value": value, "modifiedAt": 1 } });
        server.rpc_with(&format!("{SETTINGS}/Set"), &[("x-scope-orgid", tenant)], message).await
    };
    let get = async |tenant: &str| {
        server.rpc_with(&format!("{SETTINGS}/Get"), &[("x-scope-orgid", tenant)], json!({})).await
    };
    set("a", "of a").await.expect(200);
    set("b", "of b").await.expect(200);
    assert_eq!(get("a").await.expect(200).json()["settings"][0]["value"], "of a");
    assert_eq!(get("c").await.expect(200).json(), json!({}));
    for tenant in ["a|b", "../a", ""] {
        get(tenant).await.expect(400);
        set(tenant, "x").await.expect(400);
    }
    server.rpc(&format!("{SETTINGS}/Get"), json!({})).await.expect(401);
    let profile = STANDARD.encode("main;work 3\n");
    let upload = json!({ "name": "x", "profile": profile });
    let headers = [("x-scope-orgid", "a")];
    let id =
        server.rpc_with(&format!("{AD_HOC}/Upload"), &headers, upload).await.expect(200).json()["id"].clone();
    server.rpc_with(&format!("{AD_HOC}/Get"), &headers, json!({ "id": id })).await.expect(200);
    let other = [("x-scope-orgid", "b")];
    server.rpc_with(&format!("{AD_HOC}/Get"), &other, json!({ "id": id })).await.expect(404);
    let listed = server.rpc_with(&format!("{AD_HOC}/List"), &other, json!({})).await.expect(200).json();
    assert_eq!(listed, json!({}));
}

async fn upload(server: &Server, name: &str, file: &[u8]) -> Value {
    let message = json!({ "name": name, "profile": STANDARD.encode(file) });
    server.rpc(&format!("{AD_HOC}/Upload"), message).await.expect(200).json()
}

/// The flame graph that an answer carries as text, and its functions' own values.
fn flames(answer: &Value) -> (Value, Vec<(String, i64)>) {
    let document: Value = serde_json::from_str(answer["flamebearerProfile"].as_str().unwrap()).unwrap();
    let mut own = std::collections::BTreeMap::new();
    for level in document["flamebearer"]["levels"].as_array().unwrap() {
        for node in level.as_array().unwrap().chunks_exact(4) {
            let name = &document["flamebearer"]["names"][usize::try_from(node[3].as_u64().unwrap()).unwrap()];
            *own.entry(name.as_str().unwrap().to_owned()).or_insert(0) += node[2].as_i64().unwrap();
        }
    }
    let own = own.into_iter().filter(|(_, value)| *value != 0).collect();
    (document, own)
}

#[tokio::test]
async fn an_upload_is_shown_kept_and_listed() {
    let server = Server::start().await;
    let pprof = testkit::fixture("go-hot/cpu.pb.gz");
    let answer = upload(&server, "my cpu.pb.gz", &pprof).await;
    assert_eq!(answer["profileTypes"], json!(["samples", "cpu"]));
    assert_eq!(answer["profileType"], "samples");
    assert_eq!(answer["name"], "my_cpu.pb.gz");
    let (document, own) = flames(&answer);
    assert_eq!(document["metadata"]["units"], "objects");
    assert_eq!(
        own.iter().map(|(_, value)| value).sum::<i64>(),
        document["flamebearer"]["numTicks"].as_i64().unwrap()
    );
    let get = async |message: Value| server.rpc(&format!("{AD_HOC}/Get"), message).await;
    let cpu = get(json!({ "id": answer["id"], "profileType": "cpu" })).await.expect(200).json();
    assert_eq!((&cpu["profileType"], &cpu["uploadedAt"]), (&json!("cpu"), &answer["uploadedAt"]));
    let (document, own) = flames(&cpu);
    assert_eq!(document["flamebearer"]["numTicks"], 7_900_000_000_i64);
    assert_eq!(document["metadata"]["sampleRate"], 1_000_000_000);
    let hot = own.iter().max_by_key(|(_, value)| *value).unwrap();
    assert_eq!(hot.0, "main.settleAccounts");
    // A cut keeps the sum.
    let cut =
        get(json!({ "id": answer["id"], "profileType": "cpu", "maxNodes": 4 })).await.expect(200).json();
    let (cut, cut_own) = flames(&cut);
    assert_eq!(cut_own.iter().map(|(_, value)| value).sum::<i64>(), 7_900_000_000);
    assert!(cut["flamebearer"]["names"].as_array().unwrap().len() < 10, "{cut}");
    let listed = server.rpc(&format!("{AD_HOC}/List"), json!({})).await.expect(200).json();
    let entry = json!({ "id": answer["id"], "name": "my_cpu.pb.gz", "uploadedAt": answer["uploadedAt"] });
    assert_eq!(listed, json!({ "profiles": [entry] }));
    // Uploads are in no query.
    let series = server.rpc("/querier.v1.QuerierService/Series", json!({})).await.expect(200).json();
    assert_eq!(series, json!({}));
    // They survive a power cut.
    server.disk.crash();
    let server = Server::start_on(server.disk.clone(), ApiOptions::default()).await;
    let again = server.rpc(&format!("{AD_HOC}/Get"), json!({ "id": answer["id"] })).await.expect(200).json();
    assert_eq!(again, answer);
}

#[tokio::test]
async fn a_file_says_itself_what_it_is() {
    let server = Server::start().await;
    let folded = b"main;work 3\nmain;rest 1\n";
    for file in [folded.to_vec(), formats::gzip(folded)] {
        let answer = upload(&server, "stacks.txt", &file).await;
        assert_eq!(answer["profileTypes"], json!(["samples"]));
        assert_eq!(flames(&answer).1, [("rest".to_owned(), 1), ("work".to_owned(), 3)]);
    }
    // What was exported is uploaded again.
    let (document, own) = flames(&upload(&server, "a", folded).await);
    let again = upload(&server, "exported.json", document.to_string().as_bytes()).await;
    assert_eq!(flames(&again), (document, own));
}

#[tokio::test]
async fn what_cannot_be_shown_is_not_kept() {
    let server = Server::start().await;
    for (profile, status) in [
        (json!(""), 400),
        (json!("?"), 400),
        (json!(STANDARD.encode("goroutine 1 [running]:\nmain.main()\n")), 400),
        (json!(STANDARD.encode("nothing here\n")), 400),
        (json!(STANDARD.encode(b"\xff\xfe\xfd\x00\x01")), 400),
        (json!(STANDARD.encode(&testkit::fixture("go-hot/cpu.pb.gz")[..500])), 400),
        (json!("A".repeat(23 << 20)), 413),
    ] {
        let start: String = profile.as_str().unwrap().chars().take(40).collect();
        let refused =
            server.rpc(&format!("{AD_HOC}/Upload"), json!({ "name": "x", "profile": profile })).await;
        assert_eq!(refused.status.as_u16(), status, "{start}: {}", refused.json());
    }
    let listed = server.rpc(&format!("{AD_HOC}/List"), json!({})).await.expect(200).json();
    assert_eq!(listed, json!({}));
    let id = upload(&server, "x", b"main 1\n").await["id"].clone();
    let get = async |message: Value| server.rpc(&format!("{AD_HOC}/Get"), message).await;
    let error = get(json!({ "id": id, "profileType": "cpu" })).await.expect(400).json();
    assert!(error["message"].as_str().unwrap().contains("samples"), "{error}");
    get(json!({ "id": id, "maxNodes": -1 })).await.expect(400);
    get(json!({ "id": "../../etc/passwd" })).await.expect(400);
    get(json!({})).await.expect(400);
    get(json!({ "id": id.as_str().unwrap().replace("-x", "-y") })).await.expect(404);
}

#[tokio::test]
async fn writes_wait_for_free_space() {
    let server = Server::start().await;
    set(&server, "a", "x", 1).await.expect(200);
    server.disk.set_free_space(0);
    // The store looks at the disk from time to time.
    while server.store.state() == StoreState::Ready {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let refused = set(&server, "a", "y", 2).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, "30"));
    let profile = json!({ "name": "x", "profile": STANDARD.encode("main 1\n") });
    server.rpc(&format!("{AD_HOC}/Upload"), profile).await.expect(503);
    server.rpc(&format!("{SETTINGS}/Get"), json!({})).await.expect(200);
}

/// Free space that ends between two looks at it.
#[tokio::test]
async fn writes_that_the_disk_refuses_are_503_and_keep_what_was_there() {
    let server = Server::start().await;
    set(&server, "a", "x", 1).await.expect(200);
    server.disk.stop_after(1);
    let refused = set(&server, "a", "y", 2).await.expect(503);
    assert_eq!(refused.header("retry-after"), "30");
    assert_eq!(refused.json()["code"], "unavailable");
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("settings/anonymous was not kept: "), "{message}");
    let profile = json!({ "name": "x", "profile": STANDARD.encode("main 1\n") });
    server.disk.go_on();
    server.disk.stop_after(1);
    server.rpc(&format!("{AD_HOC}/Upload"), profile).await.expect(503);
    server.disk.go_on();
    let found = server.rpc(&format!("{SETTINGS}/Get"), json!({})).await.expect(200).json();
    assert_eq!(found["settings"][0]["value"], "x");
}

#[tokio::test]
async fn two_uploads_are_compared() {
    let server = Server::start().await;
    let left = upload(&server, "left", b"main;a 3\nmain;b;c 2\nmain 1\n").await["id"].clone();
    let right = upload(&server, "right", b"main;a 1\nmain;d 4\n").await["id"].clone();
    let diff = async |message: Value| server.rpc(&format!("{AD_HOC}/Diff"), message).await;
    let answer = diff(json!({ "leftId": left, "rightId": right })).await.expect(200).json();
    assert_eq!(answer["profileTypes"], json!(["samples"]));
    let document: Value = serde_json::from_str(answer["flamebearerProfile"].as_str().unwrap()).unwrap();
    let levels = json!([
        [0, 6, 0, 0, 5, 0, 0],
        [0, 6, 1, 0, 5, 0, 1],
        [1, 3, 3, 0, 1, 1, 5, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 4, 2],
        [4, 2, 2, 1, 0, 0, 4],
    ]);
    assert_eq!(document["flamebearer"]["levels"], levels);
    assert_eq!(document["flamebearer"]["names"], json!(["total", "main", "d", "b", "c", "a"]));
    assert_eq!((&document["leftTicks"], &document["rightTicks"]), (&json!(6), &json!(5)));
    assert_eq!(document["metadata"]["format"], "double");
    let cpu = upload(&server, "cpu", &testkit::fixture("go-hot/cpu.pb.gz")).await["id"].clone();
    let unlike = diff(json!({ "leftId": left, "rightId": cpu })).await.expect(400).json();
    assert!(unlike["message"].as_str().unwrap().contains("profile_type"), "{unlike}");
    diff(json!({ "leftId": left, "rightId": right, "profileType": "cpu" })).await.expect(400);
    let missing = diff(json!({ "leftId": left })).await.expect(400).json();
    assert!(missing["message"].as_str().unwrap().contains("right_id"), "{missing}");
}

#[tokio::test]
async fn a_speedscope_file_is_shown() {
    let server = Server::start().await;
    let profile = json!({ "type": "sampled", "name": "p", "unit": "milliseconds", "startValue": 0, "endValue": 3,
        "samples": [[0, 1], [0]], "weights": [2, 1] });
    let file = json!({ "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": { "frames": [{ "name": "main" }, { "name": "work" }] }, "profiles": [profile, profile] });
    let answer = upload(&server, "a.speedscope.json", file.to_string().as_bytes()).await;
    assert_eq!(answer["profileTypes"], json!(["wall"]));
    assert_eq!(flames(&answer).1, [("main".to_owned(), 2_000_000), ("work".to_owned(), 4_000_000)]);
}

#[tokio::test]
async fn a_tenant_learns_of_its_own_data_alone() {
    const PATH: &str = "/metastore.v1.TenantService/GetTenant";
    let options = ApiOptions { tenancy: Tenancy::Multi, ..ApiOptions::default() };
    let server = Server::start_on(testkit::ForgetfulDisk::new(), options).await;
    let headers = [("x-scope-orgid", "a")];
    let query = "name=app&from=1800000000&until=1800000010";
    server.call("POST", &format!("/ingest?{query}"), &headers, "main 1\n").await.expect(400);
    server.call("POST", "/ingest?name=app&from=1700000000", &headers, "main 1\n").await.expect(200);
    let found = server.rpc_with(PATH, &headers, json!({ "tenantId": "a" })).await.expect(200).json();
    let wanted = json!({ "dataIngested": true, "oldestProfileTime": "1700000000000", "newestProfileTime": "1700000000000" });
    assert_eq!(found, json!({ "stats": wanted }));
    let other = [("x-scope-orgid", "b")];
    assert_eq!(server.rpc_with(PATH, &other, json!({})).await.expect(200).json(), json!({ "stats": {} }));
    server.rpc_with(PATH, &other, json!({ "tenantId": "a" })).await.expect(403);
    server.rpc(PATH, json!({})).await.expect(401);
    let delete = server.rpc_with("/metastore.v1.TenantService/DeleteTenant", &headers, json!({})).await;
    assert_eq!(delete.json()["code"], "unimplemented");
}

#[tokio::test]
async fn version_and_feature_flags() {
    let server = Server::start().await;
    let version = server.rpc("/version.v1.Version/Version", json!({})).await.expect(200).json();
    assert_eq!(version, json!({ "QuerierAPI": "1" }));
    let flags = server.rpc("/capabilities.v1.FeatureFlagsService/GetFeatureFlags", json!({})).await;
    let flags = flags.expect(200).json();
    let names: Vec<_> =
        flags["featureFlags"].as_array().unwrap().iter().map(|flag| flag["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["v2StorageLayer", "pyroscopeRuler", "pyroscopeRulerFunctions", "utf8LabelNames"]);
    assert_eq!(flags["featureFlags"][3]["enabled"], true);
}

#[tokio::test]
async fn what_is_not_there_is_unimplemented_by_every_protocol() {
    let server = Server::start().await;
    for path in [
        "/vcs.v1.VCSService/GithubApp",
        "/vcs.v1.VCSService/GithubLogin",
        "/vcs.v1.VCSService/GithubRefresh",
        "/vcs.v1.VCSService/GetFile",
        "/vcs.v1.VCSService/GetCommit",
        "/vcs.v1.VCSService/GetCommits",
        "/querier.v1.QuerierService/Nothing",
        "/settings.v1.SettingsService/Nothing",
        "/metastore.v1.TenantService/GetTenants",
        "/debuginfo.v1alpha1.DebuginfoService/ShouldInitiateUpload",
        "/nobody.v9.Nothing/Here",
    ] {
        let connect = server.rpc(path, json!({})).await;
        assert_eq!(connect.json()["code"], "unimplemented", "{path}");
        assert!([404, 501].contains(&connect.status.as_u16()), "{path}: {}", connect.status);
        let proto = server.call("POST", path, &[("content-type", "application/proto")], "").await;
        assert!([404, 501].contains(&proto.status.as_u16()), "{path}: {}", proto.status);
        for content_type in ["application/grpc", "application/grpc-web+proto"] {
            let grpc = server.call("POST", path, &[("content-type", content_type)], vec![0; 5]).await;
            let text = String::from_utf8_lossy(&grpc.body).into_owned();
            let is_unimplemented = grpc.header("grpc-status") == "12" || text.contains("grpc-status: 12");
            assert!(is_unimplemented || text.contains("grpc-status:12"), "{path} {content_type}: {grpc:?}");
        }
    }
}
