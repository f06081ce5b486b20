//! What to ask for.

use formsvc_protocol::limits::PAGE_SIZE_MAX;
use formsvc_protocol::{Cursor, FormId, Timestamp};
use serde::de::DeserializeOwned;

use super::bounds::Bounds;
use super::walk::{NextStep, Walk};
use super::{
    ResumeToken, Row, SubmissionPage, SubmissionPages, Submissions, TypedSubmissions, pages,
};
use crate::error::{Error, ErrorKind, Safe};
use crate::{Client, operation};

/// A list of submissions about to be read: settings, then [`items`](Self::items),
/// [`pages`](Self::pages) or [`page`](Self::page). Sends nothing by itself.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let form = client.form("frm_1".parse()?);
/// let mut items = form.submissions().items();
/// while let Some(submission) = items.try_next().await? {
///     println!("{} {}", submission.id, submission.data.as_json());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a list does nothing until its items or pages are asked for"]
pub struct ListSubmissions {
    pub(super) client: Client,
    pub(super) form: FormId,
    pub(super) page_size: u32,
    before: Option<Cursor>,
    resume: Option<ResumeToken>,
    pub(super) max_pages: Option<u64>,
    pub(super) prefetch: bool,
    pub(super) bounds: Bounds,
    allow_incomplete: bool,
}

impl ListSubmissions {
    pub(crate) fn new(client: Client, form: FormId) -> Self {
        Self {
            client,
            form,
            page_size: PAGE_SIZE_MAX,
            before: None,
            resume: None,
            max_pages: None,
            prefetch: false,
            bounds: Bounds::default(),
            allow_incomplete: false,
        }
    }

