//! What is read instead of the list.

use unicode_width::UnicodeWidthStr;

use super::doc::Doc;
use super::filter;
use super::keys::KEYS;
use crate::output::Look;

/// The keys, and what can be typed.
pub(super) fn help() -> Doc {
    let mut doc = Doc::default();
    let widest = KEYS.iter().map(|row| row.shown.width()).max().unwrap_or(0);
    for row in KEYS {
        let space = " ".repeat(widest - row.shown.width() + 2);
        doc.hung(
            &[(Look::Heading, row.shown), (Look::Plain, &space), (Look::Plain, row.means)],
            widest + 2,
        );
    }
    doc.heading("A filter");
    doc.line(&[(Look::Plain, &filter::usage())]);
    doc.heading("A question at the bottom");
    let question = "Where something is typed, Enter takes it, Esc leaves it, and Ctrl-U and Ctrl-W take it \
                    back. Else the keys that answer stand beside it; any other answers no.";
    doc.line(&[(Look::Plain, question)]);
    doc.heading("The first line");
    let counts = "Where the listener is, and what it forwards to. What came are deliveries that were \
                  answered; what went no further are requests that were refused before that. At its end: \
                  which row is chosen, of how many that were read; + means that there are older ones.";
    doc.line(&[(Look::Plain, counts)]);
    doc
}
