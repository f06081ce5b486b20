//! A resume token: what is accepted survives its text, asks for the page it names, and yields nothing
//! that it says was yielded.

#![no_main]

use std::collections::HashSet;

use bytes::Bytes;
use formsvc_client::{Cursor, ResumeToken, Submission};
use formsvc_fuzz::{Service, block_on};
use libfuzzer_sys::fuzz_target;
use url::form_urlencoded;

/// Three pages with a tie over each edge, and a row that comes twice.
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

/// The ids that a token says were yielded, and the time of the oldest.
fn told(text: &str) -> (HashSet<String>, i64) {
    let parts: Vec<_> = text.split(':').collect();
    let decode =
        |text: &str| form_urlencoded::parse(text.as_bytes()).next().map(|p| p.0.into_owned());
    let ids = parts[5].split(',').filter_map(decode).collect();
    (ids, parts[4].parse().unwrap_or(i64::MIN))
}

async fn drain(token: ResumeToken, service: &Service) -> (Vec<Submission>, ResumeToken) {
    let list = service.client().form(token.form_id().clone()).submissions();
    let mut items = list.resume_from(token).items();
    let mut found = Vec::new();
    while let Ok(Some(item)) = items.try_next().await {
        found.push(item);
    }
    (found, items.resume_token())
}

fuzz_target!(|text: &str| {
    let Ok(token) = text.parse::<ResumeToken>() else { return };
    let printed = token.to_string();
    assert!(printed.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'), "{printed}");
    assert_eq!(printed.parse(), Ok(token.clone()));
    let json = serde_json::to_string(&token).expect("it is text");
    assert_eq!(serde_json::from_str::<ResumeToken>(&json).expect("it was written"), token);

    let service = service();
    let (found, last) = block_on(drain(token.clone(), &service));
    assert_eq!(last.to_string().parse(), Ok(last.clone()));
    let asked = service.asked();
    if token.is_finished() {
        assert!(asked.is_empty() && found.is_empty() && token.cursor().is_none());
        return;
    }
    assert_eq!(asked[0].as_deref(), token.cursor().map(Cursor::as_str));
    let (told, oldest) = told(&printed);
    let mut ids = HashSet::new();
    for item in &found {
        assert!(ids.insert(item.id.as_str()), "{} comes twice", item.id);
        let again = told.contains(item.id.as_str()) && item.created_at.unix_micros() >= oldest;
        assert!(!again, "{} was yielded before", item.id);
    }
    let (rest, _) = block_on(drain(last, &service));
    assert!(rest.iter().all(|item| !ids.contains(item.id.as_str())), "it goes on where it stopped");
});
