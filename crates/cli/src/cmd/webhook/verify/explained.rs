//! The explanation of a signature that is not right, for people and programs.

use std::borrow::Cow;

use formsvc_contract::explain::{Case, Explanation, Found, HYPOTHESES, Proof, TOO_DEEP, explain};
use secrecy::SecretString;
use serde::Serialize;

use super::judged::Clock;
use super::original::{self, Original};
use super::source::Delivery;
use crate::context::Context;
use crate::error::CliError;
use crate::webhook::secrets::Secrets;

/// Why a signature is not right, or that nobody knows.
pub(super) struct Explained {
    explanation: Explanation,
    /// The delivery as it came, where what was given is not the same.
    original: Option<Original>,
}

/// The same as data.
#[derive(Serialize)]
pub(super) struct Why {
    proof: &'static str,
    found: Vec<Fits>,
    /// The name of the secret that signed.
    secret: Option<String>,
    clues: Vec<&'static str>,
    tried: Vec<&'static str>,
    left_out: Vec<&'static str>,
    /// Whether some were tried by themselves alone.
    pairs_left_out: bool,
    /// True if the body is nested too deeply to try other ways to print it.
    too_deep: bool,
    original: Option<Original>,
}

/// A hypothesis that fits.
#[derive(Serialize)]
struct Fits {
    id: &'static str,
    means: &'static str,
    detail: Option<String>,
    fix: &'static str,
}

impl Explained {
    pub(super) fn of(
        delivery: &Delivery,
        secrets: &Secrets,
        api_key: Option<&SecretString>,
        clock: Clock,
    ) -> Self {
        let headers = delivery.headers.0.iter();
        let explanation = explain(&Case {
            headers: headers.map(|(name, value)| (&**name, &**value)).collect(),
            body: &delivery.body,
            secrets: &secrets.0,
            api_key,
            came: delivery.came,
            now: clock.at,
            tolerance: clock.tolerance(),
        });
        Self { explanation, original: None }
    }

    /// The same, compared with what listeners here received, where it is not proven what happened.
    pub(super) async fn compared(
        mut self,
        cx: &Context,
        delivery: &Delivery,
        secrets: &Secrets,
    ) -> Self {
        if self.explanation.proof != Proof::Signature {
            self.original = original::find(cx, delivery, secrets).await;
        }
        self
    }

    /// The ids of what fits, in one text.
    pub(super) fn ids(&self) -> Option<String> {
        let ids: Vec<_> =
            self.explanation.found.iter().map(|found| found.hypothesis.row().id).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }

    pub(super) fn item(&self) -> Why {
        let Explanation { found, proof, secret, clues, left_out, pairs_left_out, too_deep } =
            &self.explanation;
        let found = found.iter().map(|found| {
            let row = found.hypothesis.row();
            Fits { id: row.id, means: row.means, detail: found.detail.clone(), fix: row.fix }
        });
        let tried = HYPOTHESES.iter().filter(|row| !left_out.contains(&row.hypothesis));
        Why {
            proof: proof.name(),
            found: found.collect(),
            secret: secret.as_deref().map(str::to_owned),
            clues: clues.clone(),
            tried: tried.map(|row| row.id).collect(),
            left_out: left_out.iter().map(|left| left.row().id).collect(),
            pairs_left_out: *pairs_left_out,
            too_deep: *too_deep,
            original: self.original.clone(),
        }
    }

    /// The error with what fits as its causes, and what to do as its hint.
    pub(super) fn tell(&self, error: CliError) -> CliError {
        let Explanation { found, proof, clues, .. } = &self.explanation;
        let error = found.iter().fold(error, |error, found| error.cause(cause(found)));
        let mut hints: Vec<Cow<'_, str>> = Vec::new();
        if let Some(original) = &self.original {
            let error = error.cause(original.told());
            return error.hint(original.fix());
        }
        if *proof == Proof::None {
            let tried = HYPOTHESES.len() - self.explanation.left_out.len();
            hints.push(format!("none of {tried} things that go wrong explains it").into());
        }
        for found in found {
            let fix = found.hypothesis.row().fix;
            if !hints.iter().any(|hint| hint == fix) {
                hints.push(fix.into());
            }
        }
        match proof {
            Proof::Signature => {}
            Proof::Fact => {
                hints.push("more may be wrong besides, which shows once this is right".into());
            }
            Proof::None => hints.extend(clues.iter().map(|clue| Cow::Borrowed(*clue))),
        }
        hints.extend(self.untried().map(Cow::Owned));
        error.hint(hints.join("; "))
    }

    /// The hypotheses that a very long or deeply nested body leaves untried.
    fn untried(&self) -> Option<String> {
        let Explanation { proof, left_out, pairs_left_out, too_deep, .. } = &self.explanation;
        match (proof, left_out.len(), pairs_left_out) {
            (Proof::Signature, ..) | (_, 0, false) => None,
            (_, count, _) if *too_deep => Some(format!(
                "{TOO_DEEP}: {count} more were not tried, which `--json explanation` names"
            )),
            (_, 0, true) => {
                Some("the body is so long that not all pairs of them were tried".to_owned())
            }
            (_, count, _) => Some(format!(
                "the body is so long that {count} more were not tried, which `--json explanation` names"
            )),
        }
    }
}

/// What fits, in a line, with its name.
fn cause(found: &Found) -> String {
    let row = found.hypothesis.row();
    match &found.detail {
        Some(detail) => format!("{} ({detail}) [{}]", row.means, row.id),
        None => format!("{} [{}]", row.means, row.id),
    }
}
