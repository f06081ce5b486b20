//! The service on SQLite beside the service on PostgreSQL: submissions acknowledged after a durable
//! commit, pages read, and deliveries that reach their endpoint.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::Full;
use serde::Deserialize;

use crate::cli::Options;
use crate::delivery::answers;
use crate::error::{BenchError, Context};
use crate::load::{self, CONNECTIONS, Load};
use crate::process::{self, ServerProcess, temporary_dir, workspace_program};
use crate::report::Report;

const SQLITE: &str = "SQLite";
const POSTGRES: &str = "PostgreSQL";
const USER: &str = "bench@example.org";
/// Public ids of the forms: without an endpoint, with one, and with submissions to read.
const INTAKE: &str = "intake";
const DELIVERED: &str = "delivered";
const PAGES: &str = "pages";
const SEEDED_SUBMISSIONS: &str = "10000";
/// Time the last delivery may take after the load ended.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) fn run(options: &Options) -> Result<Report, BenchError> {
    let mut report = Report::new("server");
    let (dir, endpoint) = (temporary_dir(options)?, Endpoint::start()?);
    let mut databases: Vec<(&str, OsString)> = vec![(SQLITE, dir.path().join("server.db").into())];
    match &options.postgres {
        Some(url) => databases.push((POSTGRES, url.clone())),
        None => {
            report.note(format!("{POSTGRES}: not measured; `FORMSVC_BENCH_POSTGRES` is not set"));
        }
    }
    let mut services = Vec::new();
    for (name, database) in &databases {
        services
            .push((*name, Service::start(options, database, &dir.path().join(name), &endpoint)?));
    }
    for _ in 0..options.rounds.get() {
        for (name, service) in &services {
            service.measure(name, options.seconds.get(), &endpoint, &mut report)?;
        }
    }
    for (what, unit) in [("submissions", "submissions/s"), ("pages of 100", "pages/s")] {
        report.compare(&format!("{SQLITE}, {what}"), &format!("{POSTGRES}, {what}"), unit, None);
    }
    report.note(format!(
        "{CONNECTIONS} connections; the server is on one core, the load and the endpoint on the other, \
         PostgreSQL on both; deliveries count from the first request to the last delivery received"
    ));
    Ok(report)
}

/// A running `formsvc-server`.
struct Service {
    addr: SocketAddr,
    key: String,
    pages_form: String,
    _process: ServerProcess,
}

#[derive(Deserialize)]
struct Ready {
    base_url: String,
}

#[derive(Deserialize)]
struct Form {
    id: String,
}

impl Service {
    /// Creates the forms in an empty database and serves it. Files go beside `prefix`.
    fn start(
        options: &Options,
        database: &OsStr,
        prefix: &Path,
        endpoint: &Endpoint,
    ) -> Result<Self, BenchError> {
        let program = workspace_program(options.server.as_ref(), "formsvc-server")?;
        let command = |arguments: &[&str]| {
            let mut command = Command::new(&program);
            command.args(arguments).env("FORMSVC_SERVER_DATABASE", database);
            command.env("FORMSVC_SERVER_SECRET_KEY_FILE", prefix.with_extension("key"));
            // Deliveries may reach this machine.
            command.env("FORMSVC_SERVER_PROFILE", "dev");
            command
        };
        let run = |arguments: &[&str]| process::run(&mut command(arguments));
        run(&["user", "add", "--email", USER, "--name", "Bench"])?;
        let key = run(&["key", "create", "--user", USER, "--name", "bench"])?.trim().to_owned();
        for form in [INTAKE, DELIVERED] {
            run(&["form", "create", "--user", USER, "--title", form, "--public-id", form])?;
        }
        run(&["webhook", "add", DELIVERED, &endpoint.url()])?;
        let seed =
            ["seed", "--user", USER, "--public-id", PAGES, "--submissions", SEEDED_SUBMISSIONS];
        let form: Form = serde_json::from_str(&run(&seed)?).context("`seed` printed no form")?;
        let ready_file = prefix.with_extension("ready");
        let limits = ["--rate-limit", "off", "--sender-limit", "off", "--form-limit", "off"];
        let mut serve =
            command(&["serve", "--port", "0", "--endpoint-slots", "64", "--log-level", "warn"]);
        serve.args(limits).arg("--ready-file").arg(&ready_file);
        // The server prints a link for its first owner, which is not needed here.
        serve.stderr(Stdio::null());
        let mut process = ServerProcess::start(&mut serve)?;
        let ready: Ready = process.wait_for_file(&ready_file)?;
        let addr =
            ready.base_url.trim_start_matches("http://").parse().context("not an address")?;
        Ok(Self { addr, key, pages_form: form.id, _process: process })
    }

