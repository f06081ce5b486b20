//! Explains why a signature does not match.
//!
//! A cause is proven if the signature matches once it is fixed: [`explain`] tries the keys, bodies and
//! header readings that common mistakes produce. Other causes are facts that can be seen without a MAC,
//! such as a body that is shorter than its `Content-Length`. Reads no clock and prints no secret or MAC.

mod body;
mod cause;
mod header;
mod order;
mod secret;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::signature::{HEADER, SECRET_PREFIX};
use secrecy::{ExposeSecret, SecretString};
use serde_json::value::RawValue;

pub use self::cause::{CAUSES, Cause, CauseRow};

use self::body::{BODY_CAUSES, SignedBody, bodies, compression};
use self::header::Reading;
use self::order::reordering;
use self::secret::{Key, keys};
use crate::{members, nesting};

/// Prefix of API keys.
const API_KEY_PREFIX: &str = "fsk_";
/// A larger `t` is in milliseconds: as seconds it is the year 5138.
const SECONDS_MAX: u64 = 100_000_000_000;
/// Size limit of bodies for which changes are tried: each change costs a MAC with each key.
const BODY_MAX: usize = 256 << 10;
/// Changes of the key, the signed text and the body that are combined at most.
const CHANGES_MAX: usize = 2;
/// Longest name of a header in a detail.
const NAME_MAX: usize = 64;
/// Value of [`Explanation::limit`].
pub const TOO_DEEP: &str = "the body is nested too deeply to compare";
/// Value of [`Explanation::limit`].
pub const TOO_MANY_KEYS: &str = "JavaScript may have moved the keys that are numbers to the front; there are too many keys to try";
/// Value of [`Explanation::limit`].
pub const TOO_LONG: &str = "the body is too long to try what changed it";

/// A delivery with a signature to explain.
#[derive(Clone)]
pub struct ExplainRequest<'a> {
    /// The headers: names in lower case, values unchanged.
    pub headers: Vec<(&'a str, &'a [u8])>,
    /// The exact body.
    pub body: &'a [u8],
    /// The secrets by name.
    pub secrets: &'a [(Arc<str>, SecretString)],
    /// An API key, which may have been used as the secret.
    pub api_key: Option<&'a SecretString>,
    /// The time of verification, in Unix seconds.
    pub now: u64,
    /// Largest difference of the signature's time to that; `None` accepts any.
    pub tolerance: Option<Duration>,
}

/// A cause that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The cause.
    pub cause: Cause,
    /// Details in a few words. May contain the name of a header, which is untrusted.
    pub detail: Option<String>,
}

impl Found {
    fn new(cause: Cause, detail: Option<&str>) -> Self {
        Self { cause, detail: detail.map(str::to_owned) }
    }
}

/// The certainty of an explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// The signature matches after fixing all found causes.
    Signature,
    /// The found causes prevent any signature from matching; there may be more.
    Fact,
    /// No cause applies.
    #[default]
    None,
}

impl Proof {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signature => "signature",
            Self::Fact => "fact",
            Self::None => "none",
        }
    }
}

/// Why a signature does not match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// All causes that apply together.
    pub found: Vec<Found>,
    /// The certainty.
    pub proof: Proof,
    /// The name of the secret that signed.
    pub secret: Option<Arc<str>>,
    /// What to check if nothing is proven.
    pub clues: Vec<&'static str>,
    /// The causes that were not tried, because the body is too long, nested too deeply, or has too many keys.
    pub untried: Vec<Cause>,
    /// Why they were not tried: [`TOO_DEEP`], [`TOO_LONG`] or [`TOO_MANY_KEYS`].
    pub limit: Option<&'static str>,
}

