//! The new submissions of a form as they come.
//!
//! A follow reads its form in passes. A pass reads from the newest submission down to those that are
//! known, and its rows are then yielded oldest first. If they do not fit into memory, the pass is split
//! into parts: only the oldest part is kept and yielded, then the part before it is read again.

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use formsvc_protocol::limits::PAGE_SIZE_MAX;
use formsvc_protocol::{FormId, Submission, Timestamp};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::follow_query::Wanted;
use super::sync_point::{NextWalk, SyncRun};
use super::{
    FollowQuery, PollItem, ResumeToken, SubmissionPage, SubmissionPages, SubmissionQuery, SyncPoint,
};
use crate::completeness::TieOverflow;
use crate::error::Error;
use crate::event::{ClientEvent, SkippedItem};

/// Size of the pages whose submissions are kept in memory.
const MAX_BATCH_BYTES: usize = 8 << 20;
/// Rows of the first page of a pass, which is often the only one.
const FIRST_PAGE: u32 = 25;
/// Time between two passes that read the whole overlap of the sync point.
const FULL_PASS_INTERVAL: Duration = Duration::from_secs(60);
/// Longest pause between two attempts during an outage, unless the service asks for more.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Maximum number of invalid submissions that are reported.
const MAX_SKIPPED_REPORTED: usize = 1_000;

/// The new submissions of a form as they come: an owned stream, `Send`, `Sync` and `Unpin`, that ends only
/// after an error. Created by [`FollowQuery::items`].
///
/// Yields every submission once. Those that one pass over the list finds are oldest first; one that is
/// committed late comes later. It is found within seconds if its time is at most 10 s before that of the
/// newest submission, and within a minute, rounded up to a multiple of the interval, if it is at most 5 minutes old.
///
/// An [outage](Error::is_outage) does not end the stream: it retries with pauses that grow up to one minute,
/// and reports [`FollowInterrupted`](ClientEvent::FollowInterrupted) and
/// [`FollowResumed`](ClientEvent::FollowResumed). Submissions that have to be left out, because they are
/// invalid or because too many share a time, are events too.
///
/// Dropping a call of [`try_next`](Self::try_next) loses nothing, so a time limit around it is safe.
///
/// Memory is bounded: if more than 8 MiB of pages are new, only the oldest are kept, and the newer ones are
/// requested again after those were yielded.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use formsvc_client::SyncPoint;
/// let point = SyncPoint::load_if_exists("contact.sync")?.unwrap_or_default();
/// let mut follow = client.form("frm_1").follow().sync_from(&point).items();
/// while let Some(submission) = follow.try_next().await? {
///     println!("{}", submission.data.as_json());
///     follow.sync_point().save("contact.sync")?;
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct Follow {
    query: SubmissionQuery,
    interval: Duration,
    /// The state after the submissions yielded so far.
    run: SyncRun,
    wanted: Wanted,
    pass: Pass,
    /// Where the parts of the pass that are not yielded yet begin, the oldest part last; `None` at the newest
    /// row.
    parts: Vec<Option<ResumeToken>>,
    /// The walk through the last part.
    pages: Option<SubmissionPages>,
    /// The position in the last part after its last page.
    position: Option<ResumeToken>,
    /// Whether the last part has more pages.
    is_reading: bool,
    /// The rows of the last part, newest first, and the size of their pages.
    batch: Vec<Submission>,
    batch_bytes: usize,
    wait: Option<Pin<Box<Sleep>>>,
    outage: Option<Outage>,
    /// The hashes of the invalid submissions that were reported.
    skipped: HashSet<[u8; 16]>,
    has_overflow: bool,
    error: Option<Error>,
    done: bool,
}

/// A pass over the list.
struct Pass {
    started: Instant,
    /// When its first page was read.
    read_at: Option<Timestamp>,
    /// Whether it reads the whole overlap.
    is_full: bool,
    /// When the last pass that read the whole overlap started.
    last_full: Instant,
}

struct Outage {
    since: Instant,
    failures: u32,
}

impl Follow {
    pub(super) fn new(FollowQuery { query, point, wanted, interval }: FollowQuery) -> Self {
        let (run, error) = query.start_sync(point);
        let mut parts = vec![None];
        if let NextWalk::Resume(token) = run.next_walk() {
            parts.push(Some(token.clone()));
        }
        let now = Instant::now();
        Self {
            query,
            interval,
            run,
            wanted,
            pass: Pass { started: now, read_at: None, is_full: true, last_full: now },
            pages: None,
            position: parts.last().cloned().flatten(),
            parts,
            is_reading: true,
            batch: Vec::new(),
            batch_bytes: 0,
            wait: None,
            outage: None,
            skipped: HashSet::new(),
            has_overflow: false,
            done: error.is_some(),
            error,
        }
    }

