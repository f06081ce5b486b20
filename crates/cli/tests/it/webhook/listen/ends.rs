//! The conditions that end a listener, and their exit codes.

use std::io::Write;
use std::process::Stdio;
use std::sync::{Arc, Mutex, mpsc};

use serde_json::Value;

use super::listener::{Listener, event, of_type, read, records, request, signature};
use super::listener::{OTHER_SECRET, SECRET};
use crate::processes;
use crate::support::{PATIENCE, formsvc, run, signal};
use crate::webhook::recorder::{Recorder, answer};

#[test]
fn signal_ends_with_a_summary_and_exit_0() {
    for name in ["INT", "TERM"] {
        let mut listener = Listener::start(&[]);
        assert_eq!(listener.deliver(&event("sub_1")).status(), 200);
        signal(listener.child(), name);
        let said = listener.finish();
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains("1 delivery: 1 valid"), "{}", said.stderr);
        assert!(said.stderr.contains("responses: 200 ×1"), "{}", said.stderr);
    }
}

#[test]
fn help_describes_the_end_by_a_signal() {
    let help = run(&["webhook", "listen", "--help"]).stdout;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends =
        "Ctrl-C, SIGTERM or closing the terminal ends the listener with exit code 0, or with 11";
    assert!(words.contains(ends), "{help}");
}

#[test]
fn count_accepts_exactly_that_many_deliveries() {
    let listener = Listener::start(&["--count", "2", "--output", "ndjson"]);
    let answers: Vec<_> = (0..2).map(|id| listener.deliver(&event(&id.to_string()))).collect();
    assert!(answers.iter().all(|answer| answer.status() == 200));
    let said = listener.finish();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let records = records(&said.stdout);
    assert_eq!(of_type(&records, "delivery").len(), 2);
    let summary = of_type(&records, "summary")[0];
    assert_eq!((&summary["ended"], &summary["met"]), (&"met".into(), &true.into()));
}

#[test]
fn missing_deliveries_exit_11_after_max_time() {
    let args = ["webhook", "listen", "--port=0", "--no-store", "--count=2", "--expect=status<300"];
    {
        let said = run(&[&args[..], &["--max-time=1ms"]].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(11), ""), "{}", said.stderr);
        assert!(
            said.stderr.contains("error: the expected deliveries did not all arrive"),
            "{}",
            said.stderr
        );
        assert!(said.stderr.contains("`--count 2`: no delivery arrived"), "{}", said.stderr);
        let expect = "`--expect status<300`: no delivery arrived";
        assert!(said.stderr.contains(expect), "{}", said.stderr);
    }
    let nothing = run(&["webhook", "listen", "--port=0", "--no-store", "--max-time=1ms"]);
    assert_eq!(nothing.code, Some(0), "no delivery is expected: {}", nothing.stderr);
}

#[test]
fn listener_ends_when_every_expectation_is_met() {
    let flags = ["--expect=submission_id=sub_2 && status<300", "--expect=verdict!=valid"];
    let listener = Listener::start(&[&flags[..], &["--max-time=1h"]].concat());
    let (one, two) = (event("sub_1"), event("sub_2"));
    assert_eq!(listener.post(&signature(OTHER_SECRET, 0, &one), &one).status(), 401);
    assert_eq!(listener.deliver(&two).status(), 200);
    let said = listener.finish();
    assert_eq!((said.code, said.stdout.lines().count()), (Some(0), 3), "{}", said.stdout);
}

#[test]
fn unmet_expectation_is_exit_11() {
    let listener = Listener::start(&["--count=1", "--expect", "/data/Name = Grace"]);
    listener.deliver(&event("sub_1"));
    let said = listener.finish();
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    let message =
        "`--expect /data/Name = Grace`: 1 delivery arrived; the last one does not match: ";
    assert!(said.stderr.contains(message), "{}", said.stderr);
}

#[test]
fn first_mismatch_of_expect_every_ends_the_listener() {
    let flags = ["--expect-every", "verdict=valid && status<300", "--output", "ndjson"];
    let listener = Listener::start(&flags);
    listener.deliver(&event("sub_1"));
    listener.post(&signature(SECRET, -400, "{}"), "{}");
    let said = listener.finish();
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    let why = "its `verdict` is `signature_too_old`";
    assert!(said.stderr.contains(why), "{}", said.stderr);
    let records = records(&said.stdout);
    assert_eq!(of_type(&records, "summary")[0]["ended"], "mismatch");
}

