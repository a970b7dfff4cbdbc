//! The commands against a running server, and what it answers beside what the files themselves say.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use support::{Finished, TestServer, body::Body, encoded, now_nanos, repository_file, run};

const STACKS: &str = "main;work;hot 70\nmain;work 20\nmain;idle 10\n";

fn fixture(name: &str) -> String {
    repository_file("fixtures/real").join(name).to_str().unwrap().to_owned()
}

/// Runs a command that must succeed.
#[track_caller]
fn done(arguments: &[&str]) -> Finished {
    let finished = run(arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {finished:?}");
    finished
}

#[track_caller]
fn document(arguments: &[&str]) -> serde_json::Value {
    let finished = done(arguments);
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {finished:?}"))
}

#[test]
fn what_is_pushed_is_found_by_every_command() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let cpu = fixture("go-hot/cpu.pb.gz");
    let push =
        [&["push", &cpu, "--service", "go-hot", "--label", "env=test", "--type", "cpu"], &at[..]].concat();
    assert!(done(&push).stderr.contains("stored as process_cpu"), "the person is told");
    assert!(done(&push).stderr.contains("there already"), "a second push adds nothing");

    let selector = "cpu{service_name=\"go-hot\",env=\"test\"}";
    let ask = |command: &[&str]| document(&[command, &at[..]].concat());
    assert_eq!(
        ask(&["top", selector, "--json", "--limit", "0"]),
        document(&["top", &cpu, "--json", "--limit", "0"])
    );
    let total = ask(&["top", selector, "--json"])["total"].clone();
    assert_eq!(ask(&["flame", selector, "--json"])["total"], total);
    assert_eq!(
        ask(&["labels", "--json"]).as_array().unwrap().iter().filter(|name| *name == "env").count(),
        1
    );
    assert_eq!(ask(&["labels", "--values", "service_name", "--json"]), serde_json::json!(["go-hot"]));
    assert_eq!(
        ask(&["series", "--by", "service_name,env", "--json"]),
        serde_json::json!([{"service_name": "go-hot", "env": "test"}])
    );
    let profiles = ask(&["profiles", selector, "--json"]);
    assert_eq!(profiles.as_array().unwrap().len(), 1, "{profiles}");
    let callers = ask(&["callers", "main.settleAccounts", selector, "--json"]);
    assert_eq!(callers["callers"][0]["value"], callers["function"]["total"]);

    let drawing = done(&[&["flame", selector], &at[..]].concat()).stdout;
    let widest = drawing.split("widest paths").nth(1).unwrap().lines().nth(1).unwrap().to_owned();
    assert!(widest.contains("main.settleAccounts"), "{drawing}");
    let table = done(&[&["top", selector], &at[..]].concat()).stdout;
    assert!(table.lines().nth(2).unwrap().ends_with("main.settleAccounts"), "{table}");

    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged.pb.gz");
    let merged = merged.to_str().unwrap();
    done(&[&["pprof", selector, "-o", merged], &at[..]].concat());
    assert_eq!(document(&["top", merged, "--sample-index", "cpu", "--json"])["total"], total);
    let id = profiles[0]["id"].as_str().unwrap();
    let kept = folder.path().join("kept.pb.gz");
    let kept = kept.to_str().unwrap();
    done(&[&["pprof", "--id", id, "-o", kept], &at[..]].concat());
    assert_eq!(document(&["top", kept, "--json"]), document(&["top", &cpu, "--json"]));
}

#[test]
fn a_sample_type_is_chosen_by_position_as_pprof_does() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let cpu = fixture("go-hot/cpu.pb.gz");
    done(&[&["push", &cpu, "--service", "a", "--type", "cpu"], &at[..]].concat());
    for index in ["0", "1", "samples", "cpu"] {
        let options = ["--json", "--limit", "0", "--sample-index", index];
        let remote = document(&[&["top", "{service_name=\"a\"}"], &options[..], &at[..]].concat());
        assert_eq!(remote, document(&[&["top", &cpu], &options[..]].concat()), "{index}");
    }
    let beyond = run(&[&["top", "{service_name=\"a\"}", "--sample-index", "2"], &at[..]].concat());
    assert_eq!(beyond.code, Some(2), "{beyond:?}");
    assert!(beyond.stderr.contains("no sample type 2; it has process_cpu:samples:count:"), "{beyond:?}");
    let nothing = run(&[&["top", "{service_name=\"b\"}", "--sample-index", "2"], &at[..]].concat());
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
}

