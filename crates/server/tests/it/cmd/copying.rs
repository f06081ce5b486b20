//! `formsvc-server copy`: a service made at random, copied between databases of both kinds, killed, and
//! compared by what the store answers.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;

use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use secrecy::ExposeSecret;

use super::service_at_random::{fill, picture};
use super::{Run, Site};

/// Where a database is, as the command is told.
#[derive(Clone, Debug)]
enum At {
    File(std::path::PathBuf),
    Server(String),
}

impl At {
    fn text(&self) -> OsString {
        match self {
            Self::File(path) => path.into(),
            Self::Server(address) => address.into(),
        }
    }

    async fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::File(path) => Arc::new(SqliteStore::open(path, system_clock()).unwrap()),
            Self::Server(address) => {
                let options = PostgresOptions::of(address.clone().into());
                Arc::new(PostgresStore::open(&options).await.unwrap())
            }
        }
    }

    /// All that the store tells.
    async fn picture(&self) -> Vec<String> {
        let store = self.open().await;
        let picture = picture(&*store).await;
        store.close().await.unwrap();
        picture
    }
}

/// A place for databases, with the server's key; none where there is no PostgreSQL.
struct Bench {
    site: Site,
    cluster: &'static Cluster,
    files: std::cell::Cell<u32>,
}

impl Bench {
    fn new() -> Option<Self> {
        let cluster = Cluster::or_skip()?;
        Some(Self { site: Site::new(), cluster, files: std::cell::Cell::new(0) })
    }

    fn file(&self) -> At {
        self.files.set(self.files.get() + 1);
        At::File(self.site.path(&format!("{}.db", self.files.get())))
    }

    fn server(&self) -> At {
        At::Server(self.cluster.fresh_schema().expose_secret().to_owned())
    }

    /// A file with a service in it.
    async fn service(&self, seed: u64) -> At {
        let at = self.file();
        let store = at.open().await;
        fill(&store, &self.site.path("server.key"), seed).await;
        store.close().await.unwrap();
        at
    }

    fn command(&self, from: &At, to: &At, rows: &str) -> std::process::Command {
        let mut command = self.site.command(&["copy", "--rows", rows, "--from"]);
        command.arg(from.text()).arg("--to").arg(to.text());
        command.arg("--secret-key-file").arg(self.site.path("server.key"));
        command
    }

    fn copy(&self, from: &At, to: &At) -> Run {
        Run::from(self.command(from, to, "7").output().unwrap())
    }

    /// A command that works on one of them.
    fn users(&self, at: &At) -> Run {
        let mut command = self.site.command(&["user", "list", "--output", "json"]);
        Run::from(command.env("FORMSVC_SERVER_DATABASE", at.text()).output().unwrap())
    }

