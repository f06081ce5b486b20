//! Pages of 100 from SQLite, beside the same server with less to do, and with the plain way to do it.
//!
//! One server thread on one core, the load on another, over 16 connections that are kept. What is
//! gated is requests a second; the server's CPU time per request stands beside it, which others on
//! the machine disturb least.

mod data;
mod reserialise;
pub(crate) mod serve;

use std::time::Duration;

use serde::Deserialize;

use crate::accounting::in_quiet;
use crate::args::{Bench, Variant};
use crate::child::{self, Background};
use crate::error::BenchError;
use crate::export::Directory;
use crate::load::{Expect, Load, Loaded, Requests};
use crate::pin;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;

use data::Prepared;

const BENCHMARK: &str = "pages";
const CONNECTIONS: usize = 16;

/// Which pages are asked for.
#[derive(Clone, Copy, PartialEq)]
enum Ask {
    /// 5 000 places in all forms.
    Anywhere,
    /// The newest page of a form.
    First,
    /// One page from the middle of the same form.
    Deep,
}

/// One thing that is measured.
struct Subject {
    what: &'static str,
    variant: Variant,
    ask: Ask,
    rate: Series,
    cpu: Series,
    loader: Series,
    foreign: Series,
}

const SUBJECTS: [(&str, Variant, Ask); 9] = [
    ("SQLite", Variant::Store, Ask::Anywhere),
    ("constant page", Variant::Constant, Ask::Anywhere),
    ("parse and print again", Variant::Reserialise, Ask::Anywhere),
    ("raw hyper, constant page", Variant::Hyper, Ask::Anywhere),
    ("SQLite, the first page", Variant::Store, Ask::First),
    ("SQLite, a deep page", Variant::Store, Ask::Deep),
    ("constant page, key and rate limit", Variant::ConstantAdmitted, Ask::Anywhere),
    ("SQLite, logging", Variant::StoreLogged, Ask::Anywhere),
    ("constant page, logging", Variant::ConstantLogged, Ask::Anywhere),
];

/// What a server says once it answers.
#[derive(Deserialize)]
struct Listening {
    addr: std::net::SocketAddr,
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    if !pin::two_cores() {
        return Err(BenchError::new("the page server needs two cores, one for the load"));
    }
    let prepared = Prepared::new(Directory::of(bench)?)?;
    let mut subjects = SUBJECTS.map(|(what, variant, ask)| {
        let new = Series::new;
        Subject { what, variant, ask, rate: new(), cpu: new(), loader: new(), foreign: new() }
    });
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            let measured = || {
                let loaded = measure(subject, &prepared, bench)?;
                let foreign = loaded.foreign;
                Ok((loaded, foreign))
            };
            let (loaded, _) = in_quiet(Duration::from_secs(bench.patience), measured)?;
            if round > 0 {
                subject.rate.push(loaded.rate());
                subject.cpu.push(loaded.server_cpu * 1e6 / loaded.requests);
                subject.loader.push(loaded.loader_cpu / loaded.seconds);
                subject.foreign.push(loaded.foreign);
            }
        }
    }
    tell(&subjects, report);
    Ok(())
}

fn measure(subject: &Subject, prepared: &Prepared, bench: &Bench) -> Result<Loaded, BenchError> {
    let mut command = child::this_program()?;
    let variant = clap::ValueEnum::to_possible_value(&subject.variant);
    let variant = variant.expect("no variant is skipped");
    command.arg("serve").arg(variant.get_name()).args(["--core", &pin::SERVER.to_string()]);
    command.arg("--database").arg(prepared.database()).arg("--page").arg(prepared.page());
    if matches!(subject.variant, Variant::StoreLogged | Variant::ConstantLogged) {
        // To a file, as a service manager would have it; overwritten by the next.
        command.stderr(prepared.log()?);
    }
    let mut server = Background::start(&mut command)?;
    let Listening { addr } = server.first_line()?;
    let load = Load {
        addr,
        server: server.pid(),
        helpers: Vec::new(),
        core: pin::CLIENT,
        connections: CONNECTIONS,
        window: bench.window,
        requests: Requests::Texts(prepared.requests(subject.ask)),
        expect: Expect { status: 200, least: 1_000 },
        left: None,
        pace: None,
    };
    child::run(child::this_program()?.arg("load"), &load)
}

fn tell(subjects: &[Subject], report: &mut Report) {
    for subject in subjects {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: subject.what.to_owned(),
            values: vec![
                ("req/s", subject.rate.median()),
                ("CPU us/req", subject.cpu.median()),
                ("loader's core", subject.loader.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    let [store, constant, parse, hyper, first, deep, admitted, logged, constant_logged] = subjects
    else {
        unreachable!("the subjects are those of the table")
    };
    let mut compare = |subject: &Subject, floor: &Subject, goal: Option<Goal>| {
        let what = format!("{} / {}, req/s", subject.what, floor.what);
        report.compared(BENCHMARK, what, (subject.rate.over(&floor.rate), "x"), goal);
        let what = format!("{} / {}, CPU", subject.what, floor.what);
        report.compared(BENCHMARK, what, (subject.cpu.over(&floor.cpu), "x"), None);
    };
    compare(store, constant, Some(Goal::AtLeast(0.16)));
    compare(store, parse, Some(Goal::AtLeast(4.5)));
    compare(deep, first, Some(Goal::AtLeast(1.0 / 1.15)));
    compare(constant, hyper, Some(Goal::AtLeast(0.75)));
    compare(admitted, constant, None);
    compare(logged, store, None);
    compare(constant_logged, hyper, None);
    report.note(format!(
        "{} submissions in {} forms, about 300 bytes and 8 labels each, in a file; a page of 100 has {} \
         bytes; the rate limit counts but never refuses",
        data::FORMS * data::PER_FORM,
        data::FORMS,
        data::PAGE_BYTES_ABOUT
    ));
}
