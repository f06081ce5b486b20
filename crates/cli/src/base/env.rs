//! The environment variables: one table, from which help and docs follow.

use std::ffi::OsString;

/// A variable the program reads.
#[derive(Clone, Copy, Debug)]
pub struct EnvVar {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
}

impl EnvVar {
    /// True if `name` is the name of the variable. The names of proxy variables count in lower case
    /// as well.
    fn is_named(&self, name: &str) -> bool {
        let has_two = self.name.ends_with("_PROXY");
        self.name == name || has_two && self.name.to_ascii_lowercase() == name
    }
}

/// Address of the service.
pub const BASE_URL: EnvVar =
    EnvVar { name: "FORMSVC_BASE_URL", about: "address of the service, as `--base-url`" };
/// The API key.
pub const API_KEY: EnvVar =
    EnvVar { name: "FORMSVC_API_KEY", about: "the API key; weaker than the `--api-key-…` flags" };
/// A file that holds the API key.
pub const API_KEY_FILE: EnvVar = EnvVar {
    name: "FORMSVC_API_KEY_FILE",
    about: "a file that holds the API key, as `--api-key-file`; weaker than FORMSVC_API_KEY",
};
/// The profile.
pub const PROFILE: EnvVar =
    EnvVar { name: "FORMSVC_PROFILE", about: "the profile, as `--profile`" };
/// Where keys are kept.
pub const CREDENTIAL_STORE: EnvVar = EnvVar {
    name: "FORMSVC_CREDENTIAL_STORE",
    about: "where keys are kept and looked for: auto (both), keyring or file",
};
/// The folder of the configuration.
pub const CONFIG_DIR: EnvVar =
    EnvVar { name: "FORMSVC_CONFIG_DIR", about: "the folder of the configuration" };
/// How data is shown.
pub const OUTPUT: EnvVar =
    EnvVar { name: "FORMSVC_OUTPUT", about: "how data is shown, as `--output`" };
/// How times are told.
pub const TIME_STYLE: EnvVar = EnvVar {
    name: "FORMSVC_TIME_STYLE",
    about: "how times are told on a terminal, relative or absolute, as `--time-style`",
};
/// When to use colours.
pub const COLOR: EnvVar =
    EnvVar { name: "FORMSVC_COLOR", about: "when to use colours, as `--color`" };
/// What shows long output.
pub const PAGER: EnvVar = EnvVar {
    name: "FORMSVC_PAGER",
    about: "the command that shows long output on a terminal, or false; stronger than PAGER",
};
/// How errors are told.
pub const ERROR_FORMAT: EnvVar =
    EnvVar { name: "FORMSVC_ERROR_FORMAT", about: "how errors are told, as `--error-format`" };
/// Whether anything is asked.
pub const NO_INPUT: EnvVar =
    EnvVar { name: "FORMSVC_NO_INPUT", about: "true asks nothing, as `--no-input`" };
/// Time for one request.
pub const TIMEOUT: EnvVar =
    EnvVar { name: "FORMSVC_TIMEOUT", about: "time for one request, as `--timeout`" };
/// Longest wait for a rate limit.
pub const MAX_WAIT: EnvVar = EnvVar {
    name: "FORMSVC_MAX_WAIT",
    about: "longest single wait for a rate limit, as `--max-wait`",
};
/// Requests a minute.
pub const MAX_RATE: EnvVar =
    EnvVar { name: "FORMSVC_MAX_RATE", about: "requests a minute at most, as `--max-rate`" };
/// Database of a sync.
pub const SYNC_TO: EnvVar = EnvVar {
    name: "FORMSVC_SYNC_TO",
    about: "the database of `submissions sync`, as `--to`; a password in it is hidden from other users",
};
/// The password of a PostgreSQL database.
pub const PGPASSWORD: EnvVar = EnvVar {
    name: "PGPASSWORD",
    about: "the password of a PostgreSQL database, unless its address contains one",
};
/// A file of passwords of PostgreSQL databases.
pub const PGPASSFILE: EnvVar = EnvVar {
    name: "PGPASSFILE",
    about: "a file of passwords of PostgreSQL databases, instead of ~/.pgpass",
};
/// The host of a PostgreSQL database.
pub const PGHOST: EnvVar = EnvVar {
    name: "PGHOST",
    about: "the host of a PostgreSQL database whose address contains none, instead of localhost",
};
/// Switches colour off.
pub const NO_COLOR: EnvVar = EnvVar { name: "NO_COLOR", about: "when set, no colours" };
/// Whether colour is wanted.
pub const CLICOLOR: EnvVar = EnvVar { name: "CLICOLOR", about: "when 0, no colours" };
/// Switches colour on.
pub const CLICOLOR_FORCE: EnvVar =
    EnvVar { name: "CLICOLOR_FORCE", about: "when set and not 0, colours even in a pipe" };
