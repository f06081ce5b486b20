//! A PostgreSQL server for the tests of one run, on a socket in a directory of its own, gone with the run; or
//! one of a test's own, gone with its process.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, Pool, Runtime};
use tokio_postgres::{Config, NoTls};

/// Set where a missing PostgreSQL is a failure rather than a reason to skip.
const REQUIRE: &str = "FORMSVC_REQUIRE_POSTGRES";
/// Whom root starts a server as, and the user in the database.
const USER: &str = "nobody";
/// Connections of a test, at most.
const CONNECTIONS: usize = 12;
/// Those that are made before it begins, so that operations that could meet do.
const READY: usize = 3;
const PATIENCE: Duration = Duration::from_secs(20);
/// What is lost with the machine is lost with the test.
const SHARED_SETTINGS: &[&str] = &["fsync=off"];
/// What nextest calls a run, each test of which is a process of its own and a child of nextest's.
const RUN: &str = "NEXTEST_RUN_ID";
/// A shell that ends the server, and removes what it leaves, once nobody can write to it any more and the
/// process that it was told of has ended.
const KEEP: &str = "dir=$1; run=$2; place=$3; shift 3; \"$@\" </dev/null & pid=$!; read -r nothing; \
    while [ $run != 0 ] && kill -0 $run; do sleep 1; done; kill -INT $pid; wait $pid; rm -rf \"$dir\" $place $place.lock";

pub(super) struct Cluster {
    dir: PathBuf,
    programs: PathBuf,
}

impl Cluster {
    /// The server of this run; where there is no PostgreSQL, none, which is told.
    pub(super) fn or_skip() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        let shared = || match std::env::var(RUN) {
            Ok(run) => Self::of_run(&run),
            Err(_) => Self::start(SHARED_SETTINGS),
        };
        SHARED.get_or_init(shared).as_ref()
    }

    /// The server that the first of the run's processes starts, since starting one takes longer than most
    /// tests.
    fn of_run(run: &str) -> Option<Self> {
        let place = std::env::temp_dir().join(format!("formsvc-pg-{run}"));
        let lock = File::create(place.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        if let Ok(dir) = std::fs::read_to_string(&place) {
            return Some(Self { dir: dir.into(), programs: programs()? });
        }
        let cluster = Self::make()?;
        cluster.serve_until(SHARED_SETTINGS, std::os::unix::process::parent_id(), &place);
        std::fs::write(&place, cluster.dir.to_str().unwrap()).unwrap();
        Some(cluster)
    }

    /// A server of a test's own.
    pub(super) fn start(settings: &[&str]) -> Option<Self> {
        let cluster = Self::make()?;
        cluster.serve(settings);
        Some(cluster)
    }

    /// The files of a server.
    fn make() -> Option<Self> {
        let Some(programs) = programs() else {
            let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
            assert!(!required, "there is no PostgreSQL, and {REQUIRE}=1 asks for one");
            let _ = std::io::stderr().write_all(b"skipped: there is no PostgreSQL here\n");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("formsvc-pg-").tempdir().unwrap().keep();
        if is_root() {
            run(Command::new("chown").arg(format!("{USER}:nogroup")).arg(&dir));
        }
        let cluster = Self { dir, programs };
        run(unprivileged(&cluster.programs.join("initdb"))
            .args(["--no-sync", "-A", "trust", "-E", "UTF8", "--locale", "C", "-U", USER, "-D"])
            .arg(cluster.data()));
        Some(cluster)
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Has the server run until this process ends.
    pub(super) fn serve(&self, settings: &[&str]) {
        self.serve_until(settings, 0, Path::new(""));
    }

    /// Has it run until this process ends and another one, unless that is 0, and leaves no trace of the place
    /// where others find it.
    fn serve_until(&self, settings: &[&str], run: u32, place: &Path) {
        let server = unprivileged(&self.programs.join("postgres"));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", KEEP, "sh"]).arg(&self.dir).arg(run.to_string()).arg(place);
        command.arg(server.get_program()).args(server.get_args());
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.dir);
        for setting in ["listen_addresses=", "shared_buffers=32MB", "max_connections=500"] {
            command.args(["-c", setting]);
        }
        for setting in settings {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut keeper = command.spawn().unwrap();
        // Open as long as this process is there, however it ends.
        std::mem::forget(keeper.stdin.take());
        let since = Instant::now();
        let mut ask = Command::new(self.programs.join("pg_isready"));
        ask.arg("-q").arg("-h").arg(&self.dir);
        while !ask.status().unwrap().success() {
            assert!(keeper.try_wait().unwrap().is_none(), "the server ended");
            assert!(since.elapsed() < PATIENCE, "the server does not answer");
            // Sleeps because a server that starts tells nobody when it has.
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::spawn(move || keeper.wait());
    }

    /// Ends the server at once, with whatever it had not written.
    pub(super) fn crash(&self) {
        let file = self.data().join("postmaster.pid");
        let pid = std::fs::read_to_string(&file).unwrap();
        run(Command::new("kill").args(["-s", "QUIT", pid.lines().next().unwrap()]));
        let since = Instant::now();
        while file.exists() {
            assert!(since.elapsed() < PATIENCE, "the server does not end");
            // Sleeps because another process's end is no event here.
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Connections, some there, to a schema of their own, which nothing is in.
    pub(super) async fn fresh_schema(&self) -> Pool {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("t{}_{number}", std::process::id());
        let pool = self.pool("public");
        let create = format!("CREATE SCHEMA {schema}");
        pool.get().await.unwrap().batch_execute(&create).await.unwrap();
        let pool = self.pool(&schema);
        let mut held = Vec::new();
        for _ in 0..READY {
            held.push(pool.get().await.unwrap());
        }
        pool
    }

    fn pool(&self, schema: &str) -> Pool {
        pool_at(&self.dir, schema)
    }
}

/// Connections to the server whose socket is in a directory.
pub(super) fn pool_at(dir: &Path, schema: &str) -> Pool {
    let mut config = Config::new();
    config.host_path(dir).user(USER).dbname("postgres");
    config.options(format!("-c search_path={schema}"));
    let pool =
        Pool::builder(Manager::new(config, NoTls)).max_size(CONNECTIONS).runtime(Runtime::Tokio1);
    pool.wait_timeout(Some(PATIENCE)).create_timeout(Some(PATIENCE)).build().unwrap()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A command that has no privileges, which PostgreSQL insists on.
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

/// The directory with the programs: where one on the search path really is, or Debian's newest.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = |dir: PathBuf| Some(dir.join("postgres").canonicalize().ok()?.parent()?.to_owned());
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<_> = debian.map(|version| version.path().join("bin")).collect();
    debian.sort();
    let found = std::env::split_paths(&path).filter_map(real).chain(debian.into_iter().rev());
    found.into_iter().find(|dir| {
        ["initdb", "postgres", "pg_isready"].iter().all(|name| dir.join(name).is_file())
    })
}
