//! A private desktop session for a test: a D-Bus daemon and a keyring, in a home folder that is
//! removed afterwards.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::processes;
use crate::support::{Said, formsvc};

/// If this variable is `1`, a missing keyring fails the test instead of skipping it.
const REQUIRE: &str = "FORMSVC_REQUIRE_KEYRING";
/// Programs that the tests need. They are in Debian's packages gnome-keyring, dbus and
/// libsecret-tools; python3-dbus is needed too.
const PROGRAMS: [&str; 3] = ["dbus-daemon", "gnome-keyring-daemon", "secret-tool"];
/// The interpreter that finds the modules of Debian's packages.
const PYTHON: &str = "/usr/bin/python3";
/// A Python program that owns the D-Bus name of the keyring and never responds, until its input
/// ends.
const SILENT: &str = "import dbus, sys\n\
                      bus = dbus.SessionBus()\n\
                      bus.request_name('org.freedesktop.secrets')\n\
                      print('owned', flush=True)\n\
                      sys.stdin.read()\n";
/// The configuration of a bus that starts no services.
const EMPTY_BUS: &str = r#"<busconfig><type>session</type><listen>unix:dir=RUN</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
<allow own="*"/></policy></busconfig>"#;

/// A home folder, and the folder of a session.
pub(super) struct Home(tempfile::TempDir);

impl Home {
    /// Returns a home folder, or `None` if there is no keyring, and then reports that the test is
    /// skipped.
    pub(super) fn or_skip() -> Option<Self> {
        if let Some(missing) = PROGRAMS.iter().find(|name| !is_installed(name)) {
            let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
            assert!(!required, "there is no {missing}, and {REQUIRE}=1 asks for one");
            let _ = writeln!(std::io::stderr(), "skipped: there is no {missing} on this machine");
            return None;
        }
        Some(Self::new())
    }

    pub(super) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for folder in [home.path(), home.run()] {
            std::fs::DirBuilder::new().mode(0o700).create(folder).unwrap();
        }
        home
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn run(&self) -> PathBuf {
        self.0.path().join("run")
    }

    /// Returns the path of the key file or the config file.
    pub(super) fn config(&self, name: &str) -> PathBuf {
        self.path().join(".config/formsvc").join(name)
    }

    /// Returns a program with this home folder, outside any session.
    pub(super) fn program(&self, name: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = processes::command(name);
        self.enter(&mut command);
        command.env("PATH", std::env::var_os("PATH").unwrap()).stdin(Stdio::null());
        command
    }

    /// Returns the binary with this home folder, outside any session.
    pub(super) fn formsvc(&self, args: &[&str]) -> Command {
        let mut command = formsvc(args);
        self.enter(&mut command);
        command
    }

    fn enter(&self, command: &mut Command) {
        command.env_clear().env("HOME", self.path()).env("XDG_RUNTIME_DIR", self.run());
    }

    /// Returns the files in the home folder that contain the text.
    pub(super) fn files_with(&self, text: &str) -> Vec<PathBuf> {
        fn visit(folder: &Path, text: &[u8], found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    visit(&path, text, found);
                } else if let Ok(bytes) = std::fs::read(&path)
                    && bytes.windows(text.len()).any(|window| window == text)
                {
                    found.push(path);
                }
            }
        }
        let mut found = Vec::new();
        visit(&self.path(), text.as_bytes(), &mut found);
        found
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// A bus and all programs that it started. They end when this is dropped, and when the test process
/// ends.
pub(super) struct Session<'a> {
    home: &'a Home,
    address: String,
    bus: Child,
    /// The bus runs as long as this pipe is open.
    alive: Option<ChildStdin>,
    silent: Option<Child>,
}

impl<'a> Session<'a> {
    /// A session with a locked keyring. The bus starts the keyring on the first request.
    pub(super) fn locked(home: &'a Home) -> Self {
        Self::with_bus(home, "--session")
    }

    /// A session with an unlocked keyring, as after a desktop login.
    pub(super) fn unlocked(home: &'a Home) -> Self {
        let session = Self::locked(home);
        let mut keyring = session.program("gnome-keyring-daemon");
        keyring.args(["--unlock", "--components=secrets"]).stdin(Stdio::piped());
        // The keyring becomes a daemon. In this process group, it ends with the bus.
        keyring.process_group(session.bus.id().try_into().unwrap());
        keyring.stdout(Stdio::null()).stderr(Stdio::null());
        let mut keyring = keyring.spawn().unwrap();
        keyring.stdin.take().unwrap().write_all(b"test").unwrap();
        assert!(keyring.wait().unwrap().success());
        session
    }

    /// A session without a secret service.
    pub(super) fn without_a_keyring(home: &'a Home) -> Self {
        let config = home.run().join("bus.conf");
        let text = EMPTY_BUS.replace("RUN", home.run().to_str().unwrap());
        std::fs::write(&config, text).unwrap();
        Self::with_bus(home, &format!("--config-file={}", config.display()))
    }

    /// A session with a keyring that accepts calls and never responds.
    pub(super) fn silent(home: &'a Home) -> Self {
        let mut session = Self::without_a_keyring(home);
        let mut owner = session.program(PYTHON);
        owner.args(["-c", SILENT]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut owner = owner.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(owner.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "owned\n", "is python3-dbus installed?");
        session.silent = Some(owner);
        session
    }

    fn with_bus(home: &'a Home, config: &str) -> Self {
        // At the end of its input, the shell kills its process group: the bus and all programs that
        // it started.
        let script = r#"dbus-daemon "$@" --nofork --nopidfile --print-address=1 2>/dev/null & read -r _; kill -KILL 0"#;
        let mut bus = home.program("sh");
        bus.args(["-c", script, "sh", config]).process_group(0);
        if config == "--session" {
            bus.arg(format!("--address=unix:dir={}", home.run().display()));
        }
        let mut bus = bus.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.starts_with("unix:"), "the bus said {address:?}");
        let (alive, address) = (bus.stdin.take(), address.trim().to_owned());
        Self { home, address, bus, alive, silent: None }
    }

    fn program(&self, name: &str) -> Command {
        let mut command = self.home.program(name);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command
    }

    pub(super) fn formsvc(&self, args: &[&str]) -> Command {
        let mut command = self.home.formsvc(args);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Said {
        self.formsvc(args).output().unwrap().into()
    }

    /// Returns our keyring entries as printed by `secret-tool`, which shares no code with this
    /// program.
    pub(super) fn list_entries(&self) -> String {
        let mut secret_tool = self.program("secret-tool");
        let seen = secret_tool.args(["search", "--all", "service", "formsvc"]).output().unwrap();
        let (out, err) = (String::from_utf8(seen.stdout), String::from_utf8(seen.stderr));
        // `secret-tool` prints attributes on standard error.
        out.unwrap() + &err.unwrap()
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.alive = None;
        let _ = self.bus.wait();
        if let Some(mut silent) = self.silent.take() {
            let _ = silent.kill();
            let _ = silent.wait();
        }
    }
}
