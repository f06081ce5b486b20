//! The first start of a server: a process with a new database.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

/// Maximum start time of a server on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// A server process. It is killed when this is dropped.
pub(super) struct Started {
    pub(super) base_url: String,
    /// The printed link with which the first user signs up.
    pub(super) link: String,
    _said: Lines<BufReader<ChildStderr>>,
    _child: Child,
    _folder: TempDir,
}

impl Started {
    /// Starts the server and reads the link that it prints.
    pub(super) async fn for_the_first_time() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (database, ready): (PathBuf, PathBuf) =
            (folder.path().join("new.db"), folder.path().join("ready.json"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_server"));
        for row in formsvc_server::cmd::SETTINGS {
            command.env_remove(row.variable);
        }
        command.args(["--log-level", "error", "serve", "--port", "0", "--profile", "dev"]);
        command.args(["--retry-base", "50ms", "--retry-factor", "1"]);
        command.arg("--database").arg(database).arg("--ready-file").arg(&ready);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let link = tokio::time::timeout(START_MAX, async {
            while let Some(line) = said.next_line().await.unwrap() {
                if let Some(at) = line.find("http://").filter(|_| line.contains("/welcome/")) {
                    return line[at..].to_owned();
                }
            }
            panic!("the server ended before it printed a link");
        });
        let link = link.await.expect("the server prints a link");
        let base_url = link.split("/dashboard/").next().unwrap().to_owned();
        Self { base_url, link, _said: said, _child: child, _folder: folder }
    }
}
