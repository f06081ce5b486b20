//! Paging and decoding with the client beside Python's `requests` and `json`, and the client's memory at
//! two sizes.

use std::process::Command;

use crate::cli::Options;
use crate::error::BenchError;
use crate::peers;
use crate::process::{run_measured, temporary_dir, this_program};
use crate::report::{Goal, Report};
use crate::sandbox::Sandbox;

const PYTHON: &str = "Python requests + json";
const ROWS_PER_SECOND: &str = "rows/s";
const PEAK: &str = "peak MiB";

pub(crate) fn run(options: &Options) -> Result<Report, BenchError> {
    let mut report = Report::new("client");
    let dir = temporary_dir(options)?;
    let rows = u64::from(options.rows.get());
    let forms = [("rows", rows), ("few", rows.div_ceil(2)), ("many", rows * 5)];
    let sandbox = Sandbox::start(options, dir.path(), &forms)?;
    let has_python = peers::python_can_import(options, "requests");
    let [formsvc, few, many] = forms.map(|(_, rows)| format!("formsvc-client, {rows} rows"));
    for _ in 0..options.rounds.get() {
        for ((form, rows), subject) in forms.into_iter().zip([&formsvc, &few, &many]) {
            let mut command = this_program()?;
            command.arg("read-rows");
            measure(subject, command, &sandbox, (form, rows), &mut report)?;
        }
        if has_python {
            let command = peers::python(options, "read_rows.py");
            measure(PYTHON, command, &sandbox, forms[0], &mut report)?;
        }
    }
    report.compare(&formsvc, PYTHON, ROWS_PER_SECOND, Some(Goal::AtLeast(8.0)));
    report.compare(&many, &few, PEAK, Some(Goal::AtMost(1.1)));
    if !has_python {
        report
            .note(format!("{PYTHON}: not measured; `--python PATH` needs `pip install requests`"));
    }
    report.note("both decode every answer; the service is on the other core and may be the limit");
    Ok(report)
}

fn measure(
    subject: &str,
    mut command: Command,
    sandbox: &Sandbox,
    (form, rows): (&str, u64),
    report: &mut Report,
) -> Result<(), BenchError> {
    command.arg(sandbox.form_id(form)?).arg(rows.to_string());
    sandbox.authorize(&mut command);
    let resources = run_measured(&command)?;
    #[expect(clippy::cast_precision_loss, reason = "a number of rows fits in 52 bits")]
    let per_second = rows as f64 / resources.seconds;
    report.add(subject, ROWS_PER_SECOND, per_second);
    report.add(subject, "CPU s", resources.cpu_seconds);
    report.add(subject, PEAK, resources.peak_mib);
    Ok(())
}
