//! Settings, recording rules, ad hoc profiles, version, feature flags, a tenant's stats.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde_json::{Value, json};
use testkit::{
    grafana::{self, list, texts},
    graphs,
};

use super::{
    PROTOCOLS, TypedClient,
    kept::{Kept, Pushed, Question, SERVICE, label},
};
use crate::{pyroscope::CPU, support::TestServer};

/// The function that one rule of each protocol counts.
const HOT: &str = "main.burnHot";

#[test]
fn pyroscopes_typed_client_of_the_other_services_over_what_an_sdk_pushed() {
    let mut rules = Vec::new();
    let pushed = Pushed::by_pyroscope_go(|server| {
        for protocol in PROTOCOLS {
            let mut client = TypedClient::start(server, protocol);
            rules.push(make_rules(&mut client));
        }
    });
    for (protocol, rules) in PROTOCOLS.into_iter().zip(rules) {
        let mut client = TypedClient::start(&pushed.server, protocol);
        check_rules(&pushed, &mut client, &rules);
        settings(&mut client);
        uploads(&pushed, &mut client);
        the_rest(&pushed, &mut client);
    }
    assert!(!scraped(&pushed.server).contains("profiles_recorded_"), "{}", scraped(&pushed.server));
}

impl TypedClient {
    #[track_caller]
    fn rule(&mut self, method: &str, request: &Value) -> Value {
        self.ask(&format!("settings.v1.RecordingRulesService/{method}"), request)
    }
}

/// Makes a rule of one function and one of all, before anything is pushed.
fn make_rules(client: &mut TypedClient) -> [Value; 2] {
    ["hot", "all"].map(|name| {
        let mut request = json!({
            "metricName": format!("profiles_recorded_{name}_{}", client.protocol),
            "matchers": [format!("{{__profile_type__=\"{CPU}\"}}"), format!("{{service_name=\"{SERVICE}\"}}")],
            "groupBy": ["region"],
            "externalLabels": [{ "name": "protocol", "value": client.protocol }],
        });
        if name == "hot" {
            request["stacktraceFilter"] = json!({ "functionName": { "functionName": HOT } });
        }
        let rule = client.rule("UpsertRecordingRule", &request)["rule"].clone();
        let mut wanted = request;
        wanted["id"] = rule["id"].clone();
        wanted["profileType"] = json!(CPU);
        wanted["generation"] = json!("1");
        assert_eq!(rule, wanted);
        rule
    })
}

fn scraped(server: &TestServer) -> String {
    server.get("/api/v1/rules/metrics").expect(200).text()
}

/// Counters say what the oracle says; then the rules are read, changed and taken away.
fn check_rules(pushed: &Pushed, client: &mut TypedClient, rules: &[Value; 2]) {
    let text = scraped(&pushed.server);
    for rule in rules {
        let of_function = rule.get("stacktraceFilter").is_some();
        let mut wanted: BTreeMap<String, i64> = BTreeMap::new();
        for (kept, sample, value) in pushed.rows(&Question::of(CPU)) {
            if !of_function || sample.stack().contains(&HOT) {
                *wanted.entry(label(kept, sample, "region").unwrap_or_default().to_owned()).or_default() +=
                    value;
            }
        }
        let metric = format!("{}{{", rule["metricName"].as_str().unwrap());
        let counters = text.lines().filter(|line| line.starts_with(&metric));
        let found: BTreeMap<String, i64> = counters
            .map(|line| {
                assert!(line.contains(&format!("protocol=\"{}\"", client.protocol)), "{line}");
                let region =
                    line.split("region=\"").nth(1).map_or("", |rest| rest.split('"').next().unwrap());
                (region.to_owned(), line.rsplit(' ').next().unwrap().parse().unwrap())
            })
            .collect();
        assert!(found["north"] > 0 && (of_function || found["east"] > 0), "{found:?}");
        assert_eq!(found, wanted, "{metric}");
    }

    for rule in rules {
        let id = json!({ "id": rule["id"] });
        assert_eq!(&client.rule("GetRecordingRule", &id)["rule"], rule);
        let listed = client.rule("ListRecordingRules", &json!({}));
        assert!(list(&listed["rules"]).contains(rule), "{listed}");
        let mut change = rule.clone();
        let fields = change.as_object_mut().unwrap();
        fields.remove("profileType");
        fields.insert("groupBy".into(), json!(["region", "client"]));
        let changed = client.rule("UpsertRecordingRule", &change)["rule"].clone();
        assert_eq!(
            (&changed["groupBy"], &changed["generation"]),
            (&json!(["region", "client"]), &json!("2"))
        );
        let stale = client.call("settings.v1.RecordingRulesService/UpsertRecordingRule", &change);
        assert_eq!(stale["code"], "already_exists", "{stale}");
        // There is nothing that it could answer.
        client.ask_for_any("settings.v1.RecordingRulesService/DeleteRecordingRule", &id);
        let gone = client.call("settings.v1.RecordingRulesService/GetRecordingRule", &id);
        assert_eq!(gone["code"], "not_found", "{gone}");
    }
}

