//! The ends of a process: streams that are closed or full, no home or one that cannot be written,
//! nonsense in the environment. No
//! command panics, and each ends with the right code.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::{Command, Stdio};

use crate::help::leaves;
use crate::processes;
use crate::support::{Said, Sandbox, formsvc};

/// Arguments with which a command has something to do and ends by itself.
fn fitting(words: &[String]) -> &'static [&'static str] {
    match words.join(" ").as_str() {
        "forms view" | "forms schema" | "submissions list" => &["penguins"],
        "submissions view" => &["penguins", "sub_none"],
        "submissions tail" => &["penguins", "-n", "1", "--count", "1"],
        "submissions export" => &["penguins", "--format", "csv"],
        "api" => &["me"],
        "config get" | "config unset" => &["output"],
        "config set" => &["output", "json"],
        "auth use" => &["nobody"],
        // It runs until it is stopped.
        "sandbox" => &["--rate-limit", "nonsense"],
        "webhook listen" => &["--port", "0", "--max-time", "100ms"],
        // It runs until it is stopped.
        "webhook events open" => &["--ui-port", "nonsense"],
        "webhook events tail" => &["--max-time", "100ms"],
        "completion" => &["bash"],
        _ => &[],
    }
}

fn quoted(words: &[String]) -> String {
    let args = words.iter().map(String::as_str).chain(fitting(words).iter().copied());
    let args: Vec<&str> = args.collect();
    args.join(" ")
}

fn in_shell(sandbox: &Sandbox, line: &str, home: &std::path::Path) -> Command {
    let mut command = processes::command("bash");
    command.env_clear().args(["-c", line]).env("HOME", home).env("PATH", "/usr/bin:/bin");
    command.env("F", env!("CARGO_BIN_EXE_formsvc")).current_dir(home);
    command.env("FORMSVC_BASE_URL", &sandbox.base_url).env("FORMSVC_API_KEY", &sandbox.api_key);
    command
}

fn sound(said: &Said, what: &str) {
    let panicked = said.stderr.contains("panicked") || said.stderr.contains("this is a bug");
    let known = matches!(said.code, Some(0 | 2..=8 | 10));
    // A check of `doctor` may fail.
    let failed = said.code == Some(1) && what.contains("doctor");
    assert!(!panicked && (known || failed), "{what}: {said:?}");
}

#[test]
fn whole_lines_go_to_standard_error_at_once() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    // With these, each write is a message of its own.
    let pieces = |args: &[&str]| -> Vec<String> {
        let (near, far) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let stderr = Stdio::from(std::os::fd::OwnedFd::from(far));
        let mut run = sandbox.formsvc(args);
        let status = run.stdout(Stdio::null()).stderr(stderr).status().unwrap();
        // Else it is held open here, and there is no end to what may come.
        drop(run);
        near.set_nonblocking(true).unwrap();
        let mut piece = vec![0; 64 << 10];
        let pieces = std::iter::from_fn(|| {
            let length = near.recv(&mut piece).ok().filter(|length| *length > 0)?;
            Some(String::from_utf8_lossy(&piece[..length]).into_owned())
        });
        let pieces: Vec<String> = pieces.collect();
        assert!(!pieces.is_empty(), "{args:?}: {status}");
        pieces
    };
    let exported = pieces(&["submissions", "export", "penguins"]);
    assert!(exported.iter().all(|piece| piece.ends_with('\n')), "{exported:?}");
    for color in ["always", "never"] {
        for args in [&["forms", "veiw", "--color", color][..], &["forms", "--color", color]] {
            let told = pieces(args);
            assert!(matches!(&told[..], [one] if one.ends_with('\n')), "{told:?}");
        }
    }
    let hidden =
        pieces(&["submissions", "list", "penguins", "--json", "nobody", "--output", "csv"]);
    assert!(hidden.iter().all(|piece| piece.ends_with('\n')), "{hidden:?}");
}

#[test]
fn no_command_minds_closed_or_full_streams() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let home = tempfile::tempdir().unwrap();
    for words in leaves() {
        let line = quoted(&words);
        let whole = in_shell(&sandbox, &format!("\"$F\" {line} </dev/null"), home.path());
        let whole = Said::from({ whole }.output().unwrap());
        sound(&whole, &line);
        for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
            let run = format!("\"$F\" {line} {closed}");
            let said = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
            sound(&said, &run);
        }
        let run = format!("\"$F\" {line} >/dev/full </dev/null");
        let full = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
        let code = if whole.stdout.is_empty() { whole.code } else { Some(10) };
        assert_eq!(full.code, code, "{run}: {}", full.stderr);
        let run = format!("\"$F\" {line} 2>/dev/full </dev/null");
        let full = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
        sound(&full, &run);
        let run = format!("\"$F\" {line} </dev/null | head -c 1; exit ${{PIPESTATUS[0]}}");
        let head = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
        assert_eq!(head.code, whole.code, "{run}: {}", head.stderr);
    }
}

