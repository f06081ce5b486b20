//! Forwarded deliveries arrive unchanged and only at their targets.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustls::pki_types::PrivateKeyDer;

use super::listen::listener::{
    Answer, Listener, SECRET, event, of_type, read, records, request, signature,
};
use super::recorder::{self, Got, Recorder};
use crate::processes;
use crate::support::{Said, formsvc};

/// Names of the headers of a forwarded request.
const HEADER_NAMES: [&str; 5] = ["accept", "content-length", "host", "connection", "x-any"];

/// Bodies and header values with any allowed bytes.
fn requests() -> impl Strategy<Value = (Vec<u8>, Vec<Vec<u8>>)> {
    let inner = prop_oneof![Just(b' '), Just(b'\t'), 0x21..=0x7eu8, 0x80..=0xffu8];
    let outer = prop_oneof![0x21..=0x7eu8, 0x80..=0xffu8];
    let value = (outer.clone(), prop::collection::vec(inner, 0..40), outer)
        .prop_map(|(first, inner, last)| [&[first][..], &inner, &[last]].concat());
    (prop::collection::vec(any::<u8>(), 0..3_000), prop::collection::vec(value, 0..4))
}

fn sent(body: &[u8], values: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes =
        b"POST /a%20b?c=%2F HTTP/1.1\r\nHost: listener\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n"
            .to_vec();
    for value in values {
        bytes.extend_from_slice(b"X-Any: ");
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    }
    write!(bytes, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
    bytes.extend_from_slice(body);
    bytes
}

/// Returns true if the request has the same body and the same headers, except headers of the
/// connection.
fn is_unchanged(got: &Got, body: &[u8], values: &[Vec<u8>]) -> bool {
    let of_any = got.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("x-any"));
    got.line == "POST /a%20b?c=%2F HTTP/1.1"
        && got.body == body
        && of_any.map(|(_, value)| value).eq(values)
        && got
            .names()
            .iter()
            .all(|name| HEADER_NAMES.contains(&name.as_str()) && name != "connection")
}

