//! A PostgreSQL server of a test's own: found on the machine, started on a socket in a directory of its
//! own as a user without privileges, gone with the process that started it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use secrecy::SecretString;

/// Set where a missing PostgreSQL is a failure rather than a reason to skip.
pub const REQUIRE: &str = "FORMSVC_REQUIRE_POSTGRES";
/// Where Debian keeps a server's programs, below a directory for each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Whom root starts a server as.
const UNPRIVILEGED: &str = "nobody";
/// The port of a server, which is the name of its socket unless it listens there.
const PORT: u16 = 5432;
/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that runs as long as this process.
#[derive(Debug)]
pub struct Cluster {
    dir: PathBuf,
    programs: PathBuf,
    settings: Vec<String>,
    port: u16,
    /// As long as these are open, those who keep the server, and its directory, go on.
    alive: Mutex<Vec<ChildStdin>>,
}

impl Cluster {
    /// The server of this process, begun when it is first asked for; `None` where there is no PostgreSQL.
    ///
    /// # Panics
    ///
    /// When there is one and it does not start, or there is none and the variable [`REQUIRE`] is `1`.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[])).as_ref()
    }

    /// A server that ends when it is dropped, with settings of its own such as `fsync=on`; `None` where there
    /// is no PostgreSQL, which is told.
    pub fn own(settings: &[&str]) -> Option<Self> {
        // Where there is no shared one there is none.
        Self::or_skip()?;
        Self::start(settings)
    }

    /// A server of its own that listens on a port of this machine with TLS, with a certificate and its key
    /// as PEM.
    pub fn with_tls(certificate: &str, key: &str) -> Option<(Self, u16)> {
        Self::or_skip()?;
        let mut cluster = Self::prepare(&[])?;
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = cluster.data().join(name);
            std::fs::write(&path, text).expect("a file is written");
            let mode = Command::new("chmod").arg("600").arg(&path).status();
            assert!(mode.is_ok_and(|status| status.success()), "the key is private");
            own(&path);
        }
        // Free a moment ago.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        cluster.port = listener.local_addr().expect("it has an address").port();
        drop(listener);
        let port = format!("port={}", cluster.port);
        for setting in ["ssl=on", "listen_addresses=127.0.0.1", &port] {
            cluster.settings.push(setting.to_owned());
        }
        cluster.keep_running();
        let port = cluster.port;
        Some((cluster, port))
    }

    /// [`shared`](Self::shared), for a test that ends without one: it says that it is skipped.
    pub fn or_skip() -> Option<&'static Self> {
        let shared = Self::shared();
        if shared.is_none() {
            let _ =
                std::io::stderr().write_all(b"skipped: there is no PostgreSQL on this machine\n");
        }
        shared
    }

    fn start(settings: &[&str]) -> Option<Self> {
        let cluster = Self::prepare(settings)?;
        cluster.keep_running();
        Some(cluster)
    }

    fn prepare(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
            assert!(!required, "there is no PostgreSQL, and {REQUIRE}=1 asks for one");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("formsvc-pg-").tempdir().expect("a directory");
        // Removed by the server's keeper, since nothing of this process outlives it.
        let dir = dir.keep();
        own(&dir);
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let cluster = Self { dir, programs, settings, port: PORT, alive: Mutex::default() };
        cluster.initialise();
        Some(cluster)
    }

    /// Where a schema of its own is, which nothing is in.
    pub fn fresh_schema(&self) -> SecretString {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let schema = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql(&format!("CREATE SCHEMA {schema}"));
        self.address(&format!("&options=-c%20search_path%3D{schema}"))
    }

    /// Where the server is, with more parameters.
    pub fn address(&self, more: &str) -> SecretString {
        let socket = self.dir.to_str().expect("a plain path").replace('/', "%2F");
        let address = format!("postgres:///postgres?host={socket}&user={UNPRIVILEGED}{more}");
        address.into()
    }

    /// The directory with the server's socket.
    pub fn socket_dir(&self) -> &Path {
        &self.dir
    }

    /// Has the server carry out SQL, and gives what it printed.
    ///
    /// # Panics
    ///
    /// When it refuses.
    pub fn sql(&self, sql: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args([
                "--no-psqlrc",
                "-AtqX",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                UNPRIVILEGED,
                "-d",
                "postgres",
            ])
            .arg("-h")
            .arg(&self.dir)
            .args(["-p", &self.port.to_string(), "-c", sql])
            .output()
            .expect("psql starts");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn initialise(&self) {
        let mut command = unprivileged(&self.programs.join("initdb"));
        command.args(["--no-sync", "--no-instructions", "-A", "trust", "-E", "UTF8"]);
        command.args(["--locale", "C", "-U", UNPRIVILEGED, "-D"]).arg(self.data());
        let output = command.output().expect("initdb starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts the server, and waits until it answers.
    fn keep_running(&self) {
        let mut keeper = serve(&self.dir, &self.programs, &self.settings);
        let since = Instant::now();
        while !self.answers() {
            assert!(keeper.try_wait().is_ok_and(|ended| ended.is_none()), "the server ended");
            assert!(since.elapsed() < PATIENCE, "the server does not answer");
            // Sleeps because a server that starts tells nobody when it has.
            std::thread::sleep(Duration::from_millis(20));
        }
        // Its standard input is open as long as this process is there, however it ends.
        let stdin = keeper.stdin.take();
        self.alive.lock().unwrap_or_else(PoisonError::into_inner).extend(stdin);
        std::thread::spawn(move || keeper.wait());
    }

    fn answers(&self) -> bool {
        let mut ask = Command::new(self.programs.join("pg_isready"));
        ask.arg("-q").arg("-h").arg(&self.dir).args(["-p", &self.port.to_string()]);
        ask.status().is_ok_and(|status| status.success())
    }

    /// Ends the server at once, as if it had crashed, with whatever is under way.
    ///
    /// # Panics
    ///
    /// When it does not end.
    pub fn crash(&self) {
        let file = self.data().join("postmaster.pid");
        let text = std::fs::read_to_string(&file).expect("the server runs");
        let pid = text.lines().next().expect("it says its number");
        let status = Command::new("kill").args(["-s", "QUIT", pid]).status();
        assert!(status.is_ok_and(|status| status.success()), "the server is told");
        let since = Instant::now();
        while file.exists() {
            assert!(since.elapsed() < PATIENCE, "the server does not end");
            // Sleeps because another process's end is no event here.
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts it again, and waits until it answers.
    pub fn start_again(&self) {
        self.keep_running();
    }
}

/// A shell that ends the server, and removes what it leaves, once nobody can write to it any more.
const KEEP: &str = "dir=$1; shift; \"$@\" </dev/null & pid=$!; read -r nothing; kill -INT $pid; \
    wait $pid; rm -rf \"$dir\"";

fn serve(dir: &Path, programs: &Path, settings: &[String]) -> Child {
    let mut command = unprivileged(Path::new("/bin/sh"));
    command.args(["-c", KEEP, "sh"]).arg(dir);
    command.arg(programs.join("postgres")).arg("-D").arg(dir.join("data")).arg("-k").arg(dir);
    for setting in [
        "listen_addresses=",
        "fsync=off",
        "full_page_writes=off",
        "shared_buffers=32MB",
        "max_connections=300",
        "max_wal_size=256MB",
        "logging_collector=off",
    ] {
        command.args(["-c", setting]);
    }
    // Of two for one thing the last counts.
    for setting in settings {
        command.args(["-c", setting]);
    }
    let log = std::fs::File::create(dir.join("log")).expect("a log");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
    command.spawn().expect("the server starts")
}

/// A command that has no privileges, which PostgreSQL insists on.
fn unprivileged(program: &Path) -> Command {
    if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", UNPRIVILEGED, "--regid", "nogroup", "--clear-groups", "--"]);
        command.arg(program);
        command
    } else {
        Command::new(program)
    }
}

fn is_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}

/// Gives a directory to whom the server runs as.
fn own(dir: &Path) {
    if is_root() {
        let owner = format!("{UNPRIVILEGED}:nogroup");
        let status = Command::new("chown").arg(owner).arg(dir).status();
        assert!(status.is_ok_and(|status| status.success()), "the directory has an owner");
    }
}

/// The directory with PostgreSQL's programs: where one on the search path really is, or Debian's newest.
fn programs() -> Option<PathBuf> {
    let has_all = |dir: &PathBuf| {
        ["initdb", "postgres", "pg_isready", "psql"].iter().all(|name| dir.join(name).is_file())
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path)
        .filter_map(|dir| Some(dir.join("postgres").canonicalize().ok()?.parent()?.to_path_buf()))
        .find(has_all);
    if on_path.is_some() {
        return on_path;
    }
    let versions = std::fs::read_dir(DEBIAN).ok()?.flatten();
    let mut found: Vec<_> =
        versions.map(|version| version.path().join("bin")).filter(has_all).collect();
    found.sort_by_key(|dir| {
        let version = dir.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
        version.and_then(|version| version.parse::<u32>().ok())
    });
    found.pop()
}