#[test]
fn a_comparison_of_selectors_and_of_ranges() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let folder = tempfile::tempdir().unwrap();
    let push = |stacks: &str, version: &str, time: &str| {
        let file = folder.path().join(version);
        std::fs::write(&file, stacks).unwrap();
        let label = format!("version={version}");
        let file = file.to_str().unwrap();
        done(&[&["push", file, "--service", "a", "--label", &label, "--time", time], &at[..]].concat());
    };
    push("A 10\n", "1", "now-3h");
    push("A 4\nB 7\n", "2", "now-1h");
    for arguments in [
        &["diff", "{version=\"1\"}", "{version=\"2\"}", "--json"][..],
        &[
            "diff",
            "{service_name=\"a\"}",
            "--left-from",
            "now-4h",
            "--left-to",
            "now-2h",
            "--from",
            "now-2h",
            "--json",
        ],
    ] {
        let answer = document(&[arguments, &at[..]].concat());
        assert_eq!(
            (&answer["left_total"], &answer["right_total"]),
            (&10.into(), &11.into()),
            "{arguments:?}"
        );
    }
    let nothing = run(&[&["diff", "{service_name=\"a\"}"], &at[..]].concat());
    assert_eq!(nothing.code, Some(2), "{nothing:?}");

    // The heading has both ranges, and ranges of different lengths are told.
    let ranges = |left_from: &str| {
        let range = ["--left-from", left_from, "--left-to", "now-2h", "--from", "now-2h"];
        done(&[&["diff", "{service_name=\"a\"}"], &range[..], &at[..]].concat())
    };
    let equal = ranges("now-4h");
    assert!(
        equal.stdout.starts_with("{service_name=\"a\"}  ·  now-4h to now-2h → now-2h to now  ·  "),
        "{equal:?}"
    );
    assert!(!equal.stderr.contains("range"), "{equal:?}");
    let unequal = ranges("now-12h");
    assert!(unequal.stderr.contains("the left range has 10 h, the right one 2 h"), "{unequal:?}");
    let seconds = done(&[&["top", "cpu", "--from", "1764500000"], &at[..]].concat());
    assert!(seconds.stderr.contains("1970-01-21T10:08:20Z"), "{seconds:?}");
}

#[test]
fn c082_c092_odd_names_go_there_and_back() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    std::fs::write(&file, "std::vec<&T>::push 3\n").unwrap();
    let file = file.to_str().unwrap();
    let value = "a=b,c {id} 100% +1&x#y 🔥";
    let label = format!("odd={value}");
    done(&[&["push", file, "--service", "team/app.v2", "--label", &label], &at[..]].concat());
    let selector = format!("{{service_name=\"team/app.v2\",odd=\"{value}\"}}");
    let found = document(&[&["top", &selector, "--json"], &at[..]].concat());
    assert_eq!(found["rows"], serde_json::json!([{"name": "std::vec<&T>::push", "self": 3, "total": 3}]));
    let values = document(&[&["labels", "--values", "odd", "--json"], &at[..]].concat());
    assert_eq!(values, serde_json::json!([value]));
    let callers = document(&[&["callers", "std::vec<&T>::push", &selector, "--json"], &at[..]].concat());
    assert_eq!(callers["function"]["self"], 3);
}

