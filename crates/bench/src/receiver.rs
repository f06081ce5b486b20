//! A receiver with a durable SQLite inbox beside receivers with Express and FastAPI, which use the
//! `stripe` packages for the same signature scheme and remember handled submissions in memory.

use std::process::Command;

use http::StatusCode;

use crate::cli::Options;
use crate::delivery::{BODY_LEN, REPEAT_EVERY, SECRET, Signer};
use crate::error::BenchError;
use crate::load::{CONNECTIONS, Load};
use crate::peers;
use crate::process::{ServerProcess, temporary_dir, this_program};
use crate::report::{Goal, Report};

const FORMSVC: &str = "formsvc-receiver, SQLite inbox";
const EXPRESS: &str = "Express + stripe";
const FASTAPI: &str = "FastAPI + stripe";
const UNIT: &str = "deliveries/s";

pub(crate) fn run(options: &Options) -> Result<Report, BenchError> {
    let mut report = Report::new("receiver");
    let mut subjects = vec![FORMSVC];
    if peers::node_is_ready(options) {
        subjects.push(EXPRESS);
    } else {
        report.note(format!(
            "{EXPRESS}: not measured; `--node DIR` needs `npm install express stripe` in DIR"
        ));
    }
    if peers::python_can_import(options, "fastapi, uvicorn, stripe") {
        subjects.push(FASTAPI);
    } else {
        report.note(format!(
            "{FASTAPI}: not measured; `--python PATH` needs `pip install fastapi uvicorn stripe`"
        ));
    }
    for _ in 0..options.rounds.get() {
        for subject in &subjects {
            measure(subject, options, &mut report)?;
        }
    }
    report.compare(FORMSVC, EXPRESS, UNIT, Some(Goal::AtLeast(5.0)));
    report.compare(FORMSVC, FASTAPI, UNIT, Some(Goal::AtLeast(8.0)));
    report.note(format!(
        "{CONNECTIONS} connections, bodies of {BODY_LEN} bytes, one delivery in {REPEAT_EVERY} is a repetition; \
         only formsvc-receiver is durable before it answers"
    ));
    Ok(report)
}

fn measure(subject: &str, options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let dir = temporary_dir(options)?;
    let mut command = match subject {
        EXPRESS => {
            let mut command = Command::new("node");
            command.arg(peers::script("express_stripe.mjs")).current_dir(&options.node);
            command
        }
        FASTAPI => peers::python(options, "fastapi_stripe.py"),
        _ => {
            let mut command = this_program()?;
            command.arg("receive").arg(dir.path().join("inbox.db"));
            command
        }
    };
    command.env("WEBHOOK_SECRET", SECRET).env("NODE_ENV", "production");
    let mut server = ServerProcess::start(&mut command)?;
    let signer = Signer::new();
    let load = Load {
        addr: server.listening()?.addr,
        seconds: options.seconds.get(),
        expected: StatusCode::OK,
        make_request: Box::new(move |number| signer.request(number)),
    };
    load.run()?.add_to(report, subject, UNIT);
    Ok(())
}
