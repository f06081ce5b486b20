//! The table of environment variables. `formsvc help environment` and docs/ENV.md are generated from it.

use std::ffi::OsString;

/// A variable that the program reads.
#[derive(Clone, Copy, Debug)]
pub struct EnvVar {
    /// The name.
    pub name: &'static str,
    /// The global flag that takes precedence over the variable.
    pub flag: Option<&'static str>,
    /// The description of the variable, and of a flag that has none of its own.
    pub about: &'static str,
}

impl EnvVar {
    /// True if `name` is the name of the variable. Proxy variables also have a name in lower case.
    fn is_named(&self, name: &str) -> bool {
        let has_two = self.name.ends_with("_PROXY");
        self.name == name || has_two && self.name.to_ascii_lowercase() == name
    }
}

/// Defines a constant for each variable, and the list of all variables.
macro_rules! variables {
    ($($constant:ident = $name:literal $($flag:literal)?: $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $constant: EnvVar =
                EnvVar { name: $name, flag: [$($flag)?].first().copied(), about: $about };
        )*
        /// All variables that the program or one of its libraries reads.
        pub const ENV_VARS: &[EnvVar] = &[$($constant),*];
    };
}

#[rustfmt::skip]
variables! {
    BASE_URL = "FORMSVC_BASE_URL" "--base-url":
        "Base URL of the service: https, or http on this machine";
    ALLOW_HTTP = "FORMSVC_ALLOW_HTTP":
        "Hosts, separated by commas, that get requests and the API key over http, without encryption";
    API_KEY = "FORMSVC_API_KEY":
        "API key, instead of FORMSVC_API_KEY_FILE; the `--api-key-…` flags take precedence";
    API_KEY_FILE = "FORMSVC_API_KEY_FILE" "--api-key-file":
        "File that contains the API key";
    PROFILE = "FORMSVC_PROFILE" "--profile":
        "Profile: a service and its API key";
    OUTPUT = "FORMSVC_OUTPUT" "--output":
        "Output format";
    TIME_STYLE = "FORMSVC_TIME_STYLE" "--time-style":
        "Format of times on a terminal: relative or absolute";
    COLOR = "FORMSVC_COLOR" "--color":
        "When to use colours";
    PAGER = "FORMSVC_PAGER" "--no-pager":
        "Command that shows long output on a terminal; false disables the pager";
    ERROR_FORMAT = "FORMSVC_ERROR_FORMAT" "--error-format":
        "Format of errors and messages on standard error";
    NO_INPUT = "FORMSVC_NO_INPUT" "--no-input":
        "Disables prompts, even on a terminal, if true";
    TIMEOUT = "FORMSVC_TIMEOUT" "--timeout":
        "Time limit for one request and its response";
    MAX_WAIT = "FORMSVC_MAX_WAIT" "--max-wait":
        "Longest single wait for a rate limit; a command that would have to wait longer fails";
    MAX_RATE = "FORMSVC_MAX_RATE" "--max-rate":
        "Maximum requests per minute, or `off`";
    CACERT = "FORMSVC_CACERT" "--cacert":
        "PEM file of additional trusted certificates: of an authority or of a server";
    SYNC_TO = "FORMSVC_SYNC_TO":
        "Database of `submissions sync`, instead of `--to`; other users cannot see a password in it";
    PGPASSWORD = "PGPASSWORD":
        "Password of a PostgreSQL database whose URL contains none";
    PGPASSFILE = "PGPASSFILE":
        "File of passwords of PostgreSQL databases, instead of ~/.pgpass";
    PGHOST = "PGHOST":
        "Host of a PostgreSQL database whose URL contains none, instead of localhost";
    CONFIG_DIR = "FORMSVC_CONFIG_DIR":
        "Configuration folder";
    STATE_DIR = "FORMSVC_STATE_DIR":
        "State folder, with the captures of `webhook listen`; only you may be able to write to it";
    SIGNING_SECRET = "FORMSVC_SIGNING_SECRET":
        "Signing secret of an endpoint, for `webhook …`; the `--secret-…` flags take precedence";
    SIGNING_SECRET_FILE = "FORMSVC_SIGNING_SECRET_FILE":
        "File that contains the signing secret, instead of `--secret-file`; FORMSVC_SIGNING_SECRET takes precedence";
    NO_COLOR = "NO_COLOR":
        "Disables colours if set";
    CLICOLOR = "CLICOLOR":
        "Disables colours if 0";
    CLICOLOR_FORCE = "CLICOLOR_FORCE":
        "Enables colours, even in a pipe, if set and not 0";
    TERM = "TERM":
        "Type of the terminal; dumb disables colours";
    COLUMNS = "COLUMNS":
        "Width of help and tables without a terminal";
    PLAIN_PAGER = "PAGER":
        "Command that shows long output on a terminal; FORMSVC_PAGER and the setting `pager` take precedence";
    LESS = "LESS":
        "Flags of the pager less; FRX if not set";
    LESSCHARSET = "LESSCHARSET":
        "Character set of the pager less; utf-8 if not set";
    LV = "LV":
        "Flags of the pager lv; -c if not set";
    TZ = "TZ":
        "Time zone of printed times";
    HOME = "HOME":
        "Home folder, if it is an absolute path; without one nothing is stored";
    USERPROFILE = "USERPROFILE":
        "Home folder on Windows, if HOME is not set";
    XDG_CONFIG_HOME = "XDG_CONFIG_HOME":
        "Parent of the configuration folder, instead of ~/.config";
    XDG_CACHE_HOME = "XDG_CACHE_HOME":
        "Parent of the cache folder, instead of ~/.cache";
    XDG_STATE_HOME = "XDG_STATE_HOME":
        "Parent of the state folder, instead of ~/.local/state";
    DBUS_SESSION_BUS_ADDRESS = "DBUS_SESSION_BUS_ADDRESS":
        "Address of the session bus, on which the keyring is found on Linux";
    XDG_RUNTIME_DIR = "XDG_RUNTIME_DIR":
        "Folder of the session bus, if DBUS_SESSION_BUS_ADDRESS is not set";
    HTTPS_PROXY = "HTTPS_PROXY":
        "Proxy for https URLs: http://, https://, socks5:// (this machine resolves names) or socks5h:// (the proxy resolves names), with user:password@ if needed. Localhost never uses a proxy";
    HTTP_PROXY = "HTTP_PROXY":
        "Proxy for http URLs, such as targets of webhook commands; ignored in a CGI script";
    ALL_PROXY = "ALL_PROXY":
        "Proxy for https and http URLs if HTTPS_PROXY or HTTP_PROXY is not set";
    NO_PROXY = "NO_PROXY":
        "Hosts that are reached without a proxy, separated by commas or spaces: a domain (with its subdomains; also .domain or *.domain), host:port, an IP address, a CIDR range, or * for all";
    REQUEST_METHOD = "REQUEST_METHOD":
        "Marks a CGI script, where the client of the script controls HTTP_PROXY";
    SSL_CERT_FILE = "SSL_CERT_FILE":
        "PEM file of certificates that are trusted instead of the system's";
    SSL_CERT_DIR = "SSL_CERT_DIR":
        "Folders of such files, separated by colons (semicolons on Windows); adds to SSL_CERT_FILE";
    PATH = "PATH":
        "Folders of `api_key_command` and of the pager";
    TMPDIR = "TMPDIR":
        "Folder of temporary files, such as those of `sandbox`";
    COMPLETE = "FORMSVC_COMPLETE":
        "Shell that completes a command; set by the scripts of `formsvc completion`";
    COMPLETE_INDEX = "_CLAP_COMPLETE_INDEX":
        "Index of the completed word; set by the scripts of `formsvc completion`";
}

