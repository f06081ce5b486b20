//! A test run with forms, endpoints and servers. At the end it compares the ledger of accepted submissions
//! with the ledgers of arrived deliveries.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use formsvc_protocol::Form;
use formsvc_tests::figures::Figures;
use formsvc_tests::receiver::Receiver;
use formsvc_tests::scale::scaled;
use formsvc_tests::site::{ATTEMPTS, Server, Site, form_url};
use formsvc_tests::visitor::{Intake, Visitors};

/// Time limit of every wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum time in which 99 of 100 deliveries arrive at healthy endpoints. The short run is slower, because
/// other tests run at the same time.
pub(super) fn lag_max() -> Duration {
    scaled(Duration::from_secs(3), Duration::from_secs(1))
}

/// Maximum memory of a server.
pub(super) const MEMORY_MAX_KIB: u64 = 100 << 10;
/// Lifetime of a claim. Deliveries of a dead server must arrive within this time.
const LEASE: Duration = Duration::from_secs(30);

/// Arguments of a server without limits for visitors, because all visitors have the same address.
pub(super) const UNLIMITED: [&str; 4] = ["--sender-limit", "off", "--form-limit", "off"];

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_server");

pub(super) struct Story {
    pub(super) site: Site,
    /// Each form with its healthy endpoints.
    pub(super) forms: Vec<(Form, Vec<Receiver>)>,
    pub(super) intake: Intake,
    /// How often each delivery was claimed and unsettled when a server died.
    interrupted: HashMap<(String, String), u32>,
    /// The same count since all deliveries were last settled.
    in_a_row: HashMap<(String, String), u32>,
    deaths: usize,
    /// Maximum number of deliveries of one endpoint that one server death interrupted.
    most: usize,
}

/// Ids of the submissions of each form, in the order of the forms.
pub(super) type Shown = Vec<HashSet<String>>;

impl Story {
    /// Creates one form with healthy endpoints.
    pub(super) async fn new(endpoints: usize) -> Self {
        Self::on(Site::new(PROGRAM).await, 1, endpoints).await
    }

    /// Creates forms, each with the same number of healthy endpoints.
    pub(super) async fn on(site: Site, forms: usize, endpoints: usize) -> Self {
        let (site_store, mut all) = (site.open_store(), Vec::new());
        for number in 0..forms {
            let form = site_store.add_form(&format!("Form {number}")).await;
            let receivers = Receiver::several(&format!("well_{number}"), endpoints).await;
            for receiver in &receivers {
                site_store.register(&form, &receiver.id, &receiver.url(), &receiver.secret()).await;
            }
            all.push((form, receivers));
        }
        site_store.close().await;
        Self {
            site,
            forms: all,
            intake: Intake::default(),
            interrupted: HashMap::new(),
            in_a_row: HashMap::new(),
            deaths: 0,
            most: 0,
        }
    }

    pub(super) async fn serve(&self) -> Server {
        self.site.serve(&UNLIMITED).await
    }

    /// Returns the first form.
    pub(super) fn form(&self) -> &Form {
        &self.forms[0].0
    }

    /// Starts visitors that submit to the first form, each as soon as it has a response.
    pub(super) fn visit(&self, base_url: &str) -> Visitors {
        Visitors::eager(4, &form_url(base_url, self.form()), &self.intake)
    }

    /// Records the deliveries that were in flight when a server died.
    pub(super) fn note_death(&mut self) {
        let mut by_endpoint: HashMap<String, usize> = HashMap::new();
        for delivery in self.site.under_way() {
            *by_endpoint.entry(delivery.0.clone()).or_default() += 1;
            *self.in_a_row.entry(delivery.clone()).or_default() += 1;
            *self.interrupted.entry(delivery).or_default() += 1;
        }
        self.deaths += 1;
        self.most = self.most.max(by_endpoint.into_values().max().unwrap_or_default());
    }

    /// Returns true if another server death could suspend a delivery: a delivery that was in flight at five
    /// deaths in a row waits for an hour.
    pub(super) fn is_suspicious(&self) -> bool {
        self.in_a_row.values().any(|times| *times >= 4)
    }

    /// Runs a server until all deliveries have arrived, stops it, and compares the ledgers.
    pub(super) async fn settle(&mut self) {
        let server = self.serve().await;
        let shown = self.compare_shown(&server.base_url).await;
        self.until_arrived(&shown).await;
        self.until_settled().await;
        self.stop(server).await;
        self.compare_arrived(&shown);
        self.in_a_row.clear();
    }

