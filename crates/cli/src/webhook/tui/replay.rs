//! A delivery sent once more: where to, signed how, and what came of it.

use std::sync::Arc;

use bytes::Bytes;
use formsvc_contract::send::{Answer, SendError};
use http::header;
use jiff::Timestamp;
use url::Url;

use super::facts::Facts;
use crate::output::Look;
use crate::webhook::capture::{Capture, CaptureNumber};
use crate::webhook::listen::text::took;
use crate::webhook::mask;
use crate::webhook::replay::{Signature, how};
use crate::webhook::target::{here, is_here};
use crate::webhook::tone::Tone;

/// Where listeners listen, unless they are told otherwise.
const LISTENER: &str = "http://localhost:9000/";

/// What is sent, and where to.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub(super) capture: Arc<Capture>,
    pub(super) number: CaptureNumber,
    pub(super) to: Vec<Url>,
    pub(super) signature: Signature,
    /// Another body in place of the one it came with.
    pub(super) body: Option<Bytes>,
    /// Whether somebody changes the body first.
    pub(super) edits: bool,
}

/// What is to be done about a wish to send.
#[derive(Debug)]
pub(super) enum Decision {
    /// It goes.
    Send(Sending),
    /// A receiver refuses such a delivery, and would take what is signed here: somebody has to mean it.
    Ask(Sending),
    /// Nobody knows where to.
    Where,
}

/// What came of one.
#[derive(Clone, Debug)]
pub(super) struct Replayed {
    pub(super) number: CaptureNumber,
    pub(super) at: Timestamp,
    pub(super) to: String,
    pub(super) signature: Signature,
    pub(super) edited: bool,
    pub(super) answer: Result<Answer, Silence>,
}

/// Nothing came back.
#[derive(Clone, Debug)]
pub(super) struct Silence {
    pub(super) why: String,
    pub(super) took: std::time::Duration,
}

impl From<SendError> for Silence {
    fn from(error: SendError) -> Self {
        Self { why: error.to_string(), took: error.took }
    }
}

/// Decides where a delivery goes, and whether that has to be confirmed.
pub(super) fn decide(
    capture: &Arc<Capture>,
    facts: &Facts,
    address: Option<&Url>,
    edits: bool,
) -> Decision {
    let Some(number) = capture.number else { return Decision::Where };
    let to = match address {
        Some(address) => vec![address.clone()],
        None => usual(capture, facts),
    };
    if to.is_empty() {
        return Decision::Where;
    }
    let signature = if facts.can_sign { Signature::Fresh } else { Signature::Kept };
    let capture = Arc::clone(capture);
    let refused = capture.received.verdict.code.is_refusal();
    let sending = Sending { capture, number, to, signature, body: None, edits };
    if refused && signature == Signature::Fresh {
        Decision::Ask(sending)
    } else {
        Decision::Send(sending)
    }
}

/// Where it was forwarded to or is being forwarded, each once; or else the listener itself.
pub(super) fn usual(capture: &Capture, facts: &Facts) -> Vec<Url> {
    let forwards = capture.outcome.iter().flat_map(|outcome| &outcome.forwards);
    let mut to: Vec<Url> = Vec::new();
    for url in forwards.filter_map(|forward| Url::parse(&forward.url).ok()) {
        if !to.contains(&url) {
            to.push(url);
        }
    }
    if to.is_empty() && capture.outcome.is_none() {
        // It is on its way there.
        to.clone_from(&facts.targets);
    }
    if to.is_empty() {
        to.extend(facts.address.clone());
    }
    to
}

/// Where a command that somebody copies sends a delivery: to the listener, to where it was forwarded, or to
/// what it says it came to, if that is this machine. Never to another's host, whatever the request said.
pub(super) fn copied_to(capture: &Capture, address: Option<&Url>) -> Url {
    let received = &*capture.received;
    if let Some(address) = address {
        return here(address, &received.request_target);
    }
    let mut forwards = capture.outcome.iter().flat_map(|outcome| &outcome.forwards);
    if let Some(url) = forwards.find_map(|forward| Url::parse(&forward.url).ok()) {
        return url;
    }
    let host = received.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| Url::parse(&format!("http://{host}/")).ok());
    let own = host.filter(|url| is_here(url) && url.path() == "/" && url.username().is_empty());
    let usual = || Url::parse(LISTENER).expect("it is a URL");
    here(&own.unwrap_or_else(usual), &received.request_target)
}

/// The addresses, as they may be shown.
pub(super) fn addresses(to: &[Url], reveal: bool) -> String {
    to.iter().map(|to| mask::url(to.as_str(), reveal)).collect::<Vec<_>>().join(", ")
}

impl Replayed {
    /// What came of it, on a line.
    pub(super) fn told(&self) -> (Look, String) {
        let Self { number, to, .. } = self;
        match &self.answer {
            Ok(answer) => {
                let status = answer.status.as_u16();
                let text = format!("#{number} replayed to {to}: {status} in {}", took(answer.took));
                (Tone::of_status(Some(status)).look(), text)
            }
            Err(silence) => {
                let text = format!("#{number} replayed to {to}: no answer, {}", silence.why);
                (Look::Bad, text)
            }
        }
    }

    /// What was sent, in words.
    pub(super) fn how(&self) -> &'static str {
        how(self.edited, self.signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::capture::Unanswered;
    use crate::webhook::tui::samples::Sample;

    #[test]
    fn a_command_to_copy_goes_to_nobody_elses_host() {
        let own = Url::parse("http://127.0.0.1:7000/").unwrap();
        let came =
            |host: &str| Sample::of("a").target("/hook?a=1").header("host", host).numbered(1);
        for (host, address, expected) in [
            ("other.example", Some(&own), "http://127.0.0.1:7000/hook?a=1"),
            ("other.example", None, "http://localhost:9000/hook?a=1"),
            ("localhost:4400", None, "http://localhost:4400/hook?a=1"),
            ("[::1]:4400", None, "http://[::1]:4400/hook?a=1"),
            ("localhost@other.example", None, "http://localhost:9000/hook?a=1"),
            ("u@localhost", None, "http://localhost:9000/hook?a=1"),
            ("localhost/x", None, "http://localhost:9000/hook?a=1"),
            ("", None, "http://localhost:9000/hook?a=1"),
        ] {
            assert_eq!(copied_to(&came(host), address).as_str(), expected, "{host}");
        }
        let forward = crate::webhook::capture::Forward {
            url: "http://localhost:4242/x".to_owned(),
            answer: Err(Unanswered { timed_out: false, garbled: false, why: String::new() }),
            took: std::time::Duration::ZERO,
        };
        let forwarded = Sample::of("a").header("host", "other.example").forwarded(forward);
        assert_eq!(copied_to(&forwarded.numbered(1), None).as_str(), "http://localhost:4242/x");
    }
}
