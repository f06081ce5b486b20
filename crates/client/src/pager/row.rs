//! One row of a page, borrowed.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use formsvc_protocol::{
    AnswerPlace, Answers, Literals, Place, RowPlaces, Submission, SubmissionId, SubmissionRef,
    Timestamp,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::TypedSubmission;
use crate::decode::path_of;
use crate::error::AnswersError;

/// Where the parts of a row stand in the text of its page.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// None of a page that was parsed, which keeps no places of objects.
    object: Option<Place>,
    id: Text,
    created_at: Text,
    data: Place,
    /// Which of the page's answers are of this row.
    answers: Range<usize>,
    micros: i64,
    /// Which element of the page's `data` it is, from 0.
    index: u32,
}

/// A string of a row.
#[derive(Clone, Debug)]
enum Text {
    /// As it stands on the page.
    Within(Place),
    /// It was escaped there.
    Unescaped(Box<str>),
}

/// One submission on a page; copies nothing. Its Debug does not show the answers.
#[derive(Clone, Copy)]
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

    /// The submission as the service sent it: the exact JSON text of one object. `None` on a page that is
    /// spelled so unusually, with escapes in ids for example, that only its parts were found.
    pub fn text(self) -> Option<&'p str> {
        self.span.object.map(|object| object.within(self.page))
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

    /// The answers, read as a `T`, which may borrow from the page.
    ///
    /// ```
    /// # async fn example(page: formsvc_client::SubmissionPage) -> Result<(), formsvc_client::AnswersError> {
    /// #[derive(serde::Deserialize)]
    /// struct Contact<'a> {
    ///     #[serde(rename = "E-mail", borrow)]
    ///     email: std::borrow::Cow<'a, str>,
    /// }
    /// for row in page.rows() {
    ///     println!("{}", row.data_as::<Contact>()?.email);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn data_as<T: Deserialize<'p>>(self) -> Result<T, AnswersError> {
        serde_json::from_str(self.data()).map_err(|error| {
            let mut again = serde_json::Deserializer::from_str(self.data());
            let path = path_of(serde_path_to_error::deserialize::<_, T>(&mut again));
            AnswersError::new(self.owned_id(), &self.json_path(path.as_deref()), &error.to_string())
        })
    }

    /// The row as an owned value, its answers read as a `T`.
    pub fn to_typed<T: DeserializeOwned>(self) -> Result<TypedSubmission<T>, AnswersError> {
        Ok(TypedSubmission::new(self.owned_id(), self.data_as()?, self.time()))
    }

    /// Where in the page's JSON a place of the answers is.
    fn json_path(self, within: Option<&str>) -> String {
        let index = self.span.index;
        match within {
            Some(path) if path.starts_with('[') => format!("data[{index}].data{path}"),
            Some(path) => format!("data[{index}].data.{path}"),
            None => format!("data[{index}].data"),
        }
    }

    fn owned_id(self) -> SubmissionId {
        SubmissionId::new(self.id()).expect("the page checked the id")
    }

    fn time(self) -> Timestamp {
        self.created_at().parse().expect("the page checked the time")
    }

    /// The row as an owned value.
    pub fn to_submission(self) -> Submission {
        Submission::new(
            self.owned_id(),
            Answers::parse(self.data()).expect("the page checked that it is an object"),
            self.time(),
        )
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("id", &self.id())
            .field("data", &format_args!("{} bytes", self.data().len()))
            .field("created_at", &self.created_at())
            .finish()
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
    pub(super) fn found(page: &str, row: RowPlaces, index: usize) -> Result<Self, BrokenRule> {
        let RowPlaces { object, id, created_at, data, answers } = row;
        let micros = check(id.within(page), created_at.within(page))?;
        let (id, created_at) = (Text::Within(id), Text::Within(created_at));
        let (object, index) = (Some(object), narrow(index));
        Ok(Self { object, id, created_at, data, answers, micros, index })
    }

    /// Checks a row that was parsed, and adds the places of its answers to those of the page.
    pub(super) fn parsed(
        page: &str,
        row: SubmissionRef<'_>,
        answers: &mut Vec<AnswerPlace>,
        index: usize,
    ) -> Result<Self, BrokenRule> {
        let micros = check(&row.id, &row.created_at)?;
        Answers::check(row.data).map_err(BrokenRule::of("data"))?;
        let first = answers.len();
        let data = place(page, row.data.get());
        answers.extend(
            AnswerPlace::of_part(page, data).expect("a parser read it, and it is an object"),
        );
        Ok(Self {
            object: None,
            id: Text::new(page, row.id),
            created_at: Text::new(page, row.created_at),
            data,
            answers: first..answers.len(),
            micros,
            index: narrow(index),
        })
    }

    pub(super) fn id<'p>(&'p self, page: &'p str) -> &'p str {
        self.id.within(page)
    }

    pub(super) fn micros(&self) -> i64 {
        self.micros
    }
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("a page is capped below 4 GiB, and so is its number of rows")
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