#[test]
fn refusals_are_sentences_that_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "0123456789abcdef0123\n").unwrap();
    let server = TestServer::start(&["--token-file", secret.to_str().unwrap()]);
    let at = ["--server", &server.url];
    let without = run(&[&["top", "cpu"], &at[..]].concat());
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("--token or EVERFLAME_TOKEN"), "{without:?}");
    let wrong = run(&[&["top", "cpu", "--token", "0123456789abcdef9999"], &at[..]].concat());
    assert!(wrong.stderr.contains("not the one given"), "{wrong:?}");

    let token = ["--token", "0123456789abcdef0123"];
    let broken = run(&[&["top", "cpu{a=\"b\""], &at[..], &token[..]].concat());
    assert_eq!(broken.code, Some(1));
    assert!(broken.stderr.contains("refused: ") && broken.stdout.is_empty(), "{broken:?}");
    for (selector, words) in [
        ("cpu{a=b}", "a shell takes the quotes away unless single ones are around it all"),
        ("cpu{a=“b”}", "write straight quotes"),
    ] {
        let unquoted = run(&[&["top", selector], &at[..], &token[..]].concat());
        assert!(unquoted.stderr.contains(words), "{unquoted:?}");
        let side = run(&[&["diff", "cpu", selector], &at[..], &token[..]].concat());
        assert!(side.stderr.contains(words), "{side:?}");
    }
    assert!(!broken.stderr.contains("shell"), "{broken:?}");
    let file = folder.path().join("bad.pb");
    std::fs::write(&file, b"\x0a\xff\xff\xff\xff\xff").unwrap();
    let push = run(&[&["push", file.to_str().unwrap(), "--service", "a"], &at[..], &token[..]].concat());
    assert_eq!(push.code, Some(1));
    assert!(push.stderr.contains("bad.pb: "), "{push:?}");
    let file = file.to_str().unwrap();
    let shut_out = run(&[&["push", file, file, file, "--service", "a"], &at[..]].concat());
    assert!(shut_out.stderr.contains("(files sent: 0, refused: 0, not sent: 3)"), "{shut_out:?}");
    let targets = run(&[&["targets", "--job", "shop"], &at[..], &token[..]].concat());
    assert!(targets.stderr.contains("no job \"shop\" is scraped"), "{targets:?}");
}

#[test]
fn a_refused_file_does_not_keep_the_others_from_being_sent() {
    let server = TestServer::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (bad, good) = (file("bad", b"\x0a\xff\xff\xff\xff\xff"), file("good", STACKS.as_bytes()));
    let (empty, better) = (file("empty", b""), file("better", b"main;better 5\n"));
    let missing = folder.path().join("missing").to_str().unwrap().to_owned();
    let push = ["push", &bad, &good, &missing, &empty, &better, "--service", "a", "--server", &server.url];
    let mixed = run(&push);
    assert_eq!(mixed.code, Some(1), "{mixed:?}");
    for words in ["bad: ", "good: stored", "missing: No such file", "empty: ", "better: stored"] {
        assert!(mixed.stderr.contains(words), "{words}: {mixed:?}");
    }
    assert!(mixed.stderr.ends_with("files refused: 3 of 5; the others are sent\n"), "{mixed:?}");
    assert_eq!(server.get("/api/v1/top?type=samples").expect(200).json()["total"], 105);
    let again = run(&[&push[..], &["--json"]].concat());
    let answers: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(answers.as_array().unwrap().len(), 5, "{answers}");
    assert_eq!(answers[1]["profiles"][0]["name"], "process_cpu", "{answers}");
    assert!(answers[2]["error"].as_str().unwrap().contains("No such file"), "{answers}");
}

/// A frame `java` at the root looks like the first field of a profile; async-profiler writes such files.
#[test]
fn folded_stacks_of_a_jvm_are_text_on_every_way() {
    let server = TestServer::start(&[]);
    let frame = "com/example/shop/Checkout.computeTheTotalOfTheWholeCartWithEveryDiscountThatIsValid";
    let stacks = format!("java;{frame} 7\njava;{frame};write 3\n");
    server.post("/ingest?name=shop.cpu&sampleRate=100", stacks.as_bytes()).expect(200);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    std::fs::write(&file, &stacks).unwrap();
    let file = file.to_str().unwrap();
    let at = ["--server", &server.url];
    done(&[&["push", file, "--service", "pushed"], &at[..]].concat());
    for (asked, total) in [
        (&["top", file, "--json"][..], 10_i64),
        (&["top", "{service_name=\"pushed\"}", "--json"], 10),
        (&["top", "cpu{service_name=\"shop\"}", "--json"], 100_000_000),
    ] {
        assert_eq!(document(&[asked, &at[..]].concat())["total"], total, "{asked:?}");
    }
}

