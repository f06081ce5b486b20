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

/// Hints for commands that refuse a flag of data: the name of the command, and the hint.
const INSTEAD_OF_DATA: &[(&str, &str)] = &[
    ("api", "select from the response with `--jq`"),
    ("sandbox", "`--ready-file` writes the address and the key as JSON"),
    ("submissions export", "the format is `--format`; `submissions list` takes fields and jq"),
    ("webhook events export", "the format is `--as`; `events show` takes fields and jq"),
    ("webhook listen", "`--output ndjson` prints all fields, and `--jq` selects from them"),
];

/// Describes the flags of settings. Hides rare flags in short help, and in all help the global flags that have no
/// effect.
pub(super) fn arrange(root: Command) -> Command {
    let root = root.mut_args(|arg| match of_variable(&arg) {
        Some(help) if arg.get_help().is_none() => arg.help(help),
        _ => arg,
    });
    let globals: Vec<Arg> =
        root.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    root.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        arrange_below(command, &name, &globals)
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

fn arrange_below(command: Command, name: &str, globals: &[Arg]) -> Command {
    // A definition in the subcommand replaces the one of the root.
    let hidden = globals.iter().filter(|arg| is_hidden(name, &long(arg)));
    let everyday = EVERYDAY.iter().find(|(command, _)| *command == name);
    let command = command.mut_args(|arg| match (everyday, arg.get_long()) {
        (Some((_, shown)), Some(long)) => {
            let is_rare = !shown.split(' ').any(|flag| flag == long);
            arg.hide_short_help(is_rare)
        }
        _ => arg,
    });
    let command = command.args(hidden.map(|arg| arg.clone().hide(true)));
    command.mut_subcommands(|command| {
        let name = format!("{name} {}", command.get_name());
        arrange_below(command, &name, globals)
    })
}

/// Returns the flag as it is typed.
fn long(arg: &Arg) -> String {
    format!("--{}", arg.get_long().unwrap_or_default())
}

/// Returns true if the help of a command omits a global flag, because the flag would have no effect. [`check`] refuses
/// such a flag, except the flags of messages, which scripts may pass to each command.
fn is_hidden(command: &str, flag: &str) -> bool {
    let [service, network, data] = [SERVICE, NETWORK, DATA].map(|flags| flags.contains(&flag));
    let (demo, requests) = (flag == "--demo", service || network);
    // The flags of a command that neither sends requests nor has a profile.
    let local = requests || demo || flag == "--profile";
    match command {
        "completion" | "man" | "help" => flag != "--color",
        "sandbox" | "auth use" | "config path" | "submissions exports clean" => local || data,
        "contract list"
        | "submissions exports list"
        | "submissions sync status"
        | "webhook sign" => local,
        "auth list" => demo || requests,
        "auth login" => demo || data,
        "auth logout" | "auth token" => demo || network || data,
        "auth doctor" => demo || network,
        "config set" | "config unset" => demo || requests || data,
        "config get" | "submissions export" => data,
        "webhook events export"
        | "webhook events open"
        | "webhook secret add"
        | "webhook secret remove" => requests || data,
        "webhook check" | "webhook replay" => service,
        "webhook verify" => network,
        "webhook listen" | "api" => flag == "--json",
        _ if command.starts_with("webhook events ") => requests,
        _ if command.starts_with("webhook secret ") => requests,
        _ => false,
    }
}

/// Returns an error if a global flag is given that its command refuses.
pub(crate) fn check(matches: &ArgMatches) -> Result<(), CliError> {
    let below = std::iter::successors(matches.subcommand(), |(_, below)| below.subcommand());
    let words: Vec<&str> = below.map(|(name, _)| name).collect();
    let name = words.join(" ");
    let id = |flag: &str| flag.trim_start_matches('-').replace('-', "_");
    let is_given = |flag: &str| matches.value_source(&id(flag)) == Some(ValueSource::CommandLine);
    let flags = [SERVICE, NETWORK, DATA, &["--demo", "--profile"]].concat();
    let refused = flags.into_iter().find(|flag| is_given(flag) && is_hidden(&name, flag));
    let Some(flag) = refused else { return Ok(()) };
    let instead = INSTEAD_OF_DATA.iter().find(|(of, _)| *of == name);
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
        // These two flags have a description of their own.
        let own = ["pager", "no_input"];
        for setting in SETTINGS.iter().filter(|setting| !own.contains(&setting.name)) {
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

    /// All commands with the global flags that each refuses: single flags, or groups of [`flags_of`].
    const REFUSED: &[(&str, &str)] = &[
        ("me", ""),
        ("auth", ""),
        ("auth login", "--demo data"),
        ("auth status", ""),
        ("auth list", "--demo service network"),
        ("auth use", "--demo --profile service network data"),
        ("auth logout", "--demo network data"),
        ("auth token", "--demo network data"),
        ("auth doctor", "--demo network"),
        ("forms", ""),
        ("forms list", ""),
        ("forms view", ""),
        ("forms schema", ""),
        ("submissions", ""),
        ("submissions list", ""),
        ("submissions view", ""),
        ("submissions count", ""),
        ("submissions tail", ""),
        ("submissions export", "data"),
        ("submissions exports", ""),
        ("submissions exports list", "--demo --profile service network"),
        ("submissions exports clean", "--demo --profile service network data"),
        ("submissions sync", ""),
        ("submissions sync status", "--demo --profile service network"),
        ("submissions sync verify", ""),
        ("webhook", ""),
        ("webhook listen", "--json"),
        ("webhook trigger", ""),
        ("webhook verify", "network"),
        ("webhook sign", "--demo --profile service network"),
        ("webhook check", "service"),
        ("webhook replay", "service"),
        ("webhook secret", ""),
        ("webhook secret add", "service network data"),
        ("webhook secret list", "service network"),
        ("webhook secret remove", "service network data"),
        ("webhook events", ""),
        ("webhook events list", "service network"),
        ("webhook events show", "service network"),
        ("webhook events tail", "service network"),
        ("webhook events diff", "service network"),
        ("webhook events open", "service network data"),
        ("webhook events export", "service network data"),
        ("webhook events prune", "service network"),
        ("contract", ""),
        ("contract check", ""),
        ("contract list", "--demo --profile service network"),
        ("api", "--json"),
        ("config", ""),
        ("config list", ""),
        ("config get", "data"),
        ("config set", "--demo service network data"),
        ("config unset", "--demo service network data"),
        ("config path", "--demo --profile service network data"),
        ("doctor", ""),
        ("sandbox", "--demo --profile service network data"),
        ("completion", "--demo --profile service network data messages"),
        ("man", "--demo --profile service network data messages"),
        ("help", "--demo --profile service network data messages"),
    ];

    /// Returns the flags of a group. `messages` are flags that these commands accept, but that their help hides.
    fn flags_of(group: &str) -> &'static [&'static str] {
        match group {
            "service" => SERVICE,
            "network" => NETWORK,
            "data" => DATA,
            "messages" => &["--quiet", "--verbose", "--error-format", "--no-input", "--no-pager"],
            _ => &[],
        }
    }

    #[test]
    fn every_command_refuses_the_flags_of_its_row() {
        let mut root = cmd::command();
        root.build();
        let (mut wrong, mut rows) = (Vec::new(), REFUSED.to_vec());
        walk(&root, &[], &mut |command, path| {
            let name = path.join(" ");
            let Some(row) = rows.iter().position(|row| row.0 == name) else {
                wrong.push(format!("{name}: not in `REFUSED`"));
                return;
            };
            let (_, groups) = rows.swap_remove(row);
            let help = command.clone().render_long_help().to_string();
            for flag in root.get_arguments().filter(|arg| arg.is_global_set()).map(long) {
                let is_refused = groups
                    .split(' ')
                    .any(|group| group == flag || flags_of(group).contains(&&*flag));
                let is_shown = help.lines().map(str::trim_start).any(|line| {
                    line.starts_with('-')
                        && line.split([' ', ',', '[', '.']).any(|word| word == flag)
                });
                if is_shown == is_refused || is_hidden(&name, &flag) != is_refused {
                    wrong.push(format!("{name} {flag}: refused {is_refused}, in help {is_shown}"));
                }
            }
            let has_fields = !cmd::fields(path).is_empty() || command.has_subcommands();
            if has_fields == is_hidden(&name, "--json") {
                wrong.push(format!("{name}: fields"));
            }
        });
        assert_eq!(wrong, [""; 0]);
        let without_sandbox = !cfg!(feature = "sandbox");
        rows.retain(|(name, _)| !(without_sandbox && *name == "sandbox"));
        assert_eq!(rows, [], "no such command");
    }

    #[test]
    fn hint_of_a_refused_flag_is_that_of_its_command() {
        for (line, expected) in [
            (
                "submissions exports clean --json x",
                "see `formsvc submissions exports clean --help`",
            ),
            ("submissions export f --jq .", "the format is `--format`"),
            ("config get output --jq .", "see `formsvc config get --help`"),
            ("auth list --demo", "see `formsvc auth list --help`"),
        ] {
            let words = std::iter::once("formsvc").chain(line.split(' '));
            let error = check(&cmd::command().get_matches_from(words)).unwrap_err();
            let hint = error.advice().unwrap_or_default();
            assert!(hint.starts_with(expected), "{line}: {hint}");
        }
    }
}
