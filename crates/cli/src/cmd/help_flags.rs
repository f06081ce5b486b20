//! The flags that the help of a command shows, and the global flags that a command refuses.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use crate::base::env::ENV_VARS;
use crate::error::CliError;
use crate::settings::args::{DATA, Given};
use crate::settings::config::keys;

/// The flags that `-h` shows of commands with many flags. `--help` shows all.
const EVERYDAY: &[(&str, &str)] = &[
    ("webhook listen", "port sandbox forward-to count expect ui"),
    ("webhook replay", "last status since to set export"),
    ("webhook trigger", "file from-submission event set count simulate-sender dry-run"),
    ("webhook verify", "explain capture http-dump header ignore-age secret-file"),
    ("webhook check", "only list junit header secret-file"),
    ("webhook events export", "as out last status event since"),
    ("webhook events tail", "last count max-time status verdict event"),
    ("submissions export", "all out since until limit format columns where from dry-run"),
    ("contract check", "form only junit max-time deliveries spend-quota"),
    ("sandbox", "port ready-file generate database webhook fault submit-every"),
];

/// The global flags that name the service and the key, and those of requests.
const SERVICE: &[&str] = &["--base-url", "--api-key-stdin", "--api-key-file"];
const NETWORK: &[&str] = &["--timeout", "--max-wait", "--cacert", "--allow-http", "--max-rate"];

/// Hints for commands that refuse a flag of data: the beginning of the command's name, and the hint.
const INSTEAD_OF_DATA: &[(&str, &str)] = &[
    ("api", "select from the response with `--jq`"),
    ("auth", "`formsvc auth status` shows the account as data"),
    ("config", "`formsvc config list` shows settings as data"),
    ("sandbox", "`--ready-file` writes the address and the key as JSON"),
    (
        "submissions export",
        "the format is `--format`; `formsvc submissions list` shows fields and takes jq",
    ),
    ("webhook events export", "the format is `--as`; `events show` takes fields and jq"),
    ("webhook listen", "`--output ndjson` prints all fields, and `--jq` selects from them"),
];

/// Describes the flags of settings. Hides rare flags in short help, and the global flags that a command refuses in
/// all help.
pub(super) fn arrange(root: Command) -> Command {
    let root = root.mut_args(|arg| match of_variable(&arg) {
        Some(help) if arg.get_help().is_none() => arg.help(help),
        _ => arg,
    });
    let globals: Vec<Arg> =
        root.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    root.mut_subcommands(|command| {
        let path = vec![command.get_name().to_owned()];
        arrange_below(command, &path, &globals)
    })
}

/// Returns the description of the variable of a flag, with the default of the setting of this name.
fn of_variable(arg: &Arg) -> Option<String> {
    let flag = format!("--{}", arg.get_long()?);
    let variable = ENV_VARS.iter().find(|variable| variable.flag == Some(&flag))?;
    let default = keys::find(arg.get_id().as_str()).and_then(|setting| setting.default);
    let default = default.map_or_else(String::new, |default| format!(" [default: {default}]"));
    Some(format!("{} [env: {}]{default}", variable.about, variable.name))
}

fn arrange_below(command: Command, path: &[String], globals: &[Arg]) -> Command {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    // A definition in the subcommand replaces the one of the root.
    let refused = globals.iter().filter(|arg| is_refused(&words, &long(arg)));
    let everyday = EVERYDAY.iter().find(|(name, _)| *name == words.join(" "));
    let command = command.mut_args(|arg| match (everyday, arg.get_long()) {
        (Some((_, shown)), Some(long)) => {
            let is_rare = !shown.split(' ').any(|flag| flag == long);
            arg.hide_short_help(is_rare)
        }
        _ => arg,
    });
    let command = command.args(refused.map(|arg| arg.clone().hide(true)));
    command.mut_subcommands(|command| {
        let path = [path, &[command.get_name().to_owned()]].concat();
        arrange_below(command, &path, globals)
    })
}

/// Returns the flag as it is typed.
fn long(arg: &Arg) -> String {
    format!("--{}", arg.get_long().unwrap_or_default())
}

/// Returns true if a command refuses a global flag, because it would have no effect. Completion scripts, manual
/// pages and help texts also hide the flags of messages.
fn is_refused(command: &[&str], flag: &str) -> bool {
    let [service, network, data] = [SERVICE, NETWORK, DATA].map(|flags| flags.contains(&flag));
    let (demo, requests) = (flag == "--demo", service || network);
    // The flags of a command that neither sends requests nor has a profile.
    let local = requests || demo || flag == "--profile";
    match command {
        ["completion" | "man" | "help"] => flag != "--color",
        ["sandbox"] | ["auth", "use"] | ["config", "path"] | [_, "exports", "clean"] => {
            local || data
        }
        ["contract", "list"] | ["submissions", "exports" | "sync", "list" | "status"] => local,
        ["auth", "list"] => demo || requests,
        ["auth", "login"] => demo || data,
        ["auth", "logout" | "token"] => demo || network || data,
        ["auth", "doctor"] => demo,
        ["submissions", "export"] | ["config", "get" | "set" | "unset"] => data,
        ["webhook", "events" | "secret", "add" | "export" | "open" | "remove"] => requests || data,
        ["webhook", "events" | "secret", _] => requests,
        ["api"] | ["webhook", "listen"] => flag == "--json",
        _ => false,
    }
}

