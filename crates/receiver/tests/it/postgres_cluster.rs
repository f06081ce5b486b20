//! PostgreSQL servers for tests, on a socket in a temporary directory.
//!
//! `cargo test` runs all tests in one process, which starts one server. nextest runs each test in its own
//! process; the first of a run starts the server, and the others find it by the id of the run.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::{Config, NoTls};

/// If set to 1, a missing PostgreSQL fails the tests instead of skipping them.
const REQUIRE: &str = "FORMSVC_REQUIRE_POSTGRES";
/// The system user that runs the server if the tests run as root, and the database user.
const USER: &str = "nobody";
const POOL_SIZE: usize = 12;
/// Connections that are opened before a test, so that its operations run concurrently.
const OPEN_CONNECTIONS: usize = 3;
const TIMEOUT: Duration = Duration::from_secs(20);
/// The shared server needs no durability.
const SHARED_SETTINGS: &[&str] = &["fsync=off"];
/// The run's id in the environment of a nextest test.
const RUN_ID: &str = "NEXTEST_RUN_ID";
/// Shell script that runs the server until its stdin closes and the process `run`, if not 0, has ended,
/// and then deletes the server's files.
const KEEPER: &str = "dir=$1; run=$2; shared=$3; shift 3; \"$@\" </dev/null & pid=$!; read -r line; \
    while [ $run != 0 ] && kill -0 $run; do sleep 1; done; kill -INT $pid; wait $pid; \
    rm -rf \"$dir\" $shared $shared.lock";

pub(crate) struct Cluster {
    directory: PathBuf,
    programs: PathBuf,
}

impl Cluster {
    /// The shared server. Prints a message and returns `None` if PostgreSQL is not installed.
    pub(crate) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        let start = || match std::env::var(RUN_ID) {
            Ok(run_id) => Self::find_or_start(&run_id),
            Err(_) => Self::start(SHARED_SETTINGS),
        };
        SHARED.get_or_init(start).as_ref()
    }

    /// The server of a nextest run.
    fn find_or_start(run_id: &str) -> Option<Self> {
        let shared = std::env::temp_dir().join(format!("formsvc-pg-{run_id}"));
        let lock = File::create(shared.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        if let Ok(directory) = std::fs::read_to_string(&shared) {
            return Some(Self { directory: directory.into(), programs: find_programs()? });
        }
        let cluster = Self::init()?;
        cluster.serve_until(SHARED_SETTINGS, std::os::unix::process::parent_id(), &shared);
        std::fs::write(&shared, cluster.directory.to_str().unwrap()).unwrap();
        Some(cluster)
    }

    /// A server for one test.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        let cluster = Self::init()?;
        cluster.serve(settings);
        Some(cluster)
    }

    /// Creates the files of a server.
    fn init() -> Option<Self> {
        let Some(programs) = find_programs() else {
            let is_required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
            assert!(!is_required, "PostgreSQL is not installed, and {REQUIRE} is 1");
            let _ = std::io::stderr().write_all(b"skipped: PostgreSQL is not installed\n");
            return None;
        };
        let directory = tempfile::Builder::new().prefix("formsvc-pg-").tempdir().unwrap().keep();
        if is_root() {
            run(Command::new("chown").arg(format!("{USER}:nogroup")).arg(&directory));
        }
        let cluster = Self { directory, programs };
        run(unprivileged(&cluster.programs.join("initdb"))
            .args(["--no-sync", "-A", "trust", "-E", "UTF8", "--locale", "C", "-U", USER, "-D"])
            .arg(cluster.data()));
        Some(cluster)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Runs the server until this process ends.
    pub(crate) fn serve(&self, settings: &[&str]) {
        self.serve_until(settings, 0, Path::new(""));
    }

    fn serve_until(&self, settings: &[&str], run: u32, shared: &Path) {
        let server = unprivileged(&self.programs.join("postgres"));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", KEEPER, "sh"]).arg(&self.directory).arg(run.to_string()).arg(shared);
        command.arg(server.get_program()).args(server.get_args());
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.directory);
        let fixed = ["listen_addresses=", "shared_buffers=32MB", "max_connections=500"];
        for setting in fixed.iter().chain(settings) {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut keeper = command.spawn().unwrap();
        // Stays open until this process ends.
        std::mem::forget(keeper.stdin.take());
        let start = Instant::now();
        let mut is_ready = Command::new(self.programs.join("pg_isready"));
        is_ready.arg("-q").arg("-h").arg(&self.directory);
        while !is_ready.status().unwrap().success() {
            assert!(keeper.try_wait().unwrap().is_none(), "the server ended");
            assert!(start.elapsed() < TIMEOUT, "the server does not start");
            // Sleeps because PostgreSQL does not signal that it is ready.
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::spawn(move || keeper.wait());
    }

    /// Kills the server without a checkpoint.
    pub(crate) fn crash(&self) {
        let file = self.data().join("postmaster.pid");
        let pid = std::fs::read_to_string(&file).unwrap();
        run(Command::new("kill").args(["-s", "QUIT", pid.lines().next().unwrap()]));
        let start = Instant::now();
        while file.exists() {
            assert!(start.elapsed() < TIMEOUT, "the server does not end");
            // Sleeps because the server is not a child of this process: its end cannot be awaited.
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Creates an empty schema. Returns a pool of connections that use it.
    pub(crate) async fn new_schema(&self) -> Pool {
        let schema = self.create_schema().await;
        let pool = self.pool(&schema, RecyclingMethod::Custom("ROLLBACK".into()));
        let mut connections = Vec::new();
        for _ in 0..OPEN_CONNECTIONS {
            connections.push(pool.get().await.unwrap());
        }
        pool
    }

    pub(crate) async fn create_schema(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("t{}_{number}", std::process::id());
        let client = self.pool("public", RecyclingMethod::Fast).get().await.unwrap();
        client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.unwrap();
        schema
    }

    pub(crate) fn pool(&self, schema: &str, recycling_method: RecyclingMethod) -> Pool {
        pool_for_url(&self.url(schema), recycling_method)
    }

    /// Connection string for a schema.
    pub(crate) fn url(&self, schema: &str) -> String {
        connection_string(&self.directory, schema)
    }
}

pub(crate) fn connection_string(socket_directory: &Path, schema: &str) -> String {
    let host = socket_directory.display();
    format!("host={host} user={USER} dbname=postgres options='-c search_path={schema}'")
}

pub(crate) fn pool_for_url(url: &str, recycling_method: RecyclingMethod) -> Pool {
    let config: Config = url.parse().unwrap();
    let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method });
    let pool = Pool::builder(manager).max_size(POOL_SIZE).runtime(Runtime::Tokio1);
    pool.wait_timeout(Some(TIMEOUT)).create_timeout(Some(TIMEOUT)).build().unwrap()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A command without root privileges, which PostgreSQL requires.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", "nogroup", "--clear-groups", "--"]).arg(program);
    command
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// The directory of PostgreSQL's programs: from the search path, or Debian's newest version.
pub(crate) fn find_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let resolve =
        |dir: PathBuf| Some(dir.join("postgres").canonicalize().ok()?.parent()?.to_owned());
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<_> = debian.map(|version| version.path().join("bin")).collect();
    debian.sort();
    let mut found =
        std::env::split_paths(&path).filter_map(resolve).chain(debian.into_iter().rev());
    found.find(|dir| {
        ["initdb", "postgres", "pg_isready"].iter().all(|name| dir.join(name).is_file())
    })
}
