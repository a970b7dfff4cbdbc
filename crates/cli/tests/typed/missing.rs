//! What docs/compat/pyroscope.md says is not served: the page and the server must not drift apart.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::{Value, json};

use super::{PROTOCOLS, TypedClient};
use crate::{
    built, succeeded,
    support::{TestServer, repository_file},
};

/// Methods of the client's module by name, and whether it has a typed client that people use.
fn methods() -> BTreeMap<String, bool> {
    let listed = succeeded(&Command::new(built("go-rpc")).arg("methods").output().unwrap());
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    listed.iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one["typed"] == true)).collect()
}

/// Calls that the page names as unimplemented: method and request.
fn unimplemented(methods: &BTreeMap<String, bool>) -> BTreeSet<(String, String)> {
    let page = std::fs::read_to_string(repository_file("docs/compat/pyroscope.md")).unwrap();
    let section = page.split_once("\n## Methods that are not served\n").unwrap().1;
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut calls = BTreeSet::new();
    for row in rows {
        let cell = row.split(" | ").next().unwrap();
        let code: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        let (service, first) = code[0].split_once('/').unwrap_or((code[0], ""));
        let requests: Vec<&str> = code.iter().copied().filter(|text| text.starts_with('{')).collect();
        let mut names: Vec<String> = Vec::new();
        if cell.ends_with(", every method") {
            let of = |method: &&String| method.split('/').next() == Some(service);
            names.extend(methods.keys().filter(of).cloned());
            assert!(!names.is_empty() && first.is_empty(), "the client knows no {service}: {row}");
        } else {
            let further = code[1..].iter().copied().filter(|text| !text.starts_with('{'));
            names.extend([first].into_iter().chain(further).map(|name| format!("{service}/{name}")));
        }
        for name in names {
            match requests.as_slice() {
                [] => drop(calls.insert((name, "{}".to_owned()))),
                requests => calls.extend(requests.iter().map(|text| (name.clone(), (*text).to_owned()))),
            }
        }
    }
    assert!(calls.len() > 10, "{calls:?}");
    calls
}

#[test]
fn what_the_page_calls_unimplemented_is_and_nothing_else() {
    let server = TestServer::start(&[]);
    let methods = methods();
    let missing = unimplemented(&methods);
    for protocol in PROTOCOLS {
        let mut client = TypedClient::start(&server, protocol);
        for (method, request) in &missing {
            let request: Value = serde_json::from_str(request).unwrap();
            let answer = client.call(method, &request);
            assert_eq!(answer["code"], "unimplemented", "{protocol} {method} {request}: {answer}");
        }
        // Nor does any other method of the client answer so; whether it has a use for an empty request says nothing here.
        for method in methods.keys().filter(|name| !missing.contains(&((*name).clone(), "{}".to_owned()))) {
            let answer = client.call(method, &json!({}));
            assert_ne!(answer["code"], "unimplemented", "{protocol} {method} is not on the page: {answer}");
        }
    }
    // All that is served is called by its typed client.
    for (method, typed) in &methods {
        let is_missing = missing.contains(&(method.clone(), "{}".to_owned()));
        assert!(*typed || is_missing, "{method} is served, and tests/clients/go-rpc has no call for it");
    }
}
