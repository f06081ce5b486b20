//! A delivery sent once more from the page, as it came or edited; and as a command of curl.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use formsvc_contract::send::{HttpSender, SendErrorKind};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use url::Url;

use super::Desk;
use super::detail::{self, ShownAnswer, ShownSilence};
use super::reply::{Problem, beginning};
use crate::webhook::capture::CaptureNumber;
use crate::webhook::fields::millis;
use crate::webhook::replay::{self, Replay, Signature, now};
use crate::webhook::verdict::VerdictCode;
use crate::webhook::{mask, message, target};

/// What the page asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    number: CaptureNumber,
    to: To,
    signature: AskedSignature,
    /// In base64; none leaves the body as it came, to the byte.
    body: Option<String>,
    /// Whether what a receiver refuses is to be signed anew all the same.
    #[serde(default)]
    unverified: bool,
}

/// Where to. Targets are told by their places: their addresses can hold what nobody is to see.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum To {
    Listener,
    Target(usize),
    Url(String),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AskedSignature {
    Fresh,
    Kept,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub(super) struct Replayed {
    url: String,
    /// In words: what was sent.
    how: String,
    answer: Option<ShownAnswer>,
    silence: Option<ShownSilence>,
}

/// Sends a delivery once more.
pub(super) async fn replay(desk: &Desk, asked: &[u8]) -> Result<Replayed, Problem> {
    let asked: Asked = serde_json::from_slice(asked).map_err(|_| stale())?;
    let body = asked.body.as_deref().map(|body| STANDARD.decode(body)).transpose();
    let body = body.map_err(|_| Problem::bad("The body is not base64."))?;
    let capture = detail::capture(desk, asked.number).await?;
    let (to, sender) = destination(desk, &asked.to, &capture.received.request_target)?;
    let inspected = &desk.inspected;
    let signature = match asked.signature {
        AskedSignature::Fresh if inspected.secrets.is_empty() => {
            return Err(unsigned());
        }
        AskedSignature::Fresh => {
            let verdict = capture.received.verdict.code;
            if verdict.is_refusal() && !asked.unverified {
                return Err(unverified(asked.number, verdict));
            }
            Signature::Fresh
        }
        AskedSignature::Kept => Signature::Kept,
    };
    let how = format!("#{} {}", asked.number, replay::how(body.is_some(), signature));
    let url = mask::url(to.as_str(), inspected.reveal);
    let received = &capture.received;
    let replay = Replay { received, to, body: body.map(Into::into), signature };
    let outgoing = replay.outgoing(&inspected.secrets, now()).map_err(|_| unsigned())?;
    let (answer, silence) = match sender.send(outgoing).await {
        Ok(answer) => {
            let status = answer.status.as_u16();
            let shown = ShownAnswer::new(status, &answer.headers, &answer.body, inspected.reveal);
            let (took_ms, truncated) = (millis(answer.took), answer.truncated);
            let shown = ShownAnswer { took_ms, truncated, ..shown };
            (Some(shown), None)
        }
        Err(error) => {
            let silence = ShownSilence {
                why: error.to_string(),
                timed_out: error.kind == SendErrorKind::Timeout,
                took_ms: millis(error.took),
            };
            (None, Some(silence))
        }
    };
    Ok(Replayed { url, how, answer, silence })
}

/// A delivery as a command that sends it again to where it came.
pub(super) async fn curl(desk: &Desk, number: CaptureNumber) -> Result<Vec<u8>, Problem> {
    let capture = detail::capture(desk, number).await?;
    let inspected = &desk.inspected;
    let received = &capture.received;
    // Never to another's host, whatever the request said.
    let to = target::here(&inspected.address, &received.request_target);
    let command = message::curl(&replay::as_it_came(received, to), inspected.reveal);
    Ok(command.on_a_line())
}

/// What is to be signed cannot be.
fn unsigned() -> Problem {
    Problem::bad("The listener has no signing secret to sign with.")
        .hint("Start it with --secret-file, or send the signature as it came.")
}

/// A stranger's delivery would pass for one of the service's if it were signed.
fn unverified(number: CaptureNumber, verdict: VerdictCode) -> Problem {
    let why = verdict.row().meaning;
    let what = format!(
        "Delivery {number} is not signed anew: {why}. Signed, it would pass for one that the service sent."
    );
    Problem::new(StatusCode::CONFLICT, what).hint(
        "Tick “Sign it although it is not verified”, or send it with the signature it came with.",
    )
}

/// Where a replay of what came to a path goes, and what sends it there: what the listener was given for its
/// targets, such as a header that lets somebody in, goes to no address that is typed.
fn destination<'a>(
    desk: &'a Desk,
    to: &To,
    came_to: &str,
) -> Result<(Url, &'a HttpSender), Problem> {
    let inspected = &desk.inspected;
    match to {
        To::Listener => Ok((target::here(&inspected.address, came_to), &inspected.sender)),
        To::Target(place) => {
            let target = inspected.targets.get(*place).ok_or_else(stale)?;
            Ok((target::reached(target, came_to), &inspected.sender))
        }
        To::Url(text) => {
            let url = target::target(text).map_err(|rule| {
                let what = format!("“{}” is no address to send to: {rule}.", beginning(text));
                Problem::bad(what).hint("Such as 4242/hook, or https://shop.test/hook.")
            })?;
            Ok((url, &desk.plain))
        }
    }
}

/// The page is of another listener.
fn stale() -> Problem {
    Problem::bad("The page and the listener do not understand each other.")
        .hint("Reload the page: the listener may have been started anew since.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_asks_for_is_understood() {
        for good in [
            r#"{"number":1,"to":"listener","signature":"fresh","body":null}"#,
            r#"{"number":1,"to":{"target":0},"signature":"kept","body":"e30="}"#,
            r#"{"number":1,"to":"listener","signature":"fresh","body":null,"unverified":true}"#,
            r#"{"number":1,"to":{"url":"4242/hook"},"signature":"kept","body":null}"#,
        ] {
            assert!(serde_json::from_str::<Asked>(good).is_ok(), "{good}");
        }
        for bad in [
            r#"{"number":1,"to":"http://localhost","signature":"fresh","body":null}"#,
            r#"{"number":-1,"to":"listener","signature":"fresh","body":null}"#,
            r#"{"number":1,"to":"listener","signature":"none","body":null}"#,
            r#"{"number":1,"to":"listener","signature":"kept","body":null,"headers":{}}"#,
        ] {
            assert!(serde_json::from_str::<Asked>(bad).is_err(), "{bad}");
        }
    }
}
