//! The settings of a list of submissions.

use std::sync::Arc;

use bytes::Bytes;
use formsvc_protocol::limits::PAGE_SIZE_MAX;
use formsvc_protocol::{Cursor, FormId, IdError, Submission, Timestamp};

use super::bounds::{Bounds, StopWhen};
use super::page::RawPage;
use super::pages::Fetched;
use super::sealed_text::ListId;
use super::sync_point::SyncRun;
use super::walk::Walk;
use super::{NewSubmissions, ResumeToken, SubmissionPage, SubmissionPages, Submissions, SyncPoint};
use crate::Client;
use crate::call::call;
use crate::completeness::Completeness;
use crate::error::Error;
use crate::operation::SUBMISSIONS;
use crate::transport::BoxFuture;

/// A query for the submissions of a form, newest first (SPEC §4): settings, then
/// [`items`](Self::items), [`pages`](Self::pages) or [`page`](Self::page). Sends nothing by itself.
///
/// Invalid settings are an [`ErrorKind::Config`](crate::ErrorKind::Config) of the first page.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let since = "2026-01-01T00:00:00Z".parse()?;
/// let mut items = client.form("frm_1").submissions().since(since).items();
/// while let Some(submission) = items.try_next().await? {
///     println!("{} {}", submission.id, submission.data.as_json());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a query does nothing until its items or pages are read"]
pub struct SubmissionQuery {
    pub(super) client: Client,
    form: Result<FormId, IdError>,
    page_size: u32,
    start: Option<Cursor>,
    resume: Option<ResumeToken>,
    pub(super) max_pages: Option<u64>,
    pub(super) bounds: Bounds,
    pub(super) allow_incomplete: bool,
    /// An earlier walk through the list reported that submissions can be missing.
    pub(super) is_warned: bool,
}

impl SubmissionQuery {
    pub(crate) fn new(client: Client, form: Result<FormId, IdError>) -> Self {
        Self {
            client,
            form,
            page_size: PAGE_SIZE_MAX,
            start: None,
            resume: None,
            max_pages: None,
            bounds: Bounds::default(),
            allow_incomplete: false,
            is_warned: false,
        }
    }

    /// Sets the submissions per request, 1 to 100 (SPEC §8). The default is 100, because each
    /// request counts against the rate limit. Every page but the first repeats a known submission,
    /// which is dropped; pages of one are therefore requested with two.
    pub fn page_size(self, rows: u32) -> Self {
        Self { page_size: rows, ..self }
    }

    /// Starts at a cursor of the service instead of at the newest submission.
    pub fn start_at(self, cursor: Cursor) -> Self {
        Self { start: Some(cursor), ..self }
    }

    /// Continues where an earlier list stopped. The token must be for the same form and service,
    /// and excludes [`start_at`](Self::start_at).
    pub fn resume_from(self, token: ResumeToken) -> Self {
        Self { resume: Some(token), ..self }
    }

    /// Ends the list before the first submission older than this time. Older pages are not
    /// requested. The comparison is exact to the microsecond.
    ///
    /// The resume token then leads to the submissions left out: it is
    /// [finished](ResumeToken::is_finished) only at the end of the service's list.
    pub fn since(mut self, time: Timestamp) -> Self {
        self.bounds.since = Some(time);
        self
    }

    /// Leaves out the submissions made at this time or later. The API cannot skip them, so their
    /// pages are requested all the same; [`start_at`](Self::start_at) avoids that. With
    /// [`since`](Self::since), this must be the later time.
    ///
    /// A resume token is after the submissions left out.
    pub fn until(mut self, time: Timestamp) -> Self {
        self.bounds.until = Some(time);
        self
    }