/// Returns an error if a global flag is given that its command refuses.
pub(crate) fn check(matches: &ArgMatches) -> Result<(), CliError> {
    let (mut words, mut at) = (Vec::new(), matches);
    while let Some((name, below)) = at.subcommand() {
        words.push(name);
        at = below;
    }
    let is_given = |flag: &str| {
        let id = flag.trim_start_matches('-').replace('-', "_");
        matches.value_source(&id) == Some(ValueSource::CommandLine)
    };
    let flags = [SERVICE, NETWORK, DATA, &["--demo", "--profile"]].concat();
    let refused = flags.into_iter().find(|flag| is_given(flag) && is_refused(&words, flag));
    let Some(flag) = refused else { return Ok(()) };
    let name = words.join(" ");
    let instead = INSTEAD_OF_DATA.iter().find(|(start, _)| name.starts_with(start));
    Err(does_not_take(flag).hint(match instead.filter(|_| DATA.contains(&flag)) {
        Some((_, instead)) => (*instead).to_owned(),
        None => format!("see `formsvc {name} --help`"),
    }))
}

/// Returns an error if a flag of data is among the given ones.
pub(crate) fn refuse_data(given: &Given, hint: &str) -> Result<(), CliError> {
    let refused = given.iter().find(|(flag, _)| DATA.contains(&&**flag));
    refused.map_or(Ok(()), |(flag, _)| Err(does_not_take(flag).hint(hint)))
}

fn does_not_take(flag: &str) -> CliError {
    CliError::usage(format!("this command does not take `{flag}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd;
    use crate::settings::config::keys::SETTINGS;

    /// Calls a function for each command with its words.
    fn walk(command: &Command, path: &[&str], visit: &mut impl FnMut(&Command, &[&str])) {
        for command in command.get_subcommands() {
            let path = [path, &[command.get_name()]].concat();
            visit(command, &path);
            walk(command, &path, visit);
        }
    }

    #[test]
    fn flag_of_a_setting_has_its_description() {
        let root = cmd::command();
        let help = |arg: &Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
        for setting in SETTINGS.iter().filter(|setting| setting.name != "pager") {
            let (Some(flag), Some(variable)) = (setting.flag, setting.variable) else { continue };
            let mut flags =
                root.get_arguments().filter(|arg| flag[2..] == *arg.get_long().unwrap());
            let default = setting.default.map(|default| format!(" [default: {default}]"));
            let default = default.unwrap_or_default();
            let expected = format!("{} [env: {}]{default}", setting.about, variable.name);
            assert_eq!(help(flags.next().unwrap()), expected);
        }
        let is_described = |arg: &Arg| help(arg).starts_with(char::is_uppercase);
        let wrong = root.get_arguments().filter(|arg| !is_described(arg)).map(Arg::get_id);
        assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn short_help_has_at_most_fifty_lines() {
        let mut root = cmd::command().term_width(100);
        root.build();
        let mut long = Vec::new();
        walk(&root, &[], &mut |command, path| {
            let lines = command.clone().render_help().to_string().lines().count();
            if lines > 50 {
                long.push((lines, path.join(" ")));
            }
        });
        assert_eq!(long, []);
        for (name, flags) in EVERYDAY {
            let mut known = Vec::new();
            walk(&root, &[], &mut |command, path| {
                if path.join(" ") == *name {
                    known.extend(
                        command.get_arguments().filter_map(Arg::get_long).map(str::to_owned),
                    );
                }
            });
            for flag in flags.split(' ') {
                assert!(known.iter().any(|known| known == flag), "{name}: {flag}");
            }
        }
    }

    #[test]
    fn refused_flag_is_in_no_help() {
        let mut root = cmd::command();
        root.build();
        let mut wrong = Vec::new();
        walk(&root, &[], &mut |command, path| {
            let help = command.clone().render_long_help().to_string();
            for flag in [SERVICE, NETWORK, DATA, &["--demo", "--profile", "--color"]].concat() {
                let first =
                    |line: &str| line.trim_start().split([' ', '[']).next().map(str::to_owned);
                let is_shown = help.lines().any(|line| first(line).as_deref() == Some(flag));
                if is_shown == is_refused(path, flag) {
                    wrong.push(format!("{} {flag}", path.join(" ")));
                }
            }
            let has_fields = !cmd::fields(path).is_empty() || command.has_subcommands();
            if has_fields == is_refused(path, "--json") {
                wrong.push(format!("{}: fields", path.join(" ")));
            }
        });
        assert_eq!(wrong, [""; 0]);
    }
}