    /// Copies, and kills it after so many transactions; `false` when it was done before.
    fn copy_and_kill(&self, from: &At, to: &At, after: usize) -> bool {
        let mut command = self.command(from, to, "3");
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let copied = lines.map_while(Result::ok).filter(|line| line.starts_with("copied "));
        if copied.take(after).count() == after {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(9), "it failed by itself: {status}");
        !status.success()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_answers_as_its_source_does() {
    for seed in 0..3 {
        let Some(bench) = Bench::new() else { return };
        let source = bench.service(seed).await;
        let (on_server, again) = (bench.server(), bench.server());
        let (file, back) = (bench.file(), bench.file());
        let census = bench.copy(&source, &on_server).succeeded().stdout;
        let before = source.picture().await;
        assert_eq!(on_server.picture().await, before);
        // From each kind to each kind: all find the same rows.
        for (from, to) in [(&source, &file), (&on_server, &again), (&again, &back)] {
            assert_eq!(bench.copy(from, to).succeeded().stdout, census);
            assert_eq!(to.picture().await, before);
        }
        // The source is as it was, and what is full is left alone.
        assert_eq!(source.picture().await, before);
        bench.copy(&source, &on_server).failed(2, "must be empty");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_goes_on_after_being_killed_and_nothing_uses_it_before_it_is_whole() {
    let Some(bench) = Bench::new() else { return };
    let source = bench.service(11).await;
    for to in [bench.server(), bench.file()] {
        let (mut killed, mut after) = (0, 1);
        while bench.copy_and_kill(&source, &to, after) {
            killed += 1;
            bench.users(&to).failed(10, "was not finished");
            let mut serve = bench.site.command(&["serve", "--port", "0"]);
            serve.env("FORMSVC_SERVER_DATABASE", to.text());
            Run::from(serve.output().unwrap()).failed(10, "was not finished");
            // And nothing is copied from it, nor is it found fit to serve.
            bench.copy(&to, &bench.file()).failed(10, "was not finished");
            let key = bench.site.path("server.key");
            let backup = bench.site.path("backup");
            for args in [["backup", backup.to_str().unwrap()], ["config", "check"]] {
                let mut command = bench.site.command(&args);
                command.args(if args[0] == "config" { &["--connect"][..] } else { &[] });
                command.env("FORMSVC_SERVER_DATABASE", to.text());
                let command = command.env("FORMSVC_SERVER_SECRET_KEY_FILE", &key);
                Run::from(command.output().unwrap()).failed(10, "was not finished");
            }
            assert!(!backup.exists());
            after = after * 2 + 1;
        }
        assert!(killed >= 4, "it was done after being killed {killed} times: nothing is shown");
        assert_eq!(to.picture().await, source.picture().await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_was_changed_since_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let source = bench.service(12).await;
    let to = bench.server();
    assert!(bench.copy_and_kill(&source, &to, 5), "it was done before it was killed");
    let other = bench.service(13).await;
    bench.copy(&other, &to).failed(2, "was changed since");
    let store = source.open().await;
    let user = store.users().await.unwrap().remove(0);
    let form = store.forms(&user.id).await.unwrap().remove(0);
    let draft = formsvc_protocol::FormStatus::Draft;
    let closed = formsvc_protocol::FormStatus::Closed;
    let other = if form.status == draft { closed } else { draft };
    store.set_form_status(&form.id, other).await.unwrap();
    store.close().await.unwrap();
    bench.copy(&source, &to).failed(2, "`forms` is not what it was");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_differs_at_the_end_is_told_and_not_served() {
    let Some(bench) = Bench::new() else { return };
    let source = bench.service(14).await;
    let At::Server(address) = bench.server() else { unreachable!() };
    let to = At::Server(address.clone());
    // Killed once all users are there, and before the end.
    assert!(bench.copy_and_kill(&source, &to, 4), "it was done before it was killed");
    let schema = address.rsplit("%3D").next().unwrap();
    bench.cluster.sql(&format!("UPDATE {schema}.users SET name = name || '!' WHERE user_no = 1"));
    bench.copy(&source, &to).failed(1, "`users` has 3 rows");
    bench.users(&to).failed(10, "was not finished");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_in_use_is_neither_copied_from_nor_into() {
    let Some(bench) = Bench::new() else { return };
    let (source, to) = (bench.service(15).await, bench.server());
    let At::File(path) = &source else { unreachable!() };
    let serving = SqliteStore::open_exclusive(path, system_clock()).unwrap();
    bench.copy(&source, &to).failed(10, "another server uses this database");
    serving.close().await.unwrap();
    drop(serving);
    bench.copy(&source, &to).succeeded();
    // It holds what servers share once it hears of others' work.
    let serving = to.open().await;
    let mut tries = (0..400).map(|_| bench.copy(&to, &bench.server()));
    let refused = tries.find(|run| run.code != 0).expect("it is seen that the source is used");
    refused.failed(10, "a server uses the source");
    bench.copy(&source, &to).failed(10, "a server uses the destination");
    serving.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_is_not_copied_onto_itself() {
    let Some(bench) = Bench::new() else { return };
    let (source, server) = (bench.service(17).await, bench.server());
    let At::File(path) = &source else { unreachable!() };
    let link = bench.site.path("link.db");
    std::fs::hard_link(path, &link).unwrap();
    for (from, to) in [(&source, &source), (&source, &At::File(link)), (&server, &server)] {
        bench.copy(from, to).failed(2, "are the same database");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_that_would_not_open_are_not_copied() {
    let Some(bench) = Bench::new() else { return };
    let (source, to) = (bench.service(16).await, bench.server());
    let key = bench.site.path("server.key");
    std::fs::rename(&key, bench.site.path("kept")).unwrap();
    bench.copy(&source, &to).failed(10, "no such file");
    let text = format!("fsvk_{}\n", "00".repeat(32));
    std::fs::write(&key, text).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    bench.copy(&source, &to).failed(10, "does not open");
    std::fs::rename(bench.site.path("kept"), &key).unwrap();
    bench.copy(&source, &to).succeeded();
}