#[test]
fn failing_stderr_keeps_data_and_exit_code() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    for (args, code) in [
        (&["submissions", "list", "penguins"][..], 0),
        (&["submissions", "export", "penguins"], 0),
        (&["submissions", "export", "penguins", "-o", "rows.csv"], 0),
        (&["submissions", "sync", "penguins", "--to", "sqlite:rows.db", "--output", "json"], 0),
        (&["forms", "view", "nothing"], 3),
        (&["me", "--base-url", "http://127.0.0.1:9", "--api-key-file", "/nowhere"], 10),
    ] {
        let run = |verbose: &str, stderr: Stdio| {
            let folder = tempfile::tempdir().unwrap();
            let mut command = sandbox.formsvc(args);
            command.arg(verbose).current_dir(folder.path()).stderr(stderr);
            let output = command.stdout(Stdio::piped()).spawn().unwrap().wait_with_output();
            let said = Said::from(output.unwrap());
            (said.code, said.stdout, std::fs::read(folder.path().join("rows.csv")).ok())
        };
        for verbose in ["-v", "-vv", "-vvv"] {
            let healthy = run(verbose, Stdio::null());
            assert_eq!(healthy.0, Some(code), "{args:?}");
            let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
            let (_, no_reader) = std::io::pipe().unwrap();
            for (stderr, name) in [(full.into(), "full"), (no_reader.into(), "no reader")] {
                let failing = run(verbose, stderr);
                assert_eq!(failing.0, Some(code), "{args:?} {verbose}: {name}");
                assert!(failing == healthy, "{args:?} {verbose}: {name}: other data");
            }
        }
        let line = format!("\"$F\" {} -vv 2>&-", args.join(" "));
        let folder = tempfile::tempdir().unwrap();
        let closed = Said::from(in_shell(&sandbox, &line, folder.path()).output().unwrap());
        assert_eq!((closed.code, closed.stderr.as_str()), (Some(code), ""), "{line}");
    }
}

#[test]
fn no_command_minds_a_strange_environment() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let bad = || OsString::from_vec(b"\xff\xfe".to_vec());
    for words in leaves() {
        let args: Vec<&str> =
            words.iter().map(String::as_str).chain(fitting(&words).iter().copied()).collect();
        let check = |what: &str, set: &[(&str, OsString)], more: Option<OsString>| {
            let mut command = sandbox.formsvc(&args);
            command.envs(set.iter().cloned()).args(more);
            sound(&command.output().unwrap().into(), &format!("{args:?} with {what}"));
        };
        check("nothing", &[], None);
        for (name, value) in
            [("PATH", ""), ("HOME", "/nowhere/at/all"), ("COLUMNS", "-1x"), ("COLUMNS", "0")]
        {
            check(name, &[(name, value.into())], None);
        }
        let names = ["COLUMNS", "HOME", "TERM", "FORMSVC_PROFILE", "NO_COLOR", "LANG"];
        check("variables that are no text", &names.map(|name| (name, bad())), None);
        check("an argument that is no text", &[], Some(bad()));
        let folder = tempfile::tempdir().unwrap();
        let gone = format!("cd {0} && rmdir {0} && exec \"$@\"", folder.path().display());
        let mut inside = processes::command("sh");
        inside.env_clear().args(["-c", &gone, "sh", env!("CARGO_BIN_EXE_formsvc")]).args(&args);
        sound(&inside.output().unwrap().into(), &format!("{args:?} in a folder that is gone"));
    }
    let said = Said::from(formsvc(&["me"]).arg(bad()).output().unwrap());
    assert_eq!(said.code, Some(2), "{said:?}");
}

/// A home that its owner cannot write to any more. Modes do not bind root, who runs as nobody there.
struct Frozen {
    home: tempfile::TempDir,
    /// The binary, where nobody can reach it.
    reachable: Option<tempfile::TempDir>,
}

/// The user `nobody`, and the group.
const NOBODY: u32 = 65534;

