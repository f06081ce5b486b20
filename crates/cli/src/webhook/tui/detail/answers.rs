//! What was answered: to the sender, by each target, and to replays.

use std::collections::VecDeque;

use http::HeaderMap;

use crate::output::Look;
use crate::webhook::capture::{Capture, Forward};
use crate::webhook::listen::text::took;
use crate::webhook::mask;
use crate::webhook::tone::Tone;
use crate::webhook::tui::doc::Doc;
use crate::webhook::tui::facts::Facts;
use crate::webhook::tui::replay::Replayed;

use super::body::{self, Shown};

pub(super) fn write(
    doc: &mut Doc,
    capture: &Capture,
    facts: &Facts,
    replays: &VecDeque<Replayed>,
    raw: bool,
) {
    for replayed in replays.iter().filter(|replayed| Some(replayed.number) == capture.number) {
        replay(doc, replayed, facts, raw);
    }
    doc.heading("To its sender");
    let Some(outcome) = &capture.outcome else {
        let text = "It is being answered, or the listener ended before it was.";
        doc.line(&[(Look::Past, text)]);
        return;
    };
    let by = format!(" {}, after {}", outcome.by.told(), took(outcome.took));
    match outcome.status {
        Some(status) => {
            doc.line(&[(look_of(status), &status.to_string()), (Look::Past, &by)]);
        }
        None => doc.line(&[(Look::Bad, "none: the connection was dropped"), (Look::Past, &by)]),
    }
    for forward in &outcome.forwards {
        target(doc, forward, facts, raw);
    }
}

fn target(doc: &mut Doc, forward: &Forward, facts: &Facts, raw: bool) {
    doc.heading(&format!("Of {}", mask::url(&forward.url, facts.reveal)));
    let after = format!(" after {}", took(forward.took));
    match &forward.answer {
        Err(silence) => {
            doc.line(&[(Look::Bad, "no answer"), (Look::Past, &after)]);
            doc.line(&[(Look::Plain, &mask::text(&silence.why))]);
        }
        Ok(answer) => {
            doc.line(&[(look_of(answer.status), &answer.status.to_string()), (Look::Past, &after)]);
            said(doc, &answer.headers, &answer.body, answer.truncated, (facts, raw));
        }
    }
}

fn replay(doc: &mut Doc, replayed: &Replayed, facts: &Facts, raw: bool) {
    let at = replayed.at.to_zoned(facts.zone.clone()).strftime("%H:%M:%S");
    doc.heading(&format!("Replay of {at} to {}", replayed.to));
    let how = format!(", {}", replayed.how());
    match &replayed.answer {
        Err(silence) => {
            let after = format!(" after {}{how}", took(silence.took));
            doc.line(&[(Look::Bad, "no answer"), (Look::Past, &after)]);
            doc.line(&[(Look::Plain, &mask::text(&silence.why))]);
        }
        Ok(answer) => {
            let status = answer.status.as_u16();
            let after = format!(" after {}{how}", took(answer.took));
            doc.line(&[(look_of(status), &status.to_string()), (Look::Past, &after)]);
            said(doc, &answer.headers, &answer.body, answer.truncated, (facts, raw));
        }
    }
}

fn said(
    doc: &mut Doc,
    headers: &HeaderMap,
    answer: &[u8],
    truncated: bool,
    (facts, raw): (&Facts, bool),
) {
    body::headers(doc, headers, facts.reveal);
    doc.line(&[]);
    Shown::of(&mask::answer(answer, facts.reveal), raw).write(doc);
    if truncated {
        doc.line(&[(Look::Past, "… and more, which was not read")]);
    }
}

fn look_of(status: u16) -> Look {
    Tone::of_status(Some(status)).look()
}
