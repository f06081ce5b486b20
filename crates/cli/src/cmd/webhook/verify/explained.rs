//! The explanation of a signature that is not right, for people and programs.

use formsvc_client::SecretString;
use formsvc_contract::explain::{Case, Explanation, Found, HYPOTHESES, Proof, explain};
use serde::Serialize;

use super::judged::Clock;
use super::source::Delivery;
use crate::error::CliError;
use crate::webhook::secrets::Secrets;

/// Why a signature is not right, or that nobody knows.
pub(super) struct Explained(Explanation);

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
        Self(explain(&Case {
            headers: headers.map(|(name, value)| (&**name, &**value)).collect(),
            body: &delivery.body,
            secrets: &secrets.0,
            api_key,
            came: delivery.came,
            now: clock.at,
            tolerance: clock.tolerance(),
        }))
    }

    /// The ids of what fits, in one text.
    pub(super) fn ids(&self) -> Option<String> {
        let ids: Vec<_> = self.0.found.iter().map(|found| found.hypothesis.row().id).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }

    pub(super) fn item(&self) -> Why {
        let Explanation { found, proof, secret, clues, left_out } = &self.0;
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
        }
    }

    /// The error with what fits as its causes, and what to do as its hint.
    pub(super) fn tell(&self, error: CliError) -> CliError {
        let Explanation { found, proof, clues, left_out, .. } = &self.0;
        if *proof == Proof::None {
            let tried = HYPOTHESES.len() - left_out.len();
            let error = error.cause(format!("none of {tried} hypotheses explains it"));
            let error = match left_out.len() {
                0 => error,
                count => {
                    error.cause(format!("{count} more were left out, since the body is so long"))
                }
            };
            return error.hint(clues.join("; "));
        }
        let error = found.iter().fold(error, |error, found| error.cause(cause(found)));
        let error = match proof {
            Proof::Fact => error.cause("put right, it may still be wrong in another way"),
            _ => error,
        };
        let mut fixes: Vec<&str> = Vec::new();
        for found in found {
            let fix = found.hypothesis.row().fix;
            if !fixes.contains(&fix) {
                fixes.push(fix);
            }
        }
        error.hint(fixes.join("; "))
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
