//! What stands at the bottom: a question, what is said, or the keys.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::put;
use crate::output::{Look, shortened};
use crate::webhook::tui::doc::{Doc, Part};
use crate::webhook::tui::field::Field;
use crate::webhook::tui::filter;
use crate::webhook::tui::keys::{Action, KEYS, KeyRow};
use crate::webhook::tui::layout::Focus;
use crate::webhook::tui::model::{Model, Question};
use crate::webhook::verdict::Search;

pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) -> Option<Position> {
    let (rows, cursor) = rows(model, area.width.into());
    for (row, parts) in (0..).zip(&rows) {
        put(buffer, area, row, parts, model.facts.theme);
    }
    let x = cursor.and_then(|x| u16::try_from(x).ok()).filter(|x| *x < area.width)?;
    Some(Position::new(area.x + x, area.y))
}

/// The rows, and the column of the cursor in the first of them.
pub(super) fn rows(model: &Model, width: usize) -> (Vec<Vec<Part>>, Option<usize>) {
    match (&model.question, &model.said) {
        (Some(Question::Filter { field, wrong }), _) => {
            let hint =
                (Look::Past, format!("Enter keeps it, Esc takes it away: {}", filter::usage()));
            typed("/", field, wrong.as_deref(), hint, width)
        }
        (Some(Question::Where { capture, edits, field, wrong }), _) => {
            let prompt = if *edits { "edit and send" } else { "send" };
            let hint = "Enter sends it, Esc does not: 4242/hook, localhost:4242/hook or a URL";
            let number = capture.number.map_or_else(String::new, |number| format!("#{number} "));
            let prompt = format!("{prompt} {number}to: ");
            typed(&prompt, field, wrong.as_deref(), (Look::Past, hint.to_owned()), width)
        }
        (Some(Question::Sign { sending, verdict }), _) => {
            let mut doc = Doc::default();
            let what = format!("#{} is {verdict}. ", sending.number);
            let why = "Signed now, it passes for genuine. ";
            doc.line(&[
                (Look::Bad, &what),
                (Look::Plain, why),
                (Look::Heading, "y"),
                (Look::Plain, " sign and send  "),
                (Look::Heading, "k"),
                (Look::Plain, " send it with its own signature  "),
                (Look::Heading, "n"),
                (Look::Plain, " do not"),
            ]);
            (doc.rows(width), None)
        }
        (None, Some((look, text))) => {
            let mut doc = Doc::default();
            doc.line(&[(*look, text)]);
            (doc.rows(width), None)
        }
        (None, None) => (vec![hints(model, width)], None),
    }
}

fn typed(
    prompt: &str,
    field: &Field,
    wrong: Option<&str>,
    hint: Part,
    width: usize,
) -> (Vec<Vec<Part>>, Option<usize>) {
    // What is typed is seen, however long it is; a column stays for the cursor.
    let room = width.saturating_sub(prompt.width() + 1).max(1);
    let before = end(field.before(), room);
    let text = field.text();
    let after = &text[field.before().len()..];
    let cursor = prompt.width() + before.width();
    let first = vec![
        (Look::Heading, prompt.to_owned()),
        (Look::Plain, before),
        (Look::Plain, after.to_owned()),
    ];
    let (look, below) = wrong.map_or(hint, |wrong| (Look::Bad, wrong.to_owned()));
    let below = crate::sanitize::one_line(&below).into_owned();
    (vec![first, vec![(look, shortened(&below, width))]], Some(cursor))
}

/// The end of a text, as much as there is room for.
fn end(text: &str, room: usize) -> String {
    let (mut used, mut from) = (0, text.len());
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        from = at;
    }
    text[from..].to_owned()
}

/// Keys that are left out where there is no room, the first one first.
const LEFT_OUT: [Action; 6] =
    [Action::Copy, Action::Edit, Action::NextTab, Action::Open, Action::Replay, Action::Filter];

/// Whether a key does something with what is chosen.
fn is_of_use(row: &KeyRow, model: &Model) -> bool {
    let chosen = || model.list.chosen().map(|chosen| chosen.verdict.row());
    row.action != Action::Explain || chosen().is_some_and(|row| row.search != Search::Nothing)
}

/// The keys, as many as there is room for.
fn hints(model: &Model, width: usize) -> Vec<Part> {
    let hinted = KEYS.iter().filter(|row| row.hint.is_some() && is_of_use(row, model));
    let mut shown: Vec<_> = hinted.collect();
    let word = |row: &KeyRow, word| match (row.action, model.focus) {
        (Action::Open, Focus::Text) => "list",
        _ => word,
    };
    let parts = |shown: &[&KeyRow]| {
        let hints =
            shown.iter().filter_map(|row| row.hint.map(|(key, usual)| (key, word(row, usual))));
        let parts = hints.enumerate().flat_map(|(at, (key, word))| {
            let gap = if at > 0 { "  " } else { "" };
            [
                (Look::Plain, gap.to_owned()),
                (Look::Heading, key.to_owned()),
                (Look::Past, format!(" {word}")),
            ]
        });
        parts.collect::<Vec<Part>>()
    };
    for action in LEFT_OUT {
        if parts(&shown).iter().map(|(_, text)| text.width()).sum::<usize>() <= width {
            break;
        }
        shown.retain(|row| row.action != action);
    }
    parts(&shown)
}
