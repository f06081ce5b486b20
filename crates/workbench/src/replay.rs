//! Sends captures again: one rule for which captures, to which URLs and with which signature.

use std::time::Duration;

use bytes::Bytes;
use formsvc_contract::send::{EVENT, HttpSender, Outgoing, SIGNATURE, SendError};
use formsvc_protocol::signature::sign;
use http::{HeaderValue, header};
use serde::Deserialize;
use url::Url;

use crate::compare::{self, Difference};
use crate::delivery::{CaptureNumber, Delivery, TargetResponse};
use crate::filter::DeliveryFilter;
use crate::forward::Forwarder;
use crate::secrets::SigningSecrets;
use crate::{http as headers, mask, target};

/// How the user chose captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Each by its number.
    Numbers,
    /// By conditions that name a verdict.
    Verdict,
    /// By conditions that do not, so captures of unknown senders may match.
    Conditions,
}

/// The signature of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaySignature {
    /// Made now with all secrets, so that a receiver accepts it.
    Fresh,
    /// The header as received, or none.
    AsReceived,
}

/// The destination of a replay.
#[derive(Clone, Debug)]
pub enum Destination<'a> {
    /// A URL that the user passes, unchanged.
    Url(Url),
    /// A target of the running listener, or the listener itself. Without a path in the URL, the path is that
    /// of the capture.
    Target(Url),
    /// The targets to which the capture was forwarded. Captures contain no passwords; those of the running
    /// listener's targets are used.
    Forwards(Option<&'a Forwarder>),
}

/// A URL to which a capture is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayTarget {
    pub url: Url,
    /// Index of the capture's forward to compare the new response with.
    pub earlier: Option<usize>,
    /// True if the URL is that of the capture's forward.
    pub is_of_forward: bool,
}

/// A capture cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error("capture {0} was not forwarded to a target; pass the URL")]
    NotForwarded(CaptureNumber),
    /// An unknown sender may have made the capture. With a fresh signature, a receiver would accept it.
    #[error("capture {number} may not be from the service: {meaning}")]
    Untrusted { number: CaptureNumber, meaning: &'static str },
    #[error("a fresh signature needs a signing secret")]
    NoSecret,
}

/// The captures to send, and the number of those that are left out.
#[derive(Debug)]
pub struct ReplayPlan<'a> {
    pub selection: Selection,
    pub destination: Destination<'a>,
    pub signature: ReplaySignature,
    pub sends: Vec<(CaptureNumber, ReplayTarget)>,
    /// Captures of the filter that may be from unknown senders.
    pub untrusted: usize,
    /// Captures of the filter that were not forwarded.
    pub not_forwarded: usize,
}

/// A delivery that is sent again.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    pub delivery: &'a Delivery,
    pub to: ReplayTarget,
    /// Replaces the body.
    pub body: Option<Bytes>,
    pub signature: ReplaySignature,
}

/// The result of a replay.
#[derive(Debug)]
pub struct Replayed<'a> {
    /// The status before: that of the forward to the same target, else that of the listener.
    pub earlier_status: Option<u16>,
    pub result: Result<TargetResponse, SendError>,
    pub took: Duration,
    earlier: Option<&'a TargetResponse>,
    needs_password: bool,
}

impl Selection {
    /// Returns the selection of captures that match a filter.
    pub fn of_filter(filter: &DeliveryFilter) -> Self {
        if filter.is_about_verdict() { Self::Verdict } else { Self::Conditions }
    }

    /// Returns an error if the user has to choose this capture by number or verdict before it is sent: a
    /// fresh signature would make a genuine delivery of an unknown sender's request.
    pub fn check(self, delivery: &Delivery, signature: ReplaySignature) -> Result<(), ReplayError> {
        let code = delivery.summary.verdict.code;
        let is_allowed = match signature {
            ReplaySignature::Fresh => code.row().has_valid_signature,
            ReplaySignature::AsReceived => code.row().has_valid_signature || !code.is_refusal(),
        };
        if is_allowed || self != Self::Conditions {
            return Ok(());
        }
        Err(ReplayError::Untrusted { number: number(delivery), meaning: code.row().meaning })
    }
}

impl Destination<'_> {
    /// Returns false if the headers and TLS settings of the listener's targets must not be used: they may
    /// contain credentials.
    pub fn is_target(&self) -> bool {
        !matches!(self, Self::Url(_))
    }

    /// Returns the URLs to which a capture is sent.
    ///
    /// # Errors
    /// [`ReplayError::NotForwarded`] if it was not forwarded and there is no other destination.
    pub fn targets(&self, delivery: &Delivery) -> Result<Vec<ReplayTarget>, ReplayError> {
        let request_target = &*delivery.summary.request_target;
        let url = match self {
            Self::Forwards(running) => {
                let forwards = delivery.forwards.iter().enumerate();
                let targets: Vec<_> = forwards
                    .filter_map(|(index, forward)| {
                        let of_listener =
                            running.and_then(|forwarder| forwarder.target_for(&forward.url));
                        let url = of_listener.or_else(|| Url::parse(&forward.url).ok())?;
                        Some(ReplayTarget { url, earlier: Some(index), is_of_forward: true })
                    })
                    .collect();
                return match targets[..] {
                    [] => Err(ReplayError::NotForwarded(number(delivery))),
                    _ => Ok(targets),
                };
            }
            Self::Url(url) => url.clone(),
            Self::Target(target) => target::resolve(target, request_target),
        };
        let stored = without_password(&url);
        let same = delivery.forwards.iter().position(|forward| forward.url == stored.as_str());
        let earlier = same.or((!delivery.forwards.is_empty()).then_some(0));
        Ok(vec![ReplayTarget { url, earlier, is_of_forward: false }])
    }
}

