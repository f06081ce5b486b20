//! `examples/receiver.py`, the receiver of the introductory documents. Without Python, these tests
//! do nothing.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::processes;
use crate::support::{Said, signal};

const RECEIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/receiver.py");
const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn receiver(secret: &str, arguments: &[&str]) -> Option<Command> {
    let python = processes::command("python3").arg("--version").output();
    if !python.is_ok_and(|python| python.status.success()) {
        return None;
    }
    let mut command = processes::command("python3");
    command.arg(RECEIVER).args(arguments).env("FORMSVC_SIGNING_SECRET", secret);
    command.stdin(Stdio::null());
    Some(command)
}

#[test]
fn invalid_argument_is_one_line_without_traceback() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (secret, arguments, told) in [
        (SECRET, &["http"][..], "usage: receiver.py [PORT]"),
        (SECRET, &["65536"], "usage: receiver.py [PORT]"),
        (SECRET, &[&*port], "cannot listen on port"),
        ("fsk_notasigningsecret", &["0"], "begins with whsec_"),
        ("FORMSVC_SIGNING_SECRET=", &["0"], "begins with whsec_"),
    ] {
        let Some(mut command) = receiver(secret, arguments) else { return };
        let said = Said::from(command.output().unwrap());
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        assert!(said.stderr.contains(told), "{}", said.stderr);
        assert_eq!((said.stderr.lines().count(), &*said.stdout), (1, ""), "{}", said.stderr);
    }
}

#[test]
fn pasted_secret_works_and_ctrl_c_has_no_traceback() {
    let pasted = format!("  export FORMSVC_SIGNING_SECRET={SECRET} ");
    let Some(mut command) = receiver(&pasted, &["0"]) else { return };
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().strip_prefix("listening on http://127.0.0.1:").unwrap();
    let addr = format!("127.0.0.1:{}", port.trim_end_matches('/'));
    std::net::TcpStream::connect(addr).unwrap();
    signal(&child, "INT");
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.stderr.trim()), (Some(0), ""));
}
