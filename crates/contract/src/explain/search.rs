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
use super::hypothesis::Hypothesis;
use super::json::{self, Document, TooLong, Unreadable};
use super::secret::Key;
use super::signed::{Parts, RECIPES, Recipe};
use super::work::{self, Kind, PAIRS_MAX, WORK_MAX, Work};

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
    work: Work,
    left_out: LeftOut,
    /// Whether two changes are tried at once, after each by itself.
    at_once: bool,
}

/// What was not tried, since it would have been too much work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Not even by itself.
    pub(super) alone: Vec<Hypothesis>,
    /// Whether some were not tried together with others.
    pub(super) pairs: bool,
    /// True if JSON was nested too deeply to be printed in other ways.
    pub(super) too_deep: bool,
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
        Self::bounded(readings, given, instead, body, WORK_MAX)
    }

    /// A search that does so much work at most.
    pub(super) fn bounded(
        readings: &'a [Reading],
        given: &'a [Key],
        instead: &'a [Key],
        body: Given<'a>,
        most: u64,
    ) -> Self {
        let (work, left_out) = (Work::new(most), LeftOut::default());
        Self { readings, given, instead, body, work, left_out, at_once: false }
    }

    /// What was signed, if one hypothesis tells, or two together; and what was not tried, since it would
    /// have been too much work.
    pub(super) fn run(mut self) -> (Option<Signed>, LeftOut) {
        let step = self.search();
        (step.break_value(), self.left_out)
    }

    fn search(&mut self) -> Step {
        // Perhaps the header alone is wrong.
        self.plain(self.given, &[], self.body.body)?;
        self.singles()?;
        self.work.bound(PAIRS_MAX);
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
        let mut seen = Seen::default();
        self.is_new(&mut seen, of.body);
        self.edges(of, &mut |search, found, body| {
            if search.is_new(&mut seen, body) { with(search, found, body) } else { GO_ON }
        })?;
        if !self.may_print(Kind::Read, of.body) {
            return GO_ON;
        }
        let document = match Document::read(of.body) {
            Ok(document) => document,
            Err(Unreadable::NotJson) => return GO_ON,
            Err(Unreadable::TooDeep) => {
                self.left_out.too_deep = true;
                self.leave_out_printing();
                return GO_ON;
            }
        };
        self.numbers(&document, of.body, &mut seen, with)?;
        if !self.may_print(Kind::Styles, of.body) {
            return GO_ON;
        }
        for style in document.styles() {
            let changes = document.changes(&style);
            let alone = match changes[..] {
                [(hypothesis, _)] => Some(hypothesis),
                _ => None,
            };
            if !self.may(style.kind(), of.body.len(), alone) {
                continue;
            }
            let printed = document.printed(style);
            let length = printed.as_ref().map_or_else(|TooLong(length)| *length, String::len);
            self.work.spend(style.kind(), length.saturating_sub(of.body.len()));
            let Ok(printed) = printed else {
                self.leave_out(alone);
                continue;
            };
            if self.is_new(&mut seen, printed.as_bytes()) {
                let found: Vec<_> =
                    changes.into_iter().map(|(what, how)| Found::new(what, how)).collect();
                with(self, &found, printed.as_bytes())?;
            }
        }
        GO_ON
    }

    /// Goes through the document with each of its first numbers in another spelling.
    fn numbers(
        &mut self,
        document: &Document<'_>,
        body: &[u8],
        seen: &mut Seen,
        with: &mut With<'_, Self>,
    ) -> Step {
        if !self.may(Kind::Change, body.len(), Some(Hypothesis::JsonNumbers)) {
            return GO_ON;
        }
        for printed in document.with_other_numbers(NUMBERS_MAX) {
            if self.is_new(seen, printed.as_bytes()) {
                let found =
                    [Found::new(Hypothesis::JsonNumbers, Some("one number with one more zero"))];
                with(self, &found, printed.as_bytes())?;
            }
        }
        GO_ON
    }

    /// Goes through what a body may have been before something changed it that knows no JSON.
    fn edges(&mut self, of: Given<'_>, with: &mut With<'_, Self>) -> Step {
        for (hypothesis, change) in CHANGES {
            if !self.may(Kind::Change, of.body.len(), Some(*hypothesis)) {
                continue;
            }
            work::note(Kind::Change, of.body.len());
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
            for reading in readings.iter().filter(|reading| reading.t.is_some()) {
                if !self.may(Kind::Mac, body.len() * macs(reading, key), hypothesis) {
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
        let readings = self.readings;
        let id = if self.may(Kind::Change, body.len(), None) { submission_id(body) } else { None };
        for recipe in RECIPES {
            // Without a key in it one is as good as any other.
            let keys = if recipe.has_key() { keys } else { &keys[..keys.len().min(1)] };
            for (key, reading) in keys.iter().flat_map(|key| readings.iter().map(move |r| (key, r)))
            {
                let hypothesis = alone(key.hypothesis, found, Some(recipe.hypothesis));
                if !self.may(Kind::Mac, body.len(), hypothesis) {
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

    /// Whether a step may be done; notes what is left out where not, if it would have been tried by itself.
    fn may(&mut self, kind: Kind, bytes: usize, alone: Option<Hypothesis>) -> bool {
        let may = self.work.take(kind, bytes);
        if !may {
            self.leave_out(alone);
        }
        may
    }

    /// As [`Self::may`], for a step that all hypotheses about the printing of JSON rest on.
    fn may_print(&mut self, kind: Kind, body: &[u8]) -> bool {
        let may = self.may(kind, body.len(), None);
        if !may {
            self.leave_out_printing();
        }
        may
    }

    /// Notes that no hypothesis about the printing of JSON was tried.
    fn leave_out_printing(&mut self) {
        for hypothesis in json::OF_PRINTING {
            self.leave_out(Some(hypothesis));
        }
    }

    fn leave_out(&mut self, alone: Option<Hypothesis>) {
        match alone {
            Some(one) if !self.at_once => {
                if !self.left_out.alone.contains(&one) {
                    self.left_out.alone.push(one);
                }
            }
            _ => self.left_out.pairs = true,
        }
    }

    /// Whether a body was not tried before; one that is too much work to remember counts as new.
    fn is_new(&mut self, seen: &mut Seen, body: &[u8]) -> bool {
        !self.work.take(Kind::Seen, body.len()) || seen.is_new(body)
    }
}

/// How often the MAC of a body is made to compare it with those of a reading.
fn macs(reading: &Reading, key: &Key) -> usize {
    if key.signing.is_none() || !reading.t.as_deref().is_some_and(is_number) {
        return 1;
    }
    let whole = reading.macs.iter().filter(|mac| mac.bytes.len() == 32).count();
    whole.div_ceil(SIGNATURES_MAX) + usize::from(whole < reading.macs.len())
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
                work::note(Kind::Mac, body.len());
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
    work::note(Kind::Mac, body.len());
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
    work::note(Kind::Mac, parts.body.len());
    let digest = recipe.digest(key, parts)?;
    reading.macs.iter().find(|mac| digest.starts_with(&mac.bytes))
}

/// Which bodies were tried.
#[derive(Default)]
struct Seen {
    state: RandomState,
    hashes: HashSet<u64>,
}

impl Seen {
    fn is_new(&mut self, body: &[u8]) -> bool {
        work::note(Kind::Seen, body.len());
        self.hashes.insert(self.state.hash_one(body))
    }
}
