//! Verification of a signed body of 1 KiB beside the HMAC digest that it must compute.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::cli::Options;
use crate::delivery::{Signer, body, unix_seconds};
use crate::error::{BenchError, Context};
use crate::receive;
use crate::report::{Goal, Report};

/// Blocks per round, alternating between the two.
const BLOCKS: u32 = 20;
const CALLS_PER_BLOCK: u32 = 5_000;

const VERIFY: &str = "formsvc-receiver, verify 1 KiB";
const DIGEST: &str = "bare HMAC-SHA256 of 1 KiB";

pub(crate) fn run(options: &Options) -> Result<Report, BenchError> {
    let mut report = Report::new("verify");
    let (signer, verifier) = (Signer::new(), receive::verifier()?);
    let (body, seconds) = (body(0), unix_seconds());
    for _ in 0..options.rounds.get() {
        // Signed again in each round: verification refuses old signatures.
        let header = signer.header(&body);
        verifier
            .verify_signature(header.as_bytes(), &body)
            .context("a valid signature was refused")?;
        let (mut verify, mut digest) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..BLOCKS {
            verify += time(|| {
                let _ = black_box(
                    verifier.verify_signature(black_box(header.as_bytes()), black_box(&body)),
                );
            });
            digest += time(|| {
                black_box(signer.digest(black_box(&seconds), black_box(&body)));
            });
        }
        let nanoseconds =
            |total: Duration| total.as_secs_f64() * 1e9 / f64::from(BLOCKS * CALLS_PER_BLOCK);
        report.add(VERIFY, "ns", nanoseconds(verify));
        report.add(DIGEST, "ns", nanoseconds(digest));
    }
    report.compare(VERIFY, DIGEST, "ns", Some(Goal::AtMost(1.25)));
    Ok(report)
}

fn time(mut call: impl FnMut()) -> Duration {
    let since = Instant::now();
    for _ in 0..CALLS_PER_BLOCK {
        call();
    }
    since.elapsed()
}
