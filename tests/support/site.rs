//! A database with a user and a form, and server processes that use it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use formsvc_client::{Client, RateLimit as ClientRateLimit, SubmissionId};
use formsvc_protocol::{EndpointId, Form, User};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::delivery::{Deliveries, DeliveryOptions, Equipment, system_random};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::secrets::{KeyFile, Missing, Vault};
use formsvc_server::serve::{Running, ServeOptions};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{NewEndpoint, SealedSecret, Store, steady_clock, system_clock};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// Tasks that fill a form. This number of submissions shares one commit.
const FILLING: usize = 64;
/// Maximum start time of a server on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// A directory with a database that has a user and an API key.
pub struct Site {
    /// Path of the database.
    pub database: PathBuf,
    /// An API key of the user.
    pub key: SecretString,
    user: User,
    program: PathBuf,
    vault: Vault,
    folder: TempDir,
}

/// The store of a site, opened in the same way as by an admin command beside the server.
pub struct SiteStore {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The admin API of the store.
    pub admin: Admin,
    user: User,
    vault: Vault,
}

/// SQL of all attempts. The last attempt of a delivery is stored in the row of the delivery.
pub const ATTEMPTS: &str = "(SELECT endpoint_no, error, detail FROM attempts
    UNION ALL SELECT endpoint_no, last_error, last_detail FROM deliveries WHERE attempts > 0)";

/// Deliveries that were claimed and not settled: endpoint id and submission id.
pub type UnderWay = HashSet<(String, String)>;

impl Site {
    /// Creates a database in a temporary directory. `program` is the server.
    pub async fn new(program: &str) -> Self {
        Self::within(program, tempfile::tempdir().expect("a directory is made")).await
    }

    /// Creates a database in a directory.
    pub async fn within(program: &str, folder: TempDir) -> Self {
        let database = folder.path().join("kept.db");
        let store = SqliteStore::open(&database, system_clock()).expect("a database is made");
        let admin = Admin::new(Arc::new(store));
        let user = admin.create_user("ada@example.org", "Ada").await.expect("a new user");
        let key = admin.create_key(&user.id, "test").await.expect("a new key").secret;
        let file = KeyFile::beside(&database).expect("the database is there");
        let vault = Vault::new(&file.open(Missing::Create).expect("a key is made"));
        admin.store().close().await.expect("the store closes");
        Self { database, key, user, program: PathBuf::from(program), vault, folder }
    }

    /// Opens the store, also while a server uses it.
    pub fn open_store(&self) -> SiteStore {
        let store = SqliteStore::open(&self.database, system_clock()).expect("the store opens");
        let store: Arc<dyn Store> = Arc::new(store);
        let (admin, user) = (Admin::new(Arc::clone(&store)), self.user.clone());
        SiteStore { admin, store, user, vault: self.vault.clone() }
    }

