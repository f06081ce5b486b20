//! Why a signature is not right, searched for when the page asks: the search takes a while.

use std::sync::Arc;

use http::StatusCode;

use super::Desk;
use super::detail;
use super::reply::Problem;
use crate::webhook::capture::CaptureNumber;
use crate::webhook::explanation::{Explained, explanation};

/// Explains the signature of a delivery, by the secrets of the listener. One at a time.
pub(super) async fn explained(desk: &Desk, number: CaptureNumber) -> Result<Explained, Problem> {
    let capture = detail::capture(desk, number).await?;
    let secrets = desk.inspected.secrets.clone();
    let _alone = desk.explaining.lock().await;
    let received = Arc::clone(&capture.received);
    let searched = tokio::task::spawn_blocking(move || explanation(&received, &secrets)).await;
    searched.map_err(|_| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "The search failed, which is a bug.")
    })
}
