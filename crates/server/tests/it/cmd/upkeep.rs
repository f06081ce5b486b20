//! `formsvc-server backup` and `prune`.

use formsvc_server::store::contract::cluster::Cluster;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::Site;

#[test]
fn a_backup_is_a_database_that_serves() {
    let site = Site::with_free_form();
    let serving = site.serve(&[]);
    for n in 0..5 {
        serving.submit("contact", &format!("{{\"n\":{n}}}"));
    }
    let copy = site.path("copy.db");
    let copy = copy.to_str().unwrap();
    let made = site.run(&["backup", copy]).succeeded();
    assert!(made.stderr.contains("db.key`: keep a copy of that"), "it is named: {}", made.stderr);
    let report = made.json();
    assert_eq!((&report["users"], &report["forms"]), (&1.into(), &1.into()));
    assert_eq!((&report["submissions"], &report["file"]), (&5.into(), &copy.into()));
    site.run(&["backup", copy]).failed(2, "exists already");
    site.run(&["backup", copy, "--force"]).succeeded();
    let database = site.path("db");
    let itself = ["backup", database.to_str().unwrap(), "--force"];
    site.run(&itself).failed(2, "is the database itself");
    let key = site.path("db.key");
    let kept = site.path("kept.key");
    std::fs::copy(&key, &kept).unwrap();
    let kept = kept.to_str().unwrap();
    let onto_key = ["backup", kept, "--force", "--secret-key-file", kept];
    site.run(&onto_key).failed(2, "is the server's key");
    let link = site.path("link.db");
    std::fs::hard_link(&database, &link).unwrap();
    let onto_link = ["backup", link.to_str().unwrap(), "--force"];
    site.run(&onto_link).failed(2, "is the database itself");
    std::fs::remove_file(&link).unwrap();
    let nowhere = site.path("nowhere/copy.db");
    site.run(&["backup", nowhere.to_str().unwrap()]).failed(10, "cannot be written");
    Site::new().run(&["backup", "copy.db"]).failed(3, "there is no database");
    drop(serving);

    let restored = Site::on(copy);
    let again = restored.run(&["backup", site.path("again.db").to_str().unwrap()]).succeeded();
    let told = "there is no server's key `";
    assert!(again.stderr.starts_with(told), "none came along: {}", again.stderr);
    let users = restored.run(&["user", "list"]).succeeded();
    assert_eq!(users.json()["email"], "a@b.c");
    let serving = restored.serve(&[]);
    serving.submit("contact", "{}");
}

#[test]
fn a_backup_of_postgresql_is_left_to_its_own_tool() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let file = "c".repeat(100);
    let told = |address: &SecretString| {
        let site = Site::on(address.expose_secret());
        site.run(&["backup", &file]).failed(2, "by its own tools").stderr
    };
    let address = cluster.fresh_schema();
    let run = told(&address);
    let named = format!("hint: pg_dump --format=custom --file='{file}' --schema='\"t");
    assert!(run.contains(&named), "{run}");
    // To its last letter, for it is copied into a shell.
    assert!(run.ends_with(&format!(" '{}'\n", address.expose_secret())), "{run}");
    let run = told(&cluster.address(""));
    assert!(run.contains(&format!("--file='{file}' 'postgres:")), "{run}");
}

fn submissions(site: &Site) -> Vec<Value> {
    let prune = ["prune", "--submissions-older-than", "0d", "--form", "contact", "--dry-run"];
    site.run(&prune).succeeded().lines()
}

#[test]
fn a_dry_run_prints_what_a_real_one_does() {
    let site = Site::with_free_form();
    let serving = site.serve(&[]);
    for n in 0..3 {
        serving.submit("contact", &format!("{{\"n\":{n}}}"));
    }
    let all = [
        "prune",
        "--submissions-older-than",
        "0d",
        "--form",
        "contact",
        "--spam-older-than",
        "0d",
        "--attempts-older-than",
        "0d",
        "--deliveries-older-than",
        "0d",
    ];
    let counts = |lines: Vec<Value>| -> Vec<(String, u64)> {
        let count = |line: &Value| {
            (line["what"].as_str().unwrap().to_owned(), line["count"].as_u64().unwrap())
        };
        lines.iter().map(count).collect()
    };
    let dry = site.run(&[&all[..], &["--dry-run"]].concat()).succeeded().lines();
    assert!(dry.iter().all(|line| line["dry_run"] == true));
    assert_eq!(submissions(&site)[0]["count"], 3, "nothing was removed");
    let real = site.run(&all).succeeded().lines();
    assert!(real.iter().all(|line| line["dry_run"] == false));
    let expected = [("attempts", 0), ("deliveries", 0), ("submissions", 3), ("spam", 0)]
        .map(|(what, count)| (what.to_owned(), count));
    assert_eq!(counts(dry), expected);
    assert_eq!(counts(real), expected);
    assert_eq!(submissions(&site)[0]["count"], 0);
    serving.submit("contact", "{}");
    let text = ["prune", "--submissions-older-than", "1d", "--form", "contact", "--output", "text"];
    let text = site.run(&text).succeeded();
    assert_eq!(text.stdout, "WHAT         REMOVED\nsubmissions  0\n");
}

#[test]
fn a_prune_says_what_and_how_old() {
    let site = Site::with_free_form();
    site.run(&["prune", "--dry-run"]).failed(2, "nothing was named");
    site.run(&["prune", "--spam-older-than", "30"]).failed(2, "must be a whole number with");
    site.run(&["prune", "--submissions-older-than", "1d"]).failed(2, "--form");
    site.run(&["prune", "--form", "contact"]).failed(2, "--submissions-older-than");
    let unknown = ["prune", "--submissions-older-than", "1d", "--form", "none"];
    site.run(&unknown).failed(3, "no form `none`");
}
