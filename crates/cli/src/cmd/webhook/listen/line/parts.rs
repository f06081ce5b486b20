//! The parts of a delivery's line, and their fitting into a width. An id is not shortened, because users copy
//! it.

use formsvc_protocol::EventKind;
use unicode_width::UnicodeWidthStr;

use super::{INDENT, Line, MIN_PART, joined, shorten};
use crate::base::text::truncate_id;
use crate::output::TextStyle;

/// Least width of an event that distinguishes it from others, in cells.
const USUAL_EVENT: usize = 12;
/// Least width of an event, in cells.
const MIN_EVENT: usize = 6;
/// Least width of an id, in cells. Ids of the service are shorter.
const MIN_ID: usize = 40;

/// The parts of a delivery's line. Texts from the request may have any length.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// Time, capture number and method.
    pub(super) begin: Line,
    pub(super) request_target: Option<String>,
    pub(super) event: Option<String>,
    pub(super) id: Option<String>,
    pub(super) size: Option<String>,
    /// Verdict and attempt.
    pub(super) verdict: Line,
    /// Time since the previous attempt.
    pub(super) gap: Option<String>,
    pub(super) status: Line,
    pub(super) target: Option<String>,
    pub(super) took: Option<String>,
}

impl Parts {
    /// Returns one line if the important parts fit; else a second line with verdict and status; else also one
    /// with the id.
    pub(super) fn lines(self, width: Option<usize>) -> Vec<Line> {
        let Some(width) = width else { return vec![self.line()] };
        let mut one = self.clone();
        if one.fit(width) {
            return vec![one.line()];
        }
        let Self { begin, request_target, event, id, size, verdict, gap, status, target, took } =
            self;
        // A space follows each part.
        let indent = || vec![(TextStyle::Plain, INDENT[1..].to_owned())];
        let mut last =
            Self { begin: indent(), verdict, gap, status, target, took, ..Self::default() };
        last.fit(width);
        let mut first = Self { begin, request_target, event, id, size, ..Self::default() };
        let mut with_id = first.clone();
        if with_id.fit(width) {
            return vec![with_id.line(), last.line()];
        }
        let (id, size) = (first.id.take(), first.size.take());
        let mut middle = Self { begin: indent(), id, size, ..Self::default() };
        first.fit(width);
        if !middle.fit(width) {
            let over = middle.excess(width);
            if let Some(id) = &mut middle.id {
                *id = truncate_id(id, id.width().saturating_sub(over).max(MIN_ID));
            }
        }
        vec![first.line(), middle.line(), last.line()]
    }

    /// Removes and shortens the least important parts until the line fits. Returns false if it does not fit.
    fn fit(&mut self, width: usize) -> bool {
        // Nearly all deliveries have this event.
        let is_usual = self.event.as_deref() == Some(EventKind::SubmissionCreated.as_str());
        if self.excess(width) > 0 && is_usual {
            self.event = None;
        }
        if self.excess(width) > 0 {
            self.size = None;
        }
        let over = self.excess(width);
        self.event.iter_mut().for_each(|event| shorten(event, over, USUAL_EVENT));
        let over = self.excess(width);
        self.request_target.iter_mut().for_each(|target| shorten(target, over, MIN_PART));
        if self.excess(width) > 0 {
            self.gap = None;
        }
        if self.excess(width) > 0 {
            self.took = None;
        }
        let over = self.excess(width);
        self.event.iter_mut().for_each(|event| shorten(event, over, MIN_EVENT));
        let over = self.excess(width);
        self.target.iter_mut().for_each(|target| shorten(target, over, MIN_PART));
        self.excess(width) == 0
    }

    /// Returns the number of cells by which the line exceeds the width.
    fn excess(&self, width: usize) -> usize {
        let optional = [
            &self.request_target,
            &self.event,
            &self.id,
            &self.size,
            &self.gap,
            &self.target,
            &self.took,
        ];
        let parts = [&self.begin, &self.verdict, &self.status].into_iter().flatten();
        let texts = optional.into_iter().flatten().chain(parts.map(|(_, text)| text));
        let cells: usize = texts.map(|text| 1 + text.width()).sum();
        cells.saturating_sub(1 + width)
    }

    fn line(self) -> Line {
        let mut line = self.begin;
        let mut push = |look, text: Option<String>| line.extend(text.map(|text| (look, text)));
        push(TextStyle::Plain, self.request_target);
        push(TextStyle::Plain, self.event);
        push(TextStyle::Heading, self.id);
        push(TextStyle::Dim, self.size);
        line.extend(self.verdict);
        line.extend(self.gap.map(|gap| (TextStyle::Dim, gap)));
        line.extend(self.status);
        line.extend(self.target.map(|target| (TextStyle::Warning, target)));
        line.extend(self.took.map(|took| (TextStyle::Dim, took)));
        joined(line)
    }
}
