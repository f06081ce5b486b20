//! `formsvc-server form import`, `form list` and `seed`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use formsvc_server::import::FORMATS;
use serde_json::Value;

use super::{Run, Site};

#[test]
fn imported_and_seeded_forms_are_served() {
    let site = Site::with_user();
    let file = site.path("answers.csv");
    std::fs::write(&file, "Name,Age\nAda,36\nAlan,NA\n").unwrap();
    let args = ["form", "import", file.to_str().unwrap(), "--user", "a@b.c", "--title", "Ages"];
    let more = ["--public-id", "ages", "--null", "NA", "--status", "closed"];
    let imported = site.run(&[args.as_slice(), &more].concat()).succeeded();
    assert_eq!(imported.stderr, "imported 2 submissions\n");
    let form = imported.json();
    assert_eq!((&form["public_id"], &form["status"]), (&"ages".into(), &"closed".into()));
    let seed = ["seed", "--user", "a@b.c", "--submissions", "5", "--public-id", "s", "--seed", "7"];
    site.run(&seed).succeeded();
    site.run(&seed).failed(2, "error: public id `s` exists already");

    let listed = site.run(&["form", "list", "--user", "a@b.c"]).succeeded();
    let listed: Vec<Value> =
        listed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed.len(), 2);
    assert_eq!((&listed[0]["public_id"], &listed[1]), (&"s".into(), &form));

    let key = site.run(&["key", "create", "--user", "a@b.c", "--name", "k"]).succeeded();
    let serving = site.serve(&["--rate-limit", "3"]);
    let rows = format!("/api/v1/forms/{}/submissions?limit=1", form["id"].as_str().unwrap());
    let page = serving.get(&rows, key.stdout.trim_end());
    assert!(page.contains(r#""data":{"Name":"Alan","Age":null}"#), "{page}");
    serving.get("/api/v1/forms", key.stdout.trim_end());
    serving.get("/api/v1/forms", key.stdout.trim_end());
    let limited = serving.get("/api/v1/forms", key.stdout.trim_end());
    assert!(limited.starts_with("HTTP/1.1 429 ") && limited.contains("retry-after: "), "{limited}");
}

#[test]
fn import_reads_every_format_from_standard_input() {
    let site = Site::with_user();
    let args = ["form", "import", "-", "--user", "a@b.c", "--title", "T", "--format"];
    for row in FORMATS {
        let text = match row.name {
            "csv" => "a,b\n1,2\n3,4\n",
            "tsv" => "a\tb\n1\t2\n3\t4\n",
            "ndjson" => "{\"a\":1}\n{\"a\":2}\n",
            "json" => "[{\"a\":1},{\"a\":2}]",
            other => panic!("no text of format {other}"),
        };
        let mut child = site
            .command(&[args.as_slice(), &[row.name]].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        let run = Run::from(child.wait_with_output().unwrap()).succeeded();
        assert_eq!(run.stderr, "imported 2 submissions\n", "{}", row.name);
        assert!(run.json()["id"].is_string());
    }
}

#[test]
fn an_import_that_was_killed_is_in_nobodys_way() {
    let site = Site::with_user();
    let args = ["form", "import", "-", "--user", "a@b.c", "--title", "T", "--public-id", "again"];
    let args = [args.as_slice(), &["--format", "ndjson"]].concat();
    let mut killed =
        site.command(&args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut rows = killed.stdin.take().unwrap();
    std::io::Write::write_all(&mut rows, "{\"a\":1}\n".repeat(1_500).as_bytes()).unwrap();
    let database = rusqlite::Connection::open(site.path("db")).unwrap();
    let count = || {
        let sql = "SELECT count(*) FROM submissions";
        database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    // The other rows wait for the rest of their chunk, which never comes.
    let since = Instant::now();
    while count() == 0 {
        assert!(since.elapsed() < Duration::from_secs(60), "nothing was written");
        // Sleeps because polling without a pause takes the processor from what it waits for.
        std::thread::sleep(Duration::from_millis(2));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(
        site.run(&["form", "list", "--user", "a@b.c"]).succeeded().stdout,
        "",
        "nobody sees it"
    );

    let file = site.path("a.ndjson");
    std::fs::write(&file, "{\"a\":1}\n{\"a\":2}\n").unwrap();
    let again = ["form", "import", file.to_str().unwrap(), "--user", "a@b.c", "--title", "T"];
    let again = [again.as_slice(), &["--public-id", "again"]].concat();
    let imported = site.run(&again).succeeded();
    assert_eq!((imported.json()["public_id"].as_str(), count()), (Some("again"), 1_002));
    site.run(&again).failed(2, "public id `again` exists already");
}
