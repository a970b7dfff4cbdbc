//! Settings: defaults, which source wins, and what is refused.

use super::*;

fn config(toml: &str, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let mut settings = Settings::new();
    settings.add_toml(toml, "everflame.toml")?;
    settings
        .add_environment(variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))?;
    for (name, text) in flags {
        settings.add_flag(name, *text)?;
    }
    settings.build()
}

#[test]
fn defaults_are_readable_and_on_loopback() {
    let config = config("", &[], &[]).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:4040");
    assert_eq!(config.retention_bytes, 20 << 30);
    assert_eq!(config.retention, None);
    assert_eq!(config.free_bytes_min, 512 << 20);
}

#[test]
fn a_flag_wins_over_a_variable_and_a_variable_over_the_file() {
    let file = "flush_bytes = \"1MiB\"\nretention = \"1d\"\nlog_format = \"json\"";
    let variables = [("EVERFLAME_FLUSH_BYTES", "2MiB"), ("EVERFLAME_RETENTION", "2d")];
    let config = config(file, &variables, &[("flush_bytes", "3MiB")]).unwrap();
    assert_eq!(config.flush_bytes, 3 << 20);
    assert_eq!(config.retention, Some(Duration::from_secs(2 * 86_400)));
    assert_eq!(config.log_format, LogFormat::Json);
}

#[test]
fn an_unknown_key_is_an_error_with_a_hint() {
    let error = config("dada-dir = \"x\"", &[], &[]).unwrap_err();
    assert_eq!(error.to_string(), "everflame.toml: unknown key \"dada-dir\"; did you mean \"data_dir\"?");
    assert!(config("[server]\nlisten = \"x\"", &[], &[]).is_err());
    assert!(config("listen = 4040.5", &[], &[]).is_err());
}

#[test]
fn variables_of_container_platforms_do_no_harm() {
    let set_by_platforms = [
        ("EVERFLAME_PORT_4040_TCP", "tcp://10.0.0.1:4040"),
        ("EVERFLAME_PORT", "tcp://10.0.0.1:4040"),
        ("EVERFLAME_SERVICE_HOST", "10.0.0.1"),
        ("EVERFLAME_SERVICE_PORT_HTTP", "4040"),
        ("EVERFLAME_NAME", "/web/everflame"),
        // The commands' own.
        ("EVERFLAME_SERVER", "http://127.0.0.1:1"),
        ("EVERFLAME_TOKEN", "x"),
        ("EVERFLAME_TENANT", "x"),
        ("EVERFLAME_SERVICE", "x"),
        ("EVERFLAME_CONFIG", "x"),
        ("DATA_DRI", "x"),
    ];
    assert!(config("", &set_by_platforms, &[]).is_ok());
}

#[test]
fn a_misspelled_variable_is_an_error_with_a_hint() {
    for name in ["EVERFLAME_DATA_DRI", "EVERFLAME_data_dir", "EVERFLAME_DATADIR"] {
        let error = config("", &[(name, "/x")], &[]).unwrap_err();
        let text = format!("environment: unknown key {name:?}; did you mean \"EVERFLAME_DATA_DIR\"?");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_log_level_that_is_none_is_refused_in_every_place() {
    for (place, result) in [
        ("everflame.toml: log_level: ", config("log_level = \"verbose\"", &[], &[])),
        ("EVERFLAME_LOG_LEVEL: ", config("", &[("EVERFLAME_LOG_LEVEL", "inf")], &[])),
        ("--log-level: ", config("", &[], &[("log_level", "foo")])),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains("error, warn, info"), "{error}");
    }
}

#[test]
fn an_age_of_nothing_is_refused_because_it_would_drop_everything() {
    for text in ["0s", "0d"] {
        let error = config("", &[], &[("retention", text)]).unwrap_err().to_string();
        assert!(error.starts_with("--retention: ") && error.contains("off = never"), "{error}");
    }
    assert_eq!(config("", &[], &[("retention", "1ms")]).unwrap().retention, Some(Duration::from_millis(1)));
}

#[test]
fn a_wrong_value_names_its_place() {
    let error = config("", &[("EVERFLAME_RETENTION", "soon")], &[]).unwrap_err();
    assert!(error.to_string().starts_with("EVERFLAME_RETENTION: "), "{error}");
    let error = config("", &[], &[("flush_bytes", "-1")]).unwrap_err();
    assert!(error.to_string().starts_with("--flush-bytes: "), "{error}");
    let error = config("connections_max = 0", &[], &[]).unwrap_err();
    assert!(error.to_string().starts_with("everflame.toml: connections_max: "), "{error}");
}

#[test]
fn beyond_loopback_needs_a_token_or_the_word_for_it() {
    let listen = ("listen", "0.0.0.0:4040");
    assert!(matches!(config("", &[], &[listen]).unwrap_err(), ConfigError::InsecureListen { .. }));
    assert!(config("", &[], &[listen, ("insecure_listen", "true")]).is_ok());
}

#[test]
fn what_check_config_prints_can_be_read_back() {
    let mut settings = Settings::new();
    settings.add_flag("data_dir", "C:\\odd \"path\"").unwrap();
    let mut again = Settings::new();
    again.add_toml(&settings.to_toml(), "printed").unwrap();
    assert_eq!(again.build().unwrap().data_dir, PathBuf::from("C:\\odd \"path\""));
}

#[test]
fn a_token_is_compared_whole() {
    let token = Token::for_test("0123456789abcdef");
    assert!(token.is(b"0123456789abcdef"));
    for wrong in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg"] {
        assert!(!token.is(wrong.as_bytes()), "{wrong}");
    }
    assert_eq!(format!("{token:?}"), "Token(…)");
}
