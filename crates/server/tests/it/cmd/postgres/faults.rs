//! Servers on a database that fails, and servers that fail themselves, compared by ledgers: what visitors
//! were told, what is stored, what arrived. `FORMSVC_SOAK` makes it longer.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use formsvc_server::store::contract::cluster::Cluster;
use secrecy::ExposeSecret;

use super::super::receiver::Receiver;
use super::super::{PATIENCE, Serving, Site};
use super::id_of;
use super::load::{Load, Told};
use crate::postgres::proxy::Proxy;

fn is_long() -> bool {
    std::env::var_os("FORMSVC_SOAK").is_some()
}

/// A service on a database, with an endpoint that takes everything.
struct Service<'a> {
    cluster: &'a Cluster,
    schema: String,
    site: Site,
    receiver: Receiver,
}

impl<'a> Service<'a> {
    /// On a schema of its own, which servers reach by an address.
    fn on(cluster: &'a Cluster, receiver: Receiver) -> Self {
        let address = cluster.fresh_schema().expose_secret().to_owned();
        let schema = address.rsplit("%3D").next().unwrap().to_owned();
        let site = Site::on(&address);
        site.run(&["user", "add", "--email", "a@b.c", "--name", "Zoë"]).succeeded();
        let form = ["form", "create", "--user", "a@b.c", "--title", "T", "--public-id", "contact"];
        site.run(&form).succeeded();
        let key = site.path("server.key");
        let add = ["webhook", "add", "contact", &receiver.url(), "--profile", "dev"];
        let key = ["--secret-key-file", key.to_str().unwrap()];
        site.run(&[&add[..], &key].concat()).succeeded();
        Self { cluster, schema, site, receiver }
    }

    fn serve(&self) -> Serving {
        self.serve_patiently("1s")
    }

    /// A server that waits so long for an endpoint's answer.
    fn serve_patiently(&self, attempt_timeout: &str) -> Serving {
        let key = self.site.path("server.key");
        let serving = self.site.serve(&[
            "--profile",
            "dev",
            "--secret-key-file",
            key.to_str().unwrap(),
            "--attempt-timeout",
            attempt_timeout,
            "--sender-limit",
            "off",
            "--form-limit",
            "off",
            "--retry-base",
            "100ms",
        ]);
        serving.unheard()
    }

    fn sql(&self, sql: &str) -> String {
        self.cluster.sql(&format!("SET search_path = {}; {sql}", self.schema))
    }

    /// What is stored is what was accepted, and at most what nobody was told of; all of it arrives, and
    /// nothing is left to be done.
    fn is_even(&self, told: &Told) -> String {
        let stored = self.sql("SELECT id FROM submissions");
        let stored: HashSet<_> = stored.lines().map(str::to_owned).collect();
        let lost = told.accepted.difference(&stored).count();
        assert_eq!(lost, 0, "accepted and not stored");
        let untold = (stored.len() - told.accepted.len()) as u64;
        assert!(untold <= told.open + told.refused, "{untold} that nobody sent");
        let (mut arrived, mut times) = (HashSet::new(), 0);
        while arrived.len() < stored.len() {
            let id = id_of(&self.receiver.next().body);
            assert!(stored.contains(&id), "{id} was never sent");
            arrived.insert(id);
            times += 1;
        }
        let began = Instant::now();
        while self.sql("SELECT count(*) FROM queue") != "0" {
            assert!(began.elapsed() < PATIENCE, "the backlog does not drain");
            // Sleeps because another process's work is no event here.
            std::thread::sleep(Duration::from_millis(10));
        }
        let twice = times - arrived.len();
        format!(
            "ledger | {} | {} | {twice} | | stored and not told {untold}, refused {}, no answer {} |",
            told.accepted.len(),
            times,
            told.refused,
            told.open
        )
    }
}

fn tell(fault: &str, ledger: &str) {
    let line = ledger.replacen("ledger |", &format!("ledger | {fault} |"), 1);
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{line}\n"));
}

