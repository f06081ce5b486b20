//! `…/deliveries`: what became of each submission on its way to each endpoint.

use askama::Template;
use formsvc_protocol::{EndpointId, Form, SubmissionId, Timestamp};
use http::StatusCode;

use super::chrome::{Chrome, Section};
use super::forms::{Head, Tab, path_of};
use super::pairs::query;
use super::refusal::Refusal;
use super::reply::{self, Outcome};
use super::submissions::path_of_one;
use super::visit::{Visit, judged, timely};
use super::when::When;
use crate::admin::parse_id;
use crate::delivery::AttemptCode;
use crate::egress::FailureCode;
use crate::printable::Escaped;
use crate::store::{
    Attempt, DeliveriesRequest, DeliveryKey, DeliveryRecord, DeliveryState, StoreError,
};

/// Deliveries of a page.
const PAGE: u32 = 50;
/// Deliveries that are shown of one submission; removed endpoints have some too.
const OF_ONE_MAX: u32 = 200;
/// Characters that are shown of an answer's body.
const SNIPPET_CHARS: usize = 4_000;

/// A delivery in a list.
pub(super) struct DeliveryView {
    pub(super) id: String,
    pub(super) path: String,
    pub(super) state: DeliveryState,
    pub(super) url: String,
    pub(super) made: When,
    pub(super) attempts: u32,
    /// What came of the last attempt, in a few words.
    pub(super) last: String,
    pub(super) next: Option<When>,
    pub(super) finished: Option<When>,
    pub(super) submission: String,
    pub(super) submission_path: String,
}

impl DeliveryView {
    fn new(visit: &Visit, form: &Form, record: &DeliveryRecord) -> Self {
        let when = |at: &Timestamp| When::new(at, visit.now);
        let id = record.key.id().as_str().to_owned();
        let next = record.next_attempt_at.as_ref().filter(|_| record.finished_at.is_none());
        Self {
            path: format!("{}/deliveries/{id}", path_of(form)),
            id,
            state: record.state,
            url: record.url.clone(),
            made: when(&record.created_at),
            attempts: record.attempts,
            last: outcome(record.attempts, record.last_status, record.last_error.as_deref()),
            next: next.map(when),
            finished: record.finished_at.as_ref().map(when),
            submission: record.submission.as_str().to_owned(),
            submission_path: path_of_one(form, record.submission.as_str(), &record.created_at),
        }
    }
}

/// What came of an attempt, in a few words.
pub(super) fn outcome(attempts: u32, status: Option<u16>, error: Option<&str>) -> String {
    match (status, error) {
        _ if attempts == 0 => "not attempted yet".to_owned(),
        (Some(status), None) => status.to_string(),
        (Some(status), Some(code)) if code == AttemptCode::StatusNot2xx.as_str() => {
            status.to_string()
        }
        (_, Some(code)) => code.to_owned(),
        (None, None) => "no answer".to_owned(),
    }
}

/// What a code of a failure means.
pub(super) fn meaning(code: &str) -> &'static str {
    let own = AttemptCode::OWN.iter().map(|(_, code, meaning)| (*code, *meaning));
    let network = FailureCode::ALL.iter().map(|code| (code.as_str(), code.meaning()));
    own.chain(network).find(|(known, _)| *known == code).map_or("", |(_, meaning)| meaning)
}

/// What a detail says beyond the meaning that stands before it.
pub(super) fn beyond(meaning: &str, detail: Option<&str>) -> Option<String> {
    let detail = detail?;
    let rest = detail.strip_prefix(meaning).unwrap_or(detail);
    let rest = rest.trim_start_matches([':', ' ']);
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// An attempt, with all that is known of it.
pub(super) struct AttemptView {
    number: usize,
    began: When,
    millis: u128,
    is_success: bool,
    status: Option<u16>,
    address: Option<String>,
    code: Option<String>,
    meaning: &'static str,
    detail: Option<String>,
    snippet: String,
    is_cut: bool,
    resend: bool,
}

impl AttemptView {
    fn new(visit: &Visit, number: usize, attempt: &Attempt) -> Self {
        let (snippet, is_cut) = shown(&attempt.snippet);
        let code = attempt.error.clone();
        let meaning = code.as_deref().map_or("", meaning);
        Self {
            number,
            began: When::of(attempt.started_at, visit.now),
            millis: attempt.duration.as_millis(),
            is_success: code.is_none(),
            status: attempt.status,
            address: attempt.address.clone(),
            meaning,
            code,
            detail: beyond(meaning, attempt.detail.as_deref()),
            snippet,
            is_cut,
            resend: attempt.resend,
        }
    }
}

/// The beginning of a body as text that shows what it is: what could turn it around is escaped, line
/// by line.
pub(super) fn shown(body: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(body);
    let lines: Vec<_> = text.lines().map(|line| Escaped(line).to_string()).collect();
    let whole = lines.join("\n");
    let mut characters = whole.chars();
    let cut: String = characters.by_ref().take(SNIPPET_CHARS).collect();
    (cut, characters.next().is_some())
}

struct EndpointChoice {
    id: String,
    url: String,
    is_chosen: bool,
}

struct StateChoice {
    name: &'static str,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "dashboard/deliveries.html")]
struct DeliveriesPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    endpoints: Vec<EndpointChoice>,
    states: Vec<StateChoice>,
    is_filtered: bool,
    deliveries: Vec<DeliveryView>,
    is_newest: bool,
    newest: String,
    older: Option<String>,
}

#[derive(Template)]
#[template(path = "dashboard/delivery.html")]
struct DeliveryPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    delivery: DeliveryView,
    attempts: Vec<AttemptView>,
    problem: Option<String>,
}

