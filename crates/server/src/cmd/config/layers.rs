//! Where values come from: a flag, else the environment, else the file, else the default.
//!
//! The file's values become the defaults of the command line's definition, so that one parser knows
//! what counts, and commands need not know that there is a file.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::file::{ConfigFile, Entry};
use super::table::{SETTINGS, Setting};
use crate::cmd::error::CommandError;

/// What a command line finds set besides its own flags.
#[derive(Debug, Default)]
pub(in crate::cmd) struct Layers {
    file: Option<ConfigFile>,
    /// What is wrong with settings of the file, which are as good as not set.
    problems: Vec<CommandError>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Environment(&'static str),
    Flag,
}

/// A setting, its values and where they come from.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) setting: &'static Setting,
    /// None when it is not set and has no default.
    pub(super) values: Vec<String>,
    pub(super) origin: Origin,
}

impl Layers {
    /// Reads the file that the arguments or the environment name, if they do.
    pub(in crate::cmd) fn read(command: &Command, args: &[OsString]) -> Result<Self, CommandError> {
        // What else is wrong with the arguments is told when they are read for good.
        let lenient = command.clone().ignore_errors(true).try_get_matches_from(args);
        let named = lenient.ok().and_then(|matches| matches.get_one::<PathBuf>("config").cloned());
        let read = named.map(|path| ConfigFile::read(&path)).transpose()?;
        let (file, problems) =
            read.map_or_else(Default::default, |(file, problems)| (Some(file), problems));
        Ok(Self { file, problems })
    }

    /// Takes what is wrong with settings of the file: no command goes on with it but the one that checks.
    pub(in crate::cmd) fn take_problems(&mut self) -> Vec<CommandError> {
        std::mem::take(&mut self.problems)
    }

    /// The definition of the command line, with what the file sets as defaults.
    pub(in crate::cmd) fn applied(&self, command: Command) -> Command {
        if self.file.is_none() {
            return command;
        }
        command
            .mut_args(|arg| match self.entry(&arg) {
                Some(entry) => arg.required(false).default_values(entry.values.clone()),
                None => arg,
            })
            .mut_subcommands(|command| self.applied(command))
    }

    fn entry(&self, arg: &Arg) -> Option<&Entry> {
        // Not the flags of the same name that are not read from the environment.
        arg.get_env()?;
        let setting = Setting::of_flag(&format!("--{}", arg.get_long()?))?;
        self.file.as_ref()?.entry(setting)
    }

    /// The same error, with where the value that it is about comes from.
    pub(in crate::cmd) fn explain(
        &self,
        error: CommandError,
        matches: &ArgMatches,
    ) -> CommandError {
        let setting = error.flag().and_then(Setting::of_flag);
        let Some(setting) = setting else { return error };
        let matches = deepest(matches);
        match (self.origin(setting, matches), self.file.as_ref()) {
            (Origin::File { .. }, Some(file)) => match file.entry(setting) {
                Some(entry) => {
                    error.renamed(setting.key.unwrap_or_default()).at(&file.place(entry))
                }
                None => error,
            },
            (Origin::Environment(variable), _) => {
                error.hint_unless(|| format!("it comes from the variable `{variable}`"))
            }
            _ => error,
        }
    }

    /// Every setting that a command has.
    pub(super) fn given(&self, matches: &ArgMatches) -> Vec<Given> {
        let settings = SETTINGS.iter().filter(|setting| has(matches, setting));
        settings
            .map(|setting| {
                let raw = matches.try_get_raw(id(setting)).ok().flatten();
                let raw = raw.map(|raw| raw.map(|value| value.to_string_lossy().into_owned()));
                let mut values: Vec<_> = raw.map(Iterator::collect).unwrap_or_default();
                let origin = self.origin(setting, matches);
                if values.is_empty() {
                    values.extend(setting.default.map(str::to_owned));
                }
                Given { setting, values, origin }
            })
            .collect()
    }

    fn origin(&self, setting: &Setting, matches: &ArgMatches) -> Origin {
        if !has(matches, setting) {
            return Origin::Default;
        }
        match matches.value_source(id(setting)) {
            Some(ValueSource::CommandLine) => Origin::Flag,
            Some(ValueSource::EnvVariable) => Origin::Environment(setting.variable),
            _ => match self.file.as_ref().and_then(|file| Some((file, file.entry(setting)?))) {
                Some((file, entry)) => {
                    Origin::File { path: file.path().to_owned(), line: entry.line }
                }
                None => Origin::Default,
            },
        }
    }
}

/// The matches of the command that is run.
pub(in crate::cmd) fn deepest(mut matches: &ArgMatches) -> &ArgMatches {
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    matches
}

/// What the command line's definition calls a setting.
fn id(setting: &Setting) -> &'static str {
    setting.key.unwrap_or("config")
}

fn has(matches: &ArgMatches, setting: &Setting) -> bool {
    matches.try_contains_id(id(setting)).is_ok()
}
