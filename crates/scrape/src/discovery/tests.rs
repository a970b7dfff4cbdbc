//! Files, HTTP and DNS as sources of targets.

use std::path::Path;

use super::*;
use crate::{ScrapeConfig, client::Bodies};

fn finder(lines: &str, folder: &Path) -> Finder {
    let text = format!("scrape_configs: [{{job_name: a, {lines}}}]");
    let config = ScrapeConfig::parse(&text, folder).unwrap();
    let resolver = Arc::new(Resolver::default());
    let client = |settings: &crate::config::HttpSettings| {
        HttpClient::new(settings.clone(), Arc::default(), Bodies::new(1 << 20))
    };
    Finder::new(&config.jobs[0].discoveries[0], &resolver, client)
}

fn targets(found: &Found) -> Vec<String> {
    found.groups.as_ref().unwrap().iter().flat_map(|group| group.targets.clone()).collect()
}

#[tokio::test]
async fn files_are_read_anew_when_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let mut finder = finder("file_sd_configs: [{files: ['t-*.json', more.yml]}]", folder.path());
    assert_eq!(targets(&finder.find().await), [""; 0], "none is there yet, which is no error");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("t-1.json", r#"[{"targets": ["a:1", "b:2"], "labels": {"env": "x"}}]"#);
    write("more.yml", "- targets: [c:3]\n");
    write("t-2.txt", "no targets at all");
    let found = finder.find().await;
    assert_eq!((targets(&found), &found.error), (vec!["c:3".into(), "a:1".into(), "b:2".into()], &None));
    let groups = found.groups.unwrap();
    assert_eq!(groups[1].labels["env"], "x");
    assert!(groups[1].labels["__meta_filepath"].ends_with("t-1.json"));
    assert_eq!(finder.find().await, Found { groups: None, error: None });
    // Half of a file does no harm.
    write("t-1.json", r#"[{"targets": ["a:1", "#);
    let found = finder.find().await;
    assert!(found.groups.is_none() && found.error.as_ref().unwrap().contains("t-1.json"), "{found:?}");
    write("t-1.json", r#"[{"targets": ["d:4"]}]"#);
    let found = finder.find().await;
    assert_eq!((targets(&found), found.error), (vec!["c:3".into(), "d:4".into()], None));
    std::fs::remove_file(folder.path().join("more.yml")).unwrap();
    assert_eq!(targets(&finder.find().await), ["d:4"]);
    write("t-1.json", r#"[{"target": ["d:4"]}]"#);
    assert!(finder.find().await.error.unwrap().contains("unknown key"));
}

/// Nobody writes into the pipe, so whoever opened it would wait for ever, and its neighbours with it.
#[tokio::test]
async fn what_is_no_regular_file_is_named_and_holds_no_neighbour_up() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), r#"[{"targets": ["a:1"]}]"#).unwrap();
    let pipe = folder.path().join("pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.json")).unwrap();
    let mut finder = finder("file_sd_configs: [{files: ['*.json']}]", folder.path());
    let found = finder.find().await;
    assert_eq!(targets(&found), ["a:1"]);
    let error = found.error.unwrap();
    for name in ["pipe.json: is no regular file", "zero.json: is no regular file"] {
        assert!(error.contains(name), "{error}");
    }
}

#[tokio::test]
async fn http_answers_are_lists_of_groups() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let bodies = [r#"[{"targets": ["a:1"], "labels": {"__meta_zone": "z"}}]"#, "{}", "[]"];
    let serving = tokio::spawn(async move {
        for body in bodies {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await.unwrap();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        // and one that hangs up
        drop(listener.accept().await.unwrap());
    });
    let mut finder = finder(&format!("http_sd_configs: [{{url: 'http://{address}/sd'}}]"), Path::new("/"));
    let found = finder.find().await;
    assert_eq!(targets(&found), ["a:1"]);
    let labels = &found.groups.unwrap()[0].labels;
    assert_eq!(
        (labels["__meta_zone"].as_str(), labels["__meta_url"].as_str()),
        ("z", &*format!("http://{address}/sd"))
    );
    assert!(finder.find().await.error.unwrap().contains("not a list"));
    assert_eq!(targets(&finder.find().await), [""; 0]);
    let found = finder.find().await;
    assert!(found.groups.is_none() && found.error.is_some());
    serving.await.unwrap();
}

#[tokio::test]
async fn a_server_that_refuses_is_an_error() {
    // Bound and not listening, so that nobody else can answer there.
    let silent = tokio::net::TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = silent.local_addr().unwrap();
    let mut finder = finder(&format!("http_sd_configs: [{{url: 'http://{address}/sd'}}]"), Path::new("/"));
    let found = finder.find().await;
    assert!(found.groups.is_none() && found.error.unwrap().contains("refused"));
}

#[tokio::test]
async fn dns_gives_addresses_with_a_port() {
    let mut found = finder("dns_sd_configs: [{names: [localhost], type: A, port: 6060}]", Path::new("/"));
    let found = found.find().await;
    assert_eq!(targets(&found), ["127.0.0.1:6060"]);
    assert_eq!(found.groups.unwrap()[0].labels["__meta_dns_name"], "localhost");
    let mut missing =
        finder("dns_sd_configs: [{names: [nobody.invalid], type: AAAA, port: 1}]", Path::new("/"));
    let missing = missing.find().await;
    assert!(missing.groups.is_none() && missing.error.unwrap().contains("nobody.invalid"));
}
