//! The settings: one table, which the command line, the configuration file and the documents are held to.

use std::borrow::Cow;

use crate::cmd::address;

/// A setting: how it is called in each place it can be set in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key in a configuration file; none where it has no place in one.
    pub key: Option<&'static str>,
    /// Its environment variable.
    pub variable: &'static str,
    /// Its flag.
    pub flag: &'static str,
    /// What its values look like.
    pub kind: Kind,
    /// The value it has when nobody sets it; none when there is none, or when it depends.
    pub default: Option<&'static str>,
    /// What it sets.
    pub meaning: &'static str,
}

/// What the values of a setting look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number.
    Number,
    /// A whole number, or `off`.
    NumberOrOff,
    /// A whole number with its unit.
    Duration,
    /// A file.
    Path,
    /// Where a database is. It may hold a password.
    Database,
    /// On or off.
    Switch,
    /// Any number of texts.
    List,
}

impl Kind {
    /// How a configuration file has it.
    pub fn in_file(self) -> &'static str {
        match self {
            Self::Text | Self::Path | Self::Database => "a text in quotes",
            Self::Number => "a whole number",
            Self::NumberOrOff => "a whole number, or \"off\"",
            Self::Duration => "a duration in quotes, such as \"10s\"",
            Self::Switch => "true or false",
            Self::List => "a list of texts, such as [\"a\", \"b\"]",
        }
    }
}

impl Setting {
    /// A value as it may be shown: without a password.
    pub fn shown(self, value: &str) -> Cow<'_, str> {
        match self.kind {
            Kind::Database => address::masked(value),
            _ => Cow::Borrowed(value),
        }
    }

    /// Whether a value is nobody's business but the server's.
    pub fn is_secret(self, value: &str) -> bool {
        matches!(self.shown(value), Cow::Owned(_))
    }

    /// The setting with a key in the file.
    pub(super) fn of_key(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == Some(key))
    }

    /// The setting with a flag.
    pub(in crate::cmd) fn of_flag(flag: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.flag == flag)
    }
}

macro_rules! settings {
    ($( $key:literal $flag:literal $variable:literal $kind:ident $default:tt $meaning:literal; )+) => {
        /// Every setting, in the order in which documents have them.
        pub const SETTINGS: &[Setting] = &[
            // Where the file is does not stand in it.
            Setting {
                key: None,
                variable: "FORMSVC_SERVER_CONFIG",
                flag: "--config",
                kind: Kind::Path,
                default: None,
                meaning: "configuration file",
            },
            $( Setting {
                key: Some($key),
                variable: $variable,
                flag: $flag,
                kind: Kind::$kind,
                default: settings!(@default $default),
                meaning: $meaning,
            }, )+
        ];
    };
    (@default -) => { None };
    (@default $default:literal) => { Some($default) };
}

