//! What it costs to have a million submissions yielded, beside a client that reads the same bodies with
//! the same settings of HTTP and drops them.

use std::time::Duration;

use super::read::{Reader, Way};
use super::{BENCHMARK, read};
use crate::accounting::{Watch, in_quiet};
use crate::args::Bench;
use crate::child;
use crate::error::BenchError;
use crate::export::data::{self, BIG, PLAIN, Prepared};
use crate::measure::Used;
use crate::pin;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;

/// What reads: the floor, or the client in a way.
const READERS: [(&str, Option<Way>); 4] = [
    ("read and drop", None),
    ("items", Some(Way::Items)),
    ("borrowed rows", Some(Way::Rows)),
    ("items, answers as maps", Some(Way::Maps)),
];

struct Subject {
    what: String,
    form: &'static str,
    way: Option<Way>,
    cpu: Series,
    wall: Series,
    foreign: Series,
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<Prepared, BenchError> {
    let prepared = Prepared::new(bench)?;
    let mut subjects = Vec::new();
    for form in [PLAIN, BIG] {
        for (what, way) in READERS {
            let (what, new) = (format!("{what}, `{form}`"), Series::new);
            subjects.push(Subject { what, form, way, cpu: new(), wall: new(), foreign: new() });
        }
    }
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            let (cpu, wall, foreign) = measure(subject, &prepared, bench)?;
            if round > 0 {
                subject.cpu.push(cpu);
                subject.wall.push(wall);
                subject.foreign.push(foreign);
            }
        }
    }
    tell(&subjects, bench, report);
    Ok(prepared)
}

/// CPU and wall time in seconds, and cores that others kept busy.
fn measure(
    subject: &Subject,
    prepared: &Prepared,
    bench: &Bench,
) -> Result<(f64, f64, f64), BenchError> {
    if let Some(way) = subject.way {
        let reader = Reader::new(way, data::rows(bench, subject.form));
        let (told, foreign) = read(bench, &prepared.service, subject.form, &reader)?;
        return Ok((told.cpu, told.seconds, foreign));
    }
    let patience = Duration::from_secs(bench.patience);
    let (used, foreign) = in_quiet(patience, || drain(prepared, subject.form))?;
    Ok((used.cpu, used.wall, foreign))
}

fn drain(prepared: &Prepared, form: &str) -> Result<(Used, f64), BenchError> {
    let service = &prepared.service;
    let this = std::env::current_exe().map_err(|why| BenchError::io("myself", why))?;
    let form = service.form_id(form)?;
    let program = [this.as_os_str(), "drain".as_ref(), service.base_url().as_ref(), form.as_ref()];
    let mut command = child::measured(pin::CLIENT, program)?;
    service.credentials(&mut command);
    let (watch, before) = (Watch::start(), service.cpu()?);
    let used: Used = child::run(&mut command, &())?;
    let ours = used.cpu + (service.cpu()? - before);
    Ok((used, watch.foreign(ours)))
}

fn tell(subjects: &[Subject], bench: &Bench, report: &mut Report) {
    for subject in subjects {
        #[expect(clippy::cast_precision_loss, reason = "a number of rows a benchmark can read")]
        let rows = data::rows(bench, subject.form) as f64;
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: subject.what.clone(),
            values: vec![
                ("CPU s/1M", subject.cpu.median() * 1e6 / rows),
                ("rows/s", rows / subject.wall.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    for of_a_form in subjects.chunks(READERS.len()) {
        let [floor, items, rows, maps] = of_a_form else {
            unreachable!("each form is read by all that read")
        };
        let goals = [(items, Some(5.0)), (rows, Some(2.8)), (maps, None)];
        for (subject, most) in goals {
            let what = format!("{} / {}, CPU", subject.what, floor.what);
            let ratio = subject.cpu.over(&floor.cpu);
            report.compared(BENCHMARK, what, (ratio, "x"), most.map(Goal::AtMost));
        }
    }
    report.note(format!(
        "`{PLAIN}` and `{BIG}` are forms of {} submissions, of about 380 bytes on a page; `{BIG}` has \
         an answer of 1 MiB in every 10 000. Of a borrowed row its id, time and answers, as a whole and \
         one by one, are looked at.",
        data::rows(bench, BIG),
    ));
}
