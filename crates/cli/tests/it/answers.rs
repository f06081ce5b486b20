//! Malformed, compressed and oversized responses, and damaged keys, through the binary.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{SECRET, Said, formsvc, one_form, page};

const USER: &[u8] = br#"{"id":"usr_1","email":"ada@example.org","name":"Ada"}"#;
const NOT_FOUND: &[u8] = br#"{"error":{"code":"form_not_found","message":"no such form"}}"#;

/// A service that sends these bytes, one response per request; the last one repeats.
struct Service {
    base_url: String,
    requests: mpsc::Receiver<String>,
}

impl Service {
    fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        // The thread ends with the test process.
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                if sender.send(request_line(&mut stream)).is_err() {
                    return;
                }
                // The client closes the connection early when a response is too large.
                let _ = stream.write_all(&answers[number.min(answers.len() - 1)]);
            }
        });
        Self { base_url, requests }
    }

    /// Runs the binary against this service and prints the command and its output.
    fn run(&self, args: &[&str]) -> Said {
        let mut command = formsvc(args);
        command.env("FORMSVC_BASE_URL", &self.base_url).env("FORMSVC_API_KEY", SECRET);
        let said = Said::from(command.output().unwrap());
        print(args, &said);
        said
    }

    fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

#[expect(clippy::print_stdout, reason = "shows what a person sees, with --nocapture")]
fn print(args: &[&str], said: &Said) {
    let (out, err) = (said.stdout.trim_end(), said.stderr.trim_end());
    println!("$ formsvc {}\n{out}\n{err}\nexit {}\n", args.join(" "), said.code.unwrap());
}

