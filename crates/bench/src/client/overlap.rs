//! What asking for the next page before a page is handed on saves a caller who works on pages.

use super::read::{Reader, Way};
use super::{BENCHMARK, FEW, MANY, far, read};
use crate::args::Bench;
use crate::error::BenchError;
use crate::export::Directory;
use crate::export::data::{self, PLAIN, Prepared};
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;

/// What a page takes at the service beyond finding its rows, and what the caller's work on it takes.
const PAGE_MS: u64 = 5;
const LATENCY: &str = "latency=5ms";

/// A caller, without prefetch and with it.
struct Pair {
    what: &'static str,
    form: &'static str,
    reader: Reader,
    goal: Option<Goal>,
    without: Series,
    with: Series,
    foreign: Series,
}

pub(super) fn run(
    bench: &Bench,
    prepared: Prepared,
    report: &mut Report,
) -> Result<(), BenchError> {
    let dir = Directory::of(bench)?;
    let near = prepared.service;
    let far = far(bench, dir.path(), "off", LATENCY)?;
    let far_reader = Reader { work_ms: PAGE_MS, ..Reader::new(Way::Work, FEW) };
    let reader = Reader { core: None, ..Reader::new(Way::Work, data::rows(bench, PLAIN)) };
    let mut pairs = [
        (&far, Pair::new("5 ms a page each", MANY, far_reader, Some(Goal::AtLeast(1.6)))),
        (&near, Pair::new("as fast as they can", PLAIN, reader, None)),
    ];
    for round in 0..=bench.rounds.get() {
        for (service, pair) in &mut pairs {
            for prefetch in [false, true] {
                let reader = Reader { prefetch, ..pair.reader.clone() };
                let (told, foreign) = read(bench, service, pair.form, &reader)?;
                if round > 0 {
                    let series = if prefetch { &mut pair.with } else { &mut pair.without };
                    series.push(told.seconds);
                    pair.foreign.push(foreign);
                }
            }
        }
    }
    for (_, pair) in &pairs {
        pair.tell(report);
    }
    report.note(format!(
        "prefetch: the caller reads all answers of a page as maps. Once the service waits {PAGE_MS} ms \
         before each answer, as one in the same region takes, and the caller is busy with a page for \
         {PAGE_MS} ms in all, on the core that is not the service's; once neither waits, and the client \
         has two threads, on both cores."
    ));
    Ok(())
}

impl Pair {
    fn new(what: &'static str, form: &'static str, reader: Reader, goal: Option<Goal>) -> Self {
        let new = Series::new;
        Self { what, form, reader, goal, without: new(), with: new(), foreign: new() }
    }

    fn tell(&self, report: &mut Report) {
        #[expect(clippy::cast_precision_loss, reason = "a number of rows a benchmark can read")]
        let rows = self.reader.rows as f64;
        for (how, series) in [("page by page", &self.without), ("prefetch", &self.with)] {
            report.measured(Measurement {
                benchmark: BENCHMARK,
                what: format!("{how}, {}", self.what),
                values: vec![("s", series.median()), ("rows/s", rows / series.median())],
                foreign: self.foreign.max(),
            });
        }
        let what = format!("page by page / prefetch, {}, time", self.what);
        report.compared(BENCHMARK, what, (self.without.over(&self.with), "x"), self.goal);
    }
}
