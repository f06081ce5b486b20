//! Why a signature does not match: named hypotheses, and the search for the one that fits.
//!
//! A hypothesis fits when it makes the signature right: where it changes the body, the secret or the header,
//! the verifier ([`formsvc_protocol::signature`]) says so; where it says that something else was signed, the
//! MAC of that does. What can be seen without a MAC, such as a body that is shorter than its
//! `Content-Length`, is told as a fact. Nothing here reads a clock, and nothing prints a secret or a MAC.

mod body;
mod header;
mod hypothesis;
mod json;
mod number;
mod search;
mod secret;
mod signed;
mod table;
#[cfg(test)]
mod tests;
mod work;

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::signature::{HEADER, SECRET_PREFIX};
use secrecy::{ExposeSecret, SecretString};
use serde::de::IgnoredAny;

pub use self::hypothesis::Hypothesis;
pub use self::table::{HYPOTHESES, HypothesisRow};

use self::body::Given;
use self::header::Reading;
use self::search::{LeftOut, Search};

/// How API keys begin.
const API_KEY_PREFIX: &str = "fsk_";
/// Unix seconds that no clock shows for three thousand years; a `t` beyond is in milliseconds.
const SECONDS_MAX: u64 = 100_000_000_000;
/// Message for [`Explanation::too_deep`].
pub const TOO_DEEP: &str = "the body is nested too deeply to compare";
/// Longest name of a header that is repeated.
const NAME_MAX: usize = 64;

/// A delivery whose signature is to be explained.
#[derive(Clone)]
pub struct Case<'a> {
    /// Its headers: names in lower case, values as they came.
    pub headers: Vec<(&'a str, &'a [u8])>,
    /// Its body, to the byte.
    pub body: &'a [u8],
    /// The secrets by name.
    pub secrets: &'a [(Arc<str>, SecretString)],
    /// A key of the API, which may stand where a secret belongs.
    pub api_key: Option<&'a SecretString>,
    /// When it came, in Unix seconds, where that is known.
    pub came: Option<u64>,
    /// The time as of which its age is judged, in Unix seconds.
    pub now: u64,
    /// Largest difference of a signature's time to that; none takes any.
    pub tolerance: Option<Duration>,
}

/// A hypothesis that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which.
    pub hypothesis: Hypothesis,
    /// How, in a few words. May hold the name of a header, which is a stranger's.
    pub detail: Option<String>,
}

impl Found {
    fn new(hypothesis: Hypothesis, detail: Option<&str>) -> Self {
        Self { hypothesis, detail: detail.map(str::to_owned) }
    }
}

/// How sure an explanation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The signature is right once what was found is put right; with nothing found it is right as it is.
    Signature,
    /// It can be seen, and keeps any signature from being right; what else is wrong is not known.
    Fact,
    /// None: no hypothesis fits.
    None,
}

impl Proof {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signature => "signature",
            Self::Fact => "fact",
            Self::None => "none",
        }
    }
}

/// Why a signature is not right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What fits, all of it together.
    pub found: Vec<Found>,
    /// How sure that is.
    pub proof: Proof,
    /// The name of the secret that signed.
    pub secret: Option<Arc<str>>,
    /// What is worth a look where nothing proves what it was.
    pub clues: Vec<&'static str>,
    /// Hypotheses left untried because the body is too long or nested too deeply.
    pub left_out: Vec<Hypothesis>,
    /// Whether some were tried by themselves alone, and not together with others, for the same reason.
    pub pairs_left_out: bool,
    /// True if the body's JSON is nested deeper than [`DEPTH_MAX`](crate::nesting::DEPTH_MAX), so that
    /// no other way to print it was tried.
    pub too_deep: bool,
}

/// Explains a signature.
pub fn explain(case: &Case<'_>) -> Explanation {
    let readings = match readings(case) {
        Ok(readings) => readings,
        Err(fact) => {
            let found = vec![fact];
            return Explanation { found, proof: Proof::Fact, ..Explanation::none() };
        }
    };
    let length = header_of(case, "content-length")
        .and_then(|value| std::str::from_utf8(value).ok()?.trim().parse().ok());
    let (given, instead) =
        (secret::given(case.secrets), secret::instead(case.secrets, case.api_key));
    let search = Search::new(&readings.all, &given, &instead, Given { body: case.body, length });
    let (signed, left_out) = search.run();
    let Some(signed) = signed else {
        let LeftOut { alone: left_out, pairs: pairs_left_out, too_deep } = left_out;
        let (found, clues) = (facts(case, &readings, length), clues(case));
        let proof = if found.is_empty() { Proof::None } else { Proof::Fact };
        let secret = None;
        return Explanation { found, proof, secret, clues, left_out, pairs_left_out, too_deep };
    };
    let mut found: Vec<_> = readings.renamed.into_iter().chain(signed.found).collect();
    found.extend(age(case, signed.t.as_deref()));
    Explanation { found, proof: Proof::Signature, secret: signed.secret, ..Explanation::none() }
}

impl Explanation {
    fn none() -> Self {
        Self {
            found: Vec::new(),
            proof: Proof::None,
            secret: None,
            clues: Vec::new(),
            left_out: Vec::new(),
            pairs_left_out: false,
            too_deep: false,
        }
    }
}

/// What the headers may mean.
struct Readings {
    all: Vec<Reading>,
    /// Set where they are those of another header.
    renamed: Option<Found>,
}

