//! `formsvc sandbox --webhook`: deliveries and the lines about them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use formsvc_protocol::signature::{SigningSecret, verify};

use crate::support::{PATIENCE, Sandbox, formsvc, request, run, signal};

/// A request that an endpoint received.
struct Received {
    signature: String,
    body: String,
}

/// An endpoint that responds with these statuses in order; the last one repeats.
struct Endpoint {
    url: String,
    received: Receiver<Received>,
}

impl Endpoint {
    fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (seen, received) = channel();
        // The thread ends with the test process.
        thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    if stream.read_line(&mut head).unwrap() == 0 {
                        return;
                    }
                }
                let header = |name: &str| {
                    let named = |line: &&str| line.to_lowercase().starts_with(name);
                    head.lines().find(named).unwrap().split_once(": ").unwrap().1.to_owned()
                };
                let mut body = vec![0; header("content-length").parse().unwrap()];
                stream.read_exact(&mut body).unwrap();
                let status = statuses[at.min(statuses.len() - 1)];
                let answer = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
                let signature = header("x-service-signature");
                let body = String::from_utf8(body).unwrap();
                if seen.send(Received { signature, body }).is_err() {
                    return;
                }
            }
        });
        Self { url, received }
    }

    fn flag(&self, form: &str) -> String {
        format!("--webhook={form}={}", self.url)
    }

    fn next(&self) -> Received {
        self.received.recv_timeout(PATIENCE).expect("a delivery")
    }
}

fn submit(sandbox: &Sandbox) {
    let answers = r#"{"Name":"Ada","E-mail":"ada@example.org"}"#;
    let headers = "content-type: application/json\r\n";
    let answer = request(&sandbox.base_url, "POST /f/contact", headers, answers);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

/// Returns the secret that the sandbox printed.
fn secret(sandbox: &Sandbox) -> Option<&str> {
    sandbox.exports.iter().find_map(|line| line.strip_prefix("export FORMSVC_SIGNING_SECRET="))
}

fn is_signed_with(received: &Received, secret: &str) -> bool {
    let secret = SigningSecret::new(secret).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let (header, body) = (received.signature.as_bytes(), received.body.as_bytes());
    let tolerance = formsvc_protocol::limits::SIGNATURE_TOLERANCE;
    verify(header, body, &[secret], now.as_secs(), tolerance).is_ok()
}

const SOON: [&str; 2] = ["--retry-base=1ms", "--retry-factor=1"];

#[test]
fn attempt_prints_a_line_when_it_ends() {
    let endpoint = Endpoint::start(&[503, 200]);
    let mut sandbox = Sandbox::start(&[&endpoint.flag("contact"), SOON[0], SOON[1]]);
    submit(&sandbox);
    let (first, second) = (sandbox.next_line(), sandbox.next_line());
    let told = |line: &str, end: &str| {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.len() == 9 && time.ends_with('Z'), "{line}");
        let expected = format!("contact -> {}: {end}", endpoint.url);
        assert!(rest.starts_with(&expected), "{rest}");
    };
    told(&first, "503, retry in 1.");
    told(&second, "200");
}

#[test]
fn refused_connection_is_an_attempt_to_retry() {
    let port = crate::support::closed_address().port();
    let webhook = format!("contact=http://localhost:{port}/");
    let mut sandbox = Sandbox::start(&["--webhook", &webhook]);
    submit(&sandbox);
    let line = sandbox.next_line();
    assert!(line.contains(": connect_failed, retry in 1"), "{line}");
}

#[test]
fn quiet_sandbox_prints_nothing() {
    let endpoint = Endpoint::start(&[500]);
    let visits = ["--submit-every=1ms", "--rate-limit=off"];
    let args = [&["--quiet", "sandbox", "--port=0", &endpoint.flag("contact")], &visits[..]];
    let args = [&args.concat()[..], &SOON].concat();
    let child = formsvc(&args).stderr(Stdio::piped()).spawn().unwrap();
    // The first delivery has completed when the third arrives.
    (0..3).for_each(|_| drop(endpoint.next()));
    signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn submit_every_uses_forms_with_webhooks_in_turn() {
    let endpoint = Endpoint::start(&[200]);
    let (one, two) = (endpoint.flag("penguins"), endpoint.flag("contact"));
    let sandbox = Sandbox::start(&[&one, &two, "--submit-every", "20ms", "--rate-limit", "off"]);
    let told = "A submission is added every 20ms to penguins, contact, in turn";
    assert!(sandbox.said.contains(told), "{}", sandbox.said);
    let mut missing = vec!["Palmer penguins", "Contact us"];
    while !missing.is_empty() {
        let body = endpoint.next().body;
        missing.retain(|title| !body.contains(title));
    }
}

#[test]
fn database_keeps_the_signing_secret() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db");
    let endpoint = Endpoint::start(&[200]);
    let (webhook, database) = (endpoint.flag("contact"), database.to_str().unwrap());
    let first = Sandbox::start(&["--database", database, &webhook]);
    let (key, known) = (first.api_key.clone(), secret(&first).unwrap().to_owned());
    first.terminate();
    for args in [&["--database", database, &webhook][..], &["--database", database]] {
        let again = Sandbox::start(args);
        assert_eq!(secret(&again), Some(&*known), "{}", again.said);
        assert_eq!(again.said.matches("are delivered to").count(), 1, "{}", again.said);
        for key in [&key, &again.api_key] {
            let me = again.formsvc(&["me"]).env("FORMSVC_API_KEY", key).status().unwrap();
            assert!(me.success());
        }
        submit(&again);
        assert!(is_signed_with(&endpoint.next(), &known));
        again.terminate();
    }
}

#[test]
fn wrong_webhook_or_used_port_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db");
    let kept = ["sandbox", "--database", database.to_str().unwrap()];
    let good = "--webhook=contact=http://localhost:9000";
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("--port={}", taken.local_addr().unwrap().port());
    for (other, code, told) in [
        (
            "--webhook=nope=http://localhost:9000/",
            2,
            "no form `nope`\nhint: its forms are randhie,",
        ),
        ("--webhook=contact=http://example.org/", 2, "plain `http`"),
        (&port, 10, "--port 0"),
    ] {
        let args = [&kept[..], &[good, other, if code == 2 { "--port=0" } else { "-v" }]].concat();
        let said = run(&args);
        assert_eq!(said.code, Some(code), "{}", said.stderr);
        assert!(said.stderr.contains(told), "{}", said.stderr);
    }
    // Both spellings are the same endpoint.
    let sandbox = Sandbox::start(&[good, "--webhook=contact=http://LOCALHOST:9000/"]);
    assert_eq!(sandbox.said.matches("are delivered to").count(), 1, "{}", sandbox.said);
}

#[test]
fn delivery_settings_follow_the_rules_of_the_server() {
    for (flag, told) in [
        ("--retry-base=11m", "of at most 10m"),
        ("--retry-factor=0", "from 1 to 100"),
        ("--egress-allow=10.1.2.3/8", "is no range"),
        ("--webhook=contact=https://10.1.2.3/", "`--egress-allow`"),
    ] {
        let said = run(&["sandbox", "--port=0", flag]);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(told), "{}", said.stderr);
    }
    let private = ["--webhook=contact=https://10.1.2.3/", "--egress-allow=10.0.0.0/8"];
    assert!(Sandbox::start(&private).said.contains("https://10.1.2.3/"));
}
