//! Where settings come from, which win, and what is refused.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    arguments: ConfigArguments,
}

fn load(file: &str, flags: &[&str]) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.toml");
    std::fs::write(&path, file).unwrap();
    let path = path.to_str().unwrap();
    let program = Program::parse_from([&["palestra", "--config", path], flags].concat());
    Config::load(&program.arguments)
}

#[test]
fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
    let config = load("drain_ms = 5\nidle_ms = 6", &["--drain-ms", "7"]).unwrap();
    assert_eq!((config.drain_ms, config.idle_ms), (7, 6));
    assert_eq!(config.sessions_max, Config::default().sessions_max);
}

#[test]
fn an_unknown_key_in_the_file_is_named() {
    let error = load("lisen = \"127.0.0.1:1\"", &[]).unwrap_err().to_string();
    assert!(error.contains("no setting lisen (set in ") && error.contains("settings.toml"), "{error}");
}

#[test]
fn a_wrong_type_in_the_file_is_named() {
    let error = load("drain_ms = \"soon\"", &[]).unwrap_err().to_string();
    assert!(error.starts_with("setting drain_ms (set in ") && error.contains("settings.toml"), "{error}");
}

#[test]
fn values_out_of_range_are_refused_with_the_name_of_the_setting() {
    for (file, name) in [
        ("listen = \"nowhere\"", "listen"),
        ("secret = \"short\"", "secret"),
        ("admin_key = \"short\"", "admin_key"),
        ("admin_key = \"with a space in the middle\"", "admin_key"),
        ("database_url = \"mysql://x\"", "database_url"),
        ("database_url = \"postgres://x\"", "secret"),
        ("sessions_max = 0", "sessions_max"),
        ("body_bytes_max = 10", "body_bytes_max"),
        ("job_lease_ms = 999", "job_lease_ms"),
        ("cors_origins = [\"*\"]", "cors_origins"),
        ("cors_origins = [\"https://a.org/path\"]", "cors_origins"),
        ("browser_hosts = [\"*\"]", "browser_hosts"),
        ("browser_hosts = [\"https://a.org\"]", "browser_hosts"),
        ("browser_hosts = [\"a.test:1=127.0.0.1\", \"a.test:2\"]", "browser_hosts"),
    ] {
        let error = load(file, &[]).unwrap_err().to_string();
        let place = if file.starts_with(name) { " (set in " } else { ": " };
        assert!(error.starts_with(&format!("setting {name}{place}")), "{file}: {error}");
    }
}

#[test]
fn a_wrong_value_of_a_flag_is_refused_with_the_flag() {
    let error = load("listen = \"127.0.0.1:1\"", &["--listen", "nowhere"]).unwrap_err().to_string();
    assert!(error.starts_with("setting listen (set by --listen or PALESTRA_LISTEN): "), "{error}");
    let error = load("", &["--idle-ms", "0"]).unwrap_err().to_string();
    assert!(error.starts_with("setting idle_ms (set by --idle-ms or PALESTRA_IDLE_MS): "), "{error}");
}

#[test]
fn a_file_that_is_no_toml_is_named_and_secrets_are_never_repeated() {
    let error = load("listen = ", &[]).unwrap_err().to_string();
    assert!(error.contains("settings.toml") && !error.contains("default"), "{error}");
    let error = load("secret = 8675309", &[]).unwrap_err().to_string();
    assert!(error.starts_with("setting secret (set in ") && !error.contains("8675309"), "{error}");
}

#[test]
fn a_file_that_was_named_has_to_be_there() {
    let program = Program::parse_from(["palestra", "--config", "/nowhere/palestra.toml"]);
    assert!(matches!(Config::load(&program.arguments), Err(ConfigError::NoFile(_))));
}

#[test]
fn debugging_output_shows_no_secret() {
    let config = load("", &["--secret", "0123456789abcdef0123456789abcdef"]).unwrap();
    assert!(!format!("{config:?}").contains("0123456789"));
}
