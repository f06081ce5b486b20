//! What a delivery is worth: what was found, the rule behind it, what to do, and its other attempts.

use std::time::Duration;

use compact_str::CompactString;

use crate::output::Look;
use crate::webhook::advice::advice;
use crate::webhook::attempts::AttemptPause;
use crate::webhook::listen::text::{seconds, took};
use crate::webhook::store::Listed;
use crate::webhook::tui::doc::Doc;
use crate::webhook::tui::explanations::{Explanation, Explanations};
use crate::webhook::tui::facts::Facts;
use crate::webhook::tui::row::{Row, status};

use super::Loaded;

pub(super) fn write(doc: &mut Doc, loaded: &Loaded, facts: &Facts, explanations: &Explanations) {
    let (capture, received) = (&loaded.capture, &loaded.capture.received);
    let code = received.verdict.code;
    let advice = advice(&received.verdict, capture.number.filter(|_| loaded.is_shared));
    doc.line(&[(code.row().tone.look(), code.row().short)]);
    doc.line(&[(Look::Plain, &advice.found)]);
    doc.line(&[(Look::Past, advice.rule)]);
    if let Some(next) = &advice.next {
        doc.heading("What to do");
        doc.line(&[(Look::Plain, next)]);
        if let Some(command) = &advice.command {
            doc.line(&[(Look::Plain, command)]);
        }
    }
    let why = capture.number.and_then(|number| explanations.of(number));
    if advice.can_search || why.is_some() {
        doc.heading("Why");
        match why {
            Some(Explanation::Found(why)) => doc.append(why.clone()),
            Some(Explanation::Searching) => {
                doc.line(&[(Look::Past, "It is being searched for …")]);
            }
            None => doc.line(&[(Look::Heading, "x"), (Look::Plain, " finds out why.")]),
        }
    }
    attempts(doc, loaded, facts);
}

fn attempts(doc: &mut Doc, loaded: &Loaded, facts: &Facts) {
    let Some(submission) = &loaded.capture.received.submission_id else { return };
    doc.heading(&format!("Attempts of {submission}"));
    if loaded.attempts_cut {
        doc.line(&[(Look::Past, "… and older ones")]);
    }
    for (listed, pause) in &loaded.attempts {
        if let Some(pause) = pause {
            doc.line(&[(if pause.fits { Look::Past } else { Look::Bad }, &told(pause))]);
        } else if let Some(gap) = listed.arrival.gap {
            doc.line(&[(Look::Past, &format!("    {} later", later(gap)))]);
        }
        attempt(doc, listed, listed.number == loaded.capture.number, facts);
    }
}

fn attempt(doc: &mut Doc, listed: &Listed, is_this: bool, facts: &Facts) {
    let row = Row::from(listed);
    let (look, answer) = status(row.answer.as_ref());
    let (verdict_look, verdict) = row.verdict_cell();
    let at = listed.at.to_zoned(facts.zone.clone()).strftime("%m-%d %H:%M:%S").to_string();
    let number = format!("{} #{:<5}", if is_this { "›" } else { " " }, row.number_cell());
    doc.line(&[
        (if is_this { Look::Heading } else { Look::Plain }, &number),
        (Look::Past, &format!(" {at}  ")),
        (verdict_look, &verdict),
        (Look::Past, "  → "),
        (look, &answer),
        (Look::Past, &format!(" {}", row.took_cell())),
    ]);
}

/// A time between two attempts, in words.
fn later(gap: Duration) -> CompactString {
    if gap < Duration::from_secs(1) { took(gap) } else { seconds(gap) }
}

/// A pause before a retry, in words.
fn told(pause: &AttemptPause) -> String {
    let waited = later(Duration::from_secs_f64(pause.waited_ms.max(0.0) / 1e3));
    let fits = if pause.fits { "as the schedule has it" } else { "not as the schedule has it" };
    format!("    {waited} later, {fits} ({})", pause.expected)
}
