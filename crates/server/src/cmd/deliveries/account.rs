//! An account of a delivery: its state, and what came of each attempt. Bodies are a stranger's.

use std::time::Duration;

use formsvc_protocol::{FormInstant, Timestamp};
use serde::Serialize;

use super::{Shown, record};
use crate::printable::Escaped;
use crate::request_id::RequestId;
use crate::store::{Attempt, DeliveryDetail};

/// Lines of a body that are shown to a person.
const BODY_LINES: usize = 20;
/// Characters of a line of it.
const LINE_CHARS: usize = 200;
/// Bytes that are shown of a body that is no text.
const BODY_BYTES: usize = 32;

/// A delivery with its attempts, as JSON shows it.
#[derive(Serialize)]
pub(super) struct Account<'a> {
    #[serde(flatten)]
    delivery: Shown<'a>,
    history: Vec<ShownAttempt<'a>>,
}

#[derive(Serialize)]
struct ShownAttempt<'a> {
    started_at: Timestamp,
    seconds_since_last: Option<f64>,
    seconds_taken: f64,
    resend: bool,
    status: Option<u16>,
    address: Option<&'a str>,
    error: Option<&'a str>,
    detail: Option<&'a str>,
    body_text: Option<&'a str>,
    body_hex: Option<String>,
}

/// The account for a program: one object.
pub(super) fn json(delivery: &DeliveryDetail) -> Account<'_> {
    let mut before = None;
    let history = delivery.history.iter().map(|attempt| {
        let gap = before.replace(attempt.started_at).map(|before| gap(before, attempt));
        let (body_text, body_hex) = match body(&attempt.snippet) {
            Ok(text) => (Some(text), None),
            Err(bytes) => (None, Some(hex::encode(bytes))),
        };
        ShownAttempt {
            started_at: attempt.started_at.to_timestamp(),
            seconds_since_last: gap.map(|gap| gap.as_secs_f64()),
            seconds_taken: attempt.duration.as_secs_f64(),
            resend: attempt.resend,
            status: attempt.status,
            address: attempt.address.as_deref(),
            error: attempt.error.as_deref(),
            detail: attempt.detail.as_deref(),
            body_text,
            body_hex,
        }
    });
    Account { delivery: record(&delivery.record), history: history.collect() }
}

/// The account for a person: lines, safe to print on a terminal.
pub(super) fn text(delivery: &DeliveryDetail) -> Vec<String> {
    let record = &delivery.record;
    let mut lines = Vec::new();
    let mut say = |label: &str, text: &str| lines.push(format!("{label:<12}{}", Escaped(text)));
    say("delivery", record.key.id().as_str());
    say("submission", record.submission.as_str());
    if let Some(request) = RequestId::of_submission(&record.submission) {
        say("request", &request.to_string());
    }
    say("endpoint", record.endpoint.as_str());
    say("url", &record.url);
    say("state", record.state.as_str());
    say("made", record.created_at.as_str());
    if let Some(finished) = &record.finished_at {
        say("finished", finished.as_str());
    }
    if let Some(next) = &record.next_attempt_at {
        say("next", next.as_str());
    }
    let mut before = None;
    for (number, attempt) in (1..).zip(&delivery.history) {
        let gap = before.replace(attempt.started_at).map(|before| gap(before, attempt));
        lines.push(String::new());
        let labelled = attempt_rows(number, attempt, gap);
        lines.extend(labelled.iter().map(|(label, text)| format!("{label:<12}{}", Escaped(text))));
    }
    lines
}

/// What is told of an attempt, each with its label.
fn attempt_rows(number: u32, attempt: &Attempt, gap: Option<Duration>) -> Vec<(String, String)> {
    let gap = gap.map(|gap| format!(", {} after the last", shown(gap))).unwrap_or_default();
    let asked = if attempt.resend { ", resent" } else { "" };
    let began = format!("{}{gap}{asked}", attempt.started_at.to_timestamp());
    let answer = attempt.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
    let mut rows = vec![
        (format!("attempt {number}"), began),
        ("  answer".into(), format!("{answer}, in {}", shown(attempt.duration))),
    ];
    let fields =
        [("address", &attempt.address), ("error", &attempt.error), ("detail", &attempt.detail)];
    for (label, text) in fields {
        rows.extend(text.as_ref().map(|text| (format!("  {label}"), text.clone())));
    }
    rows.extend(body_lines(&attempt.snippet).into_iter().map(|line| ("  body".into(), line)));
    rows
}

/// The beginning of a body, line by line.
fn body_lines(snippet: &[u8]) -> Vec<String> {
    let text = match body(snippet) {
        Ok(text) => text,
        Err(bytes) => {
            let first = hex::encode(&bytes[..bytes.len().min(BODY_BYTES)]);
            return vec![format!("{} bytes that are no text: {first}…", bytes.len())];
        }
    };
    let mut rest = text.lines();
    let mut lines: Vec<String> = rest.by_ref().take(BODY_LINES).map(cut).collect();
    if rest.next().is_some() {
        lines.push("… and more, which `--output json` prints".into());
    }
    lines
}

/// A line, or as much of it as a person wants to see.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// From the beginning of one attempt to that of the next; zero when the clock was set back between.
fn gap(before: FormInstant, attempt: &Attempt) -> Duration {
    attempt.started_at.since(before)
}