/// The readings of the signature header, or of one that looks like it; or that there is none.
fn readings(case: &Case<'_>) -> Result<Readings, Found> {
    let values: Vec<&[u8]> = all_of(case, HEADER).collect();
    if !values.is_empty() {
        return Ok(Readings { all: header::readings(&values), renamed: None });
    }
    let like = case.headers.iter().find(|(_, value)| header::is_like(value));
    let (name, value) = like.ok_or_else(|| Found::new(Hypothesis::HeaderMissing, None))?;
    let shown: String = name.chars().take(NAME_MAX).collect();
    Ok(Readings {
        all: header::readings(&[value]),
        renamed: Some(Found::new(Hypothesis::HeaderRenamed, Some(&shown))),
    })
}

fn all_of<'c>(case: &'c Case<'_>, name: &'c str) -> impl Iterator<Item = &'c [u8]> {
    case.headers.iter().filter(move |(other, _)| *other == name).map(|(_, value)| *value)
}

fn header_of<'c>(case: &'c Case<'_>, name: &'c str) -> Option<&'c [u8]> {
    all_of(case, name).next()
}

/// What keeps any signature from being right, and can be seen.
fn facts(case: &Case<'_>, readings: &Readings, length: Option<u64>) -> Vec<Found> {
    let mut facts = Vec::new();
    let body_length = case.body.len() as u64;
    if let Some(length) = length.filter(|length| *length > body_length) {
        let detail = format!("{body_length} of {length} bytes");
        facts.push(Found::new(Hypothesis::BodyTruncated, Some(&detail)));
    }
    facts.extend(malformed(readings));
    if readings.all.iter().all(|reading| reading.t.is_none()) {
        facts.push(Found::new(Hypothesis::TMissing, None));
    }
    if readings.all.iter().all(|reading| reading.macs.is_empty()) {
        facts.push(Found::new(Hypothesis::V1Missing, v1_of(case).as_deref()));
    }
    let is_api_key = |secret: &SecretString| secret.expose_secret().starts_with(API_KEY_PREFIX);
    if let Some((name, _)) = case.secrets.iter().find(|(_, secret)| is_api_key(secret)) {
        facts.push(Found::new(Hypothesis::SecretApiKey, Some(name)));
    }
    if json::is_laid_out(case.body) {
        facts.push(Found::new(Hypothesis::JsonPrinted, None));
    }
    facts
}

/// What is wrong with a `v1` that could not be a MAC.
fn v1_of(case: &Case<'_>) -> Option<String> {
    let text = std::str::from_utf8(header_of(case, HEADER)?).ok()?;
    let v1 = text.split(',').find_map(|part| part.trim().strip_prefix("v1="))?;
    Some(format!("`v1` has {} characters, where 64 hex digits are wanted", v1.chars().count()))
}

/// What is wrong with a header that has a MAC and is malformed all the same.
fn malformed(readings: &Readings) -> Vec<Found> {
    let Some(reading) = readings.all.iter().find(|reading| !reading.macs.is_empty()) else {
        return Vec::new();
    };
    // A part under another key is passed over where there is a right one.
    let right = reading.macs.iter().find(|mac| mac.defects.is_empty());
    let of_mac = right.or(reading.macs.first()).map(|mac| &mac.defects[..]).unwrap_or_default();
    reading.defects.iter().chain(of_mac).map(|defect| Found::new(*defect, None)).collect()
}

/// What the time says, once it is known that it was signed.
fn age(case: &Case<'_>, t: Option<&str>) -> Option<Found> {
    let (t, tolerance) = (t?.parse::<u64>().ok()?, case.tolerance?.as_secs());
    let is_of_now = |now: u64| now.abs_diff(t) <= tolerance;
    let hypothesis = if is_of_now(case.now) {
        return None;
    } else if t > SECONDS_MAX {
        Hypothesis::TMillis
    } else if t > case.now {
        Hypothesis::Ahead
    } else if case.came.is_some_and(|came| !is_of_now(came)) {
        Hypothesis::Late
    } else {
        Hypothesis::Stale
    };
    let side = if t > case.now { "ahead" } else { "old" };
    let detail = format!("{} seconds {side}", case.now.abs_diff(t));
    Some(Found::new(hypothesis, (hypothesis != Hypothesis::TMillis).then_some(&detail)))
}

/// What is worth a look where nothing fits.
fn clues(case: &Case<'_>) -> Vec<&'static str> {
    let text = std::str::from_utf8(case.body);
    let begins =
        |(_, secret): &(Arc<str>, SecretString)| secret.expose_secret().starts_with(SECRET_PREFIX);
    let all = [
        (
            case.secrets.iter().any(|secret| !begins(secret)),
            "a secret that was given does not begin with `whsec_`, as those of the service do",
        ),
        (case.body.is_empty(), "the body is empty: something has read it before"),
        (text.is_err(), "the body is no UTF-8 text, which the service sends"),
        (
            text.is_ok_and(|text| text.contains('\u{fffd}')),
            "the body holds U+FFFD, which stands where characters were lost",
        ),
        (
            !case.body.is_empty() && serde_json::from_slice::<IgnoredAny>(case.body).is_err(),
            "the body is no JSON: it was cut, or is not what was sent",
        ),
        (
            true,
            "another secret may have signed it: each endpoint has its own, and a new one takes the place \
             of the old",
        ),
        (
            true,
            "the body may have been changed in a way that cannot be undone, such as a number rounded",
        ),
    ];
    all.into_iter().filter(|(applies, _)| *applies).map(|(_, clue)| clue).collect()
}
