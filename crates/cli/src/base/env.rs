//! The table of environment variables. `formsvc help environment` and docs/ENV.md are generated from it.

use std::ffi::OsString;

/// A variable that the program reads.
#[derive(Clone, Copy, Debug)]
pub struct EnvVar {
    /// The name.
    pub name: &'static str,
    /// The description in help texts.
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
    ($($constant:ident = $name:literal: $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $constant: EnvVar = EnvVar { name: $name, about: $about };
        )*
        /// All variables that the program or one of its libraries reads.
        pub const ENV_VARS: &[EnvVar] = &[$($constant),*];
    };
}

#[rustfmt::skip]
variables! {
    BASE_URL = "FORMSVC_BASE_URL":
        "base URL of the service";
    ALLOW_HTTP = "FORMSVC_ALLOW_HTTP":
        "hosts, separated by commas, that get requests and the API key over http, without encryption";
    API_KEY = "FORMSVC_API_KEY":
        "the API key; the `--api-key-…` flags take precedence";
    API_KEY_FILE = "FORMSVC_API_KEY_FILE":
        "file that contains the API key, like `--api-key-file`; FORMSVC_API_KEY takes precedence";
    PROFILE = "FORMSVC_PROFILE":
        "profile that commands use: a service and its API key";
    OUTPUT = "FORMSVC_OUTPUT":
        "output format";
    TIME_STYLE = "FORMSVC_TIME_STYLE":
        "format of times on a terminal: relative (2 h ago) or absolute (local date and time)";
    COLOR = "FORMSVC_COLOR":
        "when to use colours";
    PAGER = "FORMSVC_PAGER":
        "command that shows long output on a terminal; false disables the pager";
    ERROR_FORMAT = "FORMSVC_ERROR_FORMAT":
        "format of errors and messages on standard error";
    NO_INPUT = "FORMSVC_NO_INPUT":
        "true disables prompts, even on a terminal";
    TIMEOUT = "FORMSVC_TIMEOUT":
        "time limit for one request and its response";
    MAX_WAIT = "FORMSVC_MAX_WAIT":
        "longest single wait for a rate limit; a command that would have to wait longer fails";
    MAX_RATE = "FORMSVC_MAX_RATE":
        "maximum requests per minute";
    CACERT = "FORMSVC_CACERT":
        "PEM file of certificates that are also trusted, like `--cacert`";
    SYNC_TO = "FORMSVC_SYNC_TO":
        "database of `submissions sync`, like `--to`; other users cannot see a password in it";
    PGPASSWORD = "PGPASSWORD":
        "password of a PostgreSQL database whose URL contains none";
    PGPASSFILE = "PGPASSFILE":
        "file of passwords of PostgreSQL databases, instead of ~/.pgpass";
    PGHOST = "PGHOST":
        "host of a PostgreSQL database whose URL contains none, instead of localhost";
    CONFIG_DIR = "FORMSVC_CONFIG_DIR":
        "configuration folder";
    STATE_DIR = "FORMSVC_STATE_DIR":
        "state folder, with the captures of `webhook listen`";
    SIGNING_SECRET = "FORMSVC_SIGNING_SECRET":
        "signing secret of an endpoint, for `webhook …`; the `--secret-…` flags take precedence";
    SIGNING_SECRET_FILE = "FORMSVC_SIGNING_SECRET_FILE":
        "file that contains the signing secret, like `--secret-file`; FORMSVC_SIGNING_SECRET takes precedence";
    NO_COLOR = "NO_COLOR":
        "disables colours if set";
    CLICOLOR = "CLICOLOR":
        "disables colours if 0";
    CLICOLOR_FORCE = "CLICOLOR_FORCE":
        "enables colours, even in a pipe, if set and not 0";
    TERM = "TERM":
        "type of the terminal; dumb disables colours";
    COLUMNS = "COLUMNS":
        "width of help and tables without a terminal";
    PLAIN_PAGER = "PAGER":
        "command that shows long output on a terminal; FORMSVC_PAGER and the setting `pager` take precedence";
    LESS = "LESS":
        "flags of the pager less; FRX if not set";
    LESSCHARSET = "LESSCHARSET":
        "character set of the pager less; utf-8 if not set";
    LV = "LV":
        "flags of the pager lv; -c if not set";
    TZ = "TZ":
        "time zone of printed times";
    HOME = "HOME":
        "home folder, if it is an absolute path; without one nothing is stored";
    USERPROFILE = "USERPROFILE":
        "home folder on Windows, if HOME is not set";
    XDG_CONFIG_HOME = "XDG_CONFIG_HOME":
        "parent of the configuration folder, instead of ~/.config";
    XDG_CACHE_HOME = "XDG_CACHE_HOME":
        "parent of the cache folder, instead of ~/.cache";
    XDG_STATE_HOME = "XDG_STATE_HOME":
        "parent of the state folder, instead of ~/.local/state";
    DBUS_SESSION_BUS_ADDRESS = "DBUS_SESSION_BUS_ADDRESS":
        "address of the session bus, on which the keyring is found on Linux";
    XDG_RUNTIME_DIR = "XDG_RUNTIME_DIR":
        "folder of the session bus, if DBUS_SESSION_BUS_ADDRESS is not set";
    HTTPS_PROXY = "HTTPS_PROXY":
        "proxy for https URLs: http://, https://, socks5:// (this machine resolves names) or socks5h:// (the proxy resolves names), with user:password@ if needed. Localhost never uses a proxy";
    HTTP_PROXY = "HTTP_PROXY":
        "proxy for http URLs, such as targets of webhook commands; ignored in a CGI script";
    ALL_PROXY = "ALL_PROXY":
        "proxy for https and http URLs if HTTPS_PROXY or HTTP_PROXY is not set";
    NO_PROXY = "NO_PROXY":
        "hosts that are reached without a proxy, separated by commas or spaces: a domain (with its subdomains; also .domain or *.domain), host:port, an IP address, a CIDR range, or * for all";
    REQUEST_METHOD = "REQUEST_METHOD":
        "marks a CGI script, where the client of the script controls HTTP_PROXY";
    SSL_CERT_FILE = "SSL_CERT_FILE":
        "PEM file of certificates that are trusted instead of the system's";
    SSL_CERT_DIR = "SSL_CERT_DIR":
        "folders of such files, separated by colons (semicolons on Windows); adds to SSL_CERT_FILE";
    PATH = "PATH":
        "folders of `api_key_command` and of the pager";
    TMPDIR = "TMPDIR":
        "folder of temporary files, such as those of `sandbox`";
    COMPLETE = "FORMSVC_COMPLETE":
        "the shell that completes a command; set by the scripts of `formsvc completion`";
    COMPLETE_INDEX = "_CLAP_COMPLETE_INDEX":
        "index of the completed word; set by the scripts of `formsvc completion`";
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