impl<'a> ReplayPlan<'a> {
    pub fn new(
        selection: Selection,
        destination: Destination<'a>,
        signature: ReplaySignature,
    ) -> Self {
        let (sends, untrusted, not_forwarded) = (Vec::new(), 0, 0);
        Self { selection, destination, signature, sends, untrusted, not_forwarded }
    }

    /// Adds a chosen capture, or counts it as left out.
    ///
    /// # Errors
    /// [`ReplayError::NotForwarded`] if it was chosen by its number.
    pub fn add(&mut self, delivery: &Delivery) -> Result<(), ReplayError> {
        // Anyone can repeat an old delivery of the service, so conditions do not select it either.
        let is_repeatable =
            self.selection == Selection::Conditions && !delivery.summary.verdict.code.is_trusted();
        if is_repeatable || self.selection.check(delivery, self.signature).is_err() {
            self.untrusted += 1;
            return Ok(());
        }
        match self.destination.targets(delivery) {
            Ok(targets) => {
                self.sends.extend(targets.into_iter().map(|target| (number(delivery), target)));
            }
            Err(error) if self.selection == Selection::Numbers => return Err(error),
            Err(_) => self.not_forwarded += 1,
        }
        Ok(())
    }
}

/// Returns the target of a capture's first forward, as advice for one that was not forwarded. `None` if the
/// URL contains a secret.
pub fn suggested_target(delivery: &Delivery) -> Option<&str> {
    let url = &*delivery.forwards.first()?.url;
    (mask::url(url, false) == url).then_some(url)
}

impl<'a> Replay<'a> {
    /// Returns the request. If the body is replaced, `X-Service-Event` is the event of the new one.
    ///
    /// # Errors
    /// [`ReplayError::NoSecret`].
    pub fn outgoing(
        self,
        secrets: &SigningSecrets,
        now_unix_secs: u64,
    ) -> Result<Outgoing, ReplayError> {
        let mut outgoing = headers::as_received(self.delivery, self.to.url);
        if let Some(body) = self.body {
            if let Some(event) = event_of(&body) {
                outgoing.headers.insert(EVENT, event);
            }
            outgoing.body = body;
        }
        if self.signature == ReplaySignature::Fresh {
            if secrets.is_empty() {
                return Err(ReplayError::NoSecret);
            }
            let keys: Vec<_> = secrets.signing().collect();
            let value = HeaderValue::try_from(sign(&keys, now_unix_secs, &outgoing.body));
            outgoing.headers.insert(SIGNATURE, value.expect("a signature is visible ASCII"));
        }
        Ok(outgoing)
    }

    /// Sends the request.
    ///
    /// # Errors
    /// [`ReplayError::NoSecret`]. A failed request is a result.
    pub async fn send(
        self,
        sender: &HttpSender,
        secrets: &SigningSecrets,
        now_unix_secs: u64,
    ) -> Result<Replayed<'a>, ReplayError> {
        let (delivery, is_of_forward) = (self.delivery, self.to.is_of_forward);
        let forward = self.to.earlier.and_then(|index| delivery.forwards.get(index));
        let earlier = forward.and_then(|forward| forward.result.as_ref().ok());
        let earlier_status = if is_of_forward {
            earlier.map(|response| response.status)
        } else {
            delivery.summary.response.and_then(|response| response.status)
        };
        let has_password = without_password(&self.to.url) != self.to.url;
        let (took, result) = match sender.send(self.outgoing(secrets, now_unix_secs)?).await {
            Err(error) => (error.took, Err(error)),
            Ok(response) => {
                let response_data = TargetResponse {
                    status: response.status.as_u16(),
                    headers: response.headers,
                    body: response.body,
                    is_truncated: response.truncated,
                };
                (response.took, Ok(response_data))
            }
        };
        let needs_password =
            is_of_forward && !has_password && result.as_ref().is_ok_and(asks_for_password);
        Ok(Replayed { earlier_status, result, took, earlier, needs_password })
    }
}

impl Replayed<'_> {
    /// Compares the earlier response of the target with this one. `None` if there is none of either.
    pub fn differences(&self, reveal: bool) -> Option<Vec<Difference>> {
        let new = self.result.as_ref().ok()?;
        Some(compare::responses(self.earlier?, new, reveal))
    }

    /// Returns true if the target of a forward asks for a password. Captures do not contain it, so the user
    /// has to pass the target's URL.
    pub fn needs_password(&self) -> bool {
        self.needs_password
    }
}

fn asks_for_password(response: &TargetResponse) -> bool {
    let challenges = response.headers.get_all(header::WWW_AUTHENTICATE);
    response.status == 401
        && challenges.iter().any(|challenge| {
            challenge.as_bytes().get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"basic"))
        })
}

fn number(delivery: &Delivery) -> CaptureNumber {
    delivery.summary.number.unwrap_or_default()
}

fn without_password(url: &Url) -> Url {
    let mut url = url.clone();
    // Only URLs without a host refuse these; they have no user name.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// Returns the event that a body names.
fn event_of(body: &[u8]) -> Option<HeaderValue> {
    #[derive(Deserialize)]
    struct Named {
        event: String,
    }
    let named: Named = serde_json::from_slice(body).ok()?;
    HeaderValue::from_str(&named.event).ok()
}

#[cfg(test)]
mod tests;
