//! The first cursor of our own: a question whose answer is partly known.

use std::collections::BTreeSet;

use formsvc_protocol::Cursor;

use super::range::Answer;
use crate::pager::{cursor_at, millisecond};

/// Rows of a page that its answer should begin with, if they can be had.
const ROWS: usize = 3;

/// A cursor between two rows of a page. The answer must be exactly the known rest, then what
/// follows: so the check is at the same time the request for the next page.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) cursor: Cursor,
    bound: i64,
    rest: Vec<String>,
}

impl Probe {
    /// A probe into this page; `None` when all of it was made in one millisecond. `near` asks for
    /// the seam next to the page's end.
    pub(super) fn into_page<P: Answer>(page: &P, near: bool) -> Option<Self> {
        let rows: Vec<(&str, i64)> = page.rows().collect();
        let ms = |at: usize| millisecond(rows[at].1);
        let seams = (1..rows.len()).rev().filter(|at| ms(at - 1) > ms(*at));
        let wanted = if near { 1 } else { ROWS };
        let mut from = None;
        for at in seams {
            from = Some(at);
            if rows.len() - at >= wanted {
                break;
            }
        }
        let from = from?;
        let bound = (ms(from) + 1) * 1_000;
        let rest = rows[from..].iter().map(|(id, _)| (*id).to_owned()).collect();
        Some(Self { cursor: cursor_at(bound), bound, rest })
    }

    /// Whether an answer is what the cursor asked for.
    pub(super) fn holds<P: Answer>(&self, answer: &P) -> bool {
        let begins: BTreeSet<_> = answer.rows().take(self.rest.len()).map(|(id, _)| id).collect();
        begins == self.rest.iter().map(String::as_str).collect()
            && answer.rows().all(|(_, time)| time < self.bound)
    }
}
