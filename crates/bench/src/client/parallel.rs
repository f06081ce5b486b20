//! What several walkers save where each request takes long.

use std::num::NonZeroU32;

use super::read::{Reader, Told, Way};
use super::{BENCHMARK, FEW, MANY, far, read};
use crate::args::Bench;
use crate::error::BenchError;
use crate::export::Directory;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;

/// How long each answer takes at least.
const LATENCY: &str = "latency=100ms";
/// Requests a minute that the service takes and the client keeps to: more than the list needs.
const PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("600 is not 0");
const WALKERS: u32 = 16;
/// Fewest requests that can bring the list.
const LEAST: u64 = FEW / 100;

struct Subject {
    what: &'static str,
    walkers: Option<u32>,
    wall: Series,
    requests: Series,
    refused: u64,
    foreign: Series,
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    let dir = Directory::of(bench)?;
    let mut subjects =
        [("one walker", None), ("parallel", Some(WALKERS))].map(|(what, walkers)| {
            let new = Series::new;
            let (wall, requests, refused, foreign) = (new(), new(), 0, new());
            Subject { what, walkers, wall, requests, refused, foreign }
        });
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            // Each has a service, and with it a minute, of its own.
            let service = far(bench, dir.path(), &PER_MINUTE.to_string(), LATENCY)?;
            let reader = Reader {
                walkers: subject.walkers,
                per_minute: Some(PER_MINUTE),
                ..Reader::new(Way::Rows, FEW)
            };
            let (told, foreign) = read(bench, &service, MANY, &reader)?;
            if round > 0 {
                subject.add(&told, foreign);
            }
        }
    }
    tell(&subjects, report);
    Ok(())
}

impl Subject {
    fn add(&mut self, told: &Told, foreign: f64) {
        self.wall.push(told.seconds);
        #[expect(clippy::cast_precision_loss, reason = "some hundred requests")]
        self.requests.push(told.requests as f64);
        self.refused += told.refused;
        self.foreign.push(foreign);
    }
}

fn tell(subjects: &[Subject; 2], report: &mut Report) {
    for subject in subjects {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: format!("{}, 100 ms a request", subject.what),
            values: vec![("s", subject.wall.median()), ("requests", subject.requests.median())],
            foreign: subject.foreign.max(),
        });
    }
    let [one, parallel] = subjects;
    let mut compare = |what: &str, value: f64, unit: &'static str, goal: Goal| {
        report.compared(BENCHMARK, what, (value, unit), Some(goal));
    };
    let faster = one.wall.over(&parallel.wall);
    compare("one walker / parallel, 100 ms a request, time", faster, "x", Goal::AtLeast(8.0));
    #[expect(clippy::cast_precision_loss, reason = "some hundred requests")]
    let most = parallel.requests.max() / LEAST as f64;
    compare("parallel, most requests / fewest possible", most, "x", Goal::AtMost(1.15));
    #[expect(clippy::cast_precision_loss, reason = "some hundred requests")]
    let refused = (one.refused + parallel.refused) as f64;
    compare("429 in all rounds", refused, "", Goal::AtMost(0.0));
    report.note(format!(
        "parallel: {FEW} submissions of a sandbox that waits 100 ms before each answer, by {WALKERS} \
         walkers, in order. The list takes at least {LEAST} requests, as many as the service usually \
         lets through in a minute; here it lets {PER_MINUTE} through, and the client's limiter is set to \
         the same."
    ));
}