    /// Returns the point that covers exactly the submissions yielded so far; valid at any time, also after
    /// an error. Save it after the submissions are stored. The call copies up to 10,000 hashes.
    ///
    /// A follow that starts without a sync point finds its start when it first reads the list. Before that,
    /// the point is that of a form of which nothing was read.
    pub fn sync_point(&self) -> SyncPoint {
        self.run.point(None)
    }

    /// Returns true during an outage: the last request failed, and the next one is a retry.
    pub fn is_interrupted(&self) -> bool {
        self.outage.is_some()
    }

    fn is_done(&self) -> bool {
        self.done && self.error.is_none()
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> PollItem<Submission> {
        loop {
            if let Some(error) = self.error.take() {
                self.done = true;
                return Poll::Ready(Some(Err(error)));
            }
            if self.done {
                return Poll::Ready(None);
            }
            if let Some(wait) = &mut self.wait {
                ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            if self.is_reading {
                ready!(self.poll_read(cx));
            } else if let Some(row) = self.batch.pop() {
                self.run.cover(&row, self.pass.read_at.as_ref(), self.pass.is_full);
                return Poll::Ready(Some(Ok(row)));
            } else {
                self.end_part();
            }
        }
    }

    /// Reads the next page of the part.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut pages = self.pages.take().unwrap_or_else(|| self.walk_from_position().pages());
        let Poll::Ready(page) = pages.poll_page(cx) else {
            self.pages = Some(pages);
            return Poll::Pending;
        };
        match page {
            Some(Ok(page)) => self.take_page(pages, page),
            Some(Err(error)) if error.is_outage() => {
                self.position = Some(pages.resume_token());
                self.interrupt(&error);
            }
            Some(Err(error)) => self.error = Some(error),
            None => self.end_reading(),
        }
        Poll::Ready(())
    }

    fn walk_from_position(&self) -> SubmissionQuery {
        let query = self.query.clone();
        let query = match &self.position {
            Some(token) => query.page_size(PAGE_SIZE_MAX).resume_from(token.clone()),
            None => query.page_size(FIRST_PAGE),
        };
        let lower_bound =
            if self.pass.is_full { self.run.lower_bound() } else { self.run.short_lower_bound() };
        match lower_bound {
            Some(time) => query.since(time),
            None => query,
        }
    }

    /// Adds the new rows of a page to the batch. If it gets too large, only this page is kept, and the part
    /// before it is read again later.
    fn take_page(&mut self, pages: SubmissionPages, page: SubmissionPage) {
        if self.pass.read_at.is_none() {
            self.pass.read_at = pages.first_read_at();
        }
        self.query.is_warned |= pages.has_warned();
        let before = self.position.replace(page.resume_token().clone());
        let (bytes, skipped) = (page.body_len(), page.skipped().to_vec());
        let overflow = pages.tie_overflows().first().copied();
        let mut is_finished = pages.is_finished();
        let mut new = Vec::new();
        for row in page {
            if self.wanted.contains(&row) {
                if !self.run.is_known(&row) {
                    new.push(row);
                }
            } else if !self.run.add_known(&row, self.pass.read_at.as_ref()) {
                is_finished = true;
                break;
            }
        }
        if !new.is_empty() {
            if !self.batch.is_empty() && self.batch_bytes + bytes > MAX_BATCH_BYTES {
                self.parts.push(before.clone());
                (self.batch, self.batch_bytes) = (Vec::new(), 0);
            }
            self.batch.append(&mut new);
            self.batch_bytes += bytes;
        }
        // The pages after the first are larger.
        self.pages = before.is_some().then_some(pages);
        let outage = self.outage.take();
        if is_finished {
            self.end_reading();
        }
        if let Some((form, Outage { since, .. })) = self.form().zip(outage) {
            self.emit(&ClientEvent::FollowResumed { form, elapsed: since.elapsed() });
        }
        self.report_left_out(skipped, overflow);
    }

    /// Ends the walk through the last part: its rows can be yielded.
    fn end_reading(&mut self) {
        (self.is_reading, self.pages) = (false, None);
        let is_first_pass = !matches!(self.wanted, Wanted::All);
        self.wanted = Wanted::All;
        let is_shortened = is_first_pass && self.run.finish_walk();
        if is_shortened {
            self.emit(&ClientEvent::SyncOverlapShortened { form: self.form() });
        }
    }

    /// Continues with the part before the one that was yielded, or with the next pass.
    fn end_part(&mut self) {
        self.parts.pop();
        self.batch_bytes = 0;
        let mut is_shortened = false;
        if self.parts.len() == 1 && matches!(self.run.next_walk(), NextWalk::Resume(_)) {
            is_shortened = self.run.finish_walk();
            self.pass.read_at = None;
        } else if self.parts.is_empty() {
            let pass = &mut self.pass;
            if pass.is_full {
                is_shortened = self.run.settle(pass.read_at.as_ref());
                pass.last_full = pass.started;
            }
            pass.started = (pass.started + self.interval).max(Instant::now());
            pass.is_full = pass.started - pass.last_full >= FULL_PASS_INTERVAL;
            pass.read_at = None;
            self.wait = Some(Box::pin(sleep_until(pass.started)));
            self.parts.push(None);
        }
        self.position = self.parts.last().cloned().flatten();
        self.is_reading = true;
        if is_shortened {
            self.emit(&ClientEvent::SyncOverlapShortened { form: self.form() });
        }
    }

    /// Waits before the next attempt.
    fn interrupt(&mut self, error: &Error) {
        let outage =
            self.outage.get_or_insert_with(|| Outage { since: Instant::now(), failures: 0 });
        outage.failures = outage.failures.saturating_add(1);
        let failures = outage.failures;
        let random = (self.query.client.shared.settings.random)();
        let delay = pause(failures, self.interval, error.retry_after(), random);
        self.wait = Some(Box::pin(sleep(delay)));
        if let (1, Some(form)) = (failures, self.form()) {
            let (kind, status, error) = (error.kind(), error.status(), error.to_string());
            self.emit(&ClientEvent::FollowInterrupted { form, kind, status, error, delay });
        }
    }

    /// Reports submissions that are left out, each once.
    fn report_left_out(&mut self, skipped: Vec<SkippedItem>, overflow: Option<TieOverflow>) {
        let Some(form) = self.form() else { return };
        if let Some(overflow) = overflow
            && !std::mem::replace(&mut self.has_overflow, true)
        {
            self.emit(&ClientEvent::FollowIncomplete { form: form.clone(), overflow });
        }
        for item in skipped {
            let is_new = self.skipped.len() < MAX_SKIPPED_REPORTED
                && self.skipped.insert(item.content_hash());
            if is_new {
                self.emit(&ClientEvent::FollowSkipped { form: form.clone(), item });
            }
        }
    }

    fn form(&self) -> Option<FormId> {
        self.query.form_id().ok().cloned()
    }

    fn emit(&self, event: &ClientEvent) {
        self.query.client.shared.emit(event);
    }
}

/// Returns the pause after so many failures in a row. It doubles from the interval on, and is never shorter than
/// the service asked for. `random`, in 0..1, spreads it over its upper half, so that several programs do not
/// return at the same time.
fn pause(failures: u32, interval: Duration, asked: Option<Duration>, random: f64) -> Duration {
    let factor = 1 << failures.saturating_sub(1).min(16);
    let doubled = interval.saturating_mul(factor).min(MAX_PAUSE);
    let random = if (0.0..=1.0).contains(&random) { random } else { 1.0 };
    doubled.mul_f64(0.5 + random / 2.0).max(asked.unwrap_or_default())
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("query", &self.query).finish_non_exhaustive()
    }
}

list_stream!(Follow, poll_item, Submission);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_obey_the_service() {
        let s = Duration::from_secs;
        for (failures, retry_after, random, expected) in [
            (1, None, 1.0, s(2)),
            (1, None, 0.0, s(1)),
            (2, None, 1.0, s(4)),
            (5, None, 1.0, s(32)),
            (6, None, 1.0, s(60)),
            (u32::MAX, None, 0.0, s(30)),
            (1, Some(s(90)), 0.5, s(90)),
            (6, Some(s(1)), f64::NAN, s(60)),
        ] {
            assert_eq!(pause(failures, s(2), retry_after, random), expected, "{failures}");
        }
    }
}
