//! Runs behind PgBouncer in transaction mode.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use formsvc_client::test_util::Fault;
use formsvc_export::{ExportError, PullOptions, SyncError, SyncTarget};

use super::database::{Database, texts};
use super::postgres_schema::PostgresSchema;
use super::{form_id, service, sync};
use crate::limited::limited;

/// PgBouncer in transaction mode, in front of the shared server.
struct Pooler {
    process: Child,
    folder: tempfile::TempDir,
}

impl Pooler {
    /// Starts a pooler; `None` if it is not installed.
    fn start(schema: &PostgresSchema) -> Option<Self> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]
            .into_iter()
            .find(|path| std::path::Path::new(path).exists());
        let Some(program) = program else {
            let _ = std::io::stderr().write_all(b"skipped: PgBouncer is not installed\n");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let (path, config) = (folder.path().to_str().unwrap(), folder.path().join("pgbouncer.ini"));
        std::fs::write(
            &config,
            format!(
                "[databases]\n* = host={} user=nobody\n[pgbouncer]\nlisten_addr =\n\
                 unix_socket_dir = {path}\nauth_type = any\npool_mode = transaction\n\
                 default_pool_size = 4\nlisten_port = 5432\n",
                schema.socket_folder()
            ),
        )
        .unwrap();
        // It refuses to run as root.
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let mut command = if is_root {
            let owner = Command::new("chown").args(["-R", "nobody", path]).status().unwrap();
            assert!(owner.success());
            let mut command = Command::new("setpriv");
            command.args([
                "--reuid",
                "nobody",
                "--regid",
                "nogroup",
                "--clear-groups",
                "--",
                program,
            ]);
            command
        } else {
            Command::new(program)
        };
        let process =
            command.arg(&config).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let socket = folder.path().join(".s.PGSQL.5432");
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            // Sleeps because the pooler does not signal that it is ready.
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Self { process, folder })
    }

    fn target(&self, schema: &PostgresSchema) -> SyncTarget {
        let host = self.folder.path().to_str().unwrap().replace('/', "%2F");
        let url = format!("postgres:///postgres?host={host}&user=nobody");
        url.parse::<SyncTarget>().unwrap().schema(&schema.name)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn runs_behind_a_pooler_in_transaction_mode_are_complete() {
    let Some(database) = Database::postgres().await else { return };
    let Some(pooler) = Pooler::start(database.schema()) else { return };
    let (target, service) = (pooler.target(database.schema()), service(2_000));
    // All runs create the tables, and wait for the lock.
    let runs: Vec<_> = (0..3)
        .map(|_| {
            let (target, service) = (target.clone(), service.clone());
            async move { sync(&target.open().await.unwrap(), &service).await.unwrap() }
        })
        .collect();
    let summaries = futures_util::future::join_all(runs).await;
    assert_eq!(summaries.iter().map(|summary| summary.pull.new).sum::<u64>(), 2_000);
    let view = database.table(&summaries[0].view);
    let sum = database.query(&format!("SELECT sum(\"Number\"::int) FROM {view}")).await;
    assert_eq!(sum, [texts(&[&(2_000 * 2_001 / 2).to_string()])]);
    let store = target.open().await.unwrap();
    let status = store.status().await.unwrap().pop().unwrap();
    assert_eq!((status.rows, status.coverage.intervals().len()), (2_000, 1));
    let slow = limited(&service, 1, Fault::Slow(Duration::from_secs(3_600)));
    let (form, options) = (form_id(), PullOptions::default());
    let has_stored = tokio::sync::Notify::new();
    let second = async {
        has_stored.notified().await;
        sync(&target.open().await.unwrap(), &service).await.unwrap_err()
    };
    tokio::select! {
        _ = store.sync(&slow, &form, None, &options, |_| has_stored.notify_one()) => {
            panic!("the run ended")
        }
        error = second => {
            assert!(matches!(error, ExportError::Sync(SyncError::Locked(_))), "{error}");
        }
    }
    // The lock ended with its run.
    sync(&store, &service).await.unwrap();
}
