//! `formsvc sandbox`

mod webhooks;

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Sandbox, entries, formsvc, request, run, signal, within};

#[test]
fn sandbox_serves_while_its_ready_file_exists() {
    let mut sandbox = Sandbox::start(&["--generate", "big=250"]);
    let said = sandbox.run(&["submissions", "export", "big", "--format", "ndjson"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout.lines().count(), 250);
    let ready = sandbox.ready_file();
    assert!(ready.exists());
    let folder = sandbox.keep_folder();
    assert_eq!(sandbox.terminate(), Some(143));
    assert!(!ready.exists(), "the ready file was not removed");
    drop(folder);
}

#[test]
fn only_export_lines_go_to_standard_output() {
    let sandbox = Sandbox::start(&[]);
    let (url, key) = (&sandbox.base_url, &sandbox.api_key);
    let exports =
        [format!("export FORMSVC_BASE_URL={url}"), format!("export FORMSVC_API_KEY={key}")];
    assert_eq!(sandbox.exports, exports);
    assert!(sandbox.said.contains("In another shell") && !sandbox.said.contains("export "));
}

/// One run in time is enough, because a busy machine can delay some runs.
#[test]
fn interrupt_ends_the_sandbox_within_1s() {
    let mut times = (0..4).map(|_| {
        let mut sandbox = Sandbox::start(&[]);
        // A browser leaves idle connections open.
        let address = sandbox.base_url.trim_start_matches("http://").to_owned();
        let _idle = std::net::TcpStream::connect(address).unwrap();
        let begun = Instant::now();
        assert_eq!(sandbox.end_by("INT"), Some(130));
        begun.elapsed()
    });
    assert!(times.any(|time| time < Duration::from_secs(1)));
}

#[test]
fn database_keeps_forms_for_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db");
    let args = ["--database", database.to_str().unwrap(), "--generate", "big=50"];
    let ids = |sandbox: &Sandbox| {
        sandbox.run(&["submissions", "export", "big", "--format", "ndjson"]).stdout
    };
    let first = Sandbox::start(&args);
    let before = ids(&first);
    let key = first.api_key.clone();
    first.terminate();
    let mut second = Sandbox::start(&args);
    second.api_key = key;
    assert_eq!(ids(&second), before);
    assert_eq!(before.lines().count(), 50);
    // A second sandbox cannot use the database.
    let both = [&["sandbox", "--port", "0"][..], &args[..2]].concat();
    let third = run(&both);
    assert_eq!(third.code, Some(10), "{}", third.stderr);
}

#[test]
fn ready_file_replaces_only_a_ready_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ready.json");
    let refuse = |cause: &str| {
        let refused = run(&["sandbox", "--port", "0", "--ready-file", path.to_str().unwrap()]);
        assert_eq!(refused.code, Some(10), "{}", refused.stderr);
        assert!(refused.stderr.contains(cause), "{}", refused.stderr);
    };
    for other in ["", "notes", "{\"base_url\":\"http://localhost\"}"] {
        std::fs::write(&path, other).unwrap();
        refuse("exists and is not a ready file");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
    }
    std::fs::remove_file(&path).unwrap();
    assert!(crate::processes::command("mkfifo").arg(&path).status().unwrap().success());
    refuse("is not a file");
}

#[test]
fn ready_file_of_another_process_is_kept_at_exit() {
    let mut sandbox = Sandbox::start(&[]);
    let path = sandbox.ready_file();
    let _folder = sandbox.keep_folder();
    let mut listener = formsvc(&["webhook", "listen", "--no-store", "--port=0", "--ready-file"])
        .arg(&path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    within("the ready file of the listener", || {
        let text = std::fs::read_to_string(&path).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&text).unwrap();
        ready["pid"] == listener.id()
    });
    assert_eq!(sandbox.terminate(), Some(143));
    assert!(path.exists(), "the ready file of the listener was removed");
    signal(&listener, "TERM");
    listener.wait().unwrap();
    assert!(!path.exists(), "the listener did not remove its ready file");
}

#[test]
fn unwritable_ready_file_or_used_port_is_exit_10() {
    let said = run(&["sandbox", "--port", "0", "--ready-file", "/nonexistent/ready.json"]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.starts_with("error: "), "{}", said.stderr);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = run(&["sandbox", "--port", &port]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("--port 0"), "{}", said.stderr);
}

#[test]
fn demo_writes_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let done = formsvc(&["--demo", "me"])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    assert!(done.status.success());
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}

#[test]
fn index_page_links_the_public_forms() {
    let sandbox = Sandbox::start(&[]);
    let page = request(&sandbox.base_url, "GET /", "", "");
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("text/html"), "{page}");
    assert!(page.contains("<a href=\"/f/contact\">Contact us</a>"), "{page}");
}

#[test]
fn fault_of_flag_ends_by_request() {
    let sandbox = Sandbox::start(&["--fault", "rate-limited=3600", "--fault", "latency=1ms"]);
    assert!(sandbox.said.contains("latency=1ms"), "{}", sandbox.said);
    assert_eq!(sandbox.run(&["me"]).code, Some(7));
    let ended = request(&sandbox.base_url, "DELETE /_sandbox/faults/rate-limited", "", "");
    assert!(ended.starts_with("HTTP/1.1 200 "), "{ended}");
    assert_eq!(sandbox.run(&["me"]).code, Some(0));
}

#[test]
fn wrong_fault_names_the_right_one() {
    let fault = |fault| run(&["sandbox", "--port", "0", "--fault", fault]);
    for (wrong, told) in [
        ("latancy", "did you mean `latency`?"),
        ("zzz", "there are latency, errors,"),
        ("errors=101%", "from 1 to 100"),
        ("empty-page=1", "takes no value"),
    ] {
        let said = fault(wrong);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(told), "{}", said.stderr);
    }
}

#[test]
fn help_contains_the_long_description() {
    let help = |command: &[&str]| crate::support::succeed(&[command, &["--help"]].concat());
    assert!(help(&["sandbox"]).contains("It listens on loopback only"));
    assert!(help(&["submissions", "export"]).contains("Newest first."));
    assert!(help(&[]).contains("Run a service with sample data on this machine"));
}

#[test]
fn sandbox_help_lists_every_fault() {
    let help = crate::support::succeed(&["sandbox", "--help"]);
    for row in formsvc_server::faults::FAULTS {
        assert!(help.contains(&format!("- {}", row.name)), "{}", row.name);
    }
}

#[test]
fn submit_every_adds_submissions_until_the_end() {
    let sandbox = Sandbox::start(&["--submit-every", "5ms", "--rate-limit", "off"]);
    let newest = |form| sandbox.run(&["submissions", "list", form, "--limit", "1"]).stdout;
    let first = newest("contact");
    while newest("contact") == first {}
    assert_eq!(sandbox.terminate(), Some(143));
}

#[test]
fn sandbox_submissions_are_spread_over_180_days() {
    let since = |when| {
        let count = ["--demo", "submissions", "count", "penguins", "--jq", ".count"];
        let count = crate::support::succeed(&[&count[..], &["--since", when]].concat());
        count.trim().parse::<u64>().unwrap()
    };
    assert_eq!(since("181d"), 344);
    let recent = since("90d");
    assert!((150..=180).contains(&recent), "{recent}");
    assert_eq!(since("0d"), 0);
}
