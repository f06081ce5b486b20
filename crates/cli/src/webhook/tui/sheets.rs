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
    doc.line(&[(
        Look::Plain,
        "Enter answers it, Esc leaves it; Ctrl-U and Ctrl-W take back what was typed.",
    )]);
    doc
}
