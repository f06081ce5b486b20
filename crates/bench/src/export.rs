//! The CSV export of the `formsvc` binary beside scripts that a user would write, its memory per
//! format, and a sync that finds nothing new.

use std::path::Path;
use std::process::Command;

use crate::cli::Options;
use crate::error::{BenchError, Context};
use crate::peers;
use crate::process::{run_measured, temporary_dir};
use crate::report::{Goal, Report};
use crate::sandbox::Sandbox;

/// Formats of `formsvc submissions export`.
const FORMATS: [&str; 6] = ["csv", "ndjson", "json", "xlsx", "sqlite", "parquet"];
const FORM: &str = "rows";
const PYTHON: &str = "Python requests + csv";
const CURL: &str = "curl + jq";
const DLT: &str = "dlt";
const ROWS_PER_SECOND: &str = "rows/s";
const SYNC: &str = "formsvc sync, nothing new";

pub(crate) fn run(options: &Options) -> Result<Report, BenchError> {
    let mut report = Report::new("export");
    let dir = temporary_dir(options)?;
    let rows = options.rows.get();
    let sandbox = Sandbox::start(options, dir.path(), &[(FORM, rows.into())])?;
    let mut subjects = Vec::new();
    for format in FORMATS {
        let out = dir.path().join(format!("rows.{format}"));
        subjects.push((format!("formsvc, {format}"), formsvc(&sandbox, format, &out)));
    }
    for (peer, script) in peers(options, &mut report) {
        subjects.push((peer.to_owned(), peer_command(&sandbox, script, options, dir.path())?));
    }
    let sync = sync(&sandbox, dir.path())?;
    // Stores all rows, so that the measured runs find nothing new.
    run_measured(&sync)?;
    for _ in 0..options.rounds.get() {
        report.add(SYNC, "ms", run_measured(&sync)?.seconds * 1_000.0);
        for (subject, command) in &subjects {
            let resources = run_measured(command)?;
            report.add(subject, ROWS_PER_SECOND, f64::from(rows) / resources.seconds);
            report.add(subject, "CPU s", resources.cpu_seconds);
            report.add(subject, "peak MiB", resources.peak_mib);
        }
    }
    for (peer, goal) in [(PYTHON, 3.0), (CURL, 50.0), (DLT, 15.0)] {
        report.compare("formsvc, csv", peer, ROWS_PER_SECOND, Some(Goal::AtLeast(goal)));
    }
    report.note("peak MiB of a script with several processes is that of the largest one");
    Ok(report)
}

/// Returns the installed peers with their scripts; notes the missing ones.
fn peers(options: &Options, report: &mut Report) -> Vec<(&'static str, Command)> {
    let mut bash = Command::new("bash");
    bash.arg(peers::script("export_curl_jq.sh"));
    let curl_is_ready = ["bash", "curl", "jq"].into_iter().all(peers::is_installed);
    let candidates = [
        (
            PYTHON,
            peers::python_can_import(options, "requests"),
            peers::python(options, "export_csv.py"),
        ),
        (CURL, curl_is_ready, bash),
        (DLT, peers::python_can_import(options, "dlt"), peers::python(options, "export_dlt.py")),
    ];
    let mut found = Vec::new();
    for (name, is_ready, command) in candidates {
        if is_ready {
            found.push((name, command));
        } else {
            report.note(format!("{name}: not measured, not installed"));
        }
    }
    found
}

fn formsvc(sandbox: &Sandbox, format: &str, out: &Path) -> Command {
    let mut command = Command::new(&sandbox.formsvc);
    command.args(["--quiet", "--max-rate", "off", "submissions", "export", "--format", format]);
    command.arg("--out").arg(out).arg(FORM);
    sandbox.authorize(&mut command);
    command
}

fn sync(sandbox: &Sandbox, dir: &Path) -> Result<Command, BenchError> {
    let mut command = Command::new(&sandbox.formsvc);
    command.args(["--quiet", "--max-rate", "off", "submissions", "sync", sandbox.form_id(FORM)?]);
    command.arg("--to").arg(format!("sqlite:{}", dir.join("sync.db").display()));
    sandbox.authorize(&mut command);
    Ok(command)
}

fn peer_command(
    sandbox: &Sandbox,
    mut command: Command,
    options: &Options,
    dir: &Path,
) -> Result<Command, BenchError> {
    let out = dir.join("peer");
    std::fs::create_dir_all(&out).context(format_args!("cannot create `{}`", out.display()))?;
    command.arg(sandbox.form_id(FORM)?).arg(options.rows.to_string()).arg(out);
    sandbox.authorize(&mut command);
    Ok(command)
}
