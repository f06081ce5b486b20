//! A receiver in a child process.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;
use url::Url;

use super::run::SECRET;

/// Requires the runtimes that `.ci/run` installs.
const REQUIRE: &str = "FORMSVC_REQUIRE_RUNTIMES";

/// The programming language of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Python,
    Node,
    Go,
    Php,
}

impl Language {
    /// Languages with twins that are the receiver with some lines changed.
    pub(super) const SCRIPTED: [Self; 4] = [Self::Python, Self::Node, Self::Go, Self::Php];

    /// Returns the receiver's path in `docs/receivers`.
    fn source(self) -> &'static str {
        match self {
            Self::Rust => "rust/receiver.rs",
            Self::Python => "python/receiver.py",
            Self::Node => "node/receiver.mjs",
            Self::Go => "go/receiver.go",
            Self::Php => "php/receiver.php",
        }
    }

    /// Returns the runtime and its argument that prints the version.
    fn runtime(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Rust => None,
            Self::Python => Some(("python3", "--version")),
            Self::Node => Some(("node", "--version")),
            Self::Go => Some(("go", "version")),
            Self::Php => Some(("php", "--version")),
        }
    }

    /// Returns true if the runtime is installed.
    fn is_installed(self) -> bool {
        let Some((program, version)) = self.runtime() else { return true };
        let printed = Command::new(program).arg(version).stdin(Stdio::null()).output();
        if printed.is_ok_and(|output| output.status.success()) {
            return true;
        }
        // Go takes 300 MB and is not required.
        let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
        assert!(
            !required || self == Self::Go,
            "{program} is not installed, and {REQUIRE}=1 requires it"
        );
        // The test harness does not capture this.
        let skipped = format!("skipped: {program} is not installed\n");
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        false
    }

    /// Returns the command that runs the file on a free port.
    fn command(self, file: &Path) -> Command {
        let with = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        };
        let path = file.to_str().unwrap();
        match self {
            Self::Rust => with(path, &["0"]),
            Self::Python => with("python3", &[path, "0"]),
            Self::Node => with("node", &[path, "0"]),
            Self::Go => with(compiled(file).to_str().unwrap(), &["0"]),
            Self::Php => with("php", &["-S", "127.0.0.1:0", path]),
        }
    }
}

/// Compiles a Go file. Returns the path of the program.
fn compiled(file: &Path) -> PathBuf {
    let (folder, program) = (file.parent().unwrap(), file.with_extension("bin"));
    let built = Command::new("go")
        .args(["build", "-o"])
        .args([&program, file])
        .current_dir(folder)
        .env("GOFLAGS", "")
        .env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}

/// A change of a source: a text that occurs once, and its replacement.
pub(super) type Change = (&'static str, &'static str);

/// A running receiver, which is killed on drop.
pub(super) struct Process {
    pub(super) url: Url,
    child: Child,
    output: Arc<Mutex<String>>,
    folder: TempDir,
}

impl Process {
    /// Starts the receiver with lines changed. Returns `None` if the runtime is not installed.
    pub(super) fn start(language: Language, changes: &[Change]) -> Option<Self> {
        Self::run(language, changes, true)
    }

    /// Starts the receiver without `FORMSVC_INBOX`.
    pub(super) fn start_without_inbox_path(language: Language) -> Option<Self> {
        Self::run(language, &[], false)
    }

    fn run(language: Language, changes: &[Change], has_inbox_path: bool) -> Option<Self> {
        if !language.is_installed() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = if language == Language::Rust {
            example()
        } else {
            changed(language.source(), changes, folder.path())
        };
        let (work, home) = (folder.path().join("work"), folder.path().join("home"));
        std::fs::create_dir(&work).unwrap();
        std::fs::create_dir(&home).unwrap();
        let mut command = language.command(&file);
        if has_inbox_path {
            command.env("FORMSVC_INBOX", folder.path().join("inbox"));
        } else {
            command.env_remove("FORMSVC_INBOX");
        }
        command
            .env("FORMSVC_SIGNING_SECRET", SECRET)
            .env("HOME", home)
            .current_dir(work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = Arc::new(Mutex::new(String::new()));
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        // The server of PHP logs to standard error.
        let url = if language == Language::Php {
            drain(out, &output);
            read_url(err, &output)
        } else {
            drain(err, &output);
            read_url(out, &output)
        };
        let url = url.unwrap_or_else(|| panic!("{language:?}: {}", output.lock().unwrap()));
        Some(Self { url, child, output, folder })
    }

    /// Lists the files that the receiver created in its working directory.
    pub(super) fn files_in_working_directory(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("work")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Returns the output of the receiver so far.
    pub(super) fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of the example, which Cargo builds with the tests.
fn example() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.parent().unwrap().with_file_name("examples").join("receiver");
    let path = path.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(path.exists(), "`cargo test -p formsvc-contract`, without a name, builds the example");
    path
}

/// Writes the receiver with its changes into the folder.
fn changed(source: &str, changes: &[Change], folder: &Path) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/receivers").join(source);
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "{source} has once: {from}");
        text = text.replace(from, to);
    }
    let file = folder.join(path.file_name().unwrap());
    std::fs::write(&file, text).unwrap();
    file
}

/// Returns the URL in the first line with one. A thread reads the rest.
fn read_url(stream: impl Read + Send + 'static, output: &Arc<Mutex<String>>) -> Option<Url> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        output.lock().unwrap().push_str(&line);
        let address = line.split_once("http://").and_then(|(_, rest)| {
            let end = rest.find(|c: char| c != '.' && c != ':' && !c.is_ascii_digit())?;
            Url::parse(&format!("http://{}/", &rest[..end])).ok()
        });
        if let Some(url) = address {
            drain(stream, output);
            return Some(url);
        }
    }
}

/// Reads a stream to its end in a thread: a full pipe would block the receiver.
fn drain(stream: impl Read + Send + 'static, output: &Arc<Mutex<String>>) {
    let output = Arc::clone(output);
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            output.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    });
}
