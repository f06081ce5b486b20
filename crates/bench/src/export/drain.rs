//! The floor of exports: the same requests by the same HTTP client, and of each body only the next
//! cursor is looked at, in its tail. Bodies are dropped piece by piece as they arrive.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, USER_AGENT};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde::de::DeserializeOwned;

use crate::args::Drain;
use crate::error::BenchError;

/// Bytes of a body's end in which its pagination object stands.
const TAIL: usize = 128;

/// The child `drain`.
pub(crate) fn run(args: &Drain) -> Result<(), BenchError> {
    let key = std::env::var("FORMSVC_API_KEY")
        .map_err(|why| BenchError::because("`FORMSVC_API_KEY`", why))?;
    runtime()?.block_on(drain(&args.base_url, &args.form, &key))
}

/// What `formsvc` runs on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, BenchError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| BenchError::io("cannot start", why))
}

async fn drain(base_url: &str, form: &str, key: &str) -> Result<(), BenchError> {
    let client = client(key)?;
    let first = format!("{base_url}/api/v1/forms/{form}/submissions?limit=100");
    let mut address = first.clone();
    let mut tail = Vec::with_capacity(2 * TAIL);
    loop {
        let mut answer = client.get(&address).send().await.map_err(failed)?;
        if answer.status() != reqwest::StatusCode::OK {
            return Err(BenchError::because("the service answered", answer.status()));
        }
        tail.clear();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            keep_tail(&mut tail, &chunk);
        }
        match next(&tail) {
            // Colons may stand in a query as they are.
            Next::Page(cursor) => address = format!("{first}&cursor={cursor}"),
            Next::End => return Ok(()),
            Next::Unknown => return Err(BenchError::new("a page does not end as pages do")),
        }
    }
}

/// Keeps at least the last [`TAIL`] bytes of all chunks, if there are so many.
fn keep_tail(tail: &mut Vec<u8>, chunk: &[u8]) {
    if chunk.len() >= TAIL {
        tail.clear();
        tail.extend_from_slice(&chunk[chunk.len() - TAIL..]);
    } else {
        let too_many = (tail.len() + chunk.len()).saturating_sub(TAIL).min(tail.len());
        tail.drain(..too_many);
        tail.extend_from_slice(chunk);
    }
}

/// How the list goes on.
#[derive(Debug, PartialEq)]
enum Next<'a> {
    Page(&'a str),
    End,
    Unknown,
}

/// What the end of a body says. Cursors are ASCII; what stands before them may be cut anywhere.
fn next(tail: &[u8]) -> Next<'_> {
    let ascii = tail.iter().rposition(|byte| !byte.is_ascii()).map_or(0, |at| at + 1);
    let tail = std::str::from_utf8(&tail[ascii..]).unwrap_or_default();
    if tail.ends_with("\"has_more\":false}}") {
        return Next::End;
    }
    let cursor = tail
        .strip_suffix("\",\"has_more\":true}}")
        .and_then(|rest| rest.rsplit_once("\"next_cursor\":\""));
    cursor.map_or(Next::Unknown, |(_, cursor)| Next::Page(cursor))
}

/// The client's way to speak HTTP, setting by setting.
fn client(key: &str) -> Result<reqwest::Client, BenchError> {
    let mut headers = HeaderMap::new();
    let bearer = HeaderValue::try_from(format!("Bearer {key}"));
    headers.insert(AUTHORIZATION, bearer.map_err(|why| BenchError::because("the key", why))?);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static("formsvc-bench"));
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|why| BenchError::because("no TLS", why))?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(Duration::from_secs(10))
        .no_proxy()
        .default_headers(headers)
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(failed)
}

fn failed(why: reqwest::Error) -> BenchError {
    BenchError::because("the service cannot be read", why)
}

/// One resource.
pub(super) async fn get<T: DeserializeOwned>(
    base_url: &str,
    path: &str,
    key: &str,
) -> Result<T, BenchError> {
    let answer = client(key)?.get(format!("{base_url}{path}")).send().await.map_err(failed)?;
    let body = answer.error_for_status().map_err(failed)?.bytes().await.map_err(failed)?;
    serde_json::from_slice(&body).map_err(|why| BenchError::because(path, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"data":[{"id":"é"}],"pagination":{"next_cursor":"2026-01-01T00:00:00.000001Z","has_more":true}}"#;

    #[test]
    fn the_cursor_is_found_however_the_body_is_cut() {
        let body = format!("{}{BODY}", "é".repeat(TAIL));
        for size in 1..=body.len() {
            let mut tail = Vec::new();
            body.as_bytes().chunks(size).for_each(|chunk| keep_tail(&mut tail, chunk));
            assert_eq!(next(&tail), Next::Page("2026-01-01T00:00:00.000001Z"), "{size}");
            assert!(tail.len() >= TAIL);
        }
    }

    #[test]
    fn the_last_page_ends_the_list_and_what_is_no_page_is_told() {
        let last = br#""pagination":{"next_cursor":"x","has_more":false}}"#;
        assert_eq!(next(last), Next::End);
        assert_eq!(next(b"<html>"), Next::Unknown);
        assert_eq!(next(br#""has_more":true}}"#), Next::Unknown);
    }
}