    /// Submissions per request, 1 to 100 (SPEC §8). By default 100, because each request counts
    /// against the rate limit. Every page but the first repeats a known submission, which is left out;
    /// pages of one are therefore requested with two. Any other number is an [`ErrorKind::Config`] when the first page
    /// is asked for.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.page_size = rows;
        self
    }

    /// Begins at a cursor that the service gave earlier, instead of at the newest submission.
    pub fn before(mut self, cursor: Cursor) -> Self {
        self.before = Some(cursor);
        self
    }

    /// Goes on where an earlier list stopped. The token must be of the same form, and excludes
    /// [`before`](Self::before); else it is an [`ErrorKind::Config`] when the first page is asked
    /// for.
    pub fn resume_from(mut self, token: ResumeToken) -> Self {
        self.resume = Some(token);
        self
    }

    /// Ends the list before the first submission made earlier than this time. The list is newest
    /// first (SPEC §4), so nothing older is asked for. Compared to the microsecond.
    ///
    /// The resume token then leads on, to the submissions left out: it is
    /// [finished](ResumeToken::is_finished) only after the end of the service's list.
    pub fn since(mut self, time: Timestamp) -> Self {
        self.bounds.since(time);
        self
    }

    /// Leaves out the submissions made at this time or later. The API cannot skip them, so their
    /// pages are asked for all the same; [`before`](Self::before) skips without asking, if you have
    /// a cursor. With [`since`](Self::since) it must be later than that, else it is an
    /// [`ErrorKind::Config`] when the first page is asked for.
    ///
    /// A resume token counts them as passed.
    pub fn until(mut self, time: Timestamp) -> Self {
        self.bounds.until(time);
        self
    }

    /// Ends the list before the first submission for which `stop` is true. It is asked about each
    /// submission once, newest first, as its page arrives, also about those that
    /// [`until`](Self::until) leaves out. The resume token then leads on, as with
    /// [`since`](Self::since).
    ///
    /// To fetch only what is new, remember the newest id, and stop there the next time:
    ///
    /// ```no_run
    /// # async fn example(form: formsvc_client::FormHandle, last: String) -> Result<(), formsvc_client::Error> {
    /// let mut new = form.submissions().page_size(25).stop_when(move |row| row.id() == last).items();
    /// while let Some(submission) = new.try_next().await? {
    ///     println!("{}", submission.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stop_when(mut self, stop: impl Fn(Row<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.bounds.stop_when(stop);
        self
    }

    /// Ends the list after this many pages, as if there were no more. The resume token then leads
    /// on.
    pub fn max_pages(mut self, pages: u64) -> Self {
        self.max_pages = Some(pages);
        self
    }

    /// Asks for the next page before a page is handed on, so that the service works while the
    /// caller does. One page more is held in memory, and one request may be made in vain when the
    /// caller stops early. Its time limits run while the caller is busy: one who may take longer
    /// over a page than [`ClientBuilder`](crate::ClientBuilder) allows a call does better without.
    /// Off unless asked for.
    pub fn prefetch(mut self, on: bool) -> Self {
        self.prefetch = on;
        self
    }

    /// Continues where more submissions share a unit of the service's cursor, a second or a
    /// millisecond, than a page can show. By default the list ends there with an
    /// [`ErrorKind::TieOverflow`]. If allowed, the rest of the list follows, each such unit is reported
    /// as an [`Event::TieOverflow`](crate::Event::TieOverflow) and in
    /// [`tie_overflows`](SubmissionPages::tie_overflows), and the result is
    /// [`Incomplete`](super::Completeness::Incomplete).
    ///
    /// A larger [`page_size`](Self::page_size) shows more submissions of a unit. A single
    /// [`page`](Self::page) always fails there.
    pub fn allow_incomplete(mut self, allow: bool) -> Self {
        self.allow_incomplete = allow;
        self
    }

    /// The submissions one by one.
    pub fn items(self) -> Submissions {
        Submissions::new(self.pages())
    }

    /// The submissions one by one, the answers of each read as a `T`.
    pub fn items_as<T: DeserializeOwned>(self) -> TypedSubmissions<T> {
        TypedSubmissions::new(self.items())
    }

    /// The submissions page by page, which costs the least.
    pub fn pages(self) -> SubmissionPages {
        SubmissionPages::new(self)
    }

    /// A single page.
    pub async fn page(mut self) -> Result<SubmissionPage, Error> {
        self.allow_incomplete = false;
        let Some(mut walk) = self.walk()? else {
            let what = "the resume token is at the end of the list";
            return Err(Error::parts(ErrorKind::Config, operation::SUBMISSIONS, what).into());
        };
        loop {
            let (client, form) = (self.client.clone(), self.form.clone());
            let (rows, cursor) = (walk.rows_to_request(self.page_size), walk.cursor().cloned());
            let (page, meta) = match pages::fetch(client, form, rows, cursor).await {
                Ok(fetched) => fetched,
                Err(error) if pages::retries_refused(&self.client, &mut walk, &error) => continue,
                Err(error) => return Err(error),
            };
            let (mut page, next) = pages::accept(&self.client, &mut walk, page, meta);
            return match next {
                NextStep::Retry => continue,
                _ if page.cut(&self.bounds) => Ok(page),
                NextStep::Failed(error) if !error.comes_after_the_page() => {
                    Err(pages::error(error, &page))
                }
                NextStep::Continue | NextStep::Finished | NextStep::Failed(_) => Ok(page),
            };
        }
    }

    /// The walk as set, or the rule that a setting breaks; `None` when there is nothing left.
    pub(super) fn walk(&self) -> Result<Option<Walk>, Error> {
        let wrong = |what: String| {
            Err(Error::parts(ErrorKind::Config, operation::SUBMISSIONS, what).into())
        };
        if !(1..=PAGE_SIZE_MAX).contains(&self.page_size) {
            let size = self.page_size;
            return wrong(format!("the page size `{size}` is not in 1..={PAGE_SIZE_MAX}"));
        }
        if let Err(what) = self.bounds.check() {
            return wrong(what);
        }
        let walk = match (&self.resume, &self.before) {
            (None, before) => Some(Walk::start(before.clone())),
            (Some(_), Some(_)) => {
                return wrong("`before` and `resume_from` exclude each other".to_owned());
            }
            (Some(token), None) if *token.form_id() != self.form => {
                let (of, form) = (Safe(token.form_id().as_str()), Safe(self.form.as_str()));
                return wrong(format!("the resume token is of the form `{of}`, not `{form}`"));
            }
            (Some(token), None) => token.walk(),
        };
        Ok(walk.map(|walk| walk.allow_incomplete(self.allow_incomplete)))
    }

    /// The token of the place the list begins at.
    pub(super) fn first_token(&self) -> ResumeToken {
        if let Some(token) = &self.resume {
            return token.clone();
        }
        let position = Walk::start(self.before.clone()).position();
        ResumeToken::at_page(self.form.clone(), position, std::iter::empty(), None)
    }
}