/// The variables with secret values. They are removed from the environment of child processes.
pub(crate) const SECRET_VARS: [EnvVar; 4] = [API_KEY, SIGNING_SECRET, SYNC_TO, PGPASSWORD];

/// A function that returns the value of a variable. Tests replace [`of_process`] by another function.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Reads the environment of this process. No other function reads it.
pub(crate) fn of_process(name: &str) -> Option<OsString> {
    debug_assert!(
        ENV_VARS.iter().any(|variable| variable.is_named(name)),
        "`{name}` is missing in the table of variables"
    );
    std::env::var_os(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn variable_names_are_unique() {
        for (at, variable) in ENV_VARS.iter().enumerate() {
            let others = &ENV_VARS[at + 1..];
            assert!(others.iter().all(|other| other.name != variable.name), "{}", variable.name);
        }
    }

    #[test]
    fn variables_of_secrets_are_listed_as_secret() {
        let is_secret = |name: &str| SECRET_VARS.iter().any(|variable| variable.name == name);
        for EnvVar { name, .. } in ENV_VARS {
            let endings = ["KEY", "SECRET", "PASSWORD", "TOKEN"];
            assert!(!endings.iter().any(|end| name.ends_with(end)) || is_secret(name), "{name}");
        }
    }

    /// Returns the names of the source files with one of the texts outside of tests.
    fn files_with(texts: &[&str]) -> Vec<String> {
        fn visit(folder: &Path, texts: &[&str], found: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.file_stem().is_some_and(|name| name == "tests") {
                    continue;
                }
                if path.is_dir() {
                    visit(&path, texts, found);
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("\nmod tests").next().unwrap_or_default();
                if texts.iter().any(|text| code.contains(text)) {
                    found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
        let mut found = Vec::new();
        visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), texts, &mut found);
        found
    }

    #[test]
    fn environment_is_read_in_one_place() {
        assert_eq!(files_with(&["env::var", "env::home_dir", "env::temp_dir"]), ["env.rs"]);
    }

    #[test]
    fn programs_are_started_in_one_place() {
        assert_eq!(files_with(&["Command::new("]), ["child.rs"]);
    }
}