#[test]
fn forwarded_deliveries_are_exact_at_every_target() {
    let targets = [0; 2].map(|_| Recorder::of(&[200]));
    let [one, two] = targets.each_ref().map(|target| target.url(""));
    let listener =
        Listener::start(&["--on-invalid", "forward", "--forward-to", &one, "--forward-to", &two]);
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&requests(), |(body, values)| {
            let answer = Answer(listener.exchange(&sent(&body, &values)));
            prop_assert_eq!(answer.status(), 200);
            for target in &targets {
                let got = target.got();
                prop_assert!(is_unchanged(&got, &body, &values), "{got:?}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn dead_target_does_not_delay_200_deliveries() {
    let quick = Recorder::of(&[200]);
    let dead = crate::support::closed_address();
    let rules = [format!("form_id=frm_dead={dead}/"), format!("form_id=frm_1={}", quick.url("/"))];
    let listener =
        Listener::start(&["--route", &rules[0], "--route", &rules[1], "--output", "ndjson"]);
    let began = Instant::now();
    let answers: Vec<(bool, u16)> = thread::scope(|scope| {
        let deliver = |number: usize| {
            let is_dead = number.is_multiple_of(2);
            let body = event(&format!("sub_{number}"));
            let body = if is_dead { body.replace("frm_1", "frm_dead") } else { body };
            let mut stream = listener.connect();
            stream.write_all(&request("/", &signature(SECRET, 0, &body), &body)).unwrap();
            (is_dead, Answer(read(&mut stream)).status())
        };
        let all: Vec<_> = (0..200).map(|number| scope.spawn(move || deliver(number))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    // The limit is below the connection timeout of ten seconds.
    assert!(began.elapsed().as_secs() < 8, "{:?}", began.elapsed());
    for (is_dead, status) in answers {
        assert_eq!(status, if is_dead { 502 } else { 200 });
    }
    let records = records(&listener.terminate().stdout);
    let told = of_type(&records, "warning");
    let told: Vec<_> = told.iter().filter(|record| record["code"] == "target_down").collect();
    assert_eq!(told.len(), 1, "the warning is printed once: {told:?}");
    let why = format!("nothing listens on {dead}: is your server running?");
    assert_eq!(told[0]["message"], why);
}

/// Starts a server with a self-signed certificate that responds 200 to each request. Returns its
/// address and the certificate.
fn start_tls_server() -> (SocketAddr, String) {
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        );
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // The thread ends with the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(session, stream.unwrap());
            // A client that does not trust the certificate closes the connection.
            if recorder::read(&mut stream).is_ok() {
                stream.write_all(&recorder::answer(200, "", "")).unwrap();
                stream.conn.send_close_notify();
                stream.flush().unwrap();
            }
        }
    });
    (address, certificate.pem())
}

#[test]
fn self_signed_target_needs_cacert_or_insecure() {
    let (address, pem) = start_tls_server();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cert.pem");
    std::fs::write(&path, pem).unwrap();
    let (path, url) = (path.to_str().unwrap(), format!("https://localhost:{}/", address.port()));
    let told = |more: &[&str]| {
        let listener = Listener::start(&[&["--forward-to", &url][..], more].concat());
        let status = listener.deliver(&event("sub_1")).status();
        (status, listener.terminate().stdout)
    };
    let (status, shown) = told(&[]);
    assert_eq!(status, 502);
    assert!(shown.contains("is not issued by a trusted authority"), "{shown}");
    assert!(shown.contains("trust its certificate with --cacert"), "{shown}");
    assert_eq!(told(&["--cacert", path]).0, 200);
    assert_eq!(told(&["--insecure"]).0, 200);
}

#[test]
fn cacert_must_be_a_regular_file_of_at_most_8_mib() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, long) = (folder.path().join("pipe"), folder.path().join("long"));
    assert!(processes::command("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::File::create(&long).unwrap().set_len((8 << 20) + 1).unwrap();
    for (path, why) in [(pipe, "not a regular file"), (long, "longer than 8 MiB")] {
        let mut command =
            formsvc(&["webhook", "listen", "--port", "0", "--count", "1", "--cacert"]);
        let said: Said = command.arg(&path).output().unwrap().into();
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(why), "{}", said.stderr);
    }
}

#[test]
fn forwarding_uses_the_proxy_except_for_loopback() {
    let (proxy, target) = (Recorder::of(&[200]), Recorder::of(&[200]));
    let args = ["--forward-to", "http://receiver.test/hook", "--forward-to", &target.url("/own")];
    let listener = Listener::with(&args, |command| {
        let command = command.arg("--no-store").env("FORMSVC_SIGNING_SECRET", SECRET);
        command.env("HTTP_PROXY", proxy.url(""))
    });
    let body = event("sub_1");
    assert_eq!(listener.deliver(&body).status(), 200);
    let got = proxy.got();
    assert_eq!(got.line, "POST http://receiver.test/hook HTTP/1.1");
    assert_eq!((got.text("host"), &*got.body), ("receiver.test", body.as_bytes()));
    assert_eq!(target.got().line, "POST /own HTTP/1.1");
    assert!(proxy.is_silent());
}

#[test]
fn timeout_flag_and_variable_limit_the_targets() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), "timeout = \"20s\"\n").unwrap();
    let config = folder.path().to_str().unwrap();
    let is_warned = |flags: &[&str], name: &str, value: &str| {
        let mut command = formsvc(&["webhook", "listen", "--port", "0", "--no-store"]);
        command.args(["--forward-to", "4242", "--max-time", "1ms"]).args(flags);
        let said: Said = command.env(name, value).output().unwrap().into();
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stderr.contains("targets have 20s to respond")
    };
    assert!(is_warned(&[], "FORMSVC_TIMEOUT", "20s"));
    assert!(is_warned(&["--timeout", "20s"], "FORMSVC_TIMEOUT", "1s"));
    // The timeout in the configuration applies only to requests to the service.
    assert!(!is_warned(&[], "FORMSVC_CONFIG_DIR", config));
}

#[test]
fn invalid_status_of_a_target_is_502() {
    let target =
        Recorder::start(Arc::new(|_, _| Some(recorder::answer(999, "X-Own: 1\r\n", "own"))));
    let listener = Listener::start(&["--forward-to", &target.url("/")]);
    let told = listener.deliver(&event("sub_1"));
    assert_eq!((told.status(), told.code().as_str()), (502, "target_status"));
    assert!(!told.0.to_ascii_lowercase().contains("x-own"), "{}", told.0);
}

#[test]
fn invalid_route_or_target_error_has_the_rule() {
    for (args, why) in [
        (["--route", "form=frm_1=4242"], "unknown field `form`; "),
        (["--route", "form_id=frm_1"], "`form_id=frm_1` has no URL"),
        (["--forward-to", "/hook"], "a path needs a port before it: 4242/hook"),
        (["-H", "A=1"], "a header is a name, a colon and a value"),
        (
            ["--cacert", "/nowhere/cert.pem"],
            "`--cacert` names `/nowhere/cert.pem`, which cannot be read",
        ),
    ] {
        let mut command = formsvc(&["webhook", "listen", "--port", "0", "--count", "1"]);
        let said: Said = command.args(args).output().unwrap().into();
        assert!(matches!(said.code, Some(2 | 10)), "{args:?}: {said:?}");
        assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
    }
}
