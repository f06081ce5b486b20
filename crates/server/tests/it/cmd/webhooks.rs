//! `formsvc-server webhook`.

use serde_json::Value;

use super::receiver::Receiver;
use super::{Run, Site};

/// Adds an endpoint to the form `contact`: its id and secret.
fn add(site: &Site, url: &str) -> (String, String) {
    let added = site.run(&["webhook", "add", "contact", url, "--profile", "dev"]).succeeded();
    let secret = added.line().to_owned();
    assert!(secret.starts_with("whsec_") && secret.len() == 49, "{secret}");
    assert!(!added.stderr.contains(&secret));
    let id = list(site).pop().unwrap()["id"].as_str().unwrap().to_owned();
    assert!(added.stderr.contains(&id), "{}", added.stderr);
    (id, secret)
}

fn list(site: &Site) -> Vec<Value> {
    site.run(&["webhook", "list", "contact"]).succeeded().lines()
}

/// A secret from a rotation.
fn rotated(run: &Run) -> String {
    let secret = run.line().to_owned();
    assert!(secret.starts_with("whsec_") && !run.stderr.contains(&secret), "{}", run.stderr);
    secret
}

#[test]
fn an_endpoint_added_beside_a_server_gets_what_is_submitted() {
    let site = Site::with_free_form();
    let serving = site.serve(&["--profile", "dev"]);
    let receiver = Receiver::ok();
    let (id, first) = add(&site, &receiver.url());
    serving.submit("contact", r#"{"n":1.50}"#);
    let delivery = receiver.next();
    assert!(delivery.body.contains(r#""data":{"n":1.50}"#), "{}", delivery.body);
    assert!(delivery.is_signed_with(&first));
    assert!(!delivery.is_signed_with("whsec_other"));

    let second = rotated(&site.run(&["webhook", "rotate", &id, "--grace", "1h"]).succeeded());
    assert!(list(&site)[0]["previous_secret_until"].is_string());
    serving.submit("contact", "{}");
    let delivery = receiver.next();
    assert!(delivery.is_signed_with(&first) && delivery.is_signed_with(&second));
    let third = rotated(&site.run(&["webhook", "rotate", &id, "--grace", "0s"]).succeeded());
    assert!(list(&site)[0]["previous_secret_until"].is_null());
    serving.submit("contact", "{}");
    let delivery = receiver.next();
    assert!(delivery.is_signed_with(&third));
    assert!(!delivery.is_signed_with(&second) && !delivery.is_signed_with(&first));

    let disabled = site.run(&["webhook", "disable", &id]).succeeded().json();
    assert_eq!((&disabled["status"], &disabled["id"]), (&"disabled".into(), &id[..].into()));
    serving.submit("contact", r#"{"lost":true}"#);
    let enabled = site.run(&["webhook", "enable", &id]).succeeded().json();
    assert_eq!(enabled["status"], "enabled");
    serving.submit("contact", r#"{"found":true}"#);
    assert!(receiver.next().body.contains("found"), "what was submitted meanwhile is not sent");
    let removed = site.run(&["webhook", "remove", &id]).succeeded().json();
    assert_eq!(removed["status"], "removed");
    assert!(list(&site).is_empty());
    assert_eq!(site.run(&["webhook", "remove", &id]).succeeded().json(), removed);

    serving.signal("TERM");
    let (code, log) = serving.wait();
    assert_eq!(code, Some(0), "{log}");
    for secret in ["whsec_", "token=t"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn endpoints_are_listed_as_they_were_added() {
    let site = Site::with_free_form();
    assert!(list(&site).is_empty());
    let (first, _) = add(&site, "http://LOCALHOST:9000/a/../b?token=t");
    let (second, _) = add(&site, "https://hooks.localhost/");
    let listed = list(&site);
    let ids: Vec<_> = listed.iter().map(|endpoint| endpoint["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [first, second]);
    assert_eq!(listed[0]["url"], "http://localhost:9000/b?token=t");
    assert_eq!(listed[0]["status"], "enabled");
    assert!(listed[0]["created_at"].is_string() && listed[0]["form_id"].is_string());
    // The form by its id as well.
    let by_id = site.run(&["webhook", "list", listed[0]["form_id"].as_str().unwrap()]).succeeded();
    assert_eq!(by_id.lines(), listed);
}

#[test]
fn an_url_that_deliveries_would_not_reach_is_refused() {
    let site = Site::with_free_form();
    let add =
        |url: &str, more: &[&str]| site.run(&[&["webhook", "add", "contact", url], more].concat());
    for (url, told) in [
        ("http://example.org/", "plain `http` is accepted for localhost only"),
        ("ftp://example.org/", "only `https` is accepted (or `http` to this machine)"),
        ("https://ada:pass@example.org/", "user name or password"),
        ("https://example.org/#top", "fragment"),
        ("hooks", "has no scheme"),
        ("example.org/hook", "hint: did you mean `https://example.org/hook`?"),
        ("http://127.0.0.1:9000/", "opens it with `--profile dev` or `--egress-allow`"),
        (
            "http://localhost:9100/",
            "must both be told: `--profile dev`, or `FORMSVC_SERVER_PROFILE=dev`",
        ),
        ("https://169.254.169.254/", "`metadata`"),
        ("https://[::ffff:10.0.0.1]/", "class `private`"),
        ("https://0x7f.1/", "class `loopback`"),
    ] {
        let run = add(url, &[]).failed(2, told);
        assert!(!run.stderr.contains("pass@"), "{}", run.stderr);
    }
    add("https://10.1.2.3/", &["--egress-allow", "10.1.0.0/24"]).failed(2, "class `private`");
    let covered = add("https://169.254.169.254/", &["--egress-allow", "169.254.0.0/16"]);
    covered.failed(2, "metadata addresses open only when named one by one");
    add("https://10.1.2.3/", &["--egress-allow", "10.1.2.0/24"]).succeeded();
    add("https://10.1.2.3/", &["--egress-allow", "anything"]).failed(2, "--egress-allow");
    add("https://10.1.2.4/", &["--profile", "test"]).failed(2, "`--profile` cannot be `test`");
    let mut command = site.command(&["webhook", "add", "contact", "https://10.1.2.4/"]);
    let run = Run::from(command.env("FORMSVC_SERVER_EGRESS_ALLOW", "10.1.2.4").output().unwrap());
    run.succeeded();

    let again = add("https://10.1.2.3:443", &["--egress-allow", "10.1.2.3"]);
    let id = list(&site)[0]["id"].as_str().unwrap().to_owned();
    let again =
        again.failed(2, &format!("this form has an endpoint with this URL already: `{id}`"));
    assert!(again.stderr.contains(&format!("hint: `formsvc-server webhook rotate {id}`")));
    for n in 2..20 {
        add(&format!("http://localhost/{n}"), &["--profile", "dev"]).succeeded();
    }
    let run = add("http://localhost/20", &["--profile", "dev"]);
    run.failed(2, "has 20 endpoints, and can have no more");
}

#[test]
fn what_a_webhook_command_is_given_is_judged() {
    let site = Site::with_free_form();
    let none = "error: no endpoint `whe_0`";
    for verb in ["rotate", "enable", "disable", "remove"] {
        let grace: &[&str] = if verb == "rotate" { &["--grace", "0s"] } else { &[] };
        site.run(&[&["webhook", verb, "whe_0"], grace].concat()).failed(3, none);
        site.run(&["webhook", verb, "a b"]).failed(2, "`ID` cannot be `a b`");
        let run = site.run(&["webhook", verb, "whsec_abcdefghijkl"]).failed(2, "id is wanted");
        assert!(!run.stderr.contains("abcdef"), "{}", run.stderr);
    }
    for grace in ["8d", "1", "soon"] {
        let run = site.run(&["webhook", "rotate", "whe_0", "--grace", grace]);
        run.failed(2, &format!("`--grace` cannot be `{grace}`"));
    }
    let run = site.run(&["webhook", "list", "missing"]).failed(3, "error: no form `missing`");
    assert!(run.stderr.contains("hint: `formsvc-server form list --user EMAIL` lists them"));
    let run = site.run(&["form", "list", "--user", "x@y.z"]);
    run.failed(3, "hint: `formsvc-server user list` lists them");
    site.run(&["webhook", "remove", "whe_0"]).failed(3, "hint: `formsvc-server webhook list FORM`");
    site.run(&["webhook", "list", "a b"]).failed(3, "error: no form `a b`");
    let add = ["webhook", "add", "missing", "https://example.org/"];
    site.run(&add).failed(3, "error: no form `missing`");
    let nowhere = Site::new();
    nowhere.run(&["webhook", "list", "contact"]).failed(3, "there is no database");
}

#[test]
fn a_server_tells_of_endpoints_that_it_will_not_reach() {
    let site = Site::with_free_form();
    for url in ["http://localhost:9000/", "http://127.0.0.1:9000/"] {
        add(&site, url);
    }
    let log = |args: &[&str]| {
        let serving = site.serve(args);
        serving.signal("TERM");
        serving.wait().1
    };
    let told = "endpoints are at addresses that deliveries do not reach: `--profile dev` opens";
    let warned = log(&[]);
    let warning = warned.lines().find(|line| line.contains(told));
    let warning = warning.unwrap_or_else(|| panic!("{warned}"));
    assert!(warning.contains("WARN") && warning.contains("endpoints=2"), "{warning}");
    assert!(!log(&["--profile", "dev"]).contains(told));
    // What is disabled is not delivered to anyway.
    for endpoint in list(&site) {
        site.run(&["webhook", "disable", endpoint["id"].as_str().unwrap()]).succeeded();
    }
    assert!(!log(&[]).contains(told));
}

#[test]
fn a_lost_key_is_not_replaced_while_a_secret_under_it_signs() {
    let site = Site::with_free_form();
    let (id, _) = add(&site, "http://localhost/");
    let key = site.path("db.key");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&key).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    std::fs::rename(&key, site.path("elsewhere")).unwrap();
    let run = site.run(&["webhook", "rotate", &id]).failed(10, "there is no such file");
    assert!(run.stderr.contains("--secret-key-file") && !key.exists(), "{}", run.stderr);
    let more = ["webhook", "add", "contact", "http://localhost/x", "--profile", "dev"];
    for command in [&["serve", "--port", "0"][..], &more, &["webhook", "rotate", &id]] {
        let run = site.run(command).failed(10, "`formsvc-server webhook rotate ID --grace 0s`");
        assert!(run.stderr.ends_with(&format!("removes it: `{id}`\n")), "{}", run.stderr);
    }
    assert!(!key.exists());
    let named = ["webhook", "rotate", &id, "--secret-key-file"];
    let elsewhere = site.path("elsewhere");
    rotated(&site.run(&[&named[..], &[elsewhere.to_str().unwrap()]].concat()).succeeded());
    rotated(&site.run(&["webhook", "rotate", &id, "--grace", "0s"]).succeeded());
    assert!(key.exists(), "a new key, under which nothing old is needed");
}

#[test]
fn a_secret_under_a_lost_key_is_dropped_when_it_is_replaced() {
    let site = Site::with_free_form();
    let receiver = Receiver::ok();
    let (id, first) = add(&site, &receiver.url());
    // Neither the key nor its name is left.
    let key = site.path("db.key");
    std::fs::remove_file(&key).unwrap();
    let sealed_elsewhere = Site::with_free_form();
    add(&sealed_elsewhere, "http://localhost/");
    std::fs::copy(sealed_elsewhere.path("db.key"), &key).unwrap();
    let run = site.run(&["webhook", "rotate", &id]).succeeded();
    let second = rotated(&run);
    let told = "warning: the secret of before is dropped at once: the secret was sealed under";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(run.stderr.contains("the one before signs nothing any more"), "{}", run.stderr);
    assert!(list(&site)[0]["previous_secret_until"].is_null());
    let serving = site.serve(&["--profile", "dev"]);
    serving.submit("contact", "{}");
    let delivery = receiver.next();
    assert!(delivery.is_signed_with(&second) && !delivery.is_signed_with(&first));
    // The next one is replaced as ever.
    let run = site.run(&["webhook", "rotate", &id]).succeeded();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    assert!(list(&site)[0]["previous_secret_until"].is_string());
}

#[test]
fn the_file_of_another_key_is_refused_until_nothing_needs_the_lost_one() {
    let site = Site::with_free_form();
    let ids: Vec<_> = (0..3).map(|n| add(&site, &format!("http://localhost/{n}")).0).collect();
    site.run(&["webhook", "disable", &ids[0]]).succeeded();
    let other = Site::with_free_form();
    add(&other, "http://localhost/");
    std::fs::copy(other.path("db.key"), site.path("db.key")).unwrap();
    let serve = ["serve", "--port", "0"];
    let more = ["webhook", "add", "contact", "http://localhost/x", "--profile", "dev"];
    for command in [&serve[..], &more] {
        let told = "and the signing secrets of 3 of 3 endpoints are sealed under ";
        let run = site.run(command).failed(10, told);
        assert!(run.stderr.contains("db.key`: this is the server key "), "{}", run.stderr);
        assert!(run.stderr.contains("hint: restore that key. "), "{}", run.stderr);
        assert!(ids.iter().all(|id| run.stderr.contains(id)), "{}", run.stderr);
    }
    rotated(&site.run(&["webhook", "rotate", &ids[0], "--grace", "0s"]).succeeded());
    rotated(&site.run(&["webhook", "rotate", &ids[1]]).succeeded());
    site.run(&serve).failed(10, "the signing secrets of 1 of 3 endpoints are sealed under ");
    site.run(&["webhook", "remove", &ids[2]]).succeeded();
    let serving = site.serve(&["--profile", "dev"]);
    site.run(&more).succeeded();
    serving.signal("TERM");
    assert_eq!(serving.wait().0, Some(0));
}
