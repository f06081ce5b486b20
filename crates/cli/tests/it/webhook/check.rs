//! `formsvc webhook check`: what it shows, how it ends, and that it reaches nobody unasked. Which
//! receivers pass and which fail is for the tests of the whole, which run them in many languages.

use std::net::TcpListener;

use crate::support::{Said, formsvc, run, succeed};

const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn check(args: &[&str]) -> Said {
    let mut command = formsvc(&["webhook", "check"]);
    command.args(args).env("FORMSVC_WEBHOOK_SECRET", SECRET);
    command.output().unwrap().into()
}

#[test]
fn our_own_receiver_passes_every_check() {
    let listed = succeed(&["webhook", "check", "--list", "--jq", "[.[].check]"]);
    let made = succeed(&[
        "--demo",
        "webhook",
        "check",
        "--jq",
        "[.[] | select(.outcome == \"ok\").check]",
    ]);
    assert_eq!(made, listed);
}

#[test]
fn where_nothing_listens_nothing_is_judged() {
    // Taken and let go: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let said = check(&[&format!("http://127.0.0.1:{port}/")]);
    assert_eq!((said.code, &*said.stdout), (Some(6), ""), "{}", said.stderr);
    assert!(said.stderr.contains(&format!("127.0.0.1:{port}")), "{}", said.stderr);
}

#[test]
fn another_machine_is_not_sent_to_unasked() {
    for url in ["https://hooks.example/forms", "http://192.0.2.1/"] {
        let said = check(&[url]);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains("--yes"), "{}", said.stderr);
    }
}

#[test]
fn without_a_secret_or_an_address_it_says_what_is_missing() {
    for (said, told) in [
        (run(&["webhook", "check", "http://127.0.0.1:9/"]), "no signing secret"),
        (check(&[]), "no address"),
        (check(&["127.0.0.1:9"]), "did you mean `http://127.0.0.1:9`?"),
        (check(&["--list", "--only", "freshaccepted"]), "fresh-accepted"),
        (run(&["--demo", "webhook", "check", "http://127.0.0.1:9/"]), "takes no address"),
    ] {
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{}", said.stderr);
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
}