fn request_line(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned()
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_and_byte_order_mark_are_accepted() {
    let headers = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    let marked = ["\u{feff}".as_bytes(), USER].concat();
    for answer in [
        answer("200 OK", headers, &gzip(USER)),
        answer("200 OK", headers, &gzip(&marked)),
        answer("200 OK", "content-type: application/json\r\n", &marked),
    ] {
        let said = Service::start(vec![answer]).run(&["me", "--json", "name"]);
        assert_eq!((said.code, said.stdout.trim()), (Some(0), r#"{"name":"Ada"}"#));
    }
}

#[test]
fn gzip_bomb_ends_at_the_body_limit() {
    let bomb = gzip(&vec![b' '; 40 << 20]);
    println!("{} bytes that decode to {} bytes", bomb.len(), 40 << 20);
    let service = Service::start(vec![answer("200 OK", "content-encoding: gzip\r\n", &bomb)]);
    let said = service.run(&["me"]);
    assert_eq!(said.code, Some(5));
    assert!(said.stderr.contains("the response is too large"), "{}", said.stderr);
    assert_eq!(service.requests().len(), 1);
}

#[test]
fn other_content_encoding_is_refused() {
    let service = Service::start(vec![answer("200 OK", "content-encoding: br\r\n", b"\x0b\x02")]);
    let said = service.run(&["me"]);
    assert_eq!(said.code, Some(5));
    assert!(said.stderr.contains("the response is not JSON"), "{}", said.stderr);
}

#[test]
fn bad_response_shows_status_type_and_first_bytes() {
    let page = b"<!doctype html>\n<title>Log in</title>\x1b[2J";
    let html = answer("200 OK", "content-type: text/html\r\n", page);
    let binary = answer("200 OK", "content-type: application/json\r\n", &gzip(USER));
    for (answer, kind, start) in [
        (html, "text/html", r"<!doctype html>\n<title>Log in</title>\u{1b}[2J"),
        (binary, "application/json", "\\u{1f}\u{fffd}\\u{8}\\u{0}"),
    ] {
        let service = Service::start(vec![answer]);
        let said = service.run(&["me"]);
        let text = format!(
            "error: the response is not JSON: status 200, content type `{kind}`, begins with `{start}"
        );
        assert!(said.stderr.starts_with(&text), "{}", said.stderr);
        assert_eq!(said.code, Some(5));
        let said = service.run(&["me", "--error-format", "json"]);
        let json: serde_json::Value = serde_json::from_str(&said.stderr).unwrap();
        let error = &json["error"];
        assert_eq!((&error["http_status"], &error["content_type"]), (&200.into(), &kind.into()));
        assert!(error["body_start"].as_str().unwrap().starts_with(start), "{error}");
    }
}

#[test]
fn fractional_retry_after_is_respected() {
    let limited = br#"{"error":{"code":"rate_limited","message":"slow down"}}"#;
    let limited = answer("429 Too Many Requests", "retry-after: 0.75\r\n", limited);
    let service = Service::start(vec![limited, answer("200 OK", "", USER)]);
    let began = Instant::now();
    let said = service.run(&["me", "--json", "name"]);
    let took = began.elapsed();
    println!("took {took:?}");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(took >= Duration::from_millis(750), "{took:?}");
    assert_eq!(service.requests().len(), 2);
}

#[test]
fn unlisted_form_is_tried_against_the_service() {
    let forms = || one_form().unwrap().into_bytes();
    let row = r#"{"id":"sub_1","data":{"Name":"Ada"},"created_at":"2026-01-01T00:00:00.000Z"}"#;
    let page = page(row, None).unwrap().into_bytes();
    let service = Service::start(vec![forms(), page]);
    let said = service.run(&["submissions", "list", "frm_201"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("sub_1"), "{}", said.stdout);
    for request in service.requests() {
        println!("{request}");
        assert!(request.contains("/forms HTTP") || request.contains("/forms/frm_201/submissions?"));
    }

    let absent = Service::start(vec![forms(), answer("404 Not Found", "", NOT_FOUND)]);
    let said = absent.run(&["submissions", "list", "surveys"]);
    assert_eq!(said.code, Some(3));
    assert!(said.stderr.contains("no form `surveys`"), "{}", said.stderr);
    assert!(said.stderr.contains("did you mean `survey` or `Survey`?"), "{}", said.stderr);

    // Only a 404 with an error body of the service means that the form does not exist.
    for (status, body) in [("403 Forbidden", &b"{}"[..]), ("404 Not Found", b"<h1>proxy</h1>")] {
        let service = Service::start(vec![forms(), answer(status, "", body)]);
        let said = service.run(&["submissions", "list", "frm_201"]);
        assert_eq!(said.code, Some(5));
        assert!(!said.stderr.contains("no form"), "{}", said.stderr);
    }

    // Only an empty text cannot be an id.
    for (text, requests) in [("two words", 2), ("", 1)] {
        let service = Service::start(vec![forms(), answer("404 Not Found", "", NOT_FOUND)]);
        let said = service.run(&["submissions", "list", text]);
        assert_eq!((said.code, service.requests().len()), (Some(3), requests), "{text}");
    }
}

#[test]
fn unlisted_form_has_no_details_to_view() {
    let forms = one_form().unwrap().into_bytes();
    let service = Service::start(vec![forms, page("", None).unwrap().into_bytes()]);
    let said = service.run(&["forms", "view", "frm_201"]);
    assert_eq!(said.code, Some(3));
    assert!(said.stderr.contains("`frm_201` exists"), "{}", said.stderr);
}

#[test]
fn damaged_key_or_secret_is_refused_with_its_problem() {
    let service = Service::start(vec![answer("200 OK", "", USER)]);
    for (key, problem) in [
        ("\"fsk_abcdefgh\"", "begins or ends with a quotation mark (\")"),
        ("'fsk_abcdefgh'", "begins or ends with a quotation mark (')"),
        ("fsk_abcd\u{200b}efgh", "contains the invisible character U+200B"),
    ] {
        let mut command = formsvc(&["me"]);
        command.env("FORMSVC_BASE_URL", &service.base_url).env("FORMSVC_API_KEY", key);
        let said = Said::from(command.output().unwrap());
        print(&["me"], &said);
        assert_eq!(said.code, Some(4));
        let message = format!("error: the API key from FORMSVC_API_KEY {problem}");
        assert!(said.stderr.starts_with(&message), "{}", said.stderr);
        assert!(!said.stderr.contains("fsk_abcd"), "{}", said.stderr);
    }
    assert!(service.requests().is_empty());

    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "\"whsec_abcdefgh\"\n").unwrap();
    let args = ["webhook", "sign", "--secret-file", secret.to_str().unwrap()];
    let said = Said::from(formsvc(&args).output().unwrap());
    print(&args, &said);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("a quotation mark (\")"), "{}", said.stderr);
    assert!(!said.stderr.contains("whsec_abc"), "{}", said.stderr);
}
