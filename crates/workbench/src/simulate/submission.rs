//! Finds real submissions to deliver.

use formsvc_client::{Cursor, Error, FormHandle, Submission, Timestamp};

/// Number of requests that a search sends before it reports its progress.
pub const SILENT_REQUESTS: u64 = 5;

/// The progress of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchProgress {
    pub requests: u64,
    /// Number of submissions read.
    pub submissions: u64,
    /// `created_at` of the oldest submission read so far.
    pub oldest: Timestamp,
}

/// A submission was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("the form has no submissions")]
    NoSubmissions,
    #[error("none of the {submissions} submissions that were read has the id `{id}`")]
    UnknownId { id: String, submissions: u64 },
    /// The client skipped submissions: invalid rows, or too many with the same time.
    #[error(
        "none of the {submissions} submissions that were read has the id `{id}`, but the list leaves out some"
    )]
    IncompleteList { id: String, submissions: u64 },
    #[error(transparent)]
    Client(#[from] Error),
}

/// Finds the submission of a form with this id, or the newest one. The API cannot return a single submission, so the
/// list is read from the time `around`, or from the newest one. Calls `on_progress` after the fifth request and after
/// each further request.
///
/// # Errors
/// Fails if the list does not contain the submission, or returns the client's error.
pub async fn find_submission(
    form: &FormHandle,
    id: Option<&str>,
    around: Option<&Timestamp>,
    mut on_progress: impl FnMut(SearchProgress),
) -> Result<Submission, FindError> {
    let mut list = form.submissions().allow_incomplete(true);
    if id.is_none() {
        list = list.page_size(1);
    }
    if let Some(time) = around {
        list = list.start_at(after_second_of(time));
    }
    let mut pages = list.pages();
    let (mut requests, mut submissions) = (0, 0);
    while let Some(page) = pages.try_next().await? {
        let row = page.submissions().iter().find(|row| id.is_none_or(|id| row.id == id));
        if let Some(row) = row {
            return Ok(row.clone());
        }
        requests += 1;
        submissions += page.len() as u64;
        if let Some(last) = page.submissions().last().filter(|_| requests >= SILENT_REQUESTS) {
            on_progress(SearchProgress { requests, submissions, oldest: last.created_at.clone() });
        }
    }
    let Some(id) = id.map(str::to_owned) else { return Err(FindError::NoSubmissions) };
    let is_complete = pages.skipped().is_empty() && pages.tie_overflows().is_empty();
    Err(if is_complete {
        FindError::UnknownId { id, submissions }
    } else {
        FindError::IncompleteList { id, submissions }
    })
}

/// Returns a cursor one second after `time`. A page contains the submissions before its cursor, so the page at this
/// cursor includes submissions at `time`.
fn after_second_of(time: &Timestamp) -> Cursor {
    let nanos = i128::from(time.unix_micros()) * 1_000 + 1_000_000_000;
    let later = Timestamp::from_unix_nanos(nanos).unwrap_or_else(|| time.clone());
    Cursor::new(later.as_str())
}

#[cfg(test)]
mod tests {
    use formsvc_client::test_util::{MockService, form, generate};

    use super::*;

    async fn found(
        service: &MockService,
        id: Option<&str>,
        around: Option<&Timestamp>,
    ) -> (Result<Submission, FindError>, Vec<SearchProgress>) {
        let mut progress = Vec::new();
        let form = service.client().form("frm_1");
        let found = find_submission(&form, id, around, |step| progress.push(step)).await;
        (found, progress)
    }

    fn service(rows: u32) -> MockService {
        MockService::new().form(form("frm_1", "F")).submissions("frm_1", generate(rows))
    }

    #[tokio::test]
    async fn long_search_reports_its_progress() {
        let service = service(650);
        let (row, progress) = found(&service, Some("sub_120"), None).await;
        assert_eq!(row.unwrap().id, "sub_120");
        // Each page except the first repeats one submission, which the client drops.
        assert_eq!(service.requests().len(), 6);
        let [step] = &progress[..] else { panic!("{progress:?}") };
        assert_eq!((step.requests, step.submissions), (5, 496));
    }

    #[tokio::test]
    async fn search_around_a_time_starts_there() {
        let service = service(650);
        let around = generate(650)[530].created_at.clone();
        let (row, progress) = found(&service, Some("sub_120"), Some(&around)).await;
        assert_eq!(row.unwrap().id, "sub_120");
        assert_eq!((service.requests().len(), progress.len()), (1, 0));
    }

    #[tokio::test]
    async fn unknown_id_error_has_the_number_of_submissions() {
        let (none, progress) = found(&service(3), Some("sub_9"), None).await;
        let error = none.unwrap_err().to_string();
        assert!(
            error.contains("none of the 3 submissions") && error.contains("`sub_9`"),
            "{error}"
        );
        assert!(progress.is_empty());
        let newest = found(&service(3), None, None).await.0.unwrap();
        assert_eq!(newest.id, "sub_3");
        let none = found(&service(0), None, None).await.0.unwrap_err();
        assert!(matches!(none, FindError::NoSubmissions), "{none}");
    }
}
