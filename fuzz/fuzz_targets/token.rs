//! A resume token with any content and a valid checksum: an accepted token formats and parses without loss,
//! requests its page, and does not repeat the rows that it lists as seen.

#![no_main]

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use formsvc_client::{ResumeToken, Submission};
use formsvc_fuzz::{Service, block_on};
use libfuzzer_sys::fuzz_target;

/// A service with three pages: rows with equal times on both sides of each page end, and a repeated row.
fn service() -> Service {
    let page = |rows: &[(u32, &str)], next: Option<&str>| -> Option<Bytes> {
        let rows = rows.iter().map(|(id, time)| {
            let created_at = format!("2026-01-31T09:30:00.{time}Z");
            serde_json::json!({"id": format!("sub_{id}"), "data": {}, "created_at": created_at})
        });
        let rows: Vec<_> = rows.collect();
        let pagination = serde_json::json!({"next_cursor": next, "has_more": next.is_some()});
        Some(serde_json::json!({"data": rows, "pagination": pagination}).to_string().into())
    };
    Service::new(move |cursor| match cursor {
        None => page(&[(9, "120"), (8, "119"), (7, "118")], Some("a")),
        Some("a") => page(&[(7, "118"), (6, "118"), (5, "118")], Some("b")),
        Some("b") => page(&[(4, "118"), (3, "117")], None),
        Some(_) => None,
    })
}

/// Returns the text of a token with this content.
fn seal(json: &[u8]) -> String {
    let body = format!("fsr1_{}", URL_SAFE_NO_PAD.encode(json));
    let mut checksum = flate2::Crc::new();
    checksum.update(body.as_bytes());
    format!("{body}.{:08x}", checksum.sum())
}

/// Returns the seen ids of a token, and the time of the oldest one.
fn seen(json: &[u8]) -> (HashSet<String>, i64) {
    let content: serde_json::Value = serde_json::from_slice(json).expect("the token was accepted");
    let ids = serde_json::from_value(content["seen"].clone()).expect("the token was accepted");
    (ids, content["seen_oldest"].as_i64().unwrap_or(i64::MIN))
}

async fn drain(token: ResumeToken, service: &Service) -> (Vec<Submission>, ResumeToken) {
    let list = service.client().form("frm_1").submissions();
    let mut items = list.resume_from(token).items();
    let mut found = Vec::new();
    while let Ok(Some(item)) = items.try_next().await {
        found.push(item);
    }
    (found, items.resume_token())
}

fuzz_target!(|json: &[u8]| {
    let Ok(token) = seal(json).parse::<ResumeToken>() else { return };
    let printed = token.to_string();
    assert!(printed.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'), "{printed}");
    assert_eq!(printed.parse(), Ok(token.clone()));
    let text = serde_json::to_string(&token).expect("a token serializes as text");
    assert_eq!(serde_json::from_str::<ResumeToken>(&text).expect("the text is a token"), token);

    let service = service();
    let (found, last) = block_on(drain(token.clone(), &service));
    assert_eq!(last.to_string().parse(), Ok(last.clone()));
    let asked = service.asked();
    // A token of another form or service is refused before a request.
    if token.is_finished() || asked.is_empty() {
        assert!(asked.is_empty() && found.is_empty());
        return;
    }
    let (seen, oldest) = seen(json);
    let mut ids = HashSet::new();
    for item in &found {
        assert!(ids.insert(item.id.as_str()), "{} is repeated", item.id);
        let again = seen.contains(item.id.as_str()) && item.created_at.unix_micros() >= oldest;
        assert!(!again, "{} was seen before", item.id);
    }
    let (rest, _) = block_on(drain(last, &service));
    assert!(
        rest.iter().all(|item| !ids.contains(item.id.as_str())),
        "a resumed list repeats no row"
    );
});
