//! Sends captures again. Decides which captures may be sent, to which URLs, and with which signature.

use std::time::Duration;

use bytes::Bytes;
use formsvc_contract::send::{EVENT, HttpSender, Outgoing, SIGNATURE, SendError};
use formsvc_protocol::signature::sign;
use http::{HeaderValue, header};
use url::Url;

use crate::compare::{self, Difference};
use crate::delivery::{CaptureNumber, Delivery, EventNames, TargetResponse};
use crate::filter::DeliveryFilter;
use crate::forward::Forwarder;
use crate::http as headers;
use crate::secrets::SigningSecrets;
use crate::target::{self, without_password};

/// The way in which the user selected captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// By number.
    Numbers,
    /// By conditions, at least one of which selects a verdict.
    Verdict,
    /// By other conditions, so captures of unknown senders may match unintentionally.
    Conditions,
}

/// The signature of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaySignature {
    /// A new signature with all secrets and the current time, which a receiver accepts.
    Fresh,
    /// The received signature header, or no signature if there was none.
    AsReceived,
}

/// The destination of a replay.
#[derive(Clone, Debug)]
pub enum Destination<'a> {
    /// A URL that the user passes. The URL is not changed.
    Url(Url),
    /// A target of the running listener, or the listener itself. If the URL has no path, the path of the capture's
    /// request is used.
    Target(Url),
    /// The targets to which the capture was forwarded. Captures contain no passwords, so the passwords are taken from
    /// the targets of the running listener.
    Forwards(Option<&'a Forwarder>),
}

/// A URL to which a capture is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayTarget {
    pub url: Url,
    /// Index of the capture's forward that is compared with the new response.
    pub earlier: Option<usize>,
    /// True for a target of [`Destination::Forwards`].
    pub is_of_forward: bool,
}

/// The reason why a capture cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error("capture {0} was not forwarded to a target; pass the URL")]
    NotForwarded(CaptureNumber),
    /// An unknown sender may have sent the capture. With a fresh signature, a receiver would accept it.
    #[error("delivery {number} may not be from the service: {meaning}")]
    Untrusted { number: CaptureNumber, meaning: &'static str },
    #[error("a fresh signature needs a signing secret")]
    NoSecret,
}

/// The captures to send, and the counts of captures that are left out.
#[derive(Debug)]
pub struct ReplayPlan<'a> {
    pub selection: Selection,
    pub destination: Destination<'a>,
    pub signature: ReplaySignature,
    pub sends: Vec<(CaptureNumber, ReplayTarget)>,
    /// Number of matching captures that are left out because an unknown sender may have sent them.
    pub untrusted: usize,
    /// Number of matching captures that are left out because they were not forwarded.
    pub not_forwarded: usize,
}

/// A delivery to send again.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    pub delivery: &'a Delivery,
    pub to: ReplayTarget,
    /// The body to send instead of the received body.
    pub body: Option<Bytes>,
    pub signature: ReplaySignature,
}

/// The result of a replay.
#[derive(Debug)]
pub struct Replayed<'a> {
    /// The result of [`Replay::earlier_status`].
    pub earlier_status: Option<u16>,
    pub result: Result<TargetResponse, SendError>,
    pub took: Duration,
    earlier: Option<&'a TargetResponse>,
    needs_password: bool,
}

impl Selection {
    /// Returns the selection of captures that match a filter. Only `=` selects by verdict: `verdict!=x` may match
    /// captures from unknown senders unintentionally.
    pub fn of_filter(filter: &DeliveryFilter) -> Self {
        if filter.selects_verdict() { Self::Verdict } else { Self::Conditions }
    }