/// Explains the signature of a delivery.
pub fn explain(request: &ExplainRequest<'_>) -> Explanation {
    let explanation = |found, proof| Explanation { found, proof, ..Explanation::default() };
    let Some((renamed, readings)) = read_header(request) else {
        return explanation(vec![Found::new(Cause::HeaderMissing, None)], Proof::Fact);
    };
    let too_long = request.body.len() > BODY_MAX;
    let too_deep = nesting::depth(request.body) > nesting::DEPTH_MAX;
    let bodies = if too_long { vec![(None, request.body.into())] } else { bodies(request.body) };
    let keys = keys(request.secrets, request.api_key);
    let reordering = if too_long { None } else { reordering(request.body) };
    let reordered = reordering.as_ref().and_then(|reordering| reordering.bodies.as_deref());
    let matched = search(&keys, &bodies, &readings).or_else(|| {
        // Many bodies: with the given secrets only.
        search(&keys[..request.secrets.len()], reordered?, &readings)
    });
    if let Some((found, key, reading)) = matched {
        let found = renamed.into_iter().chain(found).chain(age(request, reading)).collect();
        return Explanation { secret: key.name.clone(), ..explanation(found, Proof::Signature) };
    }
    let mut found = facts(request, renamed, &readings);
    let order = reordering.as_ref().map(|reordering| reordering.cause);
    found.extend(
        order.filter(|cause| *cause == Cause::KeysSorted).map(|cause| Found::new(cause, None)),
    );
    let proof = if found.is_empty() { Proof::None } else { Proof::Fact };
    let (untried, limit) = match (too_long, too_deep) {
        (true, _) => (BODY_CAUSES.to_vec(), Some(TOO_LONG)),
        (_, true) => (BODY_CAUSES[3..].to_vec(), Some(TOO_DEEP)),
        _ if order == Some(Cause::NumberKeysFirst) && reordered.is_none() => {
            (vec![Cause::NumberKeysFirst], Some(TOO_MANY_KEYS))
        }
        _ => (Vec::new(), None),
    };
    Explanation { clues: clues(request), untried, limit, ..explanation(found, proof) }
}

/// Reads the signature header, or else a header of another name that looks like it.
fn read_header(request: &ExplainRequest<'_>) -> Option<(Option<Found>, Vec<Reading>)> {
    let values: Vec<&[u8]> = header_values(request, HEADER).collect();
    if !values.is_empty() {
        return Some((None, header::readings(&values)));
    }
    let mut headers = request.headers.iter();
    let (name, value) = headers.find(|(_, value)| header::is_signature_like(value))?;
    let shown: String = name.chars().take(NAME_MAX).collect();
    Some((Some(Found::new(Cause::HeaderRenamed, Some(&shown))), header::readings(&[value])))
}

fn header_values<'c>(
    request: &'c ExplainRequest<'_>,
    name: &'c str,
) -> impl Iterator<Item = &'c [u8]> {
    request.headers.iter().filter(move |(other, _)| *other == name).map(|(_, value)| *value)
}

/// Finds the key, body and signed text that give a MAC of the header, with as few changes as possible.
fn search<'a>(
    keys: &'a [Key],
    bodies: &[SignedBody<'_>],
    readings: &'a [Reading],
) -> Option<(Vec<Found>, &'a Key, &'a Reading)> {
    let pairs = keys.iter().flat_map(|key| bodies.iter().map(move |body| (key, body)));
    let tries = pairs.flat_map(|(key, body)| [(key, body, false), (key, body, true)]);
    for changes in 0..=CHANGES_MAX {
        for (key, (changed, body), without_time) in tries.clone() {
            let made = [key.found.is_some(), changed.is_some(), without_time];
            if made.into_iter().filter(|made| *made).count() != changes {
                continue;
            }
            for reading in readings {
                let digest = match (&reading.t, without_time) {
                    (_, true) => key.keyed.mac(&[body]),
                    (Some(t), false) => key.keyed.mac(&[t.as_bytes(), b".", body]),
                    (None, false) => continue,
                };
                let Some(mac) = reading.macs.iter().find(|mac| mac.bytes == digest) else {
                    continue;
                };
                let incomplete = reading.t.is_none().then_some(Cause::HeaderIncomplete);
                let header = reading.causes.iter().copied().chain(mac.cause).chain(incomplete);
                let mut found: Vec<Found> = header.map(|cause| Found::new(cause, None)).collect();
                found.extend(key.found.clone());
                found.extend(without_time.then(|| Found::new(Cause::SignedBodyOnly, None)));
                found.extend(changed.clone());
                return Some((found, key, reading));
            }
        }
    }
    None
}

/// Judges the time of a matching signature.
fn age(request: &ExplainRequest<'_>, reading: &Reading) -> Option<Found> {
    let t: u64 = reading.t.as_deref()?.parse().ok()?;
    let off = request.now.abs_diff(t);
    if off <= request.tolerance?.as_secs() {
        return None;
    }
    if t > SECONDS_MAX {
        return Some(Found::new(Cause::TMillis, None));
    }
    let side = if t > request.now { "ahead" } else { "old" };
    Some(Found::new(Cause::Stale, Some(&format!("{off} seconds {side}"))))
}

