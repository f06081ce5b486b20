//! The list of deliveries, page by page.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::Shared;
use super::reply::{Problem, json};
use crate::delivery::CaptureNumber;
use crate::filter::DeliveryFilter;
use crate::record::DeliveryRecord;
use crate::store::CaptureQuery;

/// Maximum number of deliveries in a response.
pub(super) const MAX_LIMIT: usize = 200;

#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    /// An expression of [`DeliveryFilter`].
    #[serde(default)]
    filter: String,
    /// A text that any field of a delivery contains (`any ~ text`). Unlike in an expression, it may contain quotation
    /// marks.
    #[serde(default)]
    text: String,
    /// Selects captures with numbers below this one.
    before: Option<CaptureNumber>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct DeliveryList<'a> {
    /// Newest first.
    deliveries: Vec<DeliveryRecord<'a>>,
    has_older: bool,
}

impl ListQuery {
    fn filter(&self) -> Result<DeliveryFilter, String> {
        let mut filter = DeliveryFilter::default();
        if !self.filter.is_empty() {
            filter = DeliveryFilter::parse(&self.filter)?;
        }
        if !self.text.is_empty() {
            filter.and("any", "~", &self.text)?;
        }
        Ok(filter)
    }
}

pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let filter = query.filter().map_err(Problem::bad_request)?;
    let limit = query.limit.unwrap_or(MAX_LIMIT).clamp(1, MAX_LIMIT);
    // Read one delivery more than the limit, to find out whether older deliveries exist.
    let query = CaptureQuery { filter, before: query.before, after: None, limit: Some(limit + 1) };
    let mut found = shared.state.store.list(query).await?;
    let has_older = found.len() > limit;
    found.truncate(limit);
    let record = |summary| DeliveryRecord::of_summary(summary, shared.state.reveal);
    Ok(json(&DeliveryList { deliveries: found.iter().map(record).collect(), has_older }))
}
