//! What is new in a form, found pass by pass, however often the service has to be asked.

use std::collections::HashSet;

use formsvc_client::{
    Client, Error, FormHandle, ResumeToken, SkippedItem, SubmissionId, SubmissionPages, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::backlog::Backlog;
use super::outage;
use super::pass::{Pass, Seen, Verdict, Wanted};
use super::patience::Patience;
use crate::complete;
use crate::context::{Context, to_json};
use crate::error::{CliError, MISSING_UNKNOWN};
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};

/// How many submissions that cannot be shown are warned of.
const SKIPPED_MAX: usize = 1_000;

/// Rows of the first page of a pass, which is most often the only one.
const PAGE_FIRST: u32 = 25;

/// Finds the form that FORM names, and retries while the service is unavailable.
pub(in crate::cmd) async fn known_form(
    cx: &Context,
    client: &Client,
    text: &str,
    patience: &mut Patience<'_>,
) -> Result<FormMatch, CliError> {
    let forms = loop {
        match client.forms().await {
            Ok(forms) => break forms.into_inner(),
            Err(error) if outage::passes(&error) => patience.wait(&error).await,
            Err(error) => return Err(error.into()),
        }
    };
    patience.over();
    complete::cache::remember(&cx.settings, &forms);
    if let Some(form) = form_ref::find_listed(cx, &forms, text)? {
        return Ok(form);
    }
    loop {
        match form_ref::find_unlisted(cx, client, text).await {
            Ok(form) => {
                patience.over();
                return form.ok_or_else(|| form_ref::not_found(&forms, text));
            }
            Err(error) if outage::passes(&error) => patience.wait(&error).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// A place in the list: everything up to it was shown, or not wanted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(in crate::cmd) struct Place {
    pub(in crate::cmd) created_at: Timestamp,
    #[serde(deserialize_with = "some")]
    pub(in crate::cmd) id: Option<SubmissionId>,
}

fn some<'de, D: serde::Deserializer<'de>>(id: D) -> Result<Option<SubmissionId>, D::Error> {
    SubmissionId::deserialize(id).map(Some)
}

/// Why a pass ended before its time.
pub(in crate::cmd) enum Broken {
    Service(Error),
    Here(CliError),
}

impl From<Broken> for CliError {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Service(error) => error.into(),
            Broken::Here(error) => error,
        }
    }
}

/// Finds what is new in a form.
pub(in crate::cmd) struct Finder<'a> {
    cx: &'a Context,
    handle: FormHandle,
    seen: Seen,
    backlog: Backlog,
    patience: Patience<'a>,
    /// The newest there was at first.
    newest: Option<Place>,
    /// Whether the user was warned that submissions may be missing.
    has_warned: bool,
    /// Ids of the submissions that the user was warned of, because they cannot be shown.
    skipped: HashSet<Box<str>>,
}

impl<'a> Finder<'a> {
    /// Rows made before `since` are never new. The handle is one whose requests are not tried again by
    /// themselves: waits are made here, where it is known that nobody minds them.
    pub(in crate::cmd) fn new(
        cx: &'a Context,
        handle: FormHandle,
        since: Option<&Timestamp>,
        patience: Patience<'a>,
    ) -> Self {
        Self {
            cx,
            handle,
            seen: Seen::nothing(since.map(Timestamp::unix_micros)),
            backlog: Backlog::default(),
            patience,
            newest: None,
            has_warned: false,
            skipped: HashSet::new(),
        }
    }

    /// Finds what is new, however often that takes a new try.
    pub(in crate::cmd) async fn pass(&mut self, wanted: Wanted) -> Result<(), Broken> {
        let (mut pass, mut resume) = (Pass::new(wanted), None);
        loop {
            match self.walk(&mut pass, &mut resume).await {
                Ok(()) => break,
                Err(Broken::Service(error)) if outage::passes(&error) => {
                    self.patience.wait(&error).await;
                }
                Err(broken) => return Err(broken),
            }
        }
        self.seen.settle();
        self.patience.over();
        Ok(())
    }

    /// What was found and not yet taken, as JSON; the oldest first.
    pub(in crate::cmd) fn next(&mut self) -> Result<Option<String>, CliError> {
        self.backlog.pop().map_err(|error| unkept(&error))
    }

    /// The newest row there was when the first was seen.
    pub(in crate::cmd) fn take_newest(&mut self) -> Option<Place> {
        self.newest.take()
    }

    /// Whether the service is not there.
    pub(in crate::cmd) fn is_tried(&self) -> bool {
        self.patience.is_tried()
    }

    /// Walks from the newest row, or from where the last try ended, to the first that cannot be new.
    async fn walk(
        &mut self,
        pass: &mut Pass,
        resume: &mut Option<ResumeToken>,
    ) -> Result<(), Broken> {
        let mut is_first = resume.is_none();
        let mut pages = self.pages(if is_first { PAGE_FIRST } else { 100 }, resume.clone());
        loop {
            let next = pages.try_next().await;
            if let Some(overflow) = pages.tie_overflows().first()
                && !std::mem::replace(&mut self.has_warned, true)
            {
                let what = format!(
                    "more submissions share a {} than a page can show, so some may be \
                     missing: {overflow}; {MISSING_UNKNOWN}",
                    overflow.unit()
                );
                self.cx.progress.warn(&what);
            }
            let page = match next {
                Ok(Some(page)) => page,
                Ok(None) => return Ok(()),
                Err(error) => {
                    *resume = Some(pages.resume_token());
                    return Err(Broken::Service(error));
                }
            };
            for item in page.skipped() {
                self.warn_of_skipped(item);
            }
            for row in &page {
                match pass.look(&mut self.seen, row.id.as_str(), row.created_at.unix_micros()) {
                    Verdict::Show => {
                        let line = to_json(row);
                        self.backlog.push(&line).map_err(|error| Broken::Here(unkept(&error)))?;
                    }
                    Verdict::Pass => {}
                    Verdict::Stop => return Ok(()),
                }
                self.newest.get_or_insert_with(|| Place {
                    created_at: row.created_at.clone(),
                    id: Some(row.id.clone()),
                });
            }
            if std::mem::take(&mut is_first) {
                // There is more than usual: the rest in as few requests as can be.
                let token = pages.resume_token();
                if token.is_finished() {
                    return Ok(());
                }
                pages = self.pages(100, Some(token));
            }
        }
    }

    /// Warns once of a submission that cannot be shown; of those without an id, of the first.
    fn warn_of_skipped(&mut self, item: &SkippedItem) {
        let id = item.id().unwrap_or_default();
        if self.skipped.len() < SKIPPED_MAX && self.skipped.insert(id.into()) {
            self.cx.progress.warn(&format!("a submission violates the API: {item}"));
        }
    }

    fn pages(&self, size: u32, resume: Option<ResumeToken>) -> SubmissionPages {
        let list = self.handle.submissions().page_size(size).allow_incomplete(true);
        match resume {
            Some(token) => list.resume_from(token).pages(),
            None => list.pages(),
        }
    }
}

fn unkept(error: &std::io::Error) -> CliError {
    CliError::new(Exit::LocalIo, "cannot keep submissions until they are shown").because(error)
}
