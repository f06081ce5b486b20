//! Produces every exit code by a real cause, and every error code of the service by a real request.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use formsvc_server::admin::Admin;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};

use crate::support::{
    Between, Canned, SECRET, Said, Sandbox, answer, formsvc, hanging_up, one_form, page, run,
    signal, wait_until_inside,
};

fn refused(status: &str, code: &str) -> Option<String> {
    answer(status, "", &format!(r#"{{"error":{{"code":"{code}","message":"no"}}}}"#))
}

/// Revokes the keys of a sandbox that is not running.
fn revoke_keys(database: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open_exclusive(database, system_clock()).unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let owner = admin.user("sandbox@formsvc.invalid").await.unwrap();
        for key in admin.list_keys(&owner.id).await.unwrap() {
            admin.revoke_key(&key.id).await.unwrap();
        }
        store.close().await.unwrap();
    });
}

#[test]
fn service_error_codes_map_to_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db");
    let kept = ["--database", database.to_str().unwrap()];
    let revoked = Sandbox::start(&kept).api_key.clone();
    revoke_keys(&database);
    // The sandbox creates a new key, because the database contains no valid one.
    let sandbox = Sandbox::start(&[&kept[..], &["--rate-limit", "20"]].concat());
    let at = |base_url: &str, key: &str, args: &[&str]| {
        let mut command = sandbox.formsvc(args);
        let output = command.env("FORMSVC_BASE_URL", base_url).env("FORMSVC_API_KEY", key).output();
        let output = output.unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let service = &*sandbox.base_url;
    // A command always sends a key, and these commands request an existing form. The proxies change
    // two requests, so that a real service refuses them.
    let keyless = Between::start(service, |head| {
        let lines = head.split_inclusive("\r\n");
        Ok(lines.filter(|line| !line.to_lowercase().starts_with("authorization:")).collect())
    });
    let formless = Between::start(service, |head| Ok(head.replace("/forms/frm_", "/forms/gone_")));
    let good = &*sandbox.api_key;
    let list = ["submissions", "list", "penguins"];
    let before = [&list[..], &["--before", "yesterday"]].concat();
    let impatient = ["--max-rate", "off", "--max-wait", "1s", "submissions", "export", "randhie"];
    for (code, exit, (got, said)) in [
        ("missing_authorization", 4, at(&keyless.base_url, good, &["me"])),
        ("invalid_key", 4, at(service, "fsk_unknown", &["me"])),
        ("key_revoked", 4, at(service, &revoked, &["me"])),
        ("bad_request", 2, at(service, good, &before)),
        ("form_not_found", 3, at(&formless.base_url, good, &list)),
        ("rate_limited", 7, at(service, good, &impatient)),
    ] {
        assert_eq!(got, exit, "{code}: {said}");
        // The error for a wait that is too long does not contain the code of the service.
        assert!(said.contains(code) || exit == 7, "{code}: {said}");
    }
}

#[test]
fn unknown_error_code_exits_by_its_status() {
    for (status, exit) in [("401 Unauthorized", 4), ("404 Not Found", 3), ("403 Forbidden", 5)] {
        let service = Canned::start(vec![refused(status, "a_later_code")]);
        let said = service.run(&["me"]);
        assert_eq!(said.code, Some(exit), "{}", said.stderr);
        let told = said.stderr.contains("a_later_code") && said.stderr.contains("req_test");
        assert!(told, "{}", said.stderr);
    }
}

