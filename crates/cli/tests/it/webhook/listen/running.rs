//! The environment of a listener: ports, files, folders and streams.

use std::net::TcpListener;
use std::process::Stdio;

use super::listener::{Listener, SECRET, event, of_type, records, without_age};
use crate::processes;
use crate::support::{formsvc, run};

/// If this variable is `1`, the test of `::1` fails without IPv6 instead of being skipped.
const REQUIRE: &str = "FORMSVC_REQUIRE_IPV6";

#[test]
fn used_port_error_suggests_a_free_port() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let said = run(&["webhook", "listen", "--no-store", "--port", &port.to_string()]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(10), ""), "{}", said.stderr);
    let told = format!("error: cannot listen on port {port}");
    assert!(
        said.stderr.contains(&told) && said.stderr.contains("hint: `--port "),
        "{}",
        said.stderr
    );
}

#[test]
fn listener_accepts_ipv4_and_ipv6_loopback() {
    let listener = Listener::start(&[]);
    let port = listener.address.port();
    if TcpListener::bind("[::1]:0").is_err() {
        let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
        assert!(!required, "there is no ::1, and {REQUIRE}=1 requires it");
        return;
    }
    let mut stream = std::net::TcpStream::connect(("::1", port)).unwrap();
    let request = super::listener::request("/", "", "{}");
    std::io::Write::write_all(&mut stream, &request).unwrap();
    assert!(super::listener::read(&mut stream).starts_with("HTTP/1.1 401"));
}

#[test]
fn bind_to_all_addresses_is_a_warning() {
    let mut listener = Listener::start(&["--bind", "0.0.0.0"]);
    listener.wait_for("warning: other machines can reach the listener at 0.0.0.0");
}

#[test]
fn ready_file_exists_while_the_listener_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ready.json");
    let listener = Listener::start(&["--ready-file", path.to_str().unwrap(), "--path", "/hook"]);
    crate::support::within("a ready file", || path.exists());
    let ready: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(ready["url"], format!("http://{}/hook", listener.address));
    let other =
        run(&["webhook", "listen", "--no-store", "--port=0", "--ready-file", "/proc/version"]);
    assert_eq!(other.code, Some(10), "{}", other.stderr);
    assert_eq!(listener.terminate().code, Some(0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn captures_are_numbered_and_named_in_hints() {
    let state = tempfile::tempdir().unwrap();
    let keep = |flags: &[&str]| {
        Listener::with(flags, |command| {
            command.env("FORMSVC_STATE_DIR", state.path()).env("FORMSVC_SIGNING_SECRET", SECRET)
        })
    };
    let listener = keep(&["--output", "ndjson"]);
    listener.deliver(&event("sub_1"));
    listener.deliver(&event("sub_2"));
    let records = records(&listener.terminate().stdout);
    let numbers: Vec<_> =
        of_type(&records, "delivery").iter().map(|record| &record["capture"]).collect();
    assert_eq!(numbers, [1, 2]);
    let listener = keep(&[]);
    let body = event("sub_3");
    listener.post(&super::listener::signature(super::listener::OTHER_SECRET, 0, &body), &body);
    let said = listener.terminate();
    assert!(
        said.stdout.contains("`formsvc webhook verify --capture 3 --explain`"),
        "{}",
        said.stdout
    );
}

#[test]
fn unwritable_state_folder_stores_in_memory_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for state in [file.as_path(), "/proc/nothing".as_ref()] {
        let mut listener = Listener::with(&["--output", "ndjson"], |command| {
            command.env("FORMSVC_STATE_DIR", state).env("FORMSVC_SIGNING_SECRET", SECRET)
        });
        listener.wait_for("deliveries are kept in memory");
        listener.wait_for("set FORMSVC_STATE_DIR to a folder of yours");
        assert_eq!(listener.deliver(&event("sub_1")).status(), 200);
        let said = listener.terminate();
        let records = records(&said.stdout);
        assert_eq!(of_type(&records, "warning")[0]["code"], "in_memory");
        assert_eq!(
            (said.code, &of_type(&records, "delivery")[0]["status"]),
            (Some(0), &200.into())
        );
    }
    let no_home = Listener::with(&[], |command| command.env_remove("HOME"));
    assert!(no_home.terminate().stderr.contains("deliveries are kept in memory"));
}

#[test]
fn closed_stdin_and_stderr_do_not_stop_the_listener() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready.json");
    let binary = formsvc(&[]).get_program().to_owned();
    let line =
        "exec \"$0\" webhook listen --port 0 --no-store --count 1 --ready-file \"$1\" <&- 2>&-";
    let mut shell = processes::command("sh");
    shell.env_clear().args(["-c", line]).arg(binary).arg(&ready);
    shell.env("FORMSVC_SIGNING_SECRET", SECRET).env("PATH", "/usr/bin:/bin");
    let child = shell.stdout(Stdio::piped()).spawn().unwrap();
    crate::support::within("a ready file", || ready.exists());
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&ready).unwrap()).unwrap();
    let address = told["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/');
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let body = event("sub_1");
    let header = super::listener::signature(SECRET, 0, &body);
    let request = super::listener::request("/", &header, &body);
    std::io::Write::write_all(&mut stream, &request).unwrap();
    assert!(super::listener::read(&mut stream).starts_with("HTTP/1.1 200"));
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&done.stdout).contains("✓ valid"));
}

#[test]
fn demo_listener_needs_no_setup() {
    let said = run(&["--demo", "webhook", "listen", "--count", "1", "--no-store"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(without_age(&said.stdout).contains("✓ valid → 200 "), "{}", said.stdout);
    let retried = run(&[
        "--demo",
        "webhook",
        "listen",
        "--no-store",
        "--respond=503,200",
        "--retry-base=100ms",
        "--expect=attempt=2 && status=200",
        "--output=ndjson",
    ]);
    assert_eq!(retried.code, Some(0), "{}", retried.stderr);
    // The demo makes a submission each second, so other submissions may arrive before the retry.
    let records = records(&retried.stdout);
    let deliveries = of_type(&records, "delivery");
    let statuses: Vec<_> = deliveries
        .iter()
        .filter(|delivery| delivery["submission_id"] == deliveries[0]["submission_id"])
        .map(|delivery| (&delivery["attempt"], &delivery["status"]))
        .collect();
    assert_eq!(statuses, [(&1.into(), &503.into()), (&2.into(), &200.into())]);
}
