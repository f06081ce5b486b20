//! `formsvc contract`: output, exit codes and files. The tests of formsvc-contract cover the checks themselves.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use crate::support::{Canned, Said, Sandbox, formsvc, request, run, succeed};

const SIGNING_SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Returns a port that was free when this function checked it.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}", said.stderr))
}

/// Returns the ids of the checks with an outcome.
fn ids(results: &Value, outcome: &str) -> Vec<String> {
    let checks = results["checks"].as_array().unwrap().iter();
    let found = checks.filter(|check| check["verdict"] == outcome);
    found.map(|check| check["check"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn demo_passes_all_checks_without_a_flag() {
    let said = run(&["--demo", "contract", "check", "--output", "json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let results = json(&said);
    let listed: Value =
        serde_json::from_str(&succeed(&["contract", "list", "--output", "json"])).unwrap();
    let listed = listed.as_array().unwrap();
    let of = |has_flag: bool| -> Vec<String> {
        let found = listed.iter().filter(|check| check["flag"].is_string() == has_flag);
        found.map(|check| check["check"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&results, "passed"), of(false));
    assert_eq!(ids(&results, "skipped"), of(true));
    assert_eq!(results["profile"]["foreign_cursors"], "accepted", "{results}");
    assert_eq!(results["deliveries"], Value::Null);
}

#[test]
fn ids_of_all_checks_are_unique() {
    let mut all: Vec<String> = succeed(&["contract", "list", "--output", "tsv"])
        .lines()
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn sandbox_faults_fail_with_exit_1_and_a_report() {
    let sandbox = Sandbox::start(&["--fault", "errors=100%"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.xml");
    let only = ["--only", "me,forms"];
    let args = ["contract", "check", "--junit", path.to_str().unwrap()];
    let said = sandbox.run(&[&args[..], &only].concat());
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[0].starts_with("me\tfailed\tSPEC §4\tanswered 5"), "{}", said.stdout);
    assert!(lines[1].starts_with("forms\tskipped\tSPEC §4\tnot tried: `me` failed"));
    assert!(said.stderr.contains("error: 1 of 2 checks failed: me\n"), "{}", said.stderr);
    let xml = std::fs::read_to_string(&path).unwrap();
    assert!(xml.contains("tests=\"2\" skipped=\"1\" failures=\"1\" errors=\"0\""), "{xml}");
    assert!(xml.contains("request: GET /api/v1/me"), "{xml}");
    for text in [&said.stdout, &said.stderr, &xml] {
        assert!(!text.contains(&sandbox.api_key), "{text}");
    }
}

/// The sandbox acts as the proxy, because no other host than this machine is available.
#[test]
fn http_to_another_host_needs_allow_http() {
    let sandbox = Sandbox::start(&[]);
    let check = ["contract", "check", "--only", "me", "--base-url", "http://formsvc:8080"];
    for (flags, code, text) in [
        (&[][..], 2, "`http://formsvc:8080` would get the API key without encryption"),
        (&["--allow-http"], 0, "me\tpassed"),
    ] {
        let mut command = formsvc(&[&check[..], flags].concat());
        command.env("HTTP_PROXY", &sandbox.base_url).env("FORMSVC_API_KEY", &sandbox.api_key);
        let said: Said = command.output().unwrap().into();
        assert_eq!(said.code, Some(code), "{flags:?}: {}", said.stderr);
        assert!(said.stdout.contains(text) || said.stderr.contains(text), "{}", said.stderr);
    }
}

#[test]
fn unreachable_service_fails_the_gate() {
    let port = crate::support::closed_address().port();
    let mut command = formsvc(&["contract", "check", "--only", "me", "--output", "json"]);
    command.env("FORMSVC_BASE_URL", format!("http://127.0.0.1:{port}"));
    let said: Said = command.env("FORMSVC_API_KEY", "fsk_1").output().unwrap().into();
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let found = json(&said)["checks"][0]["found"].as_str().unwrap().to_owned();
    assert!(found.contains(&format!("nothing listens on 127.0.0.1:{port}")), "{found}");
}

#[test]
fn wrong_arguments_are_reported_before_any_request() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    let gone = gone.to_str().unwrap();
    for (args, code, message) in [
        (&["contract", "check", "--only", "curser"][..], 2, "cursor"),
        (&["--demo", "contract", "check", "--deliveries"], 2, "cannot be used together"),
        (&["--demo", "contract", "check", "--revoked-key-file", gone], 10, "cannot read"),
        (&["--demo", "contract", "check", "--json", "nothing"], 2, "nothing"),
    ] {
        let said = run(args);
        assert_eq!((said.code, &*said.stdout), (Some(code), ""), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(message), "{args:?}: {}", said.stderr);
    }
}

#[test]
fn wrong_delivery_arguments_are_reported_before_requests() {
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    service.set_nonblocking(true).unwrap();
    let port = service.local_addr().unwrap().port();
    let used = port.to_string();
    for (secret, more, message) in [
        (None, &["--port", "0"][..], "secret"),
        (Some(SIGNING_SECRET), &["--port", &used], "cannot listen on"),
    ] {
        let mut command = formsvc(&[&["contract", "check", "--deliveries"][..], more].concat());
        command.env("FORMSVC_BASE_URL", format!("http://127.0.0.1:{port}"));
        command
            .env("FORMSVC_API_KEY", "fsk_1")
            .envs(secret.map(|it| ("FORMSVC_SIGNING_SECRET", it)));
        let said: Said = command.output().unwrap().into();
        assert_ne!(said.code, Some(0));
        assert_eq!(said.stdout, "");
        assert!(said.stderr.contains(message), "{}", said.stderr);
        let connected = service.accept();
        assert!(connected.is_err(), "a request was sent: {connected:?}");
    }
}

#[test]
fn deliveries_of_a_sandbox_pass() {
    let port = free_port();
    let webhook = format!("contact=http://127.0.0.1:{port}/");
    let sandbox =
        Sandbox::start(&["--webhook", &webhook, "--retry-base", "100ms", "--retry-factor", "3"]);
    let ready = std::fs::read_to_string(sandbox.ready_file()).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let form = format!("{}/f/contact", sandbox.base_url);
    let answers = "Name=Ada&E-mail=ada%40example.org";
    let port = port.to_string();
    let args = ["contract", "check", "--deliveries", "--port", &port, "--public-form", &form];
    let more = ["--answers", answers, "--output", "json"];
    let mut command = sandbox.formsvc(&[&args[..], &more].concat());
    command.env("FORMSVC_SIGNING_SECRET", ready["webhooks"][0]["secret"].as_str().unwrap());
    let said: Said = command.output().unwrap().into();
    assert_eq!(said.code, Some(0), "{}\n{}", said.stderr, said.stdout);
    let results = json(&said);
    assert_eq!(results["deliveries"]["attempts"], 4, "{results}");
    assert!(ids(&results, "passed").contains(&"backoff".to_owned()), "{results}");
}

#[test]
fn deliveries_port_is_closed_during_the_api_checks() {
    let (service, port) = (Canned::start(vec![None]), free_port());
    let number = port.to_string();
    let args = ["contract", "check", "--deliveries", "--port", &number, "--timeout", "60s"];
    let mut command = service.formsvc(&args);
    let mut child = command.env("FORMSVC_SIGNING_SECRET", SIGNING_SECRET).spawn().unwrap();
    // The service does not respond to the first request of the API checks.
    service.request();
    let connected = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.kind());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(connected.err(), Some(ErrorKind::ConnectionRefused));
}

#[test]
fn refused_public_form_keeps_results_and_fails_a_junit_case() {
    let sandbox = Sandbox::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.xml");
    let form = format!("{}/f/contact", sandbox.base_url);
    let args = ["contract", "check", "--only", "me,delivery", "--deliveries", "--port", "0"];
    let more = ["--public-form", &form, "--answers", "x=1", "--junit", path.to_str().unwrap()];
    let mut command = sandbox.formsvc(&[&args[..], &more].concat());
    let said: Said = command.env("FORMSVC_SIGNING_SECRET", SIGNING_SECRET).output().unwrap().into();
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("error: the public form answered 4"), "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[0].starts_with("me\tpassed\t"), "{}", said.stdout);
    assert!(lines[1].starts_with("delivery\tskipped\tSPEC §6\tnot checked: the public form"));
    let xml = std::fs::read_to_string(&path).unwrap();
    assert!(xml.contains("tests=\"3\" skipped=\"1\" failures=\"1\" errors=\"0\""), "{xml}");
    let case = "name=\"deliveries\" classname=\"contract.check\" time=\"0.000\">";
    let (_, after) = xml.split_once(case).expect(&xml);
    assert!(after.trim_start().starts_with("<failure "), "{xml}");
    let page = request(&sandbox.base_url, "GET /f/contact", "", "");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
}