/// Waits until `/readyz` answers with a status.
#[track_caller]
fn wait_for(server: &Serving, status: &str) {
    let began = Instant::now();
    loop {
        let answer = server.get("/readyz", "");
        if answer.starts_with(&format!("HTTP/1.1 {status}")) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{answer}");
        // Sleeps because health is asked for, and tells nobody by itself.
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_frozen_server_settles_nothing_that_another_took_over() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let service = Service::on(cluster, Receiver::waiting());
    let frozen = service.serve();
    frozen.submit("contact", "{\"n\":1}");
    // Never answered: once its server goes on, the time for that is over.
    let first = service.receiver.next();
    frozen.signal("STOP");
    if !is_long() {
        // What a test does not wait for: the lease is over.
        service.sql("UPDATE queue SET at_us = at_us - 60000000 WHERE lane = 2");
    }
    let other = service.serve_patiently("30s");
    let began = Instant::now();
    let again = service.receiver.next();
    if is_long() {
        assert!(began.elapsed() > Duration::from_secs(15), "not while the lease holds");
    }
    assert_eq!(id_of(&first.body), id_of(&again.body));
    let held = || service.sql("SELECT lane, token, at_us, claims FROM queue");
    let (lease, attempts) = (held(), "SELECT count(*) FROM attempts");
    // While the other's attempt is under way it settles its own, by a lease that is another's now.
    frozen.signal("CONT");
    let lost = |server: &Serving| {
        let metrics = server.get("/metrics", "");
        let line = metrics.lines().find(|line| line.starts_with("formsvc_leases_lost_total"));
        line.unwrap_or_default().rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let began = Instant::now();
    while lost(&frozen) < 1.0 {
        assert_eq!(service.sql(attempts), "0", "it settled what is another's");
        assert!(began.elapsed() < PATIENCE, "it finds out that it came too late");
        // Sleeps because metrics are asked for.
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!((held(), service.sql(attempts)), (lease, "0".to_owned()));
    again.answer(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    let began = Instant::now();
    while service.sql("SELECT count(*) FROM queue") != "0" {
        assert!(began.elapsed() < PATIENCE, "it is not settled");
        // Sleeps because another process's work is no event here.
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(lost(&other) < 1.0);
    assert_eq!(service.sql("SELECT state, attempts FROM deliveries"), "2|1");
    assert_eq!(service.sql("SELECT number, status FROM attempts"), "1|204");
}

#[test]
fn a_database_that_crashes_under_load_loses_nothing_that_was_accepted() {
    let Some(cluster) = Cluster::own(&[]) else { return };
    let service = Service::on(&cluster, Receiver::ok());
    let server = service.serve();
    let load = Load::begin(6, vec![server.base_url.clone()]);
    for _ in 0..if is_long() { 10 } else { 1 } {
        load.wait_for(100);
        cluster.crash();
        wait_for(&server, "503");
        cluster.start_again();
        wait_for(&server, "200");
        load.wait_for(100);
    }
    let told = load.stop();
    assert!(told.refused > 0, "visitors were told that it cannot be");
    tell("the database crashes", &service.is_even(&told));
}

#[test]
fn a_database_that_answers_no_more_is_waited_for_a_while_and_found_again() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let mut service = Service::on(cluster, Receiver::ok());
    let proxy = Proxy::to(cluster.socket_dir().join(".s.PGSQL.5432"));
    let schema = &service.schema;
    service.site = service.site.moved_to(&format!(
        "postgres://nobody@127.0.0.1:{}/postgres?sslmode=disable&options=-c%20search_path%3D{schema}",
        proxy.port
    ));
    let server = service.serve();
    let load = Load::begin(6, vec![server.base_url.clone()]);
    load.wait_for(100);
    proxy.swallow();
    let began = Instant::now();
    wait_for(&server, "503");
    assert!(began.elapsed() < Duration::from_secs(6), "health waits for nobody");
    if is_long() {
        let asked = Instant::now();
        let answer = server.get("/api/v1/me", "a-key");
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(asked.elapsed() < Duration::from_secs(12), "{:?}", asked.elapsed());
        // Sleeps because the way is closed for half a minute: that is the claim.
        std::thread::sleep(Duration::from_secs(30).saturating_sub(began.elapsed()));
    }
    proxy.carry_on();
    wait_for(&server, "200");
    load.wait_for(100);
    let told = load.stop();
    tell("the way to the database swallows everything", &service.is_even(&told));
}

#[test]
fn servers_started_anew_one_after_the_other_under_load_lose_nothing() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let service = Service::on(cluster, Receiver::ok());
    let mut servers = vec![service.serve(), service.serve()];
    let urls = |servers: &[Serving]| servers.iter().map(|one| one.base_url.clone()).collect();
    let load = Load::begin(6, urls(&servers));
    for _ in 0..if is_long() { 20 } else { 2 } {
        load.wait_for(50);
        let oldest = servers.remove(0);
        oldest.signal("TERM");
        assert_eq!(oldest.wait().0, Some(0));
        load.send_to(urls(&servers));
        servers.push(service.serve());
        load.send_to(urls(&servers));
    }
    load.wait_for(50);
    let told = load.stop();
    assert_eq!(told.refused, 0, "somebody always takes it");
    tell("two servers started anew in turn", &service.is_even(&told));
}