fn settings(client: &mut TypedClient) {
    let method = |name: &str| format!("settings.v1.SettingsService/{name}");
    let setting = json!({ "name": "pluginSettings", "value": "{\"maxNodes\":16384}", "modifiedAt": "7" });
    let set = client.ask(&method("Set"), &json!({ "setting": setting }));
    assert_eq!(set, json!({ "setting": setting }));
    let older = json!({ "name": "pluginSettings", "value": "old", "modifiedAt": "6" });
    assert_eq!(client.call(&method("Set"), &json!({ "setting": older }))["code"], "already_exists");
    assert_eq!(client.ask(&method("Get"), &json!({})), json!({ "settings": [setting] }));
    client.ask_for_any(&method("Delete"), &json!({ "name": "pluginSettings" }));
    assert_eq!(client.ask_for_any(&method("Get"), &json!({})), json!({}));
}

/// Bodies as the SDK sent them, looked at one by one and over each other.
fn uploads(pushed: &Pushed, client: &mut TypedClient) {
    let method = |name: &str| format!("adhocprofiles.v1.AdHocProfileService/{name}");
    let cpu = pushed.kept.iter().filter(|kept| kept.types.iter().any(|kind| kind == CPU));
    let bodies: Vec<&Kept> = cpu.take(2).collect();
    let tree =
        |kept: &Kept, kind: &str| pushed.tree(&Question { ids: vec![kept.id.clone()], ..Question::of(kind) });
    let mut ids = Vec::new();
    for (number, kept) in bodies.iter().enumerate() {
        let profile = base64::engine::general_purpose::STANDARD.encode(&kept.body);
        let name = format!("{}-{number}.pb", client.protocol);
        let uploaded = client.ask(&method("Upload"), &json!({ "name": name, "profile": profile }));
        assert_eq!(
            (texts(&uploaded["profileTypes"]), &uploaded["profileType"], &uploaded["name"]),
            (vec!["samples".to_owned(), "cpu".to_owned()], &json!("samples"), &json!(name))
        );
        let samples = tree(kept, "process_cpu:samples:count:cpu:nanoseconds");
        assert_eq!(grafana::single(&flames(&uploaded)), samples);
        for nodes in [10_000, 10] {
            let request =
                json!({ "id": uploaded["id"], "profileType": "cpu", "maxNodes": nodes.to_string() });
            let found = client.ask(&method("Get"), &request);
            assert_eq!(found["profileType"], "cpu");
            assert_eq!(grafana::single(&flames(&found)), graphs::cut(&tree(kept, CPU), nodes));
        }
        let listed = client.ask(&method("List"), &json!({}));
        let entry = json!({ "id": uploaded["id"], "name": name, "uploadedAt": uploaded["uploadedAt"] });
        assert!(list(&listed["profiles"]).contains(&entry), "{listed}");
        ids.push(uploaded["id"].clone());
    }
    let request = json!({ "leftId": ids[0], "rightId": ids[1], "profileType": "cpu" });
    let found = client.ask(&method("Diff"), &request);
    let wanted = graphs::double(&tree(bodies[0], CPU), &tree(bodies[1], CPU));
    assert_eq!(grafana::double(&flames(&found)), graphs::cut_double(&wanted, 8_192));
}

/// The flame graph that an answer carries as text, as a message has it.
fn flames(answer: &Value) -> Value {
    let document: Value = serde_json::from_str(answer["flamebearerProfile"].as_str().unwrap()).unwrap();
    let flames = &document["flamebearer"];
    let text = |number: &Value| json!(number.to_string());
    let level = |level: &Value| json!({ "values": list(level).iter().map(text).collect::<Vec<_>>() });
    let mut message = json!({
        "names": flames["names"],
        "levels": list(&flames["levels"]).iter().map(level).collect::<Vec<_>>(),
        "total": text(&flames["numTicks"]),
        "maxSelf": text(&flames["maxSelf"]),
    });
    for ticks in ["leftTicks", "rightTicks"] {
        if let Some(number) = document.get(ticks) {
            message[ticks] = text(number);
        }
    }
    message
}

fn the_rest(pushed: &Pushed, client: &mut TypedClient) {
    assert_eq!(client.ask("version.v1.Version/Version", &json!({})), json!({ "QuerierAPI": "1" }));
    let flags = client.ask("capabilities.v1.FeatureFlagsService/GetFeatureFlags", &json!({}));
    let flags: BTreeMap<&str, bool> = list(&flags["featureFlags"])
        .iter()
        .map(|flag| (flag["name"].as_str().unwrap(), flag["enabled"] == true))
        .collect();
    let all = ["pyroscopeRuler", "pyroscopeRulerFunctions", "utf8LabelNames", "v2StorageLayer"];
    assert_eq!(flags, all.map(|name| (name, true)).into());
    let times = || pushed.kept.iter().map(|kept| kept.nanos.div_euclid(1_000_000));
    let stats = json!({
        "dataIngested": true,
        "oldestProfileTime": times().min().unwrap().to_string(),
        "newestProfileTime": times().max().unwrap().to_string(),
    });
    let found = client.ask("metastore.v1.TenantService/GetTenant", &json!({ "tenantId": "anonymous" }));
    assert_eq!(found, json!({ "stats": stats }));
}
