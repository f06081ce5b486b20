//! The commands on a PostgreSQL database, which several servers share.

mod faults;
mod load;

use std::collections::HashSet;

use formsvc_server::store::contract::cluster::Cluster;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::receiver::Receiver;
use super::{Serving, Site};

/// A site on an empty schema; none where there is no PostgreSQL.
fn site() -> Option<Site> {
    let address = Cluster::or_skip()?.fresh_schema();
    Some(Site::on(address.expose_secret()))
}

/// A server that delivers to this machine.
fn serve(site: &Site) -> Serving {
    let key = site.path("server.key");
    // Short, and so are leases.
    let timeout = ["--attempt-timeout", "1s"];
    let key = ["--profile", "dev", "--secret-key-file", key.to_str().unwrap()];
    site.serve(&[key.as_slice(), &timeout].concat())
}

fn id_of(delivery: &str) -> String {
    let body: Value = serde_json::from_str(delivery).unwrap();
    body["submission_id"].as_str().unwrap().to_owned()
}

#[test]
fn what_one_server_accepts_another_delivers_when_the_first_is_killed() {
    let Some(site) = site() else { return };
    site.run(&["user", "list"]).failed(3, "the PostgreSQL database is empty");
    let check = ["config", "check", "--connect", "--secret-key-file", "k"];
    let check = site.run(&check).succeeded();
    assert!(check.stderr.contains("is not there yet: `serve` makes it"), "{}", check.stderr);
    site.run(&["user", "add", "--email", "a@b.c", "--name", "Zoë"]).succeeded();
    let form = ["form", "create", "--user", "a@b.c", "--title", "T", "--public-id", "contact"];
    site.run(&form).succeeded();
    let receiver = Receiver::ok();
    let add = ["webhook", "add", "contact", &receiver.url(), "--profile", "dev"];
    site.run(&add).failed(2, "where is the key");
    let key = site.path("server.key");
    let key = ["--secret-key-file", key.to_str().unwrap()];
    let added = site.run(&[&add[..], &key].concat()).succeeded();
    assert!(added.stderr.contains("made a new server key: every server on"), "{}", added.stderr);
    let secret = added.line().to_owned();

    let (mut one, other) = (serve(&site), serve(&site));
    let mut accepted = HashSet::new();
    for n in 0..40 {
        let serving = if n % 2 == 0 { &one } else { &other };
        let head = "POST /f/contact HTTP/1.1\r\ncontent-type: application/json\r\n";
        let answer = serving.ask(head, &format!("{{\"n\":{n}}}"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 201"), "{answer}");
        let body: Value = serde_json::from_str(body).unwrap();
        accepted.insert(body["id"].as_str().unwrap().to_owned());
        if n == 38 {
            one.child.kill().unwrap();
        }
    }
    let mut arrived = HashSet::new();
    // What the killed one had claimed comes when its lease is over.
    while arrived.len() < accepted.len() {
        let delivery = receiver.next();
        assert!(delivery.is_signed_with(&secret));
        arrived.insert(id_of(&delivery.body));
    }
    assert_eq!(arrived, accepted);
    // Whether a server runs nobody knows here.
    let listed = site.run(&["deliveries", "list", "contact"]).succeeded().lines();
    let delivered = listed.iter().find(|delivery| delivery["state"] == "delivered").unwrap();
    let resent = site.run(&["deliveries", "resend", delivered["id"].as_str().unwrap()]).succeeded();
    assert!(resent.stderr.starts_with("will be attempted by the next server that looks: at once"));

    let made = site.run(&["key", "create", "--user", "a@b.c", "--name", "k"]).succeeded();
    let form = site.run(&["form", "list", "--user", "a@b.c", "--output", "json"]).succeeded();
    let form = form.lines()[0]["id"].as_str().unwrap().to_owned();
    let page = other.get(&format!("/api/v1/forms/{form}/submissions?limit=100"), made.line());
    let (_, page) = page.split_once("\r\n\r\n").unwrap();
    let page: Value = serde_json::from_str(page).unwrap();
    let shown = page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap());
    assert_eq!(shown.map(str::to_owned).collect::<HashSet<_>>(), accepted);
}

#[test]
fn an_address_is_refused_without_repeating_its_password() {
    let refused = |site: &Site, code, told| {
        let run = site.run(&["user", "list"]).failed(code, told);
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    };
    refused(&Site::on("postgres://me:hunter2@127.0.0.1:x/d"), 2, "is not like");
    // Nobody listens on the port of a file.
    refused(&Site::on("postgres://me:hunter2@%2Fnone/d"), 10, "lets you in");
    let site = Site::new();
    let argument = "--database=postgres://me:hunter2@h/d";
    let run = site.run(&["user", "list", argument]).failed(2, "is seen by everyone");
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
}

#[test]
fn a_schema_that_is_not_there_is_told_by_every_command() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let site = Site::on(cluster.address("&options=-c%20search_path%3Dnowhere").expose_secret());
    let told = "error: the schema that the address names is not there\nhint: make it with `CREATE";
    for args in [
        &["migrate"][..],
        &["user", "list"],
        &["user", "add", "--email", "a@b.c", "--name", "Zoë"],
        &["config", "check", "--secret-key-file", "k", "--connect"],
    ] {
        site.run(args).failed(10, told);
    }
}

#[test]
fn a_key_has_one_quota_at_all_servers() {
    let Some(site) = site() else { return };
    site.run(&["user", "add", "--email", "a@b.c", "--name", "Zoë"]).succeeded();
    let key = site.run(&["key", "create", "--user", "a@b.c", "--name", "k"]).succeeded();
    let (one, other) = (serve(&site), serve(&site));
    let ask =
        |n: u32| if n.is_multiple_of(2) { &one } else { &other }.get("/api/v1/me", key.line());
    for n in 0..300 {
        // What is refused to strangers counts for nobody.
        if n % 100 == 0 {
            assert!(one.get("/api/v1/me", "nobody").starts_with("HTTP/1.1 401"));
        }
        let answer = ask(n);
        assert!(answer.starts_with("HTTP/1.1 200"), "{n}: {answer}");
    }
    for n in 0..2 {
        let answer = ask(n);
        assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
        let wait = answer.lines().find_map(|line| line.strip_prefix("retry-after: ")).unwrap();
        // The first request was made some seconds ago at most.
        assert!((30..=61).contains(&wait.parse::<u64>().unwrap()), "{wait}");
    }
}
