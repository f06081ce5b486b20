//! How long the dashboard takes to show a form that has many submissions, beside the API's page of the
//! same size. One request at a time, over one connection, in this process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use bytes::Bytes;
use formsvc_server::admin::{Admin, Registrar};
use formsvc_server::dashboard::{self, Dashboard, DashboardOptions, DashboardParts};
use formsvc_server::delivery::Carrier;
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::rate_limit::{RateLimit, monotonic_clock};
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::{NewSession, Store, TokenHash, system_clock};
use http::header::{AUTHORIZATION, COOKIE};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use secrecy::ExposeSecret;

use crate::accounting::Watch;
use crate::args::Bench;
use crate::database::{self, Scratch};
use crate::error::BenchError;
use crate::export::Directory;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::startup::own_cpu;

const BENCHMARK: &str = "dashboard";
/// Submissions of the form.
const SUBMISSIONS: u64 = 10_000;
/// Requests in a measurement, of which the slowest is kept as well.
const REQUESTS: usize = 100;
/// What the browser holds. Any 43 letters will do: the store knows their hash.
const SESSION: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// What is opened.
const PAGES: [(&str, &str); 4] = [
    ("the API's page of 50", "/api/v1/forms/frm_bench/submissions?limit=50"),
    ("the newest submissions", "/dashboard/forms/frm_bench"),
    ("the list of forms", "/dashboard"),
    ("a search that finds nothing", "/dashboard/forms/frm_bench?q=nowhere+to+be+found"),
];

struct Subject {
    what: &'static str,
    path: &'static str,
    median: Series,
    worst: Series,
    foreign: Series,
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    let dir = Directory::of(bench)?;
    let scratch = Scratch::empty(dir.path())?;
    let mut subjects = PAGES.map(|(what, path)| {
        let new = Series::new;
        Subject { what, path, median: new(), worst: new(), foreign: new() }
    });
    database::block_on(async {
        let opened = Opened::start(&scratch).await?;
        for round in 0..=bench.rounds.get() {
            for subject in &mut subjects {
                let (mut times, foreign) = opened.measure(subject.path).await?;
                times.sort_by(f64::total_cmp);
                if round > 0 {
                    subject.median.push(times[times.len() / 2]);
                    subject.worst.push(times[times.len() - 1]);
                    subject.foreign.push(foreign);
                }
            }
        }
        let stopped = opened.running.shutdown().await;
        stopped.map(drop).map_err(|why| BenchError::caused("cannot stop", &why))
    })?;
    for subject in &subjects {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: subject.what.to_owned(),
            values: vec![
                ("ms, half", subject.median.median()),
                ("ms, slowest", subject.worst.max()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    let [api, newest, ..] = &subjects;
    let what = format!("{} of {SUBMISSIONS}, slowest", newest.what);
    report.compared(BENCHMARK, what, (newest.worst.max(), " ms"), Some(Goal::AtMost(100.0)));
    let what = format!("{} / {}", newest.what, api.what);
    report.compared(BENCHMARK, what, (newest.median.over(&api.median), "x"), None);
    Ok(())
}

/// A server with a form, somebody who is signed in, and a client.
struct Opened {
    running: Running,
    http: Client<HttpConnector, Empty<Bytes>>,
    key: String,
}

impl Opened {
    async fn start(scratch: &Scratch) -> Result<Self, BenchError> {
        let failed = |why| BenchError::caused("cannot fill", &why);
        let path = scratch.database();
        let store: Arc<dyn Store> = Arc::new(database::open(&path)?);
        let vault = database::vault(&path)?;
        let form = database::add_form(&*store).await?;
        database::submit(&store, &form, 0..SUBMISSIONS).await?;
        let admin = Admin::new(Arc::clone(&store));
        let users = store.users().await.map_err(failed)?;
        let user = users.into_iter().next().expect("the form has an owner");
        let (token, lifetime) = (TokenHash::of(SESSION), Duration::from_secs(3_600));
        let session = NewSession { token, user: user.id.clone(), password: None, lifetime };
        store.add_session(session).await.map_err(failed)?;
        let key = admin.create_key(&user.id, "bench").await;
        let key = key.map_err(|why| BenchError::caused("no key", &why))?.secret;
        let client = ClientOptions { policy: EgressPolicy::dev(), ..ClientOptions::default() };
        let carrier: Arc<dyn Carrier> = Arc::new(DeliveryClient::new(client));
        let dashboard = Arc::new(Dashboard::new(DashboardParts {
            store: Arc::clone(&store),
            registrar: Registrar::new(vault.clone(), EgressPolicy::dev()),
            vault,
            carrier,
            trusted_proxies: Vec::new(),
            clock: monotonic_clock(),
            now: system_clock(),
            options: DashboardOptions::default(),
        }));
        let options = ServeOptions { rate_limit: RateLimit::Off, ..ServeOptions::default() };
        let with_dashboard = |router: Router| router.merge(dashboard::router(&dashboard));
        let running = Server::bind_with(options, store, with_dashboard).await;
        let running = running.map_err(|why| BenchError::caused("cannot serve", &why))?;
        let http = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self { running, http, key: key.expose_secret().to_owned() })
    }

    /// Milliseconds of each request, and what others did meanwhile.
    async fn measure(&self, path: &str) -> Result<(Vec<f64>, f64), BenchError> {
        let (watch, own) = (Watch::start(), own_cpu()?);
        let mut times = Vec::with_capacity(REQUESTS);
        for _ in 0..REQUESTS {
            times.push(self.ask(path).await?);
        }
        Ok((times, watch.foreign(own_cpu()? - own)))
    }

    async fn ask(&self, path: &str) -> Result<f64, BenchError> {
        let request = Request::get(format!("{}{path}", self.running.base_url()))
            .header(AUTHORIZATION, format!("Bearer {}", self.key))
            .header(COOKIE, format!("formsvc_session={SESSION}"))
            .body(Empty::new())
            .expect("an address and two headers");
        let began = Instant::now();
        let response = self.http.request(request).await;
        let response = response.map_err(|why| BenchError::caused("no answer", &why))?;
        let status = response.status();
        let body = response.into_body().collect().await;
        let body = body.map_err(|why| BenchError::caused("half a page", &why))?.to_bytes();
        if status != StatusCode::OK || body.len() < 500 {
            return Err(BenchError::new(format!("{path} answered {status}")));
        }
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }
}
