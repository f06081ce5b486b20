//! One delivery: its record, the result of its verification, and all attempts of its submission.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};

use super::Shared;
use super::reply::{Problem, json, json_text};
use crate::delivery::{CaptureNumber, Delivery, DeliverySummary};
use crate::filter::DeliveryFilter;
use crate::record::DeliveryRecord;
use crate::replay::{ReplaySignature, Selection};
use crate::store::CaptureQuery;
use crate::verdict::{VerdictCode, sentence};
use crate::verify;

/// Longest body that is part of the record, in bytes. The page gets a longer body from a separate request.
const MAX_INLINE_BODY: usize = 1 << 20;
/// Maximum number of attempts to list. The newest attempts are listed.
const MAX_ATTEMPTS: usize = 50;

#[derive(Debug, Deserialize)]
pub(super) struct NumberQuery {
    pub(super) number: CaptureNumber,
}

#[derive(Serialize)]
struct DeliveryDetail<'a> {
    delivery: DeliveryRecord<'a>,
    /// Index of the forward that was relayed to the sender.
    relayed_forward: Option<usize>,
    signature: SignatureReport,
    /// Deliveries of the same submission, oldest first.
    attempts: Vec<DeliveryRecord<'a>>,
    has_more_attempts: bool,
}

#[derive(Serialize)]
struct SignatureReport {
    title: String,
    description: String,
    rule: &'static str,
    advice: Option<String>,
    is_explainable: bool,
    /// Why the user has to confirm a fresh signature; `None` if no confirmation is needed.
    needs_confirmation: Option<String>,
}

impl SignatureReport {
    fn of(number: CaptureNumber, delivery: &Delivery) -> Self {
        let verdict = &delivery.summary.verdict;
        let row = verdict.code.row();
        let (title, description) = match (verdict.code, verdict.age_secs, &verdict.secret) {
            (VerdictCode::Valid, Some(age @ 0..), Some(secret)) => (
                // No-break spaces keep a number and its unit on one line.
                format!(
                    "Valid signature, {age}\u{a0}s\u{a0}old (limit {}\u{a0}s)",
                    SIGNATURE_TOLERANCE.as_secs()
                ),
                format!("Signed with the secret `{secret}`."),
            ),
            _ => (sentence(&row.label()), verdict.description()),
        };
        let check = Selection::Conditions.check(number, delivery, ReplaySignature::Fresh);
        Self {
            title: title.trim_end_matches('.').to_owned(),
            description,
            rule: row.rule,
            advice: row.advice.map(sentence),
            is_explainable: row.is_explainable,
            needs_confirmation: check.err().map(|error| error.to_string()),
        }
    }
}

/// Reads a stored delivery.
pub(super) async fn find(shared: &Shared, number: CaptureNumber) -> Result<Delivery, Problem> {
    shared.state.store.get(number).await?.ok_or_else(|| {
        Problem::not_found(format!("there is no delivery {number}")).hint(
            "The store removes the oldest deliveries when the store is full or an age limit is reached.",
        )
    })
}

pub(super) async fn delivery(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<NumberQuery>,
) -> Result<Response, Problem> {
    let delivery = find(&shared, query.number).await?;
    let (attempts, has_more_attempts) = attempts(&shared, &delivery).await?;
    let reveal = shared.state.reveal;
    // A blocking thread serializes the record, because a long body would delay other tasks.
    let text = run_blocking(move || {
        let mut record = DeliveryRecord::of(&delivery, reveal);
        if let Some(content) = &mut record.content
            && delivery.body.len() > MAX_INLINE_BODY
        {
            (content.body_b64, content.body) = (String::new(), None);
        }
        let attempt = |summary| DeliveryRecord::of_summary(summary, reveal);
        serde_json::to_vec(&DeliveryDetail {
            delivery: record,
            relayed_forward: delivery.relayed_forward,
            signature: SignatureReport::of(query.number, &delivery),
            attempts: attempts.iter().map(attempt).collect(),
            has_more_attempts,
        })
    });
    Ok(json_text(text.await?.expect("a record serializes")))
}

/// Returns the deliveries of the same submission, oldest first, and true if the submission has more deliveries.
async fn attempts(
    shared: &Shared,
    delivery: &Delivery,
) -> Result<(Vec<DeliverySummary>, bool), Problem> {
    let Some(id) = &delivery.summary.names.submission_id else { return Ok((Vec::new(), false)) };
    let mut filter = DeliveryFilter::default();
    filter.and("submission_id", "=", id).map_err(Problem::bad_request)?;
    let limit = Some(MAX_ATTEMPTS + 1);
    let mut found =
        shared.state.store.list(CaptureQuery { filter, limit, ..Default::default() }).await?;
    let has_more = found.len() > MAX_ATTEMPTS;
    found.truncate(MAX_ATTEMPTS);
    // The filter treats an id that ends in `*` as a prefix.
    found.retain(|other| other.names.submission_id.as_ref() == Some(id));
    found.reverse();
    Ok((found, has_more))
}

/// Returns the body byte for byte. Browsers save the response instead of displaying it.
pub(super) async fn body(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<NumberQuery>,
) -> Result<Response, Problem> {
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
    ];
    Ok((headers, find(&shared, query.number).await?.body).into_response())
}

/// Explains the signature of a delivery.
pub(super) async fn explain(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<NumberQuery>,
) -> Result<Response, Problem> {
    let delivery = find(&shared, query.number).await?;
    let secrets = shared.state.secrets.clone();
    let permit = Arc::clone(&shared.explanations).acquire_owned().await;
    let explanation = run_blocking(move || {
        // The thread keeps the permit, because the thread continues when the client disconnects.
        let _permit = permit;
        verify::explain(&delivery, &secrets)
    });
    Ok(json(&explanation.await?))
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the inspector failed");
    tokio::task::spawn_blocking(work).await.map_err(failed)
}
