//! Closed or full streams, a missing or read-only home folder, and invalid environment variables.
//! No command panics, and each ends with the right exit code.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::{Command, Stdio};

use crate::help::leaves;
use crate::processes;
use crate::support::{Said, Sandbox, formsvc};

/// Returns arguments with which a command does its work and ends without a signal.
fn arguments_for(words: &[String]) -> &'static [&'static str] {
    match words.join(" ").as_str() {
        "forms view" | "forms schema" | "submissions list" => &["penguins"],
        "submissions view" => &["penguins", "sub_none"],
        "submissions tail" => &["penguins", "-n", "1", "--count", "1"],
        "submissions export" => &["penguins", "--format", "csv"],
        "api" => &["me"],
        "config get" | "config unset" => &["output"],
        "config set" => &["output", "json"],
        "auth use" => &["nobody"],
        // The command runs until a signal, so an invalid argument ends it.
        "sandbox" => &["--rate-limit", "nonsense"],
        "webhook listen" => &["--port", "0", "--max-time", "100ms"],
        // The command runs until a signal, so an invalid argument ends it.
        "webhook events open" => &["--ui-port", "nonsense"],
        "webhook events tail" => &["--max-time", "100ms"],
        "completion" => &["bash"],
        _ => &[],
    }
}

fn quoted(words: &[String]) -> String {
    let args = words.iter().map(String::as_str).chain(arguments_for(words).iter().copied());
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

fn assert_no_bug(said: &Said, what: &str) {
    let panicked = said.stderr.contains("panicked") || said.stderr.contains("this is a bug");
    let known = matches!(said.code, Some(0 | 2..=8 | 10));
    // A check of `doctor` may fail here.
    let failed = said.code == Some(1) && what.contains("doctor");
    assert!(!panicked && (known || failed), "{what}: {said:?}");
}

#[test]
fn whole_lines_go_to_standard_error_at_once() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    // A datagram socket receives each write as a separate message.
    let pieces = |args: &[&str]| -> Vec<String> {
        let (near, far) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let stderr = Stdio::from(std::os::fd::OwnedFd::from(far));
        let mut run = sandbox.formsvc(args);
        let status = run.stdout(Stdio::null()).stderr(stderr).status().unwrap();
        // This drops the parent's copy of the socket, so that `recv` reports the end.
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
fn closed_or_full_streams_keep_exit_codes() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let home = tempfile::tempdir().unwrap();
    for words in leaves() {
        let line = quoted(&words);
        let whole = in_shell(&sandbox, &format!("\"$F\" {line} </dev/null"), home.path());
        let whole = Said::from({ whole }.output().unwrap());
        assert_no_bug(&whole, &line);
        for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
            let run = format!("\"$F\" {line} {closed}");
            let said = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
            assert_no_bug(&said, &run);
        }
        let run = format!("\"$F\" {line} >/dev/full </dev/null");
        let full = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
        let code = if whole.stdout.is_empty() { whole.code } else { Some(10) };
        assert_eq!(full.code, code, "{run}: {}", full.stderr);
        let run = format!("\"$F\" {line} 2>/dev/full </dev/null");
        let full = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
        assert_no_bug(&full, &run);
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
fn invalid_environment_causes_no_panic() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let bad = || OsString::from_vec(b"\xff\xfe".to_vec());
    for words in leaves() {
        let args: Vec<&str> =
            words.iter().map(String::as_str).chain(arguments_for(&words).iter().copied()).collect();
        let check = |what: &str, set: &[(&str, OsString)], more: Option<OsString>| {
            let mut command = sandbox.formsvc(&args);
            command.envs(set.iter().cloned()).args(more);
            assert_no_bug(&command.output().unwrap().into(), &format!("{args:?} with {what}"));
        };
        check("nothing", &[], None);
        for (name, value) in
            [("PATH", ""), ("HOME", "/nowhere/at/all"), ("COLUMNS", "-1x"), ("COLUMNS", "0")]
        {
            check(name, &[(name, value.into())], None);
        }
        let names = ["COLUMNS", "HOME", "TERM", "FORMSVC_PROFILE", "NO_COLOR", "LANG"];
        check("variables that are not UTF-8", &names.map(|name| (name, bad())), None);
        check("an argument that is not UTF-8", &[], Some(bad()));
        let folder = tempfile::tempdir().unwrap();
        let gone = format!("cd {0} && rmdir {0} && exec \"$@\"", folder.path().display());
        let mut inside = processes::command("sh");
        inside.env_clear().args(["-c", &gone, "sh", env!("CARGO_BIN_EXE_formsvc")]).args(&args);
        assert_no_bug(&inside.output().unwrap().into(), &format!("{args:?} in a removed folder"));
    }
    let said = Said::from(formsvc(&["me"]).arg(bad()).output().unwrap());
    assert_eq!(said.code, Some(2), "{said:?}");
}

/// A home folder that its owner cannot write to. File modes do not apply to root, so tests of root
/// run the binary as `nobody`.
struct ReadOnlyHome {
    home: tempfile::TempDir,
    /// A copy of the binary that `nobody` can run.
    binary_copy: Option<tempfile::TempDir>,
}

/// The id of the user `nobody` and of its group.
const NOBODY: u32 = 65534;

impl ReadOnlyHome {
    fn new(sandbox: &Sandbox) -> Self {
        let home = tempfile::tempdir().unwrap();
        let is_root = home.path().metadata().unwrap().uid() == 0;
        let binary_copy = is_root.then(|| {
            chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            let folder = tempfile::tempdir().unwrap();
            set_mode(folder.path(), 0o755);
            std::fs::copy(env!("CARGO_BIN_EXE_formsvc"), folder.path().join("formsvc")).unwrap();
            folder
        });
        let read_only = Self { home, binary_copy };
        let login = ["auth", "login", "--store", "file", "--profile", "work", "--api-key-file"];
        let key = read_only.home.path().join("key");
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
            let said = read_only.run(args);
            assert_eq!(said.code, Some(0), "{args:?}: {}", said.stderr);
        }
        read_only
    }

    /// The home folder and the config folders, which exist after `new`.
    fn folders(&self) -> [std::path::PathBuf; 3] {
        [".config/formsvc", ".config", ""].map(|folder| self.home.path().join(folder))
    }

    fn make_read_only(&self) {
        for folder in self.folders() {
            set_mode(&folder, 0o500);
        }
    }

    fn run(&self, args: &[&str]) -> Said {
        let own = std::path::Path::new(env!("CARGO_BIN_EXE_formsvc"));
        let mut command = match &self.binary_copy {
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

impl Drop for ReadOnlyHome {
    fn drop(&mut self) {
        for folder in self.folders().iter().rev() {
            set_mode(folder, 0o700);
        }
    }
}

fn set_mode(path: &std::path::Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Commands that must write a file, with their arguments.
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
fn read_only_home_fails_only_commands_that_write() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let read_only = ReadOnlyHome::new(&sandbox);
    let home_path = read_only.home.path().to_str().unwrap();
    let args_of = |words: &[String], more: &[&str]| {
        let args = words.iter().cloned().chain(more.iter().map(|&arg| arg.to_owned()));
        args.collect::<Vec<String>>()
    };
    let run = |args: &[String]| read_only.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let writes = |words: &[String]| WRITES.iter().find(|(of, _)| *of == words.join(" "));
    let reads =
        |words: &[String]| writes(words).is_none() || words.join(" ") == "submissions export";
    let reading: Vec<_> = leaves().into_iter().filter(|words| reads(words)).collect();
    let reading: Vec<_> =
        reading.iter().map(|words| args_of(words, arguments_for(words))).collect();
    let before: Vec<Said> = reading.iter().map(|args| run(args)).collect();
    read_only.make_read_only();
    for (args, before) in reading.iter().zip(before) {
        let said = run(args);
        assert_no_bug(&said, &format!("{args:?}"));
        // Outcomes of checks may differ.
        if !args.contains(&"doctor".to_owned()) {
            assert_eq!(said.code, before.code, "{args:?}: {said:?}");
        }
    }
    let stored = || {
        let folder = read_only.home.path().join(".config/formsvc");
        ["config.toml", "credentials.toml"].map(|file| std::fs::read(folder.join(file)).unwrap())
    };
    let before = stored();
    for (words, more) in WRITES {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert!(leaves().contains(&words), "{words:?}");
        let args = args_of(&words, more);
        let said = run(&args);
        assert_no_bug(&said, &format!("{args:?}"));
        assert_eq!(said.code, Some(10), "{args:?}: {said:?}");
        // The error shows the path as the user entered it.
        let named = more.last().is_some_and(|name| said.stderr.contains(&format!("`{name}")));
        assert!(said.stderr.contains(home_path) || named, "{args:?}: {said:?}");
        assert!(!said.stderr.contains(&sandbox.api_key), "{args:?}: {said:?}");
    }
    assert_eq!(stored(), before);
}