/// Returns the visible causes that prevent any signature from matching.
fn facts(request: &ExplainRequest<'_>, renamed: Option<Found>, readings: &[Reading]) -> Vec<Found> {
    let mut facts: Vec<Found> = renamed.into_iter().collect();
    let body = request.body;
    let length = header_values(request, "content-length").next();
    let length: Option<u64> =
        length.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    if let Some(length) = length.filter(|length| *length > body.len() as u64) {
        let detail = format!("{} of {length} bytes", body.len());
        facts.push(Found::new(Cause::BodyTruncated, Some(&detail)));
    }
    if let Some(reading) = readings.iter().find(|reading| !reading.macs.is_empty()) {
        let causes = reading.causes.iter().copied().chain(reading.macs[0].cause);
        facts.extend(causes.map(|cause| Found::new(cause, None)));
    }
    let missing = if readings.iter().all(|reading| reading.t.is_none()) {
        Some("`t` is missing")
    } else if readings.iter().all(|reading| reading.macs.is_empty()) {
        Some("`v1` has no 64 hex digits")
    } else {
        None
    };
    facts.extend(missing.map(|missing| Found::new(Cause::HeaderIncomplete, Some(missing))));
    let is_api_key = |secret: &SecretString| secret.expose_secret().starts_with(API_KEY_PREFIX);
    if let Some((name, _)) = request.secrets.iter().find(|(_, secret)| is_api_key(secret)) {
        facts.push(Found::new(Cause::SecretApiKey, Some(name)));
    }
    if let Some(name) = compression(body) {
        facts.push(Found::new(Cause::BodyEncoded, Some(name)));
    } else if is_form(request) {
        facts.push(Found::new(Cause::BodyForm, None));
    } else if is_laid_out(body) {
        let detail = "white space between its parts, which the service never writes";
        facts.push(Found::new(Cause::JsonPrinted, Some(detail)));
    }
    facts
}

/// Returns true if the body is form data: `a=1&b=2`, or the JSON as the name of a field.
fn is_form(request: &ExplainRequest<'_>) -> bool {
    let text = std::str::from_utf8(request.body).unwrap_or_default();
    let is_encoded = !text.contains(|c: char| c.is_whitespace() || "{\"<".contains(c));
    is_encoded && text.contains('=')
        || text.starts_with("--") && text.contains("Content-Disposition: form-data")
}

/// Returns true if a body is an object with white space between its own members, which the service
/// never writes. The values are copied from the submission and may contain any.
fn is_laid_out(body: &[u8]) -> bool {
    let Some(text) = std::str::from_utf8(body).ok().map(str::trim) else { return false };
    let Ok(members) = members::of_object(text) else { return false };
    let parts = members.iter().flat_map(|(name, value)| [*name, *value]);
    let own: usize = parts.map(|part: &RawValue| part.get().len()).sum();
    // The braces, one colon for each member, and the commas between the members.
    let marks = 2 + members.len() + members.len().saturating_sub(1);
    own + marks < text.len()
}

/// Returns what to check if no cause is proven.
fn clues(request: &ExplainRequest<'_>) -> Vec<&'static str> {
    let text = std::str::from_utf8(request.body);
    let has_prefix =
        |(_, secret): &(Arc<str>, SecretString)| secret.expose_secret().starts_with(SECRET_PREFIX);
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(request.body).is_ok();
    let all = [
        (
            !request.secrets.iter().all(has_prefix),
            "a given secret does not begin with `whsec_`, as those of the service do",
        ),
        (request.body.is_empty(), "the body is empty: something has read it before"),
        (text.is_err(), "the body is not UTF-8 text, which the service sends"),
        (
            text.is_ok_and(|text| text.contains('\u{fffd}')),
            "the body contains U+FFFD, which replaces lost characters",
        ),
        (!request.body.is_empty() && !is_json, "the body is not JSON: it was cut or changed"),
        (
            true,
            "another secret may have signed it: each endpoint has its own, and rotation replaces it",
        ),
        (
            true,
            "the body may have been changed in a way that cannot be undone, such as a rounded number",
        ),
    ];
    all.into_iter().filter(|(applies, _)| *applies).map(|(_, clue)| clue).collect()
}