/// What the terminal can do.
pub const TERM: EnvVar =
    EnvVar { name: "TERM", about: "what the terminal can do; with dumb no colours" };
/// The width of the terminal.
pub const COLUMNS: EnvVar = EnvVar {
    name: "COLUMNS",
    about: "how wide help and tables are where there is no terminal to ask",
};
/// The pager of all programs.
pub const PLAIN_PAGER: EnvVar = EnvVar {
    name: "PAGER",
    about: "the command that shows long output on a terminal, where neither FORMSVC_PAGER nor the \
            configuration names one",
};
/// How `less` behaves.
pub const LESS: EnvVar =
    EnvVar { name: "LESS", about: "flags of the pager less; FRX where it is not set" };
/// The characters `less` shows.
pub const LESSCHARSET: EnvVar =
    EnvVar { name: "LESSCHARSET", about: "what the pager less shows; utf-8 where it is not set" };
/// How `lv` behaves.
pub const LV: EnvVar =
    EnvVar { name: "LV", about: "flags of the pager lv; -c where it is not set" };
/// The home folder.
pub const HOME: EnvVar = EnvVar {
    name: "HOME",
    about: "the home folder, when it is an absolute path; without one nothing is kept",
};
/// The home folder on Windows.
pub const USERPROFILE: EnvVar =
    EnvVar { name: "USERPROFILE", about: "the home folder on Windows, where HOME is not set" };
/// The folder of all configuration.
pub const XDG_CONFIG_HOME: EnvVar = EnvVar {
    name: "XDG_CONFIG_HOME",
    about: "the folder that holds ours of the configuration, instead of ~/.config",
};
/// The folder of all caches.
pub const XDG_CACHE_HOME: EnvVar = EnvVar {
    name: "XDG_CACHE_HOME",
    about: "the folder that holds ours of what may be lost at any time, instead of ~/.cache",
};
/// The folder of all state.
pub const XDG_STATE_HOME: EnvVar = EnvVar {
    name: "XDG_STATE_HOME",
    about: "the folder that holds ours of what was received and done, instead of ~/.local/state",
};
/// The folder of the state.
pub const STATE_DIR: EnvVar = EnvVar {
    name: "FORMSVC_STATE_DIR",
    about: "the folder of what was received and done, such as deliveries of `webhook listen`",
};
/// The signing secret.
pub const SIGNING_SECRET: EnvVar = EnvVar {
    name: "FORMSVC_SIGNING_SECRET",
    about: "the signing secret of an endpoint, for `webhook …`; weaker than the `--secret-…` flags",
};
/// A file that holds the signing secret.
pub const SIGNING_SECRET_FILE: EnvVar = EnvVar {
    name: "FORMSVC_SIGNING_SECRET_FILE",
    about: "a file that holds the signing secret, as `--secret-file`; weaker than FORMSVC_SIGNING_SECRET",
};
/// The editor of a terminal that shows whole pages.
pub const VISUAL: EnvVar =
    EnvVar { name: "VISUAL", about: "the command that edits a body, for `--edit`" };
/// The editor of all programs.
pub const EDITOR: EnvVar =
    EnvVar { name: "EDITOR", about: "the command that edits a body, where VISUAL is not set" };