/// Go's profiles of waits and locks have the same columns, so who does not say which it is hears of it.
#[test]
fn a_push_that_may_be_a_block_profile_is_asked_about() {
    let server = TestServer::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("block.pb.gz");
    let body = Body::new(&[("contentions", "count"), ("delay", "nanoseconds")]).time(now_nanos());
    std::fs::write(&file, body.sample("main;wait", &[1, 10]).gzip()).unwrap();
    let push = ["push", file.to_str().unwrap(), "--service", "a", "--server", &server.url];
    let guessed = done(&push).stderr;
    assert!(guessed.contains("stored as mutex") && guessed.contains("--type block"), "{guessed}");
    let said = done(&[&push[..], &["--type", "block"]].concat()).stderr;
    assert!(said.contains("stored as block") && !said.contains("--type"), "{said}");
}

#[test]
fn c087_nothing_found_is_a_valid_picture_and_table() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let cpu = fixture("go-hot/cpu.pb.gz");
    done(&[&["push", &cpu, "--service", "a", "--type", "cpu"], &at[..]].concat());
    let nobody = "cpu{service_name=\"nobody\"}";
    for (format, start, end) in [
        ("svg", "<svg ", "</svg>\n"),
        ("html", "<!doctype html>", "</html>\n"),
        ("terminal", "cpu{", "no samples\n"),
        ("folded", "", ""),
    ] {
        let text = done(&[&["flame", nobody, "--format", format], &at[..]].concat()).stdout;
        assert!(text.starts_with(start) && text.ends_with(end), "{format}: {text}");
    }
    assert_eq!(document(&[&["flame", nobody, "--json"], &at[..]].concat())["total"], 0);
    assert_eq!(document(&[&["top", nobody, "--json"], &at[..]].concat())["rows"], serde_json::json!([]));
    assert_eq!(document(&[&["diff", nobody, nobody, "--json"], &at[..]].concat())["right_total"], 0);
    assert_eq!(document(&[&["profiles", nobody, "--json"], &at[..]].concat()), serde_json::json!([]));
    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged.pb.gz");
    let merged = merged.to_str().unwrap();
    let written = done(&[&["pprof", nobody, "-o", merged], &at[..]].concat());
    assert!(written.stderr.contains("no profile matches"), "{written:?}");
    assert_eq!(document(&["top", merged, "--json"])["total"], 0);
}

#[test]
fn a_server_with_tenants_and_addresses_that_are_none_are_told_apart() {
    let server = TestServer::start(&["--multi-tenant"]);
    let without = run(&["top", "cpu", "--server", &server.url]);
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.stderr.contains("--tenant") && !without.stderr.contains("token"), "{without:?}");
    let empty = done(&["labels", "--server", &server.url, "--tenant", "a"]);
    assert!(empty.stderr.contains("no profile of this tenant; everflame push"), "{empty:?}");
    let broken = run(&["labels", "--server", &server.url, "--tenant", "a\nb"]);
    assert_eq!(broken.code, Some(2), "{broken:?}");
    assert!(broken.stderr.contains("tenant \"a\\nb\""), "{broken:?}");
    for address in ["http://[::1", "http://127.0.0.1:x"] {
        let broken = run(&["labels", "--server", address]);
        assert_eq!(broken.code, Some(2), "{broken:?}");
        assert!(
            broken.stderr.contains("server address") && !broken.stderr.contains("start one"),
            "{broken:?}"
        );
    }
}

