//! One row of a page, borrowed.

use std::borrow::Cow;
use std::ops::Range;

use formsvc_protocol::{Answers, Submission, SubmissionId, SubmissionRef, Timestamp};

/// Where the parts of a row stand in the text of its page.
#[derive(Clone, Debug)]
pub(super) struct Span {
    id: Text,
    created_at: Text,
    data: Place,
    micros: i64,
}

/// A part of the page's text. 32 bits: bodies are capped far below 4 GiB.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    end: u32,
}

/// A string of a row.
#[derive(Clone, Debug)]
enum Text {
    /// As it stands on the page.
    Within(Place),
    /// It was escaped there.
    Unescaped(Box<str>),
}

/// One submission on a page; copies nothing.
#[derive(Clone, Copy, Debug)]
pub struct Row<'p> {
    page: &'p str,
    span: &'p Span,
}

impl<'p> Row<'p> {
    pub(super) fn new(page: &'p str, span: &'p Span) -> Self {
        Self { page, span }
    }

    /// Identifier (SPEC §2); obeys the rules of [`SubmissionId`].
    pub fn id(self) -> &'p str {
        self.span.id.within(self.page)
    }

    /// The answers: the exact JSON text of one object, as the service sent it.
    pub fn data(self) -> &'p str {
        &self.page[self.span.data.range()]
    }

    /// When it was made, as the service sent it; a valid [`Timestamp`].
    pub fn created_at(self) -> &'p str {
        self.span.created_at.within(self.page)
    }

    /// When it was made, in microseconds since 1970-01-01T00:00:00Z.
    pub fn unix_micros(self) -> i64 {
        self.span.micros
    }

    /// The row as an owned value.
    pub fn to_submission(self) -> Submission {
        Submission::new(
            SubmissionId::new(self.id()).expect("the page checked the id"),
            Answers::parse(self.data()).expect("the page checked that it is an object"),
            self.created_at().parse::<Timestamp>().expect("the page checked the time"),
        )
    }
}

/// A rule that a row breaks: the member, and why.
pub(super) struct BrokenRule {
    pub(super) member: &'static str,
    pub(super) why: String,
}

impl BrokenRule {
    fn of<E: ToString>(member: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self { member, why: error.to_string() }
    }
}

impl Span {
    /// Checks a parsed row and notes where its parts stand in `page`.
    pub(super) fn new(page: &str, row: SubmissionRef<'_>) -> Result<Self, BrokenRule> {
        SubmissionId::check(&row.id).map_err(BrokenRule::of("id"))?;
        Answers::check(row.data).map_err(BrokenRule::of("data"))?;
        let micros = Timestamp::micros_of(&row.created_at).map_err(BrokenRule::of("created_at"))?;
        Ok(Self {
            id: Text::new(page, row.id),
            created_at: Text::new(page, row.created_at),
            data: Place::of(page, row.data.get()),
            micros,
        })
    }

    pub(super) fn micros(&self) -> i64 {
        self.micros
    }
}

impl Text {
    fn new(page: &str, text: Cow<'_, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Within(Place::of(page, text)),
            Cow::Owned(text) => Self::Unescaped(text.into_boxed_str()),
        }
    }

    fn within<'p>(&'p self, page: &'p str) -> &'p str {
        match self {
            Self::Within(place) => &page[place.range()],
            Self::Unescaped(text) => text,
        }
    }
}

impl Place {
    /// The place of a part that was borrowed from the page.
    fn of(page: &str, part: &str) -> Self {
        let start = part.as_ptr().addr() - page.as_ptr().addr();
        let place = |at: usize| u32::try_from(at).expect("bodies are capped below 4 GiB");
        Self { start: place(start), end: place(start + part.len()) }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
