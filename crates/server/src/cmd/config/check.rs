//! `formsvc-server config check`: what `serve` would refuse, and what it would go by.

use std::path::Path;

use clap::builder::Resettable;
use clap::{ArgMatches, Args as _, Command, FromArgMatches};
use serde::Serialize;

use super::file::nearest;
use super::layers::{Given, Layers, Origin};
use super::table::{Kind, SETTINGS, Setting};
use crate::cmd::error::CommandError;
use crate::cmd::exit::Exit;
use crate::cmd::output::{self, OutputArgs};
use crate::cmd::place::Place;
use crate::cmd::table::{Cut, Table};
use crate::cmd::{LogArgs, database, serve};
use crate::printable::Excerpt;
use crate::ready_file;

// No group of its own: the arguments of `serve` are one of the same name.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    serve: serve::Args,
    /// Ask the database as well, without changing it.
    #[arg(long)]
    connect: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(
    args: &Args,
    layers: &Layers,
    in_file: Vec<CommandError>,
    matches: &ArgMatches,
) -> Result<(), CommandError> {
    let shape = args.output.shape()?;
    tell_of_unknown_variables();
    let mut given = layers.given(matches);
    let told = |error: CommandError| layers.explain(error, matches);
    let set = given.iter().filter(|given| given.origin != Origin::Default);
    let is_nameless =
        |given: &Given| given.setting.flag == "--database" && given.origin == Origin::Default;
    let has_database = !given.iter().any(is_nameless);

    let mut values: Vec<_> = set.filter_map(|given| alone(given).err()).collect();
    let judged = args.serve.judge().inspect(|settings| {
        settings.warnings().for_each(|warning| output::note(&format!("warning: {warning}")));
    });
    let judged = judged.err();
    let exit_of_values = values.iter().find(|error| is_of_log(error)).or(judged.as_ref());
    let exit_of_values = exit_of_values.map(CommandError::exit);
    // What a value breaks by itself was told.
    let is_told = |error: &CommandError| values.iter().any(|told| told.flag() == error.flag());
    let of_several = judged.filter(|error| !is_told(error));
    values.extend(of_several);
    let led_to = led_to(args, has_database);

    // The status is that of `serve`, which ends at the first that it meets.
    let exit = in_file.last().map(CommandError::exit);
    let exit = exit.or((!has_database).then_some(Exit::Usage)).or(exit_of_values);
    let exit = exit.or(led_to.first().map(CommandError::exit));
    let mut problems = in_file;
    problems.extend(values.into_iter().chain(led_to).map(told));
    if !has_database {
        problems.push(database::no_database());
    }
    let Some(last) = problems.pop() else {
        for given in given.iter_mut().filter(|given| given.values.is_empty()) {
            given.values.extend(unset(given.setting, args));
        }
        let records: Vec<_> = given.iter().map(Record::of).collect();
        let columns = [("SETTING", Cut::Never), ("VALUE", Cut::End), ("FROM", Cut::Never)];
        return output::list(shape, &records, Table::new(columns), |table, record| {
            table.row([record.setting, &record.value_text(), &record.origin_text()]);
        });
    };
    problems.iter().for_each(CommandError::report);
    let exit = exit.unwrap_or(last.exit());
    Err(last.exiting(exit))
}

/// What `serve` goes by where nothing is set and the default depends.
fn unset(setting: &Setting, args: &Args) -> Option<String> {
    let serve::Args { database, secret_key, .. } = &args.serve;
    match setting.flag {
        "--secret-key-file" => {
            Some(secret_key.default_path(&database.database)?.display().to_string())
        }
        "--log-level" => Some(serve::LOG_LEVEL.to_string()),
        _ => None,
    }
}

/// Whether it is of the log, which is begun before all else.
fn is_of_log(error: &CommandError) -> bool {
    error.flag().is_some_and(|flag| flag.starts_with("--log-"))
}

/// Judges a value by itself, by what reads it for `serve`, so that one problem hides no other.
fn alone(given: &Given) -> Result<(), CommandError> {
    let flag = given.setting.flag;
    let command = serve::Args::augment_args(LogArgs::augment_args(Command::new("serve")));
    let command = command.mut_args(|arg| arg.env(Resettable::Reset).required(false));
    // Whether an address may be listened on is judged together with the consent.
    let mut line = vec!["serve".to_owned(), "--allow-remote".to_owned()];
    match given.setting.kind {
        Kind::Switch => {}
        _ => line.extend(given.values.iter().map(|value| format!("{flag}={value}"))),
    }
    if flag != "--database" {
        line.push("--database=x".to_owned());
    }
    if given.setting.key.is_none() {
        // The file itself, which was read.
        return Ok(());
    }
    let read = command.try_get_matches_from(line).and_then(|matches| {
        Ok((serve::Args::from_arg_matches(&matches)?, LogArgs::from_arg_matches(&matches)?))
    });
    let (serve, log) = read.map_err(|refusal| {
        let text = refusal.to_string();
        let first = text.lines().next().unwrap_or_default();
        CommandError::usage(first.trim_start_matches("error: "))
    })?;
    let judged = serve.judge().map(drop).and_then(|()| log.judge().map(drop));
    judged.map_err(|error| error.of_flag(flag))
}

