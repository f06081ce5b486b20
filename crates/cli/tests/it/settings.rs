//! Flags and environment variables, through the binary.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Sandbox, formsvc, run};

#[test]
fn invalid_flag_is_exit_2_and_names_a_valid_value() {
    let cases: &[(&[&str], &str)] = &[
        (&["forms", "lits"], "list"),
        (&["--demo", "forms", "list", "--output", "xml"], "table"),
        (&["--demo", "me", "--timeout", "30"], "30s"),
        (&["--demo", "me", "--max-rate", "0"], "`off`"),
        (&["--demo", "me", "--color", "sometimes"], "auto"),
        (&["--demo", "me", "--base-url", "https://example.org"], "--demo"),
        (&["me", "--demo", "--profile", "gone"], "--profile"),
        (&["me", "--api-key-stdin", "--api-key-file", "x"], "--api-key-file"),
        (&["-q", "me", "-v"], "--verbose"),
        (&["--demo", "submissions", "export", "penguins", "--format", "pdf"], "csv"),
        (&["--demo", "submissions", "list", "penguins", "--limit", "0"], "1"),
        (&["sandbox", "--generate", "big"], "PUBLIC_ID=COUNT"),
        (&["sandbox", "--rate-limit", "none"], "`off`"),
        (&["--demo", "submissions", "export", "penguins", "-o", "p.pdf"], "--format"),
        (&["me"], "--base-url"),
    ];
    for (args, tells) in cases {
        let said = run(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(tells), "{args:?}: {}", said.stderr);
        assert_eq!(said.stdout, "", "{args:?}");
    }
}

#[test]
fn base_url_without_encryption_is_refused() {
    for url in ["http://example.org", "ftp://localhost", "example.org", "https://u:pw@example.org"]
    {
        let output = formsvc(&["me", "--base-url", url]).env("FORMSVC_API_KEY", "fsk_x").output();
        let output = output.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{url}: {stderr}");
        assert!(!stderr.contains("pw"), "{stderr}");
    }
}

#[test]
fn key_is_read_from_stdin_a_file_or_the_environment() {
    let sandbox = Sandbox::start(&[]);
    let base = ["me", "--base-url", &sandbox.base_url];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, format!("{}\n", sandbox.api_key)).unwrap();
    let by_file = [&base[..], &["--api-key-file", file.to_str().unwrap()]].concat();
    assert_eq!(run(&by_file).code, Some(0));
    let by_env = formsvc(&base).env("FORMSVC_API_KEY", &sandbox.api_key).output().unwrap();
    assert!(by_env.status.success());
    let by_env_file = formsvc(&base).env("FORMSVC_API_KEY_FILE", &file).output().unwrap();
    assert!(by_env_file.status.success());
    let mut by_stdin = formsvc(&[&base[..], &["--api-key-stdin"]].concat())
        .env("FORMSVC_API_KEY", "fsk_weaker")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    by_stdin.stdin.take().unwrap().write_all(sandbox.api_key.as_bytes()).unwrap();
    assert!(by_stdin.wait().unwrap().success());
}

#[test]
fn key_given_as_key_file_is_not_printed() {
    let said = run(&["me", "--base-url", "http://127.0.0.1:9", "--api-key-file", "fsk_secret"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(!said.stderr.contains("fsk_secret"), "{}", said.stderr);
}

#[test]
fn quiet_prints_no_messages_and_a_pipe_has_no_colors() {
    let said = run(&["--demo", "submissions", "export", "penguins", "--quiet"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let plain = run(&["--demo", "forms", "list", "--output", "table"]);
    assert!(!plain.stdout.contains('\u{1b}'));
    let coloured = run(&["--demo", "forms", "list", "--output", "table", "--color", "always"]);
    assert!(coloured.stdout.contains("\u{1b}[1m"));
    let forced = formsvc(&["--demo", "forms", "list", "--output", "table"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(forced.stdout.contains(&0x1b));
}
