//! The flags that the help of a command shows.

use clap::{Arg, Command};

use crate::base::env::ENV_VARS;
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

/// The global flags that only commands with data accept.
const DATA: &[&str] = &["output", "json", "jq", "template"];

/// Describes the flags of settings. Hides rare flags in short help, and the global flags that a command refuses or
/// ignores in all help.
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
    let refused = globals.iter().filter(|arg| is_refused(&words, arg.get_id().as_str()));
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

/// Returns true if a command refuses a global flag, or has no use for it.
fn is_refused(command: &[&str], flag: &str) -> bool {
    match command {
        ["completion" | "man" | "help"] => flag != "color",
        ["auth", "login" | "logout" | "use" | "token"] => flag == "demo" || DATA.contains(&flag),
        ["auth", "doctor"] => flag == "demo",
        ["submissions", "export"]
        | ["config", "get" | "set" | "unset" | "path"]
        | ["submissions", "exports", "clean"]
        | ["webhook", "events", "open" | "export"]
        | ["webhook", "secret", "add" | "remove"]
        | ["sandbox"] => DATA.contains(&flag),
        _ => false,
    }
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
            for flag in ["demo", "output", "json", "jq", "template", "profile", "color"] {
                let is_shown = help.lines().any(|line| {
                    line.trim_start().split([' ', '[']).next() == Some(&*format!("--{flag}"))
                });
                if is_shown == is_refused(path, flag) {
                    wrong.push(format!("{} --{flag}", path.join(" ")));
                }
            }
            // `api` and `listen` print JSON with fields that the table does not list.
            let has_fields = !cmd::fields(path).is_empty()
                || command.has_subcommands()
                || matches!(path, ["api"] | ["webhook", "listen"]);
            if has_fields == is_refused(path, "json") {
                wrong.push(format!("{}: fields", path.join(" ")));
            }
        });
        assert_eq!(wrong, [""; 0]);
    }
}