/// What is wrong with what settings lead to.
fn led_to(args: &Args, has_database: bool) -> Vec<CommandError> {
    let serve::Args { database, secret_key, ready_file, .. } = &args.serve;
    let place = &database.database;
    let of_database = |error: CommandError| error.of_flag("--database");
    let of_key = |error: CommandError| error.of_flag("--secret-key-file");
    let mut problems = Vec::new();
    let mut sealed = Vec::new();
    if has_database {
        let is_there = place.check().map_err(of_database);
        if is_there.is_ok() && args.connect {
            match database::block_on(place.reach()) {
                Ok(Some(found)) => sealed = found,
                Ok(None) => output::note(&format!("{place} is not there yet: `serve` makes it")),
                Err(error) => problems.push(of_database(error)),
            }
        }
        problems.extend(is_there.err());
    }
    let ready = ready_file.as_deref().map_or(Ok(()), check_ready_file);
    problems.extend(ready.err().map(|error| error.of_flag("--ready-file")));
    if !matches!(place, Place::Unread(_)) {
        let key = secret_key.check(place).and_then(|()| secret_key.check_for(place, &sealed));
        problems.extend(key.err().map(of_key));
    }
    problems
}

fn check_ready_file(path: &Path) -> Result<(), CommandError> {
    ready_file::check(path).map_err(|error| CommandError::of(Exit::LocalIo, &error))?;
    directory_of(path)
}

/// Refuses a path in a directory that is not there.
pub(in crate::cmd) fn directory_of(path: &Path) -> Result<(), CommandError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    if directory.is_dir() {
        return Ok(());
    }
    let (path, directory) = (path.display().to_string(), directory.display().to_string());
    let told = format!("`{}`: there is no directory `{}`", Excerpt(&path), Excerpt(&directory));
    Err(CommandError::new(Exit::LocalIo, told))
}

/// What the names of our variables begin with.
const PREFIX: &str = "FORMSVC_SERVER_";

/// A variable with our prefix that nothing reads is most likely mistyped.
fn tell_of_unknown_variables() {
    let ours = |name: &String| name.starts_with(PREFIX);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(ours);
    let known = || SETTINGS.iter().map(|setting| setting.variable);
    for name in names.filter(|name| known().all(|known| known != name)) {
        // The prefix that all have would make any name like any other.
        let ends = known().filter_map(|known| known.strip_prefix(PREFIX));
        let near = nearest(&name[PREFIX.len()..], ends);
        let near = near.map_or(String::new(), |near| format!(": did you mean `{PREFIX}{near}`?"));
        output::note(&format!("warning: nothing reads the variable `{}`{near}", Excerpt(&name)));
    }
}

/// A setting as it is printed.
#[derive(Serialize)]
struct Record {
    setting: &'static str,
    /// A text, or a list of texts; null when it is not set and has no default.
    value: serde_json::Value,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl Record {
    fn of(given: &Given) -> Self {
        let Given { setting, values, origin } = given;
        let Setting { kind, flag, .. } = setting;
        let shown: Vec<_> = values.iter().map(|value| setting.shown(value)).collect();
        let value = match (kind, shown.as_slice()) {
            (Kind::List, all) => serde_json::json!(all),
            (_, []) => serde_json::Value::Null,
            (_, [.., last]) => serde_json::json!(last),
        };
        let (origin, variable, path, line) = match origin {
            Origin::Default => ("default", None, None, None),
            Origin::File { path, line } => {
                ("file", None, Some(path.display().to_string()), Some(*line))
            }
            Origin::Environment(name) => ("environment", Some(*name), None, None),
            Origin::Flag => ("flag", None, None, None),
        };
        let setting = setting.key.unwrap_or(flag.trim_start_matches('-'));
        Self { setting, value, origin, variable, path, line }
    }

    fn value_text(&self) -> String {
        match &self.value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(all) => {
                let all: Vec<_> = all.iter().filter_map(|value| value.as_str()).collect();
                all.join(",")
            }
            _ => String::new(),
        }
    }

    fn origin_text(&self) -> String {
        let mut text = self.origin.to_owned();
        if let Some(variable) = self.variable {
            text.extend([" ", variable]);
        }
        if let (Some(path), Some(line)) = (&self.path, self.line) {
            text.extend([" ", path, " line ", &line.to_string()]);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if it had been given by a flag.
    fn given(setting: &'static Setting, value: &str) -> Given {
        Given { setting, values: vec![value.to_owned()], origin: Origin::Flag }
    }

    #[test]
    fn every_default_of_the_table_is_a_value_that_is_accepted() {
        for setting in SETTINGS {
            if let Some(default) = setting.default {
                alone(&given(setting, default)).unwrap();
            }
        }
    }

    #[test]
    fn a_value_is_judged_by_what_reads_it() {
        let judged = |flag, value| alone(&given(Setting::of_flag(flag).unwrap(), value));
        for (flag, bad) in [
            ("--listen", "localhost:80"),
            ("--port", "70000"),
            ("--rate-limit", "0"),
            ("--retry-base", "1h"),
            ("--trusted-proxy", "10.0.0.0/33"),
            ("--egress-allow", "http://x"),
            ("--egress-ca", "/no/such/file.pem"),
            ("--profile", "staging"),
            ("--log-level", "loud"),
            ("--log-format", "xml"),
            ("--connections-max", "-1"),
        ] {
            let error = judged(flag, bad).unwrap_err();
            assert_eq!(error.flag(), Some(flag), "{error:?}");
        }
        judged("--listen", "0.0.0.0:80").unwrap();
    }
}