    fn measure(
        &self,
        name: &str,
        seconds: u32,
        endpoint: &Endpoint,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let submissions = self.submit_to(INTAKE, seconds).run()?;
        submissions.add_to(report, &format!("{name}, submissions"), "submissions/s");
        let pages = self.read_pages(seconds).run()?;
        pages.add_to(report, &format!("{name}, pages of 100"), "pages/s");
        let (received_before, since) = (endpoint.received(), Instant::now());
        let accepted = self.submit_to(DELIVERED, seconds).run()?.answers;
        endpoint.wait_for(received_before + accepted)?;
        #[expect(clippy::cast_precision_loss, reason = "a number of deliveries fits in 52 bits")]
        let per_second = accepted as f64 / since.elapsed().as_secs_f64();
        report.add(&format!("{name}, delivered to an endpoint"), "deliveries/s", per_second);
        Ok(())
    }

    fn submit_to(&self, form: &str, seconds: u32) -> Load {
        let path = format!("/f/{form}");
        let make_request = move |number| {
            Request::post(&path)
                .header(HOST, "localhost")
                .header(ACCEPT, "application/json")
                .header(CONTENT_TYPE, "application/json")
                .body(Full::new(Bytes::from(answers(number))))
                .expect("the path and the headers are valid")
        };
        let (addr, expected) = (self.addr, StatusCode::CREATED);
        Load { addr, seconds, expected, make_request: Box::new(make_request) }
    }

    /// Reads the newest page of 100 submissions.
    fn read_pages(&self, seconds: u32) -> Load {
        let path = format!("/api/v1/forms/{}/submissions?limit=100", self.pages_form);
        let authorization = format!("Bearer {}", self.key);
        let make_request = move |_| {
            Request::get(&path)
                .header(HOST, "localhost")
                .header(AUTHORIZATION, &authorization)
                .body(Full::default())
                .expect("the path and the headers are valid")
        };
        let (addr, expected) = (self.addr, StatusCode::OK);
        Load { addr, seconds, expected, make_request: Box::new(make_request) }
    }
}

/// A webhook endpoint in this process that counts what it receives.
struct Endpoint {
    addr: SocketAddr,
    received: Arc<AtomicU64>,
}

impl Endpoint {
    fn start() -> Result<Self, BenchError> {
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen")?;
        listener.set_nonblocking(true).context("cannot listen")?;
        let addr = listener.local_addr().context("cannot listen")?;
        let received = Arc::new(AtomicU64::new(0));
        let count = async |State(received): State<Arc<AtomicU64>>, _: Bytes| {
            received.fetch_add(1, Ordering::Relaxed);
        };
        let router = Router::new().route("/hook", post(count)).with_state(Arc::clone(&received));
        let runtime = load::runtime()?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(listener, router).await
            })
        });
        Ok(Self { addr, received })
    }

    fn url(&self) -> String {
        format!("http://{}/hook", self.addr)
    }

    fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    fn wait_for(&self, received: u64) -> Result<(), BenchError> {
        let since = Instant::now();
        while self.received() < received {
            if since.elapsed() > DELIVERY_TIMEOUT {
                let missing = received - self.received();
                return Err(BenchError::new(format!("{missing} deliveries did not arrive")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}