settings! {
    "database" "--database" "FORMSVC_SERVER_DATABASE" Database -
        "path of the database file, or address of a PostgreSQL database";
    "secret_key_file" "--secret-key-file" "FORMSVC_SERVER_SECRET_KEY_FILE" Path -
        "file with the server's key; by default beside a database file, its name with `.key` added";
    "page_cache" "--page-cache" "FORMSVC_SERVER_PAGE_CACHE" Number "128"
        "MiB of a database file's pages to keep in memory once they were read";
    "profile" "--profile" "FORMSVC_SERVER_PROFILE" Text "prod"
        "`prod` or `dev`: whether deliveries reach public addresses only, or this machine as well";
    "egress_allow" "--egress-allow" "FORMSVC_SERVER_EGRESS_ALLOW" List -
        "what else deliveries may reach; in the variable with commas";
    "egress_ca" "--egress-ca" "FORMSVC_SERVER_EGRESS_CA" Path -
        "PEM file with authorities that deliveries trust besides the system's";
    "delivery_slots" "--delivery-slots" "FORMSVC_SERVER_DELIVERY_SLOTS" Number "256"
        "attempts to deliver at a time";
    "endpoint_slots" "--endpoint-slots" "FORMSVC_SERVER_ENDPOINT_SLOTS" Number "4"
        "of these, to one endpoint";
    "retry_base" "--retry-base" "FORMSVC_SERVER_RETRY_BASE" Duration "10s"
        "pause before the first retry, up to a fifth longer";
    "retry_factor" "--retry-factor" "FORMSVC_SERVER_RETRY_FACTOR" Number "6"
        "what each further pause is multiplied by";
    "attempt_timeout" "--attempt-timeout" "FORMSVC_SERVER_ATTEMPT_TIMEOUT" Duration "10s"
        "time an attempt has";
    "listen" "--listen" "FORMSVC_SERVER_LISTEN" Text "127.0.0.1:8080"
        "IP address and port to listen on";
    "port" "--port" "FORMSVC_SERVER_PORT" Number -
        "port to listen on, in place of the one in `listen`; 0 takes any free one";
    "allow_remote" "--allow-remote" "FORMSVC_SERVER_ALLOW_REMOTE" Switch "false"
        "`true` to listen beyond this machine";
    "ready_file" "--ready-file" "FORMSVC_SERVER_READY_FILE" Path -
        "file to write once the server answers";
    "rate_limit" "--rate-limit" "FORMSVC_SERVER_RATE_LIMIT" NumberOrOff "300"
        "requests per minute and key";
    "sender_limit" "--sender-limit" "FORMSVC_SERVER_SENDER_LIMIT" NumberOrOff "20"
        "submissions per minute, address and form";
    "form_limit" "--form-limit" "FORMSVC_SERVER_FORM_LIMIT" NumberOrOff "600"
        "submissions per minute and form";
    "trusted_proxy" "--trusted-proxy" "FORMSVC_SERVER_TRUSTED_PROXY" List -
        "addresses, or ranges such as 10.0.0.0/8, of proxies that say who sends; in the variable with commas";
    "public_url" "--public-url" "FORMSVC_SERVER_PUBLIC_URL" Text -
        "where browsers find the server: what the dashboard can be used at beyond this machine";
    "allow_plain_sign_in" "--allow-plain-sign-in" "FORMSVC_SERVER_ALLOW_PLAIN_SIGN_IN" Switch "false"
        "`true` to let people sign in from other machines without TLS";
    "shutdown_deadline" "--shutdown-deadline" "FORMSVC_SERVER_SHUTDOWN_DEADLINE" Duration "10s"
        "time to finish requests in";
    "connections_max" "--connections-max" "FORMSVC_SERVER_CONNECTIONS_MAX" Number "4096"
        "connections open at a time";
    "connections_per_peer" "--connections-per-peer" "FORMSVC_SERVER_CONNECTIONS_PER_PEER" Number "256"
        "connections open at a time from one address";
    "log_level" "--log-level" "FORMSVC_SERVER_LOG_LEVEL" Text -
        "least severe log lines to print: off, error, warn, info, debug or trace; by default info for `serve`, else warn";
    "log_format" "--log-format" "FORMSVC_SERVER_LOG_FORMAT" Text "text"
        "`text` or `json`";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::command;

    /// Every argument of every command that has a variable.
    fn arguments() -> Vec<clap::Arg> {
        let (mut found, mut commands) = (Vec::new(), vec![command()]);
        while let Some(command) = commands.pop() {
            found.extend(command.get_arguments().filter(|arg| arg.get_env().is_some()).cloned());
            commands.extend(command.get_subcommands().cloned());
        }
        found
    }

    #[test]
    fn every_variable_is_in_the_table_and_the_other_way_round() {
        let names = arguments().into_iter().map(|arg| {
            let variable = arg.get_env().unwrap().to_str().unwrap().to_owned();
            (variable, format!("--{}", arg.get_long().unwrap()))
        });
        let mut names: Vec<_> = names.collect();
        names.sort();
        names.dedup();
        let table = SETTINGS.iter().map(|row| (row.variable.to_owned(), row.flag.to_owned()));
        let mut table: Vec<_> = table.collect();
        table.sort();
        assert_eq!(names, table);
    }

    #[test]
    fn key_flag_and_variable_are_one_name() {
        for row in SETTINGS {
            let name = row.flag.trim_start_matches("--").replace('-', "_");
            assert_eq!(row.variable, format!("FORMSVC_SERVER_{}", name.to_uppercase()));
            assert!(row.key.is_none_or(|key| key == name), "{row:?}");
        }
    }

    #[test]
    fn help_tells_the_defaults_of_the_table() {
        for arg in arguments() {
            let row = Setting::of_flag(&format!("--{}", arg.get_long().unwrap())).unwrap();
            let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
            let mut told = help.unwrap_or_default();
            for given in arg.get_default_values() {
                told.extend(["[default: ", given.to_str().unwrap(), "]"]);
            }
            if let (Some(default), false) = (row.default, row.kind == Kind::Switch) {
                assert!(told.contains(&format!("[default: {default}]")), "{}: {told}", row.flag);
            }
        }
    }
}