/// Where the keyring listens.
pub const DBUS_SESSION_BUS_ADDRESS: EnvVar = EnvVar {
    name: "DBUS_SESSION_BUS_ADDRESS",
    about: "where the keyring is reached on Linux; XDG_RUNTIME_DIR says it otherwise",
};
/// Where the keyring listens otherwise.
pub const XDG_RUNTIME_DIR: EnvVar = EnvVar {
    name: "XDG_RUNTIME_DIR",
    about: "the folder of the session's bus, where DBUS_SESSION_BUS_ADDRESS is not set",
};
/// The proxy for https.
pub const HTTPS_PROXY: EnvVar = EnvVar {
    name: "HTTPS_PROXY",
    about: "proxy for https URLs: http://, https://, socks5:// (names are resolved here) or \
            socks5h:// (by the proxy), with user:password@ if needed. Localhost never uses a proxy",
};
/// The proxy for http.
pub const HTTP_PROXY: EnvVar = EnvVar {
    name: "HTTP_PROXY",
    about: "proxy for http URLs, such as targets of webhook commands; ignored in a CGI script",
};
/// The proxy for both.
pub const ALL_PROXY: EnvVar = EnvVar {
    name: "ALL_PROXY",
    about: "proxy for https and http URLs if HTTPS_PROXY or HTTP_PROXY is not set",
};
/// Hosts without a proxy.
pub const NO_PROXY: EnvVar = EnvVar {
    name: "NO_PROXY",
    about: "hosts that are reached without a proxy, separated by commas or spaces: a domain (with its \
            subdomains; also .domain or *.domain), host:port, an IP address, a CIDR range, or * for all",
};
/// Marks a CGI script.
pub const REQUEST_METHOD: EnvVar = EnvVar {
    name: "REQUEST_METHOD",
    about: "marks a CGI script, where the client of the script controls HTTP_PROXY",
};
/// Certificates that are trusted as well.
pub const CACERT: EnvVar = EnvVar {
    name: "FORMSVC_CACERT",
    about: "a PEM file of certificates that are trusted as well, as `--cacert`",
};
/// The trusted certificates.
pub const SSL_CERT_FILE: EnvVar = EnvVar {
    name: "SSL_CERT_FILE",
    about: "a PEM file of the certificates that are trusted instead of the system's",
};
/// Folders of trusted certificates.
pub const SSL_CERT_DIR: EnvVar = EnvVar {
    name: "SSL_CERT_DIR",
    about: "folders of such files, separated by colons (semicolons on Windows); adds to SSL_CERT_FILE",
};
/// Where programs are.
pub const PATH: EnvVar =
    EnvVar { name: "PATH", about: "where `api_key_command` and the pager are found" };
/// Where temporary files go.
pub const TMPDIR: EnvVar =
    EnvVar { name: "TMPDIR", about: "the folder of temporary files, as `sandbox` makes them" };
/// The time zone.
pub const TZ: EnvVar = EnvVar { name: "TZ", about: "the time zone of times that are shown" };
/// A shell that asks for completions.
pub const COMPLETE: EnvVar = EnvVar {
    name: "FORMSVC_COMPLETE",
    about: "set by the scripts of `formsvc completion` alone: the shell that is to be answered",
};
/// Which word a shell wants completed.
pub const COMPLETE_INDEX: EnvVar = EnvVar {
    name: "_CLAP_COMPLETE_INDEX",
    about: "set by the scripts of `formsvc completion` alone: which word is being typed",
};

/// Every variable the program reads, itself or through a library.
pub const ENV_VARS: &[EnvVar] = &[
    BASE_URL,
    API_KEY,
    API_KEY_FILE,
    PROFILE,
    CREDENTIAL_STORE,
    OUTPUT,
    TIME_STYLE,
    COLOR,
    PAGER,
    ERROR_FORMAT,
    NO_INPUT,
    TIMEOUT,
    MAX_WAIT,
    MAX_RATE,
    CACERT,
    SYNC_TO,
    PGPASSWORD,
    PGPASSFILE,
    PGHOST,
    CONFIG_DIR,
    STATE_DIR,
    SIGNING_SECRET,
    SIGNING_SECRET_FILE,
    NO_COLOR,
    CLICOLOR,
    CLICOLOR_FORCE,
    TERM,
    COLUMNS,
    PLAIN_PAGER,
    LESS,
    LESSCHARSET,
    LV,
    VISUAL,
    EDITOR,
    TZ,
    HOME,
    USERPROFILE,
    XDG_CONFIG_HOME,
    XDG_CACHE_HOME,
    XDG_STATE_HOME,
    DBUS_SESSION_BUS_ADDRESS,
    XDG_RUNTIME_DIR,
    HTTPS_PROXY,
    HTTP_PROXY,
    ALL_PROXY,
    NO_PROXY,
    REQUEST_METHOD,
    SSL_CERT_FILE,
    SSL_CERT_DIR,
    PATH,
    TMPDIR,
    COMPLETE,
    COMPLETE_INDEX,
];

/// The variables whose values contain secrets. No child process gets them.
pub(crate) const SECRET_VARS: [EnvVar; 4] = [API_KEY, SIGNING_SECRET, SYNC_TO, PGPASSWORD];

/// Looks a variable up; given to whoever reads the environment, so that tests own it.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The environment of this process. The only place where it is read.
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
    fn variables_have_names_of_their_own() {
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

    /// The names of the source files whose code contains one of the texts. Tests do not count.
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
    fn the_environment_is_read_in_one_place() {
        assert_eq!(files_with(&["env::var", "env::home_dir", "env::temp_dir"]), ["env.rs"]);
    }

    #[test]
    fn programs_are_started_in_one_place() {
        assert_eq!(files_with(&["Command::new("]), ["child.rs"]);
    }
}