    /// Returns the path of a file in the site's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a command of the program with this database.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        // Removes settings in the environment of the test run.
        for row in formsvc_server::cmd::SETTINGS {
            command.env_remove(row.variable);
        }
        command.env("FORMSVC_SERVER_DATABASE", &self.database).stdin(Stdio::null());
        command.args(arguments).kill_on_drop(true);
        command
    }

    /// Starts a server with additional arguments.
    pub async fn serve(&self, arguments: &[&str]) -> Server {
        self.serve_with(arguments, None).await.expect("the server starts")
    }

    /// Starts a server that dies at a fault point, given as `NAME:COUNT`. Returns an error if it dies before it
    /// is ready.
    pub async fn serve_with(
        &self,
        arguments: &[&str],
        fault: Option<&str>,
    ) -> Result<Server, ExitStatus> {
        let (ready, log) = (self.path("ready.json"), self.path("server.log"));
        // The file of a killed server would be mistaken for the file of this server.
        let _ = std::fs::remove_file(&ready);
        let mut command = self.command(&["--log-level", "warn", "serve", "--port", "0"]);
        command.args(["--profile", "dev", "--rate-limit", "off"]).args(arguments);
        command.arg("--ready-file").arg(&ready);
        let log = std::fs::File::options().create(true).append(true).open(log);
        command.stderr(log.expect("a log is made"));
        if let Some(fault) = fault {
            command.env("FORMSVC_FAULT_POINT", fault);
        }
        let mut child = command.spawn().expect("the program is there");
        let started = tokio::time::timeout(START_MAX, until_ready(&mut child, &ready));
        let base_url = started.await.unwrap_or_else(|_| panic!("not ready: {}", self.log()))?;
        Ok(Server { base_url, child })
    }

    /// Starts a server in this process, so that a test can use its store.
    pub async fn serve_here(&self) -> Here {
        let store = SqliteStore::open_exclusive(&self.database, system_clock());
        let store =
            Arc::new(store.expect("no server uses the database").with_steady_clock(steady_clock()));
        let mut options = ServeOptions { rate_limit: RateLimit::Off, ..ServeOptions::default() };
        (options.public.per_address, options.public.per_form) = (RateLimit::Off, RateLimit::Off);
        let metrics = Arc::clone(&options.metrics);
        let running =
            formsvc_server::serve::Server::bind(options, Arc::<SqliteStore>::clone(&store));
        let running = running.await.expect("loopback has a free port");
        let client = ClientOptions { policy: EgressPolicy::dev(), ..ClientOptions::default() };
        let deliveries = Deliveries::start(Equipment {
            store: Arc::<SqliteStore>::clone(&store),
            carrier: Arc::new(DeliveryClient::new(client)),
            vault: self.vault.clone(),
            clock: system_clock(),
            random: system_random(),
            options: DeliveryOptions::default(),
            metrics,
        });
        Here { store, running: running.with_deliveries(deliveries) }
    }

    /// Returns the log of all servers of the site.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("server.log")).unwrap_or_default()
    }

    /// Lists all submissions of a form with the API, newest first. Returns each id, and the number in the
    /// answers.
    pub async fn shown(&self, base_url: &str, form: &Form) -> Vec<(SubmissionId, String)> {
        let client = Client::builder()
            .base_url(base_url)
            .api_key(self.key.expose_secret())
            .rate_limit(ClientRateLimit::off())
            .build()
            .expect("the settings are valid");
        let mut shown = Vec::new();
        let form = client.form(form.id.clone());
        let mut items = form.submissions().page_size(100).items();
        while let Some(submission) = items.try_next().await.expect("the server answers") {
            let answers: serde_json::Value =
                serde_json::from_str(submission.data.as_json()).expect("answers are JSON");
            let number = answers["number"].as_str().unwrap_or_default().to_owned();
            shown.push((submission.id, number));
        }
        shown
    }

    /// Reads the database while a server uses it or after a kill. Does not change the files: the next server
    /// finds the write-ahead log.
    pub fn look<T>(&self, look: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> T {
        let db = Connection::open_with_flags(&self.database, OpenFlags::SQLITE_OPEN_READ_ONLY);
        let db = db.expect("the database opens");
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("a setting");
        look(&db).expect("the database is read")
    }

    /// Returns the deliveries that are claimed and not settled.
    pub fn under_way(&self) -> UnderWay {
        self.look(|db| {
            let mut leases = db.prepare(
                "SELECT e.id, l.held FROM leases l JOIN endpoints e USING (endpoint_no)",
            )?;
            let sql = "SELECT json_extract(item, '$.id') FROM submissions WHERE key = ?1";
            let mut submission = db.prepare(sql)?;
            let mut under_way = UnderWay::new();
            let mut rows = leases.query([])?;
            while let Some(row) = rows.next()? {
                let (endpoint, held): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
                // 17 bytes for each delivery; the first 8 are the key of the submission.
                for held in held.chunks(17) {
                    let key = i64::from_be_bytes(held[..8].try_into().expect("8 bytes"));
                    let id = submission.query_row([key], |row| row.get(0))?;
                    under_way.insert((endpoint.clone(), id));
                }
            }
            Ok(under_way)
        })
    }

    /// Runs SQLite's own checks of the file.
    pub fn check_file(&self) {
        let (integrity, orphans) = self.look(|db| {
            let integrity: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
            Ok((integrity, db.prepare("PRAGMA foreign_key_check")?.exists([])?))
        });
        assert_eq!((integrity.as_str(), orphans), ("ok", false));
    }
}

