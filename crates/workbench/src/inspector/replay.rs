//! Replays deliveries that the user selects on the page, and formats deliveries as curl commands.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use bytes::Bytes;
use formsvc_contract::send::HttpSender;
use formsvc_protocol::is_localhost;
use http::header;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::Shared;
use super::detail::{NumberQuery, find};
use super::reply::{Problem, json};
use crate::delivery::{CaptureNumber, Delivery, Forward};
use crate::export;
use crate::forward::forward_error;
use crate::http::as_received;
use crate::mask;
use crate::record::ForwardRecord;
use crate::replay::{Destination, Replay, ReplaySignature, ReplayTarget, Selection};
use crate::simulate::unix_now;
use crate::target;
use crate::verdict::{VerdictCode, sentence};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayRequest {
    number: CaptureNumber,
    to: ReplayTo,
    /// True for a fresh signature, false for the received signature.
    is_fresh: bool,
    /// The body to send instead of the received body.
    body: Option<String>,
    /// True if the user has confirmed a fresh signature for a delivery that may be from an unknown sender.
    #[serde(default)]
    is_confirmed: bool,
}

/// A destination. Targets are identified by index, because their URLs may contain secrets.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReplayTo {
    Listener,
    /// The listener's target with this index.
    Target(usize),
    /// The target of the delivery's forward with this index.
    Forward(usize),
    Url(String),
}

#[derive(Serialize)]
struct ReplayReport<'a> {
    #[serde(flatten)]
    result: ForwardRecord<'a>,
    /// The status of the response to the original delivery or forward.
    earlier_status: Option<u16>,
    /// True if the target asks for a password, so the user has to enter the URL with a password.
    needs_password: bool,
}

pub(super) async fn replay(
    State(shared): State<Arc<Shared>>,
    request: Bytes,
) -> Result<Response, Problem> {
    let request: ReplayRequest = serde_json::from_slice(&request).map_err(|_| outdated())?;
    let delivery = find(&shared, request.number).await?;
    // A replay with the received signature proves no more than the original delivery, so only a fresh signature
    // needs a confirmation.
    let (signature, selection) = match (request.is_fresh, request.is_confirmed) {
        (false, _) => (ReplaySignature::AsReceived, Selection::Numbers),
        (true, true) => (ReplaySignature::Fresh, Selection::Numbers),
        (true, false) => (ReplaySignature::Fresh, Selection::Conditions),
    };
    selection.check(request.number, &delivery, signature)?;
    let (to, sender) = destination(&shared, &request, &delivery)?;
    let url = String::from(to.url.clone());
    let body = request.body.map(Bytes::from);
    let replay = Replay { delivery: &delivery, to, body, signature };
    let replayed = replay.send(sender, &shared.state.secrets, unix_now()).await?;
    let (earlier_status, needs_password) = (replayed.earlier_status, replayed.needs_password());
    let took = replayed.took;
    let result = replayed.result.map_err(|error| forward_error(&error));
    let forward = Forward { url, result, took };
    let result = ForwardRecord::of(&forward, shared.state.reveal);
    Ok(json(&ReplayReport { result, earlier_status, needs_password }))
}

/// Returns the URL of a replay, and the sender for it.
fn destination<'a>(
    shared: &'a Shared,
    request: &ReplayRequest,
    delivery: &Delivery,
) -> Result<(ReplayTarget, &'a HttpSender), Problem> {
    let state = &shared.state;
    let forwarder = state.forwarder.as_deref();
    let target = |url: Option<&Url>| url.cloned().map(Destination::Target).ok_or_else(outdated);
    let (destination, index) = match &request.to {
        ReplayTo::Listener => (target(state.listener.as_ref())?, 0),
        ReplayTo::Target(index) => {
            (target(forwarder.and_then(|forwarder| forwarder.targets().nth(*index)))?, 0)
        }
        ReplayTo::Forward(index) => (Destination::Forwards(forwarder), *index),
        ReplayTo::Url(text) => {
            let url = target::parse(text).map_err(|rule| {
                Problem::bad_request(format!("the address is not valid: {rule}"))
            })?;
            (Destination::Url(url), 0)
        }
    };
    let sender = if destination.is_target() { &state.sender } else { &shared.plain };
    let target = destination
        .targets(request.number, delivery)?
        .into_iter()
        .nth(index)
        .ok_or_else(outdated)?;
    Ok((target, sender))
}

/// Returns a curl command that sends a delivery to its target, with a fresh signature if that needs no
/// confirmation.
pub(super) async fn curl(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<NumberQuery>,
) -> Result<Response, Problem> {
    let delivery = find(&shared, query.number).await?;
    let (state, reveal) = (&shared.state, shared.state.reveal);
    let to = curl_target(&shared, query.number, &delivery);
    let shown = mask::url(to.url.as_str(), reveal);
    let unsigned = as_received(&delivery, to.url.clone());
    let signature = ReplaySignature::Fresh;
    let signed = Selection::Conditions.check(query.number, &delivery, signature).and_then(|()| {
        let replay = Replay { delivery: &delivery, to, body: None, signature };
        replay.outgoing(&state.secrets, unix_now())
    });
    let is_signed = signed.is_ok();
    let (command, note) = match signed {
        Ok(outgoing) => {
            let note = format!("Sends the delivery to {shown} with a signature made now.");
            (export::signed_curl(&outgoing, reveal), note)
        }
        Err(error) => {
            let signature = if reveal {
                "Its signature is the received one."
            } else {
                "Its signature is masked. Start with --reveal to copy it as received."
            };
            let reason = sentence(&error.to_string());
            let note = format!("Sends the delivery to {shown}. {reason} {signature}");
            (export::curl(&unsigned, reveal), note)
        }
    };
    let command = command.on_one_line();
    Ok(json(&json!({ "command": command, "note": note, "is_signed": is_signed })))
}

/// Returns the target of the first forward. If the delivery was not forwarded, returns the first target of the
/// listener, or else the listener. Without a listener, returns the `Host` of the delivery if it names this machine,
/// or else `localhost`, which the user has to replace.
fn curl_target(shared: &Shared, number: CaptureNumber, delivery: &Delivery) -> ReplayTarget {
    let forwarder = shared.state.forwarder.as_deref();
    let first = forwarder.and_then(|forwarder| forwarder.targets().next());
    let base = first.or(shared.state.listener.as_ref()).cloned();
    let base = base.or_else(|| local_host(delivery));
    let base = base.unwrap_or_else(|| Url::parse("http://localhost").expect("it is a URL"));
    let targets = Destination::Forwards(forwarder).targets(number, delivery);
    let targets = targets.or_else(|_| Destination::Target(base).targets(number, delivery));
    targets.into_iter().flatten().next().expect("a URL is a target")
}

/// Returns the host and port to which a delivery was sent, if it has a valid signature and the host is this machine.
/// An unknown sender could write the port of another program into the header.
fn local_host(delivery: &Delivery) -> Option<Url> {
    if delivery.summary.verdict.code != VerdictCode::Valid {
        return None;
    }
    let host = delivery.headers.get(header::HOST)?.to_str().ok()?;
    let mut url = Url::parse("http://localhost").ok()?;
    let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
    url.set_host(Some(name)).ok()?;
    url.set_port(Some(port.parse().ok()?)).ok()?;
    is_localhost(url.host_str()?).then_some(url)
}

/// Returns the error for a request that the page of this inspector never sends. It comes from a page that an
/// earlier inspector served.
fn outdated() -> Problem {
    Problem::bad_request("the inspector does not understand the request")
        .hint("Reload the page: the listener may have been restarted.")
}