    /// Checks that a capture may be sent. A capture that an unknown sender may have sent must be selected by number
    /// or verdict, because a receiver accepts such a capture if it gets a fresh signature. This includes a delivery
    /// whose signature was too old at its arrival: anyone can repeat an old delivery of the service.
    pub fn check(
        self,
        number: CaptureNumber,
        delivery: &Delivery,
        signature: ReplaySignature,
    ) -> Result<(), ReplayError> {
        let code = delivery.summary.verdict.code;
        let is_signed = signature == ReplaySignature::AsReceived || code.row().has_valid_signature;
        if (is_signed && code.is_trusted()) || self != Self::Conditions {
            return Ok(());
        }
        Err(ReplayError::Untrusted { number, meaning: code.row().meaning })
    }
}

impl Destination<'_> {
    /// Returns true if the headers and TLS settings for the listener's targets may be used. The headers and settings
    /// may contain credentials, which must not be sent to other URLs.
    pub fn is_target(&self) -> bool {
        !matches!(self, Self::Url(_))
    }

    /// Returns the URLs to which a capture is sent.
    ///
    /// # Errors
    /// [`ReplayError::NotForwarded`] if the destination is [`Forwards`](Self::Forwards) and the capture was not
    /// forwarded.
    pub fn targets(
        &self,
        number: CaptureNumber,
        delivery: &Delivery,
    ) -> Result<Vec<ReplayTarget>, ReplayError> {
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
                    [] => Err(ReplayError::NotForwarded(number)),
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

    /// Adds a selected capture to `sends`, or counts it as left out.
    ///
    /// # Errors
    /// [`ReplayError::NotForwarded`] if the capture was selected by number.
    pub fn add(&mut self, number: CaptureNumber, delivery: &Delivery) -> Result<(), ReplayError> {
        if self.selection.check(number, delivery, self.signature).is_err() {
            self.untrusted += 1;
            return Ok(());
        }
        match self.destination.targets(number, delivery) {
            Ok(targets) => {
                self.sends.extend(targets.into_iter().map(|target| (number, target)));
            }
            Err(error) if self.selection == Selection::Numbers => return Err(error),
            Err(_) => self.not_forwarded += 1,
        }
        Ok(())
    }
}

impl<'a> Replay<'a> {
    /// Returns the request to send. If the body is replaced, `X-Service-Event` becomes the event of the new body.
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
            let event = EventNames::of_body(&body).event;
            if let Some(event) = event.and_then(|event| HeaderValue::try_from(event).ok()) {
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

    /// Returns the earlier response of a target, which is compared with the new response.
    fn earlier(&self) -> Option<&'a TargetResponse> {
        let forward = self.delivery.forwards.get(self.to.earlier?)?;
        forward.result.as_ref().ok()
    }

    /// Returns the earlier status. For a target of a forward, this is the status of the target's response; for other
    /// URLs, it is the status of the listener's response.
    pub fn earlier_status(&self) -> Option<u16> {
        if self.to.is_of_forward {
            return self.earlier().map(|response| response.status);
        }
        self.delivery.summary.response.and_then(|response| response.status)
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
        let (earlier, is_of_forward) = (self.earlier(), self.to.is_of_forward);
        let earlier_status = self.earlier_status();
        let has_password = without_password(&self.to.url) != self.to.url;
        let (took, result) = match sender.send(self.outgoing(secrets, now_unix_secs)?).await {
            Err(error) => (error.took, Err(error)),
            Ok(response) => (response.took, Ok(TargetResponse::from(response))),
        };
        let needs_password =
            is_of_forward && !has_password && result.as_ref().is_ok_and(asks_for_password);
        Ok(Replayed { earlier_status, result, took, earlier, needs_password })
    }
}

impl Replayed<'_> {
    /// Compares the earlier response of the target with the new response. Returns `None` if one of them is missing.
    pub fn differences(&self, reveal: bool) -> Option<Vec<Difference>> {
        let new = self.result.as_ref().ok()?;
        Some(compare::responses(self.earlier?, new, reveal))
    }

    /// Returns true if the target of a forward asks for a password. Captures contain no passwords, so the user has to
    /// pass the target's URL with the password.
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

#[cfg(test)]
mod tests;