impl Frozen {
    fn new(sandbox: &Sandbox) -> Self {
        let home = tempfile::tempdir().unwrap();
        let is_root = home.path().metadata().unwrap().uid() == 0;
        let reachable = is_root.then(|| {
            chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            let folder = tempfile::tempdir().unwrap();
            set_mode(folder.path(), 0o755);
            std::fs::copy(env!("CARGO_BIN_EXE_formsvc"), folder.path().join("formsvc")).unwrap();
            folder
        });
        let frozen = Self { home, reachable };
        let login = ["auth", "login", "--store", "file", "--profile", "work", "--api-key-file"];
        let key = frozen.home.path().join("key");
        std::fs::write(&key, &sandbox.api_key).unwrap();
        if is_root {
            chown(&key, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        set_mode(&key, 0o600);
        for args in [
            &[&login[..], &["key", "--base-url", &sandbox.base_url]].concat()[..],
            &["config", "set", "base_url", &sandbox.base_url, "--profile", "play"],
            &["config", "set", "output", "json"],
        ] {
            let said = frozen.run(args);
            assert_eq!(said.code, Some(0), "{args:?}: {}", said.stderr);
        }
        frozen
    }

    /// The home, and the folders of the configuration, which all are there by then.
    fn folders(&self) -> [std::path::PathBuf; 3] {
        [".config/formsvc", ".config", ""].map(|folder| self.home.path().join(folder))
    }

    fn freeze(&self) {
        for folder in self.folders() {
            set_mode(&folder, 0o500);
        }
    }

    fn run(&self, args: &[&str]) -> Said {
        let own = std::path::Path::new(env!("CARGO_BIN_EXE_formsvc"));
        let mut command = match &self.reachable {
            Some(folder) => {
                let mut command = processes::command("setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
                command.arg(folder.path().join("formsvc"));
                command
            }
            None => processes::command(own),
        };
        command.env_clear().env("HOME", self.home.path()).env("PATH", "/usr/bin:/bin");
        command.args(args).current_dir(self.home.path()).stdin(Stdio::null());
        command.output().unwrap().into()
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for folder in self.folders().iter().rev() {
            set_mode(folder, 0o700);
        }
    }
}

fn set_mode(path: &std::path::Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// What has to write something, with arguments for it to try.
const WRITES: &[(&str, &[&str])] = &[
    ("auth login", &["--store", "file", "--api-key-file", "key"]),
    ("auth logout", &[]),
    ("auth use", &["play"]),
    ("config set", &["output", "csv"]),
    ("config unset", &["output"]),
    ("man", &["--dir", "pages"]),
    ("sandbox", &["--port", "0", "--ready-file", "ready.json"]),
    ("submissions export", &["penguins", "-o", "penguins.csv"]),
];

#[test]
fn a_home_that_cannot_be_written_is_told_by_who_must_write_and_minded_by_nobody_else() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let frozen = Frozen::new(&sandbox);
    let place = frozen.home.path().to_str().unwrap();
    let args_of = |words: &[String], more: &[&str]| {
        let args = words.iter().cloned().chain(more.iter().map(|&arg| arg.to_owned()));
        args.collect::<Vec<String>>()
    };
    let run = |args: &[String]| frozen.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let writes = |words: &[String]| WRITES.iter().find(|(of, _)| *of == words.join(" "));
    let reads =
        |words: &[String]| writes(words).is_none() || words.join(" ") == "submissions export";
    let reading: Vec<_> = leaves().into_iter().filter(|words| reads(words)).collect();
    let reading: Vec<_> = reading.iter().map(|words| args_of(words, fitting(words))).collect();
    let before: Vec<Said> = reading.iter().map(|args| run(args)).collect();
    frozen.freeze();
    for (args, before) in reading.iter().zip(before) {
        let said = run(args);
        sound(&said, &format!("{args:?}"));
        // What a check finds is its own affair.
        if !args.contains(&"doctor".to_owned()) {
            assert_eq!(said.code, before.code, "{args:?}: {said:?}");
        }
    }
    let kept = || {
        let folder = frozen.home.path().join(".config/formsvc");
        ["config.toml", "credentials.toml"].map(|file| std::fs::read(folder.join(file)).unwrap())
    };
    let before = kept();
    for (words, more) in WRITES {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert!(leaves().contains(&words), "{words:?}");
        let args = args_of(&words, more);
        let said = run(&args);
        sound(&said, &format!("{args:?}"));
        assert_eq!(said.code, Some(10), "{args:?}: {said:?}");
        // A file that is named is told as it was named.
        let named = more.last().is_some_and(|name| said.stderr.contains(&format!("`{name}")));
        assert!(said.stderr.contains(place) || named, "{args:?}: {said:?}");
        assert!(!said.stderr.contains(&sandbox.api_key), "{args:?}: {said:?}");
    }
    assert_eq!(kept(), before);
}
