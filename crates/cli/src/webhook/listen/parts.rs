//! The parts of a delivery's line, and how they fit into a window: its id is whole, for somebody may copy it.

use compact_str::CompactString;
use formsvc_protocol::EventKind;
use unicode_width::UnicodeWidthStr;

use super::text::{INDENT, Line, SHORTEST, shorten, shorten_id, spaced};
use crate::output::Look;

/// Cells of an event that tell it from others well enough.
const EVENT_USUAL: usize = 12;
/// The least that is left of one.
const EVENT_SHORTEST: usize = 6;
/// Cells of an id that are always there: more than those of the service have.
const ID_LEAST: usize = 40;

/// The parts. What strangers wrote may have any length.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// When it came, its number and its method.
    pub(super) begin: Line,
    pub(super) target: Option<CompactString>,
    pub(super) event: Option<CompactString>,
    pub(super) id: Option<CompactString>,
    pub(super) size: Option<CompactString>,
    /// The verdict, and which attempt it is.
    pub(super) found: Line,
    /// How long after the attempt before.
    pub(super) gap: Option<CompactString>,
    pub(super) answer: Line,
    /// Where it went, where that may be one place or another.
    pub(super) went: Option<CompactString>,
    pub(super) took: Option<CompactString>,
}

impl Parts {
    /// One line where there is room for what matters, else what was found and answered on a line below;
    /// where there is too little for that, the id on one of its own.
    pub(super) fn lines(self, width: Option<usize>) -> Vec<Line> {
        let Some(width) = width else { return vec![self.line()] };
        let mut one = self.clone();
        if one.shorten(width) {
            return vec![one.line()];
        }
        let Self { begin, target, event, id, size, found, gap, answer, went, took } = self;
        // Each part of a line has a space before it but the first.
        let below = || vec![(Look::Plain, INDENT[1..].into())];
        let mut last = Self { begin: below(), found, gap, answer, went, took, ..Self::default() };
        last.shorten(width);
        let mut first = Self { begin, target, event, id, size, ..Self::default() };
        let mut whole = first.clone();
        if whole.shorten(width) {
            return vec![whole.line(), last.line()];
        }
        let mut middle = Self {
            begin: below(),
            id: first.id.take(),
            size: first.size.take(),
            ..Self::default()
        };
        first.shorten(width);
        if !middle.shorten(width) {
            let over = middle.over(width);
            middle.id.iter_mut().for_each(|id| shorten_id(id, over, ID_LEAST));
        }
        vec![first.line(), middle.line(), last.line()]
    }

    /// Leaves out and shortens what says least, until it fits; says whether it does.
    fn shorten(&mut self, width: usize) -> bool {
        // The one event that there is is the same on each line.
        let is_usual = self.event.as_deref() == Some(EventKind::SubmissionCreated.as_str());
        if self.over(width) > 0 && is_usual {
            self.event = None;
        }
        if self.over(width) > 0 {
            self.size = None;
        }
        let over = self.over(width);
        self.event.iter_mut().for_each(|event| shorten(event, over, EVENT_USUAL));
        let over = self.over(width);
        self.target.iter_mut().for_each(|target| shorten(target, over, SHORTEST));
        if self.over(width) > 0 {
            self.gap = None;
        }
        if self.over(width) > 0 {
            self.took = None;
        }
        let over = self.over(width);
        self.event.iter_mut().for_each(|event| shorten(event, over, EVENT_SHORTEST));
        let over = self.over(width);
        self.went.iter_mut().for_each(|went| shorten(went, over, SHORTEST));
        self.over(width) == 0
    }

    /// By how many cells it is wider.
    fn over(&self, width: usize) -> usize {
        let Self { begin, target, event, id, size, found, gap, answer, went, took } = self;
        let texts = [target, event, id, size, gap, went, took]
            .into_iter()
            .flatten()
            .map(CompactString::as_str);
        let parts = [begin, found, answer].into_iter().flatten().map(|(_, text)| &**text);
        let cells: usize = texts.chain(parts).map(|text| 1 + text.width()).sum();
        cells.saturating_sub(1 + width)
    }

    fn line(self) -> Line {
        let Self { begin, target, event, id, size, found, gap, answer, went, took } = self;
        let mut parts = begin;
        let mut push =
            |look, text: Option<CompactString>| parts.extend(text.map(|text| (look, text)));
        push(Look::Plain, target);
        push(Look::Plain, event);
        push(Look::Heading, id);
        push(Look::Past, size);
        parts.extend(found);
        parts.extend(gap.map(|gap| (Look::Past, gap)));
        parts.extend(answer);
        parts.extend(went.map(|went| (Look::Open, went)));
        parts.extend(took.map(|took| (Look::Past, took)));
        spaced(parts)
    }
}
