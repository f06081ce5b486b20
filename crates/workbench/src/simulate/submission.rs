//! Finds real submissions, from which simulated deliveries take answers or questions.

use formsvc_client::{Cursor, Error, FormHandle, Submission, Timestamp};
use formsvc_contract::payload::AnswerType;

use super::answer_type;

/// Number of newest submissions from which the questions of a form are inferred.
const QUESTIONS_FROM: u32 = 25;
/// Number of requests that a search sends before it reports its progress.
pub const SILENT_REQUESTS: u64 = 5;

/// A submission to find.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    Newest,
    /// The submission with this id. The API cannot return a single submission, so the list is searched from the time
    /// `around`, or from the newest submission.
    Id {
        id: &'a str,
        around: Option<&'a Timestamp>,
    },
}

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
    UnknownId {
        id: String,
        submissions: u64,
        /// True if the client skipped submissions (invalid rows, or too many with the same time). The wanted
        /// submission may be among them.
        is_incomplete: bool,
    },
    #[error(transparent)]
    Client(#[from] Error),
}

/// Finds a submission of a form. Calls `on_progress` after the fifth request and after each further request.
///
/// # Errors
/// Fails if the list does not contain the submission, or returns the client's error.
pub async fn find_submission(
    form: &FormHandle,
    wanted: Wanted<'_>,
    mut on_progress: impl FnMut(SearchProgress),
) -> Result<Submission, FindError> {
    let list = form.submissions().allow_incomplete(true);
    let (id, list) = match wanted {
        Wanted::Newest => (None, list.page_size(1)),
        Wanted::Id { id, around: None } => (Some(id), list),
        Wanted::Id { id, around: Some(time) } => (Some(id), list.start_at(after_second_of(time))),
    };
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
    let is_incomplete = !pages.skipped().is_empty() || !pages.tie_overflows().is_empty();
    Err(match id {
        None => FindError::NoSubmissions,
        Some(id) => FindError::UnknownId { id: id.to_owned(), submissions, is_incomplete },
    })
}

/// Returns a cursor one second after `time`. A page contains the submissions before its cursor, so the page at this
/// cursor includes submissions at `time`.
fn after_second_of(time: &Timestamp) -> Cursor {
    let nanos = i128::from(time.unix_micros()) * 1_000 + 1_000_000_000;
    let later = Timestamp::from_unix_nanos(nanos).unwrap_or_else(|| time.clone());
    Cursor::new(later.as_str())
}

/// Infers the form's questions and answer types from its 25 newest submissions. The result is empty if no submission
/// has an answer.
///
/// # Errors
/// Returns the client's error.
pub async fn find_questions(form: &FormHandle) -> Result<Vec<(String, AnswerType)>, Error> {
    let list = form.submissions().allow_incomplete(true).page_size(QUESTIONS_FROM);
    let mut questions: Vec<(String, AnswerType)> = Vec::new();
    let Some(page) = list.pages().try_next().await? else { return Ok(questions) };
    for submission in page.submissions() {
        for (label, value) in submission.data.fields() {
            let is_known = questions.iter().any(|(known, _)| *known == label);
            // The type of an empty answer is unknown.
            if let Some(kind) = answer_type(value.as_json()).filter(|_| !is_known) {
                questions.push((label.into_owned(), kind));
            }
        }
    }
    Ok(questions)
}

#[cfg(test)]
mod tests {
    use formsvc_client::test_util::{MockService, form, generate, submission};

    use super::*;

    async fn found(
        service: &MockService,
        wanted: Wanted<'_>,
    ) -> (Result<Submission, FindError>, Vec<SearchProgress>) {
        let mut progress = Vec::new();
        let form = service.client().form("frm_1");
        let found = find_submission(&form, wanted, |step| progress.push(step)).await;
        (found, progress)
    }

    fn service(rows: u32) -> MockService {
        MockService::new().form(form("frm_1", "F")).submissions("frm_1", generate(rows))
    }

    #[tokio::test]
    async fn long_search_reports_its_progress() {
        let service = service(650);
        let (row, progress) = found(&service, Wanted::Id { id: "sub_120", around: None }).await;
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
        let (row, progress) =
            found(&service, Wanted::Id { id: "sub_120", around: Some(&around) }).await;
        assert_eq!(row.unwrap().id, "sub_120");
        assert_eq!((service.requests().len(), progress.len()), (1, 0));
    }

    #[tokio::test]
    async fn unknown_id_error_has_the_number_of_submissions() {
        let (none, progress) = found(&service(3), Wanted::Id { id: "sub_9", around: None }).await;
        let error = none.unwrap_err().to_string();
        assert!(
            error.contains("none of the 3 submissions") && error.contains("`sub_9`"),
            "{error}"
        );
        assert!(progress.is_empty());
        let newest = found(&service(3), Wanted::Newest).await.0.unwrap();
        assert_eq!(newest.id, "sub_3");
        let none = found(&service(0), Wanted::Newest).await.0.unwrap_err();
        assert!(matches!(none, FindError::NoSubmissions), "{none}");
    }

    #[tokio::test]
    async fn questions_are_those_of_nonempty_answers() {
        let rows = [
            submission("sub_2", r#"{"A":"","B":7}"#, "2026-01-01T00:00:01Z"),
            submission("sub_1", r#"{"A":"2026-01-01","B":"x","C":null}"#, "2026-01-01T00:00:00Z"),
        ];
        let service = MockService::new().form(form("frm_1", "F")).submissions("frm_1", rows);
        let questions = find_questions(&service.client().form("frm_1")).await.unwrap();
        let expected = [("B", AnswerType::Number), ("A", AnswerType::Date)];
        assert_eq!(questions, expected.map(|(label, kind)| (label.to_owned(), kind)));
    }
}
