//! The child `verify`: what verifying a delivery costs beside the digest that it must compute.

use std::hint::black_box;

use formsvc_receiver::Verifier;
use hmac::{Hmac, KeyInit, Mac};
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::error::BenchError;
use crate::signed::{self, SECRET};
use crate::{child, measure, pin};

/// Of each, in turn.
const BLOCKS: u32 = 40;
const IN_A_BLOCK: u32 = 10_000;

/// CPU nanoseconds of one.
#[derive(Serialize, Deserialize)]
pub(super) struct Costs {
    /// CPU seconds of the process.
    pub(super) cpu: f64,
    pub(super) verify: f64,
    pub(super) digest: f64,
}

pub(crate) fn run() -> Result<(), BenchError> {
    pin::to_core(pin::SERVER)?;
    let (body, header, unix_seconds) = signed::example();
    let verifier = Verifier::new(SECRET).map_err(|why| BenchError::caused("no verifier", &why))?;
    if verifier.verify_signature(&header, &body).is_err() {
        return Err(BenchError::new("a delivery that was signed is not verified"));
    }
    let keyed = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes());
    let keyed = keyed.map_err(|why| BenchError::because("no key", why))?;
    let seconds = unix_seconds.to_string();
    let mut digest = || {
        let mut mac = keyed.clone();
        mac.update(black_box(seconds.as_bytes()));
        mac.update(b".");
        mac.update(black_box(&body));
        let _ = black_box(mac.finalize().into_bytes());
    };
    let mut verify = || {
        let _ = black_box(verifier.verify_signature(black_box(&header), black_box(&body)));
    };
    // Once to have caches and clocks as they will be.
    let (mut in_verify, mut in_digest) = (0.0, 0.0);
    time(&mut verify)?;
    time(&mut digest)?;
    for _ in 0..BLOCKS {
        in_verify += time(&mut verify)?;
        in_digest += time(&mut digest)?;
    }
    let each = |seconds: f64| seconds * 1e9 / f64::from(BLOCKS * IN_A_BLOCK);
    child::print_json(&Costs { cpu: cpu()?, verify: each(in_verify), digest: each(in_digest) })
}

/// CPU seconds of a block.
fn time(work: &mut impl FnMut()) -> Result<f64, BenchError> {
    let before = cpu()?;
    for _ in 0..IN_A_BLOCK {
        work();
    }
    Ok(cpu()? - before)
}

fn cpu() -> Result<f64, BenchError> {
    let usage = getrusage(UsageWho::RUSAGE_SELF);
    let usage = usage.map_err(|why| BenchError::because("cannot read what was used", why))?;
    Ok(measure::cpu_of(&usage))
}