    /// Ends the run: settles all deliveries, checks the database file, and returns the figures.
    pub(super) async fn end(mut self, what: &str) -> Figures {
        self.settle().await;
        self.site.check_file();
        let mut figures = self.figures(what);
        assert!(figures.lag(100) < LEASE, "deliveries of a dead server waited too long: {figures}");
        (figures.deaths, figures.on_their_way) = (self.deaths, self.most);
        figures
    }

    /// Stops a server and asserts that it exits successfully.
    pub(super) async fn stop(&self, server: Server) {
        server.terminate().await;
        let status = server.ended().await;
        assert!(status.success(), "{status}: {}", self.site.log());
    }

    /// Compares the accepted submissions with the arrived deliveries.
    pub(super) fn figures(&self, what: &str) -> Figures {
        let receivers = self.forms.iter().flat_map(|(_, receivers)| receivers);
        Figures::of(what, &self.intake.accepted(), receivers)
    }

    /// Asserts that the API returns every accepted submission once, and no submission that was refused or never
    /// sent.
    pub(super) async fn compare_shown(&self, base_url: &str) -> Shown {
        let (mut shown, mut numbers) = (Vec::new(), HashMap::new());
        for (form, _) in &self.forms {
            let mut ids = HashSet::new();
            for (id, number) in self.site.shown(base_url, form).await {
                assert!(ids.insert(id.as_str().to_owned()), "`{id}` is listed twice");
                assert!(numbers.insert(number.clone(), id).is_none(), "`{number}` is stored twice");
            }
            shown.push(ids);
        }
        let sent = self.intake.sent();
        for (number, id) in &numbers {
            let known = sent.get(number);
            let known = known
                .unwrap_or_else(|| panic!("`{number}` was refused or not sent, but is stored"));
            assert!(known.id.as_ref().is_none_or(|told| told == id.as_str()));
        }
        for (number, known) in sent.iter() {
            let is_there = numbers.contains_key(number);
            assert!(known.id.is_none() || is_there, "`{number}` was accepted, but is missing");
        }
        shown
    }

    /// Waits until every receiver has all submissions of its form.
    pub(super) async fn until_arrived(&self, shown: &Shown) {
        for ((_, receivers), shown) in self.forms.iter().zip(shown) {
            for receiver in receivers {
                let missing = receiver.wait_for_all(shown, PATIENCE).await.err();
                assert_eq!(missing, None, "not delivered to {}: {}", receiver.id, self.site.log());
            }
        }
    }

    /// Waits until no delivery is pending. A delivery that a dead server sent but did not settle is repeated.
    async fn until_settled(&self) {
        let count = "SELECT (SELECT count(*) FROM queue) + (SELECT count(*) FROM leases)";
        let until = Instant::now() + PATIENCE;
        loop {
            let left: i64 = self.site.look(|db| db.query_row(count, [], |row| row.get(0)));
            if left == 0 {
                return;
            }
            assert!(Instant::now() < until, "{left} deliveries are pending: {}", self.site.log());
            // Sleeps because the outcome of a delivery is visible only in the database.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Asserts that only stored submissions arrived, and that only interrupted deliveries arrived repeatedly.
    pub(super) fn compare_arrived(&self, shown: &Shown) {
        for ((_, receivers), shown) in self.forms.iter().zip(shown) {
            for receiver in receivers {
                self.compare_receiver(receiver, shown);
            }
        }
        assert_eq!(self.failures(), Vec::<(String, String)>::new(), "at healthy endpoints");
    }

    fn compare_receiver(&self, receiver: &Receiver, shown: &HashSet<String>) {
        assert_eq!(receiver.bad(), 0, "requests that are not signed deliveries");
        for (submission, arrival) in receiver.arrivals().iter() {
            assert!(shown.contains(submission), "`{submission}` is not stored");
            let delivery = (receiver.id.clone(), submission.clone());
            let interrupted = self.interrupted.get(&delivery).copied().unwrap_or_default();
            assert!(
                arrival.count <= 1 + interrupted,
                "`{submission}` arrived too often: {arrival:?}"
            );
        }
    }

    /// Returns the failed attempts at healthy endpoints: the endpoint and the error.
    fn failures(&self) -> Vec<(String, String)> {
        self.site.look(|db| {
            let mut statement = db.prepare(&format!(
                "SELECT e.id, a.error || ' ' || coalesce(a.detail, '') FROM {ATTEMPTS} a
                 JOIN endpoints e USING (endpoint_no)
                 WHERE a.error IS NOT NULL AND e.id LIKE 'whe_well%'",
            ))?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })
    }
}