#[test]
fn no_key_is_exit_4() {
    let said = run(&["me", "--base-url", "http://127.0.0.1:9"]);
    assert_eq!(said.code, Some(4));
    let ways = ["auth login --store file`", "FORMSVC_API_KEY", "`--api-key-file PATH`"];
    for told in [
        "error: no API key",
        "cause: there is no keyring",
        "`formsvc --base-url http://127.0.0.1:9 ",
    ]
    .iter()
    .chain(&ways)
    {
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
}

#[test]
fn invalid_response_is_exit_5_with_its_position() {
    let row = r#"{"id":"sub_1","data":{},"created_at":"2026-01-01T00:00:00.000Z"}"#;
    let newer = r#"{"id":"sub_2","data":{},"created_at":"2026-01-02T00:00:00.000Z"}"#;
    let html = "<html><body>Bad gateway</body></html>";
    for (name, page, tells) in [
        ("html", answer("200 OK", "", html), "Bad gateway"),
        ("no data", answer("200 OK", "", r#"{"pagination":{"has_more":false}}"#), "data"),
        ("wrong type", page(&row.replace("{}", "[1]"), None), "data[0].data"),
        ("bad time", page(&row.replace("2026-01-01T", "2026-01-41T"), None), "data[0].created_at"),
        ("out of order", page(&format!("{row},{newer}"), None), "newer"),
        ("stuck", page(row, Some("")), "cursor"),
    ] {
        let service = Canned::start(vec![one_form(), page]);
        let said = service.run(&["submissions", "export", "survey", "--format", "ndjson"]);
        assert_eq!(said.code, Some(5), "{name}: {}", said.stderr);
        assert!(said.stderr.contains(tells), "{name}: {}", said.stderr);
    }
}

#[test]
fn unreachable_or_silent_service_is_exit_6() {
    let port = crate::support::closed_address().port();
    let base_url = format!("http://127.0.0.1:{port}");
    let gone = formsvc(&["me", "--base-url", &base_url]).env("FORMSVC_API_KEY", "fsk_x").output();
    let gone = Said::from(gone.unwrap());
    assert_eq!(gone.code, Some(6));
    // The cause is printed once.
    assert_eq!(gone.stderr.matches("cause: ").count(), 1, "{}", gone.stderr);
    assert!(gone.stderr.contains("cause: nothing listens on 127.0.0.1:"), "{}", gone.stderr);
    let silent = Canned::start(vec![None]);
    let said = silent.run(&["me", "--timeout", "50ms"]);
    assert_eq!(said.code, Some(6), "{}", said.stderr);
    assert!(said.stderr.contains("--timeout"), "{}", said.stderr);
}

#[test]
fn invalid_base_url_has_a_suggestion() {
    for (address, told) in [
        ("127.0.0.1:8080", "hint: did you mean `http://127.0.0.1:8080`?"),
        ("localhost:8080", "hint: did you mean `http://localhost:8080`?"),
        ("forms.example.org", "hint: did you mean `https://forms.example.org`?"),
        ("me:hunter2@example.org", "hint: a base URL is https://"),
        ("http://example.org", "would get the API key without encryption"),
    ] {
        let said = formsvc(&["me", "--base-url", address]).env("FORMSVC_API_KEY", "fsk_x").output();
        let said = Said::from(said.unwrap());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(told), "{}", said.stderr);
        let internal = ["client.build", "hunter2"].map(|word| said.stderr.contains(word));
        assert_eq!(internal, [false, false], "{}", said.stderr);
    }
}

#[test]
fn lasting_rate_limit_is_exit_7() {
    let limited = answer("429 Too Many Requests", "retry-after: 0\r\n", "{}");
    let said = Canned::start(vec![limited]).run(&["me"]);
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    assert!(
        said.stderr.contains("4 attempts") && said.stderr.contains("--max-rate"),
        "{}",
        said.stderr
    );
}

#[test]
fn wait_above_max_wait_is_exit_7() {
    let limited = answer("429 Too Many Requests", "retry-after: 3600\r\n", "{}");
    let said = Canned::start(vec![limited]).run(&["me", "--max-wait", "5s"]);
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    assert!(said.stderr.contains("--max-wait"), "{}", said.stderr);
}

#[test]
fn sigint_is_exit_130_and_sigterm_143() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let silent = Canned::start(vec![None]);
        let mut command = silent.formsvc(&["me"]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        silent.request();
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn signal_ends_a_command_that_reads_a_key() {
    let mut command = formsvc(&["me", "--base-url", "http://127.0.0.1:9", "--api-key-stdin", "-v"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The test keeps the pipe open, because `wait` closes a standard input that the child still
    // owns.
    let _typing = child.stdin.take();
    wait_until_inside(&child, "0 0x0 ");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn verbose_output_does_not_contain_the_key() {
    let service = Canned::start(vec![refused("500 Internal Server Error", SECRET), None]);
    let said = service.run(&["me", "-vv", "--timeout", "50ms", "--max-wait", "1s"]);
    assert_ne!(said.code, Some(0));
    assert!(said.stderr.len() > 200, "nothing was logged: {}", said.stderr);
    // The key is masked even in the error code that the service returns.
    assert_eq!(said.stderr.matches(SECRET).count(), 0, "{}", said.stderr);
    assert!(service.request().contains(SECRET), "the key was not sent");
}

/// Runs a command that ends with the exit code. Fails if no command is known for a code of the
/// table.
fn run_with_exit_code(code: u8) -> Said {
    let limited = || answer("429 Too Many Requests", "retry-after: 3600\r\n", "{}");
    let signaled = |name| {
        let silent = Canned::start(vec![None]);
        let child = silent.formsvc(&["me"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child = child.unwrap();
        silent.request();
        signal(&child, name);
        child.wait_with_output().unwrap().into()
    };
    match code {
        0 => run(&["help", "exit-codes"]),
        // A check fails because the base URL is missing.
        1 => run(&["doctor"]),
        2 => run(&["lits"]),
        3 => run(&["--demo", "forms", "view", "zebra"]),
        4 => Canned::start(vec![refused("401 Unauthorized", "invalid_key")]).run(&["me"]),
        5 => Canned::start(vec![answer("200 OK", "", "<html>")]).run(&["me"]),
        6 => Canned::start(vec![None]).run(&["me", "--timeout", "50ms"]),
        7 => Canned::start(vec![limited()]).run(&["me", "--max-wait", "1s"]),
        8 => {
            let service = Canned::start(vec![one_form(), page("", None)]);
            let tail = ["submissions", "tail", "survey", "-n", "1", "--count", "1"];
            service.run(&[&tail[..], &["--max-time", "300ms"]].concat())
        }
        9 => {
            let row = |id: &str| {
                format!(r#"{{"id":"{id}","data":{{}},"created_at":"2026-01-01T00:00:01.000Z"}}"#)
            };
            let rows: Vec<_> = (0..100).map(|at| row(&format!("sub_{at}"))).collect();
            let tied = page(&rows.join(","), Some("2026-01-01T00:00:01.000Z"));
            let service = Canned::start(vec![one_form(), tied, page("", None), page("", None)]);
            let export = ["submissions", "export", "survey"];
            service.run(&[&export[..], &["--allow-incomplete"]].concat())
        }
        10 => run(&["man", "--dir", "/dev/null/nowhere"]),
        11 => run(&[
            "webhook",
            "listen",
            "--port",
            "0",
            "--no-store",
            "--count=1",
            "--max-time",
            "50ms",
        ]),
        129 => {
            let silent = Canned::start(vec![None]);
            let mut command = hanging_up(&silent.formsvc(&["me"]), false);
            let child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            silent.request();
            signal(&child, "HUP");
            child.wait_with_output().unwrap().into()
        }
        130 => signaled("INT"),
        143 => signaled("TERM"),
        unknown => panic!("add a command that exits with {unknown}"),
    }
}

#[test]
fn every_exit_code_of_the_table_is_produced() {
    let table = run(&["help", "exit-codes"]).stdout;
    for row in formsvc_cli::exit::EXITS {
        let code = row.exit.code();
        let said = run_with_exit_code(code);
        assert_eq!(said.code, Some(i32::from(code)), "{}", said.stderr);
        assert!(table.contains(&format!("\n  {code} ")), "{code} is not in help");
    }
}
