//! Forms, their endpoints and servers that come and go; at the end the ledgers are compared.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use formsvc_protocol::Form;
use formsvc_tests::figures::Figures;
use formsvc_tests::receiver::Receiver;
use formsvc_tests::scale::scaled;
use formsvc_tests::site::{ATTEMPTS, Server, Site, form_url};
use formsvc_tests::visitor::{Intake, Visitors};

/// Longer than anything takes that works.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Within which 99 of 100 deliveries arrive at endpoints that are well, whatever others do. In the usual
/// run other tests have their share of the machine.
pub(super) fn lag_max() -> Duration {
    scaled(Duration::from_secs(3), Duration::from_secs(1))
}

/// Most memory that a server ever has.
pub(super) const MEMORY_MAX_KIB: u64 = 100 << 10;
/// How long a claim holds: what a dead server left is delivered before.
const LEASE: Duration = Duration::from_secs(30);

/// What a server is started with: visitors are many, and all of them on this machine.
pub(super) const UNLIMITED: [&str; 4] = ["--sender-limit", "off", "--form-limit", "off"];

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_server");

pub(super) struct Story {
    pub(super) site: Site,
    /// Each form with its endpoints that are well.
    pub(super) forms: Vec<(Form, Vec<Receiver>)>,
    pub(super) intake: Intake,
    /// How often each delivery was claimed and not settled when a server died.
    interrupted: HashMap<(String, String), u32>,
    /// The same since everything was settled.
    in_a_row: HashMap<(String, String), u32>,
    deaths: usize,
    /// Most deliveries of one endpoint that one death interrupted.
    most: usize,
}

/// Ids of the submissions of each form, in the order of the forms.
pub(super) type Shown = Vec<HashSet<String>>;

impl Story {
    /// A form with so many endpoints that are well.
    pub(super) async fn new(endpoints: usize) -> Self {
        Self::on(Site::new(PROGRAM).await, 1, endpoints).await
    }

    /// So many forms with so many endpoints each that are well.
    pub(super) async fn on(site: Site, forms: usize, endpoints: usize) -> Self {
        let (desk, mut all) = (site.desk(), Vec::new());
        for number in 0..forms {
            let form = desk.add_form(&format!("Form {number}")).await;
            let receivers = Receiver::several(&format!("well_{number}"), endpoints).await;
            for receiver in &receivers {
                desk.register(&form, &receiver.id, &receiver.url(), &receiver.secret()).await;
            }
            all.push((form, receivers));
        }
        desk.close().await;
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

    /// The form, where there is only one.
    pub(super) fn form(&self) -> &Form {
        &self.forms[0].0
    }

    /// Visitors of the form that submit as fast as they are answered.
    pub(super) fn visit(&self, base_url: &str) -> Visitors {
        Visitors::eager(4, &form_url(base_url, self.form()), &self.intake)
    }

    /// Notes what was on its way when a server died.
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

    /// Whether another death might have a delivery rest for an hour, as one that has brought down its
    /// server five times.
    pub(super) fn is_suspicious(&self) -> bool {
        self.in_a_row.values().any(|times| *times >= 4)
    }

    /// Serves until everything has arrived, stops, and compares.
    pub(super) async fn settle(&mut self) {
        let server = self.serve().await;
        let shown = self.compare_shown(&server.base_url).await;
        self.until_arrived(&shown).await;
        self.until_settled().await;
        self.stop(server).await;
        self.compare_arrived(&shown);
        self.in_a_row.clear();
    }

    /// The last that is done with a form: everything is settled, and the file is sound.
    pub(super) async fn end(mut self, what: &str) -> Figures {
        self.settle().await;
        self.site.check_file();
        let mut figures = self.figures(what);
        assert!(figures.lag(100) < LEASE, "what a dead server left waited too long: {figures}");
        (figures.deaths, figures.on_their_way) = (self.deaths, self.most);
        figures
    }

    /// Stops a server, which must go well.
    pub(super) async fn stop(&self, server: Server) {
        server.terminate().await;
        let status = server.ended().await;
        assert!(status.success(), "{status}: {}", self.site.log());
    }

    /// What was accepted, compared with what arrived.
    pub(super) fn figures(&self, what: &str) -> Figures {
        let receivers = self.forms.iter().flat_map(|(_, receivers)| receivers);
        Figures::of(what, &self.intake.accepted(), receivers)
    }

    /// The submissions that the API shows: what was answered with 201, once, and what was sent.
    pub(super) async fn compare_shown(&self, base_url: &str) -> Shown {
        let (mut shown, mut numbers) = (Vec::new(), HashMap::new());
        for (form, _) in &self.forms {
            let mut ids = HashSet::new();
            for (id, number) in self.site.shown(base_url, form).await {
                assert!(ids.insert(id.as_str().to_owned()), "`{id}` is shown twice");
                assert!(numbers.insert(number.clone(), id).is_none(), "`{number}` is there twice");
            }
            shown.push(ids);
        }
        let sent = self.intake.sent();
        for (number, id) in &numbers {
            let known = sent.get(number);
            let known = known.unwrap_or_else(|| panic!("`{number}` was refused, and is there"));
            assert!(known.id.as_ref().is_none_or(|told| told == id.as_str()));
        }
        for (number, known) in sent.iter() {
            let is_there = numbers.contains_key(number);
            assert!(known.id.is_none() || is_there, "`{number}` was accepted, and is gone");
        }
        shown
    }

    /// Waits until all have what their forms have.
    pub(super) async fn until_arrived(&self, shown: &Shown) {
        for ((_, receivers), shown) in self.forms.iter().zip(shown) {
            for receiver in receivers {
                let missing = receiver.wait_for_all(shown, PATIENCE).await.err();
                assert_eq!(missing, None, "not delivered to {}: {}", receiver.id, self.site.log());
            }
        }
    }

    /// Waits until no delivery is left: what a dead server delivered and did not settle is made again.
    async fn until_settled(&self) {
        let count = "SELECT (SELECT count(*) FROM queue) + (SELECT count(*) FROM leases)";
        let until = Instant::now() + PATIENCE;
        loop {
            let left: i64 = self.site.look(|db| db.query_row(count, [], |row| row.get(0)));
            if left == 0 {
                return;
            }
            assert!(Instant::now() < until, "{left} deliveries are left: {}", self.site.log());
            // Sleeps because an outcome that is recorded is seen in the database only.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Nothing arrived that was not submitted, and nothing twice but what a death interrupted.
    pub(super) fn compare_arrived(&self, shown: &Shown) {
        for ((_, receivers), shown) in self.forms.iter().zip(shown) {
            for receiver in receivers {
                self.compare_receiver(receiver, shown);
            }
        }
        assert_eq!(self.failures(), Vec::<(String, String)>::new(), "at endpoints that are well");
    }

    fn compare_receiver(&self, receiver: &Receiver, shown: &HashSet<String>) {
        assert_eq!(receiver.bad(), 0, "requests that are no deliveries, or not signed");
        for (submission, arrival) in receiver.arrivals().iter() {
            assert!(shown.contains(submission), "`{submission}` was never submitted");
            let delivery = (receiver.id.clone(), submission.clone());
            let interrupted = self.interrupted.get(&delivery).copied().unwrap_or_default();
            assert!(arrival.count <= 1 + interrupted, "`{submission}` came {arrival:?}");
        }
    }

    /// Attempts that failed at endpoints that are well: the endpoint, and what went wrong.
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