pub(super) async fn list(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let store = &visit.dashboard.store;
    let endpoints = timely(store.endpoints(&form.id)).await?;
    // What is no endpoint of the form filters nothing: it could be another's.
    let wanted = parse_id(visit.query.get("endpoint")).ok();
    let endpoint = wanted.filter(|id| endpoints.iter().any(|endpoint| endpoint.id == *id));
    let state = DeliveryState::from_text(visit.query.get("state"));
    let after = parse_id(visit.query.get("after")).ok();
    let after = after.as_ref().and_then(DeliveryKey::from_id);
    let request = DeliveriesRequest {
        form: form.id.clone(),
        endpoint: endpoint.clone(),
        state,
        submission: None,
        after,
        limit: PAGE + 1,
    };
    let mut records = timely(store.deliveries(request)).await?;
    let has_more = records.len() > PAGE as usize;
    records.truncate(PAGE as usize);
    let endpoint_text = endpoint.as_ref().map(EndpointId::as_str).unwrap_or_default();
    let state_text = state.map(DeliveryState::as_str).unwrap_or_default();
    let link = |after: &str| {
        let filters =
            query(&[("state", state_text), ("endpoint", endpoint_text), ("after", after)]);
        format!("{}/deliveries{filters}", path_of(&form))
    };
    let last = records.last().filter(|_| has_more).map(|record| record.key.id());
    let page = DeliveriesPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &form, Tab::Deliveries),
        endpoints: endpoints
            .iter()
            .map(|found| EndpointChoice {
                id: found.id.as_str().to_owned(),
                url: found.url.clone(),
                is_chosen: endpoint.as_ref() == Some(&found.id),
            })
            .collect(),
        states: DeliveryState::ALL
            .iter()
            .map(|(this, name)| StateChoice { name, is_chosen: state == Some(*this) })
            .collect(),
        is_filtered: state.is_some() || endpoint.is_some(),
        deliveries: records.iter().map(|record| DeliveryView::new(visit, &form, record)).collect(),
        is_newest: after.is_none(),
        newest: link(""),
        older: last.map(|last| link(last.as_str())),
    };
    reply::page(&page)
}

pub(super) async fn show(visit: &Visit) -> Outcome {
    page(visit, StatusCode::OK, None).await
}

async fn page(visit: &Visit, status: StatusCode, problem: Option<String>) -> Outcome {
    let form = visit.form().await?;
    let id = visit.delivery(&form).await?;
    let found = timely(visit.dashboard.admin.delivery(&id)).await?;
    let attempts = found.history.iter().zip(1..);
    let page = DeliveryPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &form, Tab::Deliveries),
        delivery: DeliveryView::new(visit, &form, &found.record),
        attempts: attempts.map(|(made, number)| AttemptView::new(visit, number, made)).collect(),
        problem,
    };
    reply::page_with(status, &page)
}

pub(super) async fn resend(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let id = visit.delivery(&form).await?;
    match judged(visit.dashboard.store.resend(&id)).await? {
        Ok(_) => {
            let path = format!("{}/deliveries/{id}?said=resent", path_of(&form));
            Ok(reply::redirect(&path))
        }
        Err(StoreError::Invalid { rule, .. }) => {
            page(visit, StatusCode::CONFLICT, Some(format!("This delivery {rule}."))).await
        }
        Err(other) => Err(other.into()),
    }
}

/// The deliveries of one submission.
pub(super) async fn of_submission(
    visit: &Visit,
    form: &Form,
    submission: &SubmissionId,
) -> Result<Vec<DeliveryView>, Refusal> {
    let request = DeliveriesRequest {
        form: form.id.clone(),
        endpoint: None,
        state: None,
        submission: Some(submission.clone()),
        after: None,
        limit: OF_ONE_MAX,
    };
    let found = timely(visit.dashboard.store.deliveries(request)).await?;
    Ok(found.iter().map(|record| DeliveryView::new(visit, form, record)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_a_status_or_a_code() {
        assert_eq!(outcome(0, None, None), "not attempted yet");
        assert_eq!(outcome(1, Some(200), None), "200");
        assert_eq!(outcome(2, Some(500), Some("status_not_2xx")), "500");
        assert_eq!(outcome(2, Some(302), Some("redirected")), "redirected");
        assert_eq!(outcome(2, None, Some("timeout")), "timeout");
    }

    #[test]
    fn every_code_has_a_meaning() {
        for code in FailureCode::ALL {
            assert!(!meaning(code.as_str()).is_empty());
        }
        for (_, code, text) in AttemptCode::OWN {
            assert_eq!(meaning(code), text);
        }
        assert_eq!(meaning("<script>"), "");
    }

    #[test]
    fn a_detail_does_not_repeat_the_meaning() {
        let told = |detail| beyond("no connection was made", Some(detail));
        assert_eq!(told("no connection was made: refused").as_deref(), Some("refused"));
        assert_eq!(told("no connection was made"), None);
        assert_eq!(told("another").as_deref(), Some("another"));
        assert_eq!(beyond("", Some("plain")).as_deref(), Some("plain"));
        assert_eq!(beyond("", None), None);
    }

    #[test]
    fn a_body_shows_what_could_hide_in_it() {
        let (text, is_cut) = shown("a\u{202e}b\n\u{7}<b>\r\nc".as_bytes());
        assert_eq!((text.as_str(), is_cut), ("a\\u{202e}b\n\\u{7}<b>\nc", false));
        let (text, is_cut) = shown("é".repeat(5_000).as_bytes());
        assert_eq!((text.chars().count(), is_cut), (SNIPPET_CHARS, true));
        assert!(shown(&[0xff, 0xfe]).0.contains('\u{fffd}'));
    }
}