impl SiteStore {
    /// Adds a form of the user.
    pub async fn add_form(&self, title: &str) -> Form {
        let form = self.admin.create_form(&self.user.id, FormOptions::titled(title));
        form.await.expect("a new form")
    }

    /// Registers an endpoint of a form.
    pub async fn register(&self, form: &Form, id: &str, url: &str, secret: &str) {
        let id = EndpointId::new(id).expect("an id");
        let secret = self.vault.seal(id.as_str().as_bytes(), &secret.to_owned().into());
        let secret = SealedSecret(secret.expect("it is sealed"));
        let (form, url) = (form.id.clone(), url.to_owned());
        let added = self.store.add_endpoint(NewEndpoint { id, form, url, secret }).await;
        added.expect("the endpoint is new");
    }

    /// Stores submissions without the server, concurrently. Returns their numbers and ids.
    pub async fn fill(&self, form: &Form, count: usize) -> Vec<(String, String)> {
        let mut tasks = JoinSet::new();
        for task in 0..FILLING {
            let (admin, form) = (self.admin.clone(), form.id.clone());
            tasks.spawn(async move {
                let mut made = Vec::with_capacity(count / FILLING + 1);
                for number in (task..count).step_by(FILLING) {
                    let number = format!("filled{number}");
                    let answers = format!("{{\"number\":\"{number}\"}}");
                    let accepted = admin.submit(&form, &answers).await.expect("it is accepted");
                    made.push((number, accepted.id.as_str().to_owned()));
                }
                made
            });
        }
        tasks.join_all().await.concat()
    }

    /// Closes the store.
    pub async fn close(self) {
        self.store.close().await.expect("the store closes");
    }
}

/// A server in this process.
pub struct Here {
    /// The store of the server.
    pub store: Arc<SqliteStore>,
    /// The HTTP server and the delivery worker.
    pub running: Running,
}

/// A server process that is ready. It is killed when this is dropped.
pub struct Server {
    /// The base URL of the server.
    pub base_url: String,
    child: Child,
}

/// Returns the URL of a public form.
pub fn form_url(base_url: &str, form: &Form) -> String {
    format!("{base_url}/f/{}", form.public_id)
}

impl Server {
    /// Kills the server with SIGKILL.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Sends SIGTERM.
    pub async fn terminate(&self) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().await;
        assert!(sent.expect("the `kill` program starts").success());
    }

    /// Waits for the end of the process.
    pub async fn ended(mut self) -> ExitStatus {
        self.child.wait().await.expect("it is a child of this process")
    }

    /// Returns the peak memory in KiB; `None` on systems without `/proc`.
    pub fn memory_peak_kib(&self) -> Option<u64> {
        let id = self.child.id()?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

async fn until_ready(child: &mut Child, ready: &Path) -> Result<String, ExitStatus> {
    loop {
        if let Some(text) = std::fs::read_to_string(ready).ok().filter(|text| !text.is_empty()) {
            let ready: serde_json::Value = serde_json::from_str(&text).expect("a JSON object");
            return Ok(ready["base_url"].as_str().expect("a URL").to_owned());
        }
        if let Some(status) = child.try_wait().expect("it is a child of this process") {
            return Err(status);
        }
        // Sleeps because the creation of the file cannot be awaited.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