#[test]
fn expect_within_ends_the_listener_after_silence() {
    let said = run(&["webhook", "listen", "--port=0", "--no-store", "--expect-within=1ms"]);
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    assert!(
        said.stderr.contains("`--expect-within 1ms`: no delivery arrived for 1ms"),
        "{}",
        said.stderr
    );
}

#[test]
fn closed_pipe_ends_the_listener_with_exit_0() {
    let line = "$0 webhook listen --port 0 --no-store --ready-file \"$1\" | head -n 1";
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready.json");
    let mut shell = formsvc(&[]);
    let binary = shell.get_program().to_owned();
    shell = processes::command("sh");
    shell.env_clear().env("PATH", "/usr/bin:/bin").args(["-c", line]).arg(binary).arg(&ready);
    let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    crate::support::within("a ready file", || ready.exists());
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&ready).unwrap()).unwrap();
    let address = told["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/');
    let send = || {
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.write_all(&request("/", "", "{}"))?;
        read(&mut stream);
        std::io::Result::Ok(())
    };
    // The listener ends when it writes the second line to the closed pipe.
    crate::support::within("the end of the listener", || send().is_err());
    assert!(child.wait().unwrap().success());
}

#[test]
fn closed_stdout_keeps_the_deliveries_in_flight() {
    const SLOW: [&str; 2] = ["slow_1", "slow_2"];
    let (has_come, come) = mpsc::channel();
    let [(release_1, wait_1), (release_2, wait_2)] = [(); 2].map(|()| mpsc::channel::<()>());
    let waits = [Mutex::new(wait_1), Mutex::new(wait_2)];
    let target = Recorder::start(Arc::new(move |_, got| {
        let body = String::from_utf8_lossy(&got.body);
        if let Some(slow) = SLOW.iter().position(|id| body.contains(id)) {
            has_come.send(()).unwrap();
            waits[slow].lock().unwrap().recv().unwrap();
        }
        Some(answer(200, "", ""))
    }));
    let state = tempfile::tempdir().unwrap();
    let mut listener = Listener::unread(&["--forward-to", &target.url("/hook")], |command| {
        command.env("FORMSVC_STATE_DIR", state.path()).env("FORMSVC_SIGNING_SECRET", SECRET)
    });
    drop(listener.child().stdout.take());
    let send = |id| {
        let (mut stream, body) = (listener.connect(), event(id));
        stream.write_all(&request("/", &signature(SECRET, 0, &body), &body)).unwrap();
        come.recv_timeout(PATIENCE).unwrap();
        stream
    };
    let streams = SLOW.map(send);
    // The listener cannot print this delivery, and ends.
    assert_eq!(listener.deliver(&event("fast")).status(), 200);
    // The listener cannot print the first slow delivery either, and still completes the second one.
    for (mut stream, release) in streams.into_iter().zip([release_1, release_2]) {
        release.send(()).unwrap();
        let answer = read(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let said = listener.finish();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let mut list = formsvc(&["webhook", "events", "list", "--output=json"]);
    let list = list.env("FORMSVC_STATE_DIR", state.path()).output().unwrap();
    let captures: Vec<Value> = serde_json::from_slice(&list.stdout).unwrap();
    let statuses: Vec<_> = captures.iter().map(|capture| &capture["status"]).collect();
    assert_eq!(statuses, [200; 3]);
}

#[test]
fn immediate_second_signal_keeps_the_delivery_in_flight() {
    for number in 0..5 {
        let (has_come, come) = mpsc::channel();
        let (let_go, go_on) = mpsc::channel::<()>();
        let go_on = Mutex::new(go_on);
        let target = Recorder::start(Arc::new(move |_, _| {
            has_come.send(()).unwrap();
            go_on.lock().unwrap().recv().unwrap();
            Some(answer(200, "", ""))
        }));
        let mut listener = Listener::start(&["--forward-to", &target.url("/hook")]);
        let (mut stream, body) = (listener.connect(), event("sub_1"));
        stream.write_all(&request("/", &signature(SECRET, 0, &body), &body)).unwrap();
        come.recv_timeout(PATIENCE).unwrap();
        // timeout(1) also sends the signal twice.
        let id = listener.child().id().to_string();
        assert!(processes::command("kill").args(["-TERM", &id, &id]).status().unwrap().success());
        let_go.send(()).unwrap();
        let answer = read(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{number}: {answer}");
        let said = listener.finish();
        assert_eq!(said.code, Some(0), "{number}: {}", said.stderr);
    }
}
