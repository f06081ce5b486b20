//! The explanation of a signature that does not match, as text and as data.

use std::borrow::Cow;

use formsvc_contract::explain::{CAUSES, ExplainRequest, Explanation, Found, Proof, explain};
use secrecy::SecretString;
use serde::Serialize;

use super::judged::Clock;
use super::original::{self, Original};
use super::source::Delivery;
use crate::context::Context;
use crate::error::CliError;
use crate::webhook::secrets::Secrets;

/// Why a signature does not match.
pub(super) struct Explained {
    explanation: Explanation,
    /// The delivery as a listener received it, if it differs from the given one.
    original: Option<Original>,
}

/// The same as data.
#[derive(Serialize)]
pub(super) struct ExplanationData {
    proof: &'static str,
    found: Vec<FoundData>,
    /// The name of the secret that signed.
    secret: Option<String>,
    clues: Vec<&'static str>,
    tried: Vec<&'static str>,
    left_out: Vec<&'static str>,
    original: Option<Original>,
}

/// A cause that applies.
#[derive(Serialize)]
struct FoundData {
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
        let explanation = explain(&ExplainRequest {
            headers: headers.map(|(name, value)| (&**name, &**value)).collect(),
            body: &delivery.body,
            secrets: &secrets.0,
            api_key,
            now: clock.at,
            tolerance: clock.tolerance(),
        });
        Self { explanation, original: None }
    }

    /// Adds the delivery that a listener here received, if no cause is proven.
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

    /// The ids of the causes, in one text.
    pub(super) fn ids(&self) -> Option<String> {
        let ids: Vec<_> = self.explanation.found.iter().map(|found| found.cause.row().id).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }

    pub(super) fn item(&self) -> ExplanationData {
        let Explanation { found, proof, secret, clues, untried, limit } = &self.explanation;
        let found = found.iter().map(|found| {
            let row = found.cause.row();
            FoundData { id: row.id, means: row.means, detail: found.detail.clone(), fix: row.fix }
        });
        let tried = CAUSES.iter().filter(|row| !untried.contains(&row.cause));
        ExplanationData {
            proof: proof.name(),
            found: found.collect(),
            secret: secret.as_deref().map(str::to_owned),
            clues: limit.iter().chain(clues).copied().collect(),
            tried: tried.map(|row| row.id).collect(),
            left_out: untried.iter().map(|cause| cause.row().id).collect(),
            original: self.original.clone(),
        }
    }

    /// Adds the causes to an error, and as its hint what to do.
    pub(super) fn explain_error(&self, error: CliError) -> CliError {
        let Explanation { found, proof, clues, untried, limit, .. } = &self.explanation;
        let error = found.iter().fold(error, |error, found| error.cause(cause(found)));
        let mut hints: Vec<Cow<'_, str>> = Vec::new();
        if let Some(original) = &self.original {
            let error = error.cause(original.told());
            return error.hint(original.fix());
        }
        if *proof == Proof::None {
            let tried = CAUSES.len() - untried.len();
            hints.push(format!("none of {tried} common causes applies").into());
        }
        for found in found {
            let fix = found.cause.row().fix;
            if !hints.iter().any(|hint| hint == fix) {
                hints.push(fix.into());
            }
        }
        match proof {
            Proof::Signature => {}
            Proof::Fact => hints.push("verify again afterwards: there may be other causes".into()),
            Proof::None => hints.extend(clues.iter().map(|clue| Cow::Borrowed(*clue))),
        }
        if let Some(limit) = limit {
            hints.push(format!("{limit}: `--json explanation` lists the causes left out").into());
        }
        error.hint(hints.join("; "))
    }
}

/// A cause in a line, with its id.
fn cause(found: &Found) -> String {
    let row = found.cause.row();
    match &found.detail {
        Some(detail) => format!("{} ({detail}) [{}]", row.means, row.id),
        None => format!("{} [{}]", row.means, row.id),
    }
}