/// Each time one more line, on stderr, with what to ask instead.
#[test]
fn an_empty_answer_says_what_is_not_there() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let ask = |arguments: &[&str]| done(&[arguments, &at[..]].concat());
    let empty = ask(&["top", "cpu"]).stderr;
    assert!(empty.contains("the server has no profile at all; everflame push sends one"), "{empty}");
    let push = |service: &str, age: i64, label: &str| {
        let body = Body::cpu(now_nanos() - age * 3_600_000_000_000).sample("main;work", &[1, 10]).gzip();
        server.post(&format!("/api/v1/push?service={service}&labels={label}"), &body).expect(200);
    };
    push("api", 5, "env%3Dprod");
    push("cart", 0, "pod%3Dc-1");
    for (arguments, words) in [
        (&["top", "cpu{service=\"api\"}"][..], "no profile has a label service: did you mean service_name?"),
        (&["flame", "cpu{nix=\"api\"}"], "no profile has a label nix: there are env, pod, service_name"),
        (&["top", "cpu{service_name=\"apu\"}"], "no profile has service_name=\"apu\": did you mean api?"),
        (&["top", "cpu{env=~\"dev.*\"}"], "no whole value of env fits \"dev.*\": there are prod"),
        (
            &["top", "cpu{service_name=~\"a*\"}"],
            "no whole value of service_name fits \"a*\": did you mean api",
        ),
        (&["top", "api"], "ask for '{service_name=\"api\"}'"),
        (&["top", "{service_name=\"api\",pod=\"c-1\"}"], "no profile has them all; everflame series lists"),
        (
            &["top", "heap{env=\"prod\"}", "--from", "now-1h"],
            "there is no \"heap\" at any time; there are process_cpu:cpu",
        ),
        (
            &["top", "--type", "heap", "{env=\"prod\"}", "--from", "now-1h"],
            "there is no \"heap\" at any time",
        ),
        (
            &["top", "cpu{env=\"prod\"}", "--from", "now-9h", "--to", "now-8h"],
            "what matches is later than this range",
        ),
        (&["top", "cpu", "--span-id", "0000000000000001"], "none that the ids choose"),
        (&["diff", "cpu{service=\"api\"}", "cpu"], "left side: no profile has a label service: did you mean"),
        (
            &["diff", "cpu", "cpu{env=\"prdo\"}"],
            "right side: no profile has env=\"prdo\": did you mean prod?",
        ),
        (&["diff", "cpu{env=\"prod\"}", "--left-from", "now-1h"], "; --left-from 20"),
    ] {
        let found = ask(arguments);
        assert!(found.stderr.contains(words), "{arguments:?}: {found:?}");
    }
    // What is proposed finds it, and the answer itself is none the worse.
    let range = ["top", "cpu{env=\"prod\"}", "--json", "--from"];
    let outside = ask(&[&range[..], &["now-1h"]].concat());
    assert_eq!(outside.stdout, "{\"rows\":[],\"total\":0,\"unit\":\"\"}\n");
    let (_, from) = outside.stderr.split_once("; --from ").unwrap();
    let from = from.split(' ').next().unwrap();
    assert_eq!(document(&[&range[..], &[from], &at[..]].concat())["total"], 10);
    // Nothing is said where there is something.
    assert_eq!(ask(&["top", "cpu{env=\"prod\"}"]).stderr, "");

    let callers = |function: &str, selector: &str| run(&[&["callers", function, selector], &at[..]].concat());
    let nothing = callers("work", "cpu{service=\"api\"}");
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert!(nothing.stderr.contains("did you mean service_name?"), "{nothing:?}");
    let unknown = callers("quick", "cpu");
    assert!(unknown.stderr.contains("has no function \"quick\"; everflame top lists"), "{unknown:?}");
    let short = callers("wor", "cpu");
    assert_eq!(short.code, Some(1), "{short:?}");
    assert!(short.stderr.contains("has no function \"wor\"; did you mean work?"), "{short:?}");
}

