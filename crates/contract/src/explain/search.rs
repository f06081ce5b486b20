//! The search for what was signed: every single change first, then two at once, within a bound of work.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::limits::SIGNATURES_MAX;
use formsvc_protocol::signature::SignatureHeader;

use super::Found;
use super::body::{CHANGES, Given, submission_id};
use super::header::{Mac, Reading};
use super::json::Document;
use super::secret::Key;
use super::signed::{Parts, RECIPES, Recipe};
use super::table::Hypothesis;

/// Bytes that are hashed or printed at most for single changes: about a second's work.
const SINGLE_MAX: u64 = 1 << 30;
/// Bytes for two changes at once.
const DOUBLE_MAX: u64 = 256 << 20;
/// Numbers of a body that are each spelled in another way.
const NUMBERS_MAX: usize = 64;

/// What was signed.
pub(super) struct Signed {
    pub(super) found: Vec<Found>,
    /// The name of the secret.
    pub(super) secret: Option<Arc<str>>,
    /// The time that was signed along.
    pub(super) t: Option<String>,
}

/// What is searched.
pub(super) struct Search<'a> {
    pub(super) readings: &'a [Reading],
    /// The secrets as they were given.
    pub(super) given: &'a [Key],
    /// What may have been used instead.
    pub(super) instead: &'a [Key],
    pub(super) body: Given<'a>,
    /// Bytes that may still be gone through.
    left: u64,
    /// What was not even tried by itself.
    left_out: Vec<Hypothesis>,
    /// Whether two changes are tried at once, after each by itself.
    at_once: bool,
}

/// Ends with what was signed, or goes on.
type Step = ControlFlow<Signed>;
const GO_ON: Step = ControlFlow::Continue(());
/// What is done with a body that may have been signed, and what would have changed it since.
type With<'w, S> = dyn FnMut(&mut S, &[Found], &[u8]) -> Step + 'w;

impl<'a> Search<'a> {
    pub(super) fn new(
        readings: &'a [Reading],
        given: &'a [Key],
        instead: &'a [Key],
        body: Given<'a>,
    ) -> Self {
        Self::bounded(readings, given, instead, body, SINGLE_MAX)
    }

    /// A search that goes through so many bytes at most.
    pub(super) fn bounded(
        readings: &'a [Reading],
        given: &'a [Key],
        instead: &'a [Key],
        body: Given<'a>,
        left: u64,
    ) -> Self {
        Self { readings, given, instead, body, left, left_out: Vec::new(), at_once: false }
    }

    /// What was signed, if one hypothesis tells, or two together; and what was not tried, since it would
    /// have been too much work.
    pub(super) fn run(mut self) -> (Option<Signed>, Vec<Hypothesis>) {
        let step = self.search();
        (step.break_value(), self.left_out)
    }

    fn search(&mut self) -> Step {
        // Perhaps the header alone is wrong.
        self.plain(self.given, &[], self.body.body)?;
        self.singles()?;
        self.left = self.left.min(DOUBLE_MAX);
        self.at_once = true;
        self.doubles()
    }

    fn singles(&mut self) -> Step {
        let body = self.body.body;
        self.recipes(self.given, &[], body)?;
        self.plain(self.instead, &[], body)?;
        let given = self.given;
        self.bodies(&mut |search, found, body| search.plain(given, found, body))
    }

    fn doubles(&mut self) -> Step {
        let (given, instead) = (self.given, self.instead);
        self.recipes(instead, &[], self.body.body)?;
        self.bodies(&mut |search, found, body| search.plain(instead, found, body))?;
        self.bodies(&mut |search, found, body| search.recipes(given, found, body))?;
        self.edges(self.body, &mut |search, first, body| {
            let again = Given { body, length: None };
            search.all(again, &mut |search, second, body| {
                search.plain(given, &[first, second].concat(), body)
            })
        })
    }

    /// Goes through the bodies that may have been signed.
    fn bodies(&mut self, with: &mut With<'_, Self>) -> Step {
        self.all(self.body, with)
    }

    /// Goes through what a body may have been before.
    fn all(&mut self, of: Given<'_>, with: &mut With<'_, Self>) -> Step {
        let mut seen = Seen::with(of.body);
        self.edges(of, &mut |search, found, body| {
            if seen.is_new(body) { with(search, found, body) } else { GO_ON }
        })?;
        let Some(document) = Document::read(of.body) else { return GO_ON };
        for printed in document.with_other_numbers(NUMBERS_MAX) {
            if seen.is_new(printed.as_bytes())
                && self.may(printed.len(), Some(Hypothesis::JsonNumbers))
            {
                let found =
                    [Found::new(Hypothesis::JsonNumbers, Some("one number with one more zero"))];
                with(self, &found, printed.as_bytes())?;
            }
        }
        for style in document.styles() {
            let changes = document.changes(&style);
            let alone = match changes[..] {
                [(hypothesis, _)] => Some(hypothesis),
                _ => None,
            };
            if !self.may(of.body.len(), alone) {
                continue;
            }
            let printed = document.printed(style);
            if seen.is_new(printed.as_bytes()) {
                let found: Vec<_> =
                    changes.into_iter().map(|(what, how)| Found::new(what, how)).collect();
                with(self, &found, printed.as_bytes())?;
            }
        }
        GO_ON
    }

    /// Goes through what a body may have been before something changed it that knows no JSON.
    fn edges(&mut self, of: Given<'_>, with: &mut With<'_, Self>) -> Step {
        for (hypothesis, change) in CHANGES {
            if !self.may(of.body.len(), Some(*hypothesis)) {
                continue;
            }
            for body in change(of) {
                if body != of.body {
                    with(self, &[Found::new(*hypothesis, None)], &body)?;
                }
            }
        }
        GO_ON
    }

