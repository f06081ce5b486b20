//! The REST API (SPEC §4, §5, §7, §8).
//!
//! | Question | File |
//! |---|---|
//! | which paths there are | here |
//! | who asks, and may they now | `admission`, `authorization` |
//! | when keys were used last | `key_uses` |
//! | what the parameters mean | `parameters` |
//! | what a resource answers | `me`, `forms`, `submissions` |
//! | what a body of several texts is | `pieces` |
//! | what an error looks like | `problem` |
//! | what every response gets: request id, log line, panics, headers | `edge`, `trail` |
//!
//! A request is judged in this order: authorization, rate limit, parameters, form. A request that is
//! refused with 401 spends no quota.

mod admission;
mod authorization;
mod edge;
mod forms;
mod key_uses;
mod me;
mod parameters;
mod pieces;
mod problem;
mod submissions;
mod trail;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use formsvc_protocol::RatePolicy;
use http::{HeaderName, HeaderValue};

pub use admission::Api;
pub(crate) use admission::within_deadline;
pub use edge::Edge;
pub(crate) use edge::{HEAD_MAX, announced_length};
pub(crate) use key_uses::KeyUses;
pub(crate) use problem::text_cause;
pub use problem::{Cause, Problem};
pub use trail::Trail;

/// The routes under `/api/v1`, and the answers for paths and methods there are not.
///
/// It is served through [`Edge`], which adds what every response must have.
pub fn router(api: Arc<Api>) -> Router {
    let policy = api.rate_policy();
    let routes = Router::new()
        .route(me::ROUTE, get(me::get))
        .route(forms::ROUTE, get(forms::list))
        .route(submissions::ROUTE, get(submissions::list))
        .with_state(api);
    let routes = match policy {
        Some(policy) => routes.route_layer(map_response(move |response: Response| {
            std::future::ready(announce(&policy, response))
        })),
        None => routes,
    };
    routes.fallback(async |request: Request| Problem::nothing_at(request.uri().path()))
}

/// Adds the rate limit to an answer, so that clients keep to it.
fn announce(policy: &HeaderValue, mut response: Response) -> Response {
    const NAME: HeaderName = HeaderName::from_static(RatePolicy::HEADER);
    response.headers_mut().insert(NAME, policy.clone());
    response
}