#[test]
fn an_empty_listing_says_so() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let cpu = fixture("go-hot/cpu.pb.gz");
    done(&[&["push", &cpu, "--service", "a", "--type", "cpu"], &at[..]].concat());
    let nobody = "cpu{service_name=\"nobody\"}";
    for (arguments, word) in [
        (&["labels", nobody][..], "no profile has service_name=\"nobody\": there are a\n"),
        (
            &["labels", "--values", "nix"][..],
            "no label \"nix\" is in this selection and range: there are service_name\n",
        ),
        (&["labels", "--values", "service"][..], "did you mean service_name?"),
        (&["series", nobody][..], "no profile has service_name=\"nobody\": there are a\n"),
        (&["profiles", nobody][..], "no profile has service_name=\"nobody\": there are a\n"),
    ] {
        let empty = done(&[arguments, &at[..]].concat());
        assert!(empty.stdout.is_empty() && empty.stderr.contains(word), "{arguments:?}: {empty:?}");
    }
    for arguments in
        [&["labels"][..], &["series"][..], &["profiles"][..], &["labels", "--values", "service_name"]]
    {
        let full = done(&[arguments, &at[..]].concat());
        assert!(!full.stdout.is_empty() && full.stderr.is_empty(), "{arguments:?}: {full:?}");
    }
}

#[test]
fn a_table_that_a_server_cut_says_so() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    std::fs::write(&file, STACKS).unwrap();
    let pushed = done(&[&["push", file.to_str().unwrap(), "--service", "a"], &at[..]].concat());
    assert!(pushed.stderr.contains("it names no time: taken as of 2"), "{pushed:?}");
    let cut = done(&[&["top", "{service_name=\"a\"}", "--limit", "1"], &at[..]].concat());
    assert!(cut.stdout.ends_with("… 3 more; --limit 0 shows all 4\n"), "{cut:?}");
    let whole = done(&[&["top", "{service_name=\"a\"}", "--limit", "4"], &at[..]].concat());
    assert!(!whole.stdout.contains("more"), "{whole:?}");
}

#[test]
fn d12_without_a_range_old_profiles_are_found() {
    let server = TestServer::start(&[]);
    let at = ["--server", &server.url];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    std::fs::write(&file, STACKS).unwrap();
    let push = ["push", file.to_str().unwrap(), "--service", "a", "--time", "2001-02-03T04:05:06Z"];
    done(&[&push[..], &at[..]].concat());
    let all = document(&[&["top", "{service_name=\"a\"}", "--json"], &at[..]].concat());
    assert_eq!(all["total"], 100);
    let hour = run(&[&["top", "{service_name=\"a\"}", "--json", "--from", "now-1h"], &at[..]].concat());
    assert!(!hour.stdout.contains("\"total\":100"), "{hour:?}");
}

#[test]
fn c092_a_filter_survives_the_servers_url() {
    let server = TestServer::start(&[]);
    let body = "std::vec<&T>::push 3\n";
    let service = encoded("a&b=c");
    server.post(&format!("/api/v1/push?service={service}&format=folded"), body.as_bytes()).expect(200);
    let found = document(&["labels", "--values", "service_name", "--json", "--server", &server.url]);
    assert_eq!(found, serde_json::json!(["a&b=c"]));
}

#[test]
fn a_listing_that_is_cut_says_so() {
    let server = TestServer::start(&[]);
    for number in 0..3 {
        let body = Body::cpu(now_nanos() - number * 1_000_000_000).sample("main;work", &[1, 10_000_000]);
        server.post("/api/v1/push?service=a", &body.gzip()).expect(200);
    }
    let listed = server.get("/api/v1/profiles?limit=1").expect(200).json();
    assert_eq!((listed["profiles"].as_array().unwrap().len(), &listed["left_out"]), (1, &2.into()));
    let all = server.get("/api/v1/profiles").expect(200).json();
    assert_eq!((all["profiles"].as_array().unwrap().len(), &all["left_out"]), (3, &0.into()));
    let selector = "cpu{service_name=\"a\"}";
    for format in [None, Some("--json")] {
        let mut arguments = vec!["profiles", "--server", &server.url, selector, "--limit", "2"];
        arguments.extend(format);
        let finished = run(&arguments);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stderr.contains("not listed: 1"), "{finished:?}");
    }
    let finished = run(&["profiles", "--server", &server.url, selector]);
    assert!(!finished.stderr.contains("not listed"), "{finished:?}");
}