    /// Ends the list before the first submission for which `stop` returns true. It is called once
    /// per submission, newest first, as the page arrives, also for submissions that
    /// [`until`](Self::until) leaves out. The resume token then leads to the submissions left out.
    ///
    /// ```no_run
    /// # async fn example(client: formsvc_client::Client) -> Result<(), formsvc_client::Error> {
    /// let query = client.form("frm_1").submissions().stop_when(|submission| submission.id == "sub_9");
    /// let newer_than_sub_9 = query.items().try_collect_max(1_000).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stop_when(mut self, stop: impl Fn(&Submission) -> bool + Send + Sync + 'static) -> Self {
        self.bounds.stop_when = Some(StopWhen(Arc::new(stop)));
        self
    }

    /// Ends the list after this many pages. The resume token then leads to the next page.
    pub fn max_pages(self, pages: u64) -> Self {
        Self { max_pages: Some(pages), ..self }
    }

    /// Continues where submissions have to be left out, instead of ending with an error. The result is then
    /// [`Incomplete`](crate::Completeness::Incomplete).
    ///
    /// - More submissions share a unit of the service's cursor, a second or a millisecond, than a page can
    ///   show: [`ErrorKind::TieOverflow`](crate::ErrorKind::TieOverflow). Each such unit is reported as an
    ///   [`ClientEvent::TieOverflow`](crate::event::ClientEvent::TieOverflow) and in
    ///   [`tie_overflows`](SubmissionPages::tie_overflows). A larger [`page_size`](Self::page_size) shows
    ///   more submissions of a unit.
    /// - More than 1,000,000 submissions share one time, which is the same error. If this is allowed, those
    ///   that the service sends again could be yielded again.
    /// - A submission violates the API:
    ///   [`ErrorKind::InvalidItem`](crate::ErrorKind::InvalidItem). If this is allowed, it is counted and
    ///   described in [`skipped`](SubmissionPages::skipped). An item without a usable `created_at` counts as
    ///   made at the time of the item before it. If the last item of a page has none, the list continues
    ///   with the service's cursor, which does not distinguish submissions of one time.
    ///
    /// A single [`page`](Self::page) always fails there.
    pub fn allow_incomplete(self, allow: bool) -> Self {
        Self { allow_incomplete: allow, ..self }
    }

    /// Returns a stream of the submissions.
    pub fn items(self) -> Submissions {
        Submissions::new(self.pages())
    }

    /// Returns a stream of the pages.
    pub fn pages(self) -> SubmissionPages {
        SubmissionPages::new(self)
    }

    /// Returns a stream of the submissions that are new since a sync point: see
    /// [`NewSubmissions`]. The query can set [`page_size`](Self::page_size) and
    /// [`allow_incomplete`](Self::allow_incomplete); any other setting is an
    /// [`ErrorKind::Config`](crate::ErrorKind::Config).
    pub fn sync_from(self, point: &SyncPoint) -> NewSubmissions {
        NewSubmissions::new(self, point.clone())
    }

    /// Starts a run. If a setting is invalid, the run keeps its point.
    pub(super) fn start_sync(&self, point: SyncPoint) -> (SyncRun, Option<Error>) {
        match self.check_sync(&point) {
            Ok(()) => (SyncRun::start(point, Some(self.list())), None),
            Err(error) => (SyncRun::start(point, None), Some(error)),
        }
    }

    fn check_sync(&self, point: &SyncPoint) -> Result<(), Error> {
        let Bounds { since, until, stop_when } = &self.bounds;
        let settings = [
            ("start_at", self.start.is_some()),
            ("resume_from", self.resume.is_some()),
            ("since", since.is_some()),
            ("until", until.is_some()),
            ("stop_when", stop_when.is_some()),
            ("max_pages", self.max_pages.is_some()),
        ];
        if let Some((name, _)) = settings.iter().find(|(_, is_set)| *is_set) {
            return Err(config_error(format!("`sync_from` and `{name}` exclude each other")));
        }
        self.form_id()?;
        point.check(&self.list()).map_err(config_error)
    }

    /// Requests a single page. [`max_pages`](Self::max_pages) and
    /// [`allow_incomplete`](Self::allow_incomplete) are an [`ErrorKind::Config`](crate::ErrorKind::Config).
    pub async fn page(self) -> Result<SubmissionPage, Error> {
        for (name, is_set) in
            [("max_pages", self.max_pages.is_some()), ("allow_incomplete", self.allow_incomplete)]
        {
            if is_set {
                return Err(config_error(format!("`page` and `{name}` exclude each other")));
            }
        }
        let mut pages = self.pages();
        let Some(page) = pages.try_next().await? else {
            return Err(config_error("the resume token is at the end of the list"));
        };
        if pages.is_cut_short() {
            // The error that follows the rows.
            pages.try_next().await?;
        }
        Ok(page)
    }

    #[cfg(feature = "tracing")]
    pub(super) fn span(&self) -> tracing::Span {
        let form = self.form.as_ref().ok().map(FormId::as_str);
        tracing::debug_span!("list", operation = SUBMISSIONS, form)
    }

    /// Requests the next page of a walk.
    pub(super) fn request(&self, walk: &Walk) -> BoxFuture<'static, Fetched> {
        let (client, form) = (self.client.clone(), self.form_id().cloned());
        let (rows, cursor) = (walk.rows_to_request(self.page_size), walk.cursor().cloned());
        Box::pin(async move {
            let cursor = cursor.as_ref().map(Cursor::as_str);
            let form = form?;
            let url = client.shared.base.submissions(form.as_str(), rows, cursor);
            let parse = |body: &Bytes| RawPage::parse(body, rows, &client.shared.key);
            call(&client.shared, SUBMISSIONS, Some(&form), url, parse).await
        })
    }

    /// Returns the walk, or the error of an invalid setting; `None` at the end of the list.
    pub(super) fn walk(&self) -> Result<Option<Walk>, Error> {
        self.form_id()?;
        if !(1..=PAGE_SIZE_MAX).contains(&self.page_size) {
            let size = self.page_size;
            return Err(config_error(format!("page size `{size}` is not in 1..={PAGE_SIZE_MAX}")));
        }
        self.bounds.check().map_err(config_error)?;
        let walk = match (&self.resume, &self.start) {
            (None, start) => Some(Walk::new(start.clone())),
            (Some(_), Some(_)) => {
                return Err(config_error("`start_at` and `resume_from` exclude each other"));
            }
            (Some(token), None) => {
                token.check(&self.list()).map_err(config_error)?;
                token.walk()
            }
        };
        Ok(walk.map(|mut walk| {
            walk.set_allow_incomplete(self.allow_incomplete);
            walk
        }))
    }

    /// Returns the form, or an error if no request can name it.
    pub(super) fn form_id(&self) -> Result<&FormId, Error> {
        match &self.form {
            Ok(id) if matches!(id.as_str(), "." | "..") => {
                Err(config_error(format!("the form id `{id}` cannot be a segment of a path")))
            }
            Ok(id) => Ok(id),
            Err(error) => Err(config_error(error.to_string())),
        }
    }

    /// Returns the list for resume tokens and sync points.
    pub(super) fn list(&self) -> ListId {
        let base_url = self.client.shared.base.to_string();
        ListId { base_url, form: self.form.as_ref().ok().cloned() }
    }

    /// Returns the token of the start of the list.
    pub(super) fn first_token(&self) -> ResumeToken {
        self.resume.clone().unwrap_or_else(|| {
            let state = Walk::new(self.start.clone()).state();
            ResumeToken::new(self.list(), Some(state), Completeness::Proven)
        })
    }

    /// Returns the completeness of the part of the list before a resume.
    pub(super) fn completeness_before(&self) -> Completeness {
        self.resume.as_ref().map_or(Completeness::Proven, ResumeToken::completeness)
    }
}

fn config_error(what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::config(SUBMISSIONS, what)
}
