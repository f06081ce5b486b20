//! The control of faults at run time: for programs on this machine, see `local`.
//!
//! | Request | Does |
//! |---|---|
//! | `GET /_sandbox/faults` | lists all, with the values of those that are set |
//! | `PUT /_sandbox/faults/{name}` | sets one to the value that is the body, or to the table's |
//! | `DELETE /_sandbox/faults/{name}` | ends one |
//! | `DELETE /_sandbox/faults` | ends all |
//!
//! Each answers with the list as it is then. No fault affects these.

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::{delete, get};
use bytes::Bytes;
use formsvc_protocol::ErrorCode;
use serde::Serialize;

use super::handle::Faults;
use super::local::{Refusal, judge};
use super::setting::{FaultError, FaultSetting, fault_of};
use super::table::FAULTS;
use crate::api::{Problem, Trail, text_cause};
use crate::serve::Peer;

/// Where faults are controlled.
pub const CONTROL: &str = "/_sandbox/faults";
const ONE: &str = "/_sandbox/faults/{name}";
/// Longest value, in bytes.
const VALUE_MAX: usize = 64;

#[derive(Serialize)]
struct List<'a> {
    data: Vec<Listed<'a>>,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    side: &'a str,
    /// Present when it is set; empty for a fault that takes no value.
    value: Option<String>,
    takes: Option<&'a str>,
    default: &'a str,
    about: &'a str,
}

pub(super) fn router(faults: Faults) -> Router {
    Router::new()
        .route(CONTROL, get(list).delete(clear))
        .route(ONE, delete(unset).put(set))
        .with_state(faults)
}

async fn list(State(faults): State<Faults>, request: Request) -> Response {
    answer(CONTROL, allowed(&request).map(|()| faults))
}

async fn clear(State(faults): State<Faults>, request: Request) -> Response {
    let cleared = allowed(&request).map(|()| faults.clear());
    answer(CONTROL, cleared.map(|()| faults))
}

async fn unset(
    State(faults): State<Faults>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let unset = allowed(&request).and_then(|()| {
        faults.unset(fault_of(&name)?);
        Ok(faults)
    });
    answer(ONE, unset)
}

async fn set(State(faults): State<Faults>, Path(name): Path<String>, request: Request) -> Response {
    let set = set_from(&faults, &name, request).await;
    answer(ONE, set.map(|()| faults))
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Caller(#[from] Refusal),
    #[error(transparent)]
    Fault(#[from] FaultError),
    #[error("a value is text of at most {VALUE_MAX} bytes")]
    Value,
}

async fn set_from(faults: &Faults, name: &str, request: Request) -> Result<(), Refused> {
    allowed(&request)?;
    let body = to_bytes(request.into_body(), VALUE_MAX).await.map_err(|_| Refused::Value)?;
    let text = std::str::from_utf8(&body).map_err(|_| Refused::Value)?.trim();
    let value = Some(text).filter(|text| !text.is_empty());
    faults.set(FaultSetting::new(name, value)?);
    Ok(())
}

fn allowed(request: &Request) -> Result<(), Refused> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    Ok(judge(peer, request.headers())?)
}

/// The list of faults, or a refusal.
fn answer(route: &'static str, outcome: Result<Faults, Refused>) -> Response {
    let trail = Trail { routine: true, ..Trail::of(route) };
    match outcome {
        Ok(faults) => trail.close(listing(&faults)),
        Err(refused) => trail.refuse(refused.into()),
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let code = match &refused {
            Refused::Caller(_) => ErrorCode::OriginNotAllowed,
            Refused::Fault(FaultError::Unknown { .. }) => ErrorCode::NotFound,
            Refused::Fault(FaultError::Value { .. }) | Refused::Value => ErrorCode::BadRequest,
        };
        Self::new(code, refused.to_string())
    }
}

fn listing(faults: &Faults) -> Result<Bytes, Problem> {
    let data = FAULTS.iter().map(|row| Listed {
        name: row.name,
        side: row.side.word(),
        value: faults.value(row.fault).map(|value| value.to_string()),
        takes: row.grammar.placeholder(),
        default: row.default,
        about: row.about,
    });
    let list = List { data: data.collect() };
    serde_json::to_vec(&list)
        .map(Bytes::from)
        .map_err(|error| Problem::internal(text_cause(error.to_string())))
}
