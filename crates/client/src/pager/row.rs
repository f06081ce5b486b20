//! One row of a page, borrowed.

use std::borrow::Cow;
use std::ops::Range;

use formsvc_protocol::{
    AnswerPlace, Answers, Literals, Place, RowPlaces, Submission, SubmissionId, SubmissionRef,
    Timestamp,
};

/// Where the parts of a row stand in the text of its page.
#[derive(Clone, Debug)]
pub(super) struct Span {
    id: Text,
    created_at: Text,
    data: Place,
    /// Which of the page's answers are of this row.
    answers: Range<usize>,
    micros: i64,
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
    answers: &'p [AnswerPlace],
    span: &'p Span,
}

impl<'p> Row<'p> {
    /// A row of a page with these answers.
    pub(super) fn new(page: &'p str, answers: &'p [AnswerPlace], span: &'p Span) -> Self {
        Self { page, answers: &answers[span.answers.clone()], span }
    }

    /// Identifier (SPEC §2); obeys the rules of [`SubmissionId`].
    pub fn id(self) -> &'p str {
        self.span.id(self.page)
    }

    /// The answers: the exact JSON text of one object, as the service sent it.
    pub fn data(self) -> &'p str {
        self.span.data.within(self.page)
    }

    /// Label and value of each answer, as they are spelled in [`data`](Self::data).
    pub fn answers(self) -> Literals<'p> {
        Literals::new(self.page, self.answers)
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
    /// Checks a row that was found on a page.
    pub(super) fn found(page: &str, row: RowPlaces) -> Result<Self, BrokenRule> {
        let RowPlaces { id, created_at, data, answers } = row;
        let micros = check(id.within(page), created_at.within(page))?;
        let (id, created_at) = (Text::Within(id), Text::Within(created_at));
        Ok(Self { id, created_at, data, answers, micros })
    }

    /// Checks a row that was parsed, and adds the places of its answers to those of the page.
    pub(super) fn parsed(
        page: &str,
        row: SubmissionRef<'_>,
        answers: &mut Vec<AnswerPlace>,
    ) -> Result<Self, BrokenRule> {
        let micros = check(&row.id, &row.created_at)?;
        Answers::check(row.data).map_err(BrokenRule::of("data"))?;
        let first = answers.len();
        let data = place(page, row.data.get());
        answers.extend(
            AnswerPlace::of_part(page, data).expect("a parser read it, and it is an object"),
        );
        Ok(Self {
            id: Text::new(page, row.id),
            created_at: Text::new(page, row.created_at),
            data,
            answers: first..answers.len(),
            micros,
        })
    }

    pub(super) fn id<'p>(&'p self, page: &'p str) -> &'p str {
        self.id.within(page)
    }

    pub(super) fn micros(&self) -> i64 {
        self.micros
    }
}

/// Checks the rules of ids and times; the time in microseconds.
fn check(id: &str, created_at: &str) -> Result<i64, BrokenRule> {
    SubmissionId::check(id).map_err(BrokenRule::of("id"))?;
    Timestamp::micros_of(created_at).map_err(BrokenRule::of("created_at"))
}

/// The place of a part that was borrowed from the page.
fn place(page: &str, part: &str) -> Place {
    Place::of(part, page).expect("the parser borrows from a page, which is capped below 4 GiB")
}

impl Text {
    fn new(page: &str, text: Cow<'_, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Within(place(page, text)),
            Cow::Owned(text) => Self::Unescaped(text.into_boxed_str()),
        }
    }

    fn within<'p>(&'p self, page: &'p str) -> &'p str {
        match self {
            Self::Within(place) => place.within(page),
            Self::Unescaped(text) => text,
        }
    }
}