/// A time as people say it: with one digit of what is smaller.
fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A body as text, if it is text. The last character may have been cut in the middle.
fn body(snippet: &[u8]) -> Result<&str, &[u8]> {
    match std::str::from_utf8(snippet) {
        Ok(text) => Ok(text),
        Err(error) if error.error_len().is_none() => {
            let (text, _) = snippet.split_at(error.valid_up_to());
            std::str::from_utf8(text).map_err(|_| snippet)
        }
        Err(_) => Err(snippet),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use formsvc_protocol::{EndpointId, SubmissionId};
    use serde_json::Value;

    use super::*;
    use crate::store::{DeliveryKey, DeliveryRecord, DeliveryState, EndpointNo};

    fn attempt(second: i64, snippet: &[u8]) -> Attempt {
        Attempt {
            started_at: FormInstant::from_micros(1_767_225_600_000_000 + second * 1_000_000),
            duration: Duration::from_micros(12_345),
            status: Some(503),
            error: Some("status_not_2xx".into()),
            detail: None,
            address: Some("203.0.113.7:443".into()),
            snippet: Bytes::copy_from_slice(snippet),
            resend: false,
        }
    }

    fn delivery(history: Vec<Attempt>) -> DeliveryDetail {
        let at = |second: i64| FormInstant::from_micros(1_767_225_600_000_000 + second * 1_000_000);
        let record = DeliveryRecord {
            key: DeliveryKey { submission: 3, endpoint: EndpointNo(5) },
            endpoint: EndpointId::new("whe_1").unwrap(),
            url: "https://example.org/hook".into(),
            submission: SubmissionId::new("sub_1").unwrap(),
            state: DeliveryState::Failed,
            attempts: u32::try_from(history.len()).unwrap(),
            last_status: Some(503),
            last_error: None,
            created_at: at(0).to_timestamp(),
            next_attempt_at: None,
            finished_at: Some(at(90).to_timestamp()),
        };
        DeliveryDetail { record, history }
    }

    #[test]
    fn a_person_reads_what_came_of_each_attempt() {
        let silent = Attempt {
            duration: Duration::from_secs(10),
            status: None,
            error: Some("timeout".into()),
            detail: Some("no answer in time (phase `response`)".into()),
            address: None,
            resend: true,
            ..attempt(71, b"")
        };
        let lines = text(&delivery(vec![attempt(1, b"busy\nlater\n"), silent]));
        assert_eq!(
            lines.join("\n"),
            "delivery    dlv_00000000000000030000000000000005\n\
             submission  sub_1\n\
             endpoint    whe_1\n\
             url         https://example.org/hook\n\
             state       failed\n\
             made        2026-01-01T00:00:00.000Z\n\
             finished    2026-01-01T00:01:30.000Z\n\
             \n\
             attempt 1   2026-01-01T00:00:01.000Z\n  \
               answer    503, in 12 ms\n  \
               address   203.0.113.7:443\n  \
               error     status_not_2xx\n  \
               body      busy\n  \
               body      later\n\
             \n\
             attempt 2   2026-01-01T00:01:11.000Z, 1 min 10 s after the last, resent\n  \
               answer    no answer, in 10.0 s\n  \
               error     timeout\n  \
               detail    no answer in time (phase `response`)"
        );
    }

    #[test]
    fn what_a_stranger_answered_moves_no_cursor_and_fills_no_screen() {
        let hostile = "\u{1b}[2J\u{202e}\rattempt 9\u{9b}31m".repeat(100);
        let long = "line\n".repeat(1_000);
        for snippet in [hostile.as_bytes(), long.as_bytes(), &[0xff; 5_000]] {
            let mut attempt = attempt(0, snippet);
            (attempt.error, attempt.detail) = (Some(hostile.clone()), Some(hostile.clone()));
            attempt.detail.as_mut().unwrap().truncate(60);
            let lines = text(&delivery(vec![attempt]));
            assert!(lines.len() < 40, "{}", lines.len());
            for line in lines {
                assert!(line.chars().all(|c| c == '…' || (' '..='~').contains(&c)), "{line:?}");
            }
        }
    }

    #[test]
    fn a_program_gets_bodies_whole_as_text_or_hexadecimal_digits() {
        let mut cut = "aé".repeat(10).into_bytes();
        cut.pop();
        let history = vec![
            attempt(0, b"plain\x1b"),
            attempt(10, &[0xff, 0x00]),
            attempt(9, &cut),
            attempt(9, b""),
        ];
        let account = serde_json::to_value(json(&delivery(history))).unwrap();
        let bodies: Vec<_> = account["history"].as_array().unwrap().iter().collect();
        assert_eq!(
            (&bodies[0]["body_text"], &bodies[0]["body_hex"]),
            (&"plain\u{1b}".into(), &Value::Null)
        );
        assert_eq!(
            (&bodies[1]["body_text"], &bodies[1]["body_hex"]),
            (&Value::Null, &"ff00".into())
        );
        assert_eq!(
            bodies[2]["body_text"],
            format!("{}a", "aé".repeat(9)),
            "not a broken character"
        );
        assert_eq!(bodies[3]["body_text"], "");
        let gaps: Vec<_> = bodies.iter().map(|body| &body["seconds_since_last"]).collect();
        assert_eq!(gaps, [&Value::Null, &10.0.into(), &0.0.into(), &0.0.into()]);
        assert_eq!(bodies[0]["seconds_taken"], 0.012_345);
        assert_eq!((&account["state"], &account["attempts"]), (&"failed".into(), &4.into()));
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        for (millis, said) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (59_949, "59.9 s"),
            (60_000, "1 min 0 s"),
            (3_599_999, "59 min 59 s"),
            (3_600_000, "1 h 0 min"),
            (90_000_000, "25 h 0 min"),
        ] {
            assert_eq!(shown(Duration::from_millis(millis)), said);
        }
    }
}