    /// Whether a key signed `<t>.<body>`.
    fn plain(&mut self, keys: &[Key], found: &[Found], body: &[u8]) -> Step {
        let readings = self.readings;
        for key in keys {
            let hypothesis = alone(key.hypothesis, found, None);
            for reading in readings {
                if !self.may(body.len(), hypothesis) {
                    continue;
                }
                let Some(mac) = signed(reading, key, body) else { continue };
                let mut all = defects(reading, mac);
                if reading.t.as_ref().is_some_and(|t| !is_number(t)) {
                    all.push(Found::new(Hypothesis::TNoNumber, None));
                }
                all.extend(key.hypothesis.map(|hypothesis| Found::new(hypothesis, None)));
                all.extend_from_slice(found);
                return ControlFlow::Break(done(reading, key, all));
            }
        }
        GO_ON
    }

    /// Whether a key signed something else.
    fn recipes(&mut self, keys: &[Key], found: &[Found], body: &[u8]) -> Step {
        let (readings, id) = (self.readings, submission_id(body));
        for recipe in RECIPES {
            // Without a key in it one is as good as any other.
            let keys = if recipe.has_key() { keys } else { &keys[..keys.len().min(1)] };
            for (key, reading) in keys.iter().flat_map(|key| readings.iter().map(move |r| (key, r)))
            {
                let hypothesis = alone(key.hypothesis, found, Some(recipe.hypothesis));
                if !self.may(body.len(), hypothesis) {
                    continue;
                }
                let parts = Parts { t: reading.t.as_deref(), id: id.as_deref(), body };
                let Some(mac) = made(recipe, key, &parts, reading) else { continue };
                let mut all = defects(reading, mac);
                if reading.t.is_none() {
                    all.push(Found::new(Hypothesis::TMissing, None));
                }
                all.extend(key.hypothesis.map(|hypothesis| Found::new(hypothesis, None)));
                all.push(Found::new(recipe.hypothesis, Some(recipe.what)));
                all.extend_from_slice(found);
                return ControlFlow::Break(done(reading, key, all));
            }
        }
        GO_ON
    }

    /// Whether this many more bytes may be gone through; notes what is left out where not, if it would have
    /// been tried by itself.
    fn may(&mut self, bytes: usize, alone: Option<Hypothesis>) -> bool {
        // A short body costs as much as the calls for it.
        let cost = bytes as u64 + 64;
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(self.left);
        let missed =
            alone.filter(|one| left.is_none() && !self.at_once && !self.left_out.contains(one));
        self.left_out.extend(missed);
        left.is_some()
    }
}

fn done(reading: &Reading, key: &Key, found: Vec<Found>) -> Signed {
    Signed { found, secret: key.name.clone(), t: reading.t.clone() }
}

/// The hypothesis that is tried here by itself; none where it is one of several.
fn alone(
    key: Option<Hypothesis>,
    found: &[Found],
    recipe: Option<Hypothesis>,
) -> Option<Hypothesis> {
    let mut all = key.into_iter().chain(found.iter().map(|found| found.hypothesis)).chain(recipe);
    all.next().filter(|_| all.next().is_none())
}

fn defects(reading: &Reading, mac: &Mac) -> Vec<Found> {
    let all = reading.defects.iter().chain(&mac.defects);
    all.map(|hypothesis| Found::new(*hypothesis, None)).collect()
}

fn is_number(t: &str) -> bool {
    !t.is_empty() && t.bytes().all(|byte| byte.is_ascii_digit()) && t.parse::<u64>().is_ok()
}

/// The MAC of a reading that is the key's over `<t>.<body>`. Where the verifier can judge, it does.
fn signed<'r>(reading: &'r Reading, key: &Key, body: &[u8]) -> Option<&'r Mac> {
    let t = reading.t.as_deref()?;
    let (whole, rest): (Vec<_>, Vec<_>) =
        reading.macs.iter().partition(|mac| mac.bytes.len() == 32 && is_number(t));
    if let Some(secret) = &key.signing {
        let verified = |macs: &[&Mac]| {
            let digits: Vec<_> = macs.iter().map(|mac| hex::encode(&mac.bytes)).collect();
            let header = format!("t={t},v1={}", digits.join(",v1="));
            SignatureHeader::parse(header.as_bytes()).is_ok_and(|header| {
                let now = header.unix_seconds();
                header.verify(body, std::slice::from_ref(secret), now, Duration::ZERO).is_ok()
            })
        };
        for macs in whole.chunks(SIGNATURES_MAX) {
            if verified(macs) {
                return macs.iter().find(|mac| verified(&[mac])).copied();
            }
        }
    }
    let left = if key.signing.is_some() { rest } else { reading.macs.iter().collect() };
    if left.is_empty() {
        return None;
    }
    let digest = key.keyed.mac(&[t.as_bytes(), b".", body]);
    left.into_iter().find(|mac| digest.starts_with(&mac.bytes))
}

/// The MAC of a reading that a recipe made.
fn made<'r>(
    recipe: &Recipe,
    key: &Key,
    parts: &Parts<'_>,
    reading: &'r Reading,
) -> Option<&'r Mac> {
    if reading.macs.is_empty() {
        return None;
    }
    let digest = recipe.digest(key, parts)?;
    reading.macs.iter().find(|mac| digest.starts_with(&mac.bytes))
}

/// Which bodies were tried.
struct Seen {
    state: RandomState,
    hashes: HashSet<u64>,
}

impl Seen {
    fn with(body: &[u8]) -> Self {
        let mut seen = Self { state: RandomState::new(), hashes: HashSet::new() };
        seen.is_new(body);
        seen
    }

    fn is_new(&mut self, body: &[u8]) -> bool {
        self.hashes.insert(self.state.hash_one(body))
    }
}
