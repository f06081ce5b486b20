//! `formsvc sandbox`

use crate::support::{Sandbox, entries, formsvc, run};

#[test]
fn it_answers_once_the_ready_file_is_there_and_stops_on_sigterm() {
    let mut sandbox = Sandbox::start(&["--generate", "big=250"]);
    let said = sandbox.run(&["submissions", "export", "big", "--format", "ndjson"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout.lines().count(), 250);
    let ready = sandbox.ready_file();
    assert!(ready.exists());
    let folder = sandbox.keep_folder();
    assert_eq!(sandbox.terminate(), Some(143));
    assert!(!ready.exists(), "the ready file says that it still answers");
    drop(folder);
}

#[test]
fn what_a_database_keeps_is_there_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db");
    let args = ["--database", database.to_str().unwrap(), "--generate", "big=50"];
    let ids = |sandbox: &Sandbox| {
        sandbox.run(&["submissions", "export", "big", "--format", "ndjson"]).stdout
    };
    let first = Sandbox::start(&args);
    let before = ids(&first);
    first.terminate();
    let second = Sandbox::start(&args);
    assert_eq!(ids(&second), before);
    assert_eq!(before.lines().count(), 50);
    // A kept form is not made anew, and that is said.
    assert!(second.said.contains("`big` was kept"), "{}", second.said);
    // One database, one server.
    let both = [&["sandbox", "--port", "0"][..], &args[..2]].concat();
    let third = run(&both);
    assert_eq!(third.code, Some(10), "{}", third.stderr);
}

#[test]
fn an_unwritable_ready_file_or_a_taken_port_is_exit_10() {
    let said = run(&["sandbox", "--port", "0", "--ready-file", "/nonexistent/ready.json"]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = run(&["sandbox", "--port", &port]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("--port 0"), "{}", said.stderr);
}

#[test]
fn a_demo_leaves_nothing_behind() {
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
