//! `formsvc webhook events open`

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::Value;

use super::kept::{Home, Listener};
use crate::support::{PATIENCE, signal};

/// Requests a path of a host, and returns the response.
fn get(host: &str, path: &str, cookie: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET /{path} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn open_serves_captures_without_listener() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(b"recorded before"), 200);
    assert_eq!(listener.end(), Some(0));
    let mut command = home.formsvc(&["webhook", "events", "open"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let (host, path) = url.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let page = get(host, path, "");
    let cookie = page.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let (folder, _) = path.split_once('/').unwrap();
    let list = get(host, &format!("{folder}/api/list"), cookie);
    let (head, body) = list.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert!(body.to_string().contains("\"capture\":1"), "{body}");
    let refused = get(host, &format!("{folder}/api/list"), "");
    assert!(!refused.starts_with("HTTP/1.1 200"), "{refused}");
    signal(&child, "INT");
    let done = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(
        (done.status.code(), stderr.contains("Ctrl-C stops it")),
        (Some(0), true),
        "{stderr}"
    );
}
