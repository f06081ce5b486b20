//! Settings from a file, and what `config check` tells of all of them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Run, Site};

fn file(site: &Site, text: &str) -> PathBuf {
    let path = site.path("server.toml");
    fs::write(&path, text).unwrap();
    path
}

/// `config check` with a file, without the variable that names the database.
fn check(site: &Site, text: &str, more: &[&str]) -> Run {
    let path = file(site, text);
    let mut command = site.command(&["config", "check", "--config", path.to_str().unwrap()]);
    command.args(more).env_remove("FORMSVC_SERVER_DATABASE");
    command.output().unwrap().into()
}

fn setting(run: &Run, name: &str) -> Value {
    run.lines().into_iter().find(|record| record["setting"] == name).unwrap()
}

#[test]
fn a_flag_is_stronger_than_a_variable_and_that_than_the_file() {
    let site = Site::new();
    let path = file(&site, "rate_limit = 1\nform_limit = 2\nsender_limit = 3\nport = 4\n");
    let mut command = site.command(&["config", "check", "--rate-limit", "10", "--config"]);
    command.arg(&path).env("FORMSVC_SERVER_RATE_LIMIT", "20");
    let run = Run::from(command.env("FORMSVC_SERVER_FORM_LIMIT", "21").output().unwrap());
    let run = run.succeeded();
    let told = |name| setting(&run, name);
    assert_eq!(
        told("rate_limit"),
        json!({"setting": "rate_limit", "value": "10", "origin": "flag"})
    );
    let form = json!({"setting": "form_limit", "value": "21", "origin": "environment",
        "variable": "FORMSVC_SERVER_FORM_LIMIT"});
    assert_eq!(told("form_limit"), form);
    let sender = json!({"setting": "sender_limit", "value": "3", "origin": "file",
        "path": path.to_str().unwrap(), "line": 3});
    assert_eq!(told("sender_limit"), sender);
    let slots = json!({"setting": "endpoint_slots", "value": "4", "origin": "default"});
    assert_eq!(told("endpoint_slots"), slots);
    assert_eq!(told("port")["value"], "4");
    // What counts where the default depends on something else.
    let key = json!({"setting": "secret_key_file", "value": site.path("db.key").to_str().unwrap(),
        "origin": "default"});
    assert_eq!(told("secret_key_file"), key);
    let level = json!({"setting": "log_level", "value": "info", "origin": "default"});
    assert_eq!(told("log_level"), level);
}

#[test]
fn every_command_reads_the_file() {
    let site = Site::with_user();
    let path = file(&site, &format!("database = {:?}\nlog_level = \"debug\"\n", site.path("db")));
    for args in [["user", "list", "--config"], ["--config", path.to_str().unwrap(), "user"]] {
        let mut command = site.command(&args);
        match args[0] {
            "user" => command.arg(&path),
            _ => command.arg("list"),
        };
        command.env_remove("FORMSVC_SERVER_DATABASE");
        let run = Run::from(command.output().unwrap()).succeeded();
        assert!(run.stdout.contains("a@b.c"), "{}", run.stdout);
    }
    let mut command = site.command(&["user", "list"]);
    let command = command.env_remove("FORMSVC_SERVER_DATABASE");
    let run = Run::from(command.env("FORMSVC_SERVER_CONFIG", &path).output().unwrap()).succeeded();
    assert!(run.stdout.contains("a@b.c"), "{}", run.stdout);
}

#[test]
fn a_server_serves_by_its_file() {
    let site = Site::with_user();
    let path = file(&site, "profile = \"dev\"\nlog_format = \"json\"\ntrusted_proxy = [\"::1\"]\n");
    let serving = site.serve(&["--config", path.to_str().unwrap()]);
    assert!(serving.get("/livez", "").starts_with("HTTP/1.1 200"));
    serving.signal("TERM");
    let (code, log) = serving.wait();
    assert_eq!(code, Some(0), "{log}");
    // But for how the first person gets in, which is no log line.
    let mut lines = log.lines().filter(|line| !line.contains("/dashboard/welcome/"));
    assert!(
        lines.all(|line| line.starts_with('{') || line.starts_with("nobody can sign in")),
        "{log}"
    );
}

#[test]
fn what_is_allowed_and_hardly_meant_is_warned_of() {
    let site = Site::new();
    let text = "database = \"x.db\"\n";
    for (flags, warning) in [
        (&["--public-url", "http://forms.example.org"][..], "warning: nobody can sign in"),
        (&["--public-url", "https://forms.example.org"], "warning: no `--trusted-proxy` is named"),
    ] {
        let run = check(&site, text, flags).succeeded();
        assert!(run.stderr.contains(warning), "{}", run.stderr);
    }
    let meant = ["--public-url", "https://forms.example.org", "--trusted-proxy", "::1"];
    for flags in [&meant[..], &["--public-url", "http://127.0.0.1:8080"], &[]] {
        assert_eq!(check(&site, text, flags).succeeded().stderr, "");
    }
}

#[test]
fn all_that_is_wrong_is_told_with_the_place_it_comes_from() {
    let site = Site::new();
    let text = "database = \"x.db\"\nlisten = \"localhost:80\"\nretry_base = \"1h\"\ntrusted_proxy = [\"10.0.0.0/33\"]\negress_ca = \"no.pem\"\n";
    let run = check(&site, text, &["--form-limit", "none"])
        .failed(2, "line 2: `listen` cannot be `localhost:80`: it must");
    for told in [
        "line 3: `retry_base` cannot be `1h`",
        "line 4: `trusted_proxy` cannot be `10.0.0.0/33`",
        "line 5: `no.pem`: ",
        "error: `--form-limit` cannot be `none`",
    ] {
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
    // As the command itself says it: the place once, and the status that it ends with.
    let run = check(&site, "database = \"x.db\"\negress_ca = \"no.pem\"\n", &[]);
    let run = run.failed(3, "line 2: `no.pem`: ");
    assert_eq!(run.stderr.matches("server.toml").count(), 1, "{}", run.stderr);
    let path = file(&site, "rate_limit = 0\n");
    let run = site.run(&["serve", "--config", path.to_str().unwrap()]);
    run.failed(2, "server.toml` line 1: `rate_limit` cannot be `0`: it must be `off`, or");
    let mut command = site.command(&["config", "check"]);
    let run = Run::from(command.env("FORMSVC_SERVER_PORT", "x").output().unwrap());
    run.failed(2, "hint: it comes from the variable `FORMSVC_SERVER_PORT`");
}

#[test]
fn a_file_with_what_there_is_not_is_refused_by_every_command() {
    let site = Site::with_user();
    let path = file(&site, "databse = \"x\"\nport = \"80\"\n");
    let path = path.to_str().unwrap();
    for args in [["user", "list"], ["config", "check"], ["config", "example"]] {
        let run = site.run(&[&args[..], &["--config", path]].concat());
        let run =
            run.failed(2, "line 1: there is no setting `databse`\nhint: did you mean `database`?");
        assert!(run.stderr.contains("line 2: `port` cannot be the text `80`"), "{}", run.stderr);
    }
    site.run(&["user", "list", "--config", "no.toml"]).failed(3, "error: `no.toml`: ");
    file(&site, "port = \n");
    site.run(&["user", "list", "--config", path]).failed(2, "line 1: no TOML: ");
}

#[test]
fn no_problem_hides_another_and_the_status_is_that_of_serve() {
    let site = Site::new();
    let text = "databse = \"x\"\nready_file = \"no/such/r\"\negress_ca = \"no.pem\"\n\
        retry_base = \"1h\"\nlisten = \"0.0.0.0:1\"\nlog_level = \"loud\"\n";
    let path = file(&site, text);
    let mut command = site.command(&["config", "check", "--config", path.to_str().unwrap()]);
    let run = Run::from(command.env("FORMSVC_SERVER_RATE_LIMTI", "5").output().unwrap());
    let run = run.failed(2, "line 1: there is no setting `databse`");
    for told in [
        "nothing reads the variable `FORMSVC_SERVER_RATE_LIMTI`",
        "line 2: `no/such/r`: there is no directory",
        "line 3: `no.pem`: ",
        "line 4: `retry_base` cannot be `1h`",
        "line 5: `listen` cannot be `0.0.0.0:1`",
        "line 6: `log_level` cannot be `loud`",
    ] {
        assert_eq!(run.stderr.matches(told).count(), 1, "{told}: {}", run.stderr);
    }
    // A value comes before what it leads to, whichever is told last.
    let text = "ready_file = \"no/such/r\"\negress_ca = \"no.pem\"\nretry_base = \"1h\"\n";
    let path = file(&site, text);
    for command in ["serve --port 0", "config check"] {
        let args: Vec<_> = command.split(' ').chain(["--config", path.to_str().unwrap()]).collect();
        site.run(&args).failed(2, "line 3: `retry_base` cannot be `1h`");
    }
}

#[test]
fn connecting_finds_a_key_that_is_not_the_databases() {
    let site = Site::with_free_form();
    let add = ["webhook", "add", "contact", "http://127.0.0.1:9/", "--profile", "dev"];
    site.run(&add).succeeded();
    let check = ["config", "check", "--connect"];
    site.run(&check).succeeded();
    let key = site.path("db.key");
    fs::rename(&key, site.path("kept.key")).unwrap();
    let absent = site.run(&check).failed(10, "db.key");
    assert_eq!(absent.stderr, site.run(&["serve", "--port", "0"]).failed(10, "db.key").stderr);
    assert!(!key.exists(), "none is made");
    // Another database's.
    let other = site.path("other.db");
    let other = ["--database", other.to_str().unwrap()];
    site.run(&[&["user", "add", "--email", "a@b.c", "--name", "A"], &other[..]].concat())
        .succeeded();
    let form = ["form", "create", "--user", "a@b.c", "--title", "T", "--public-id", "contact"];
    site.run(&[&form[..], &other].concat()).succeeded();
    site.run(&[&add[..], &other].concat()).succeeded();
    fs::rename(site.path("other.db.key"), &key).unwrap();
    site.run(&check).failed(10, "this is the server key");
    fs::rename(site.path("kept.key"), &key).unwrap();
    site.run(&check).succeeded();
}

#[test]
fn what_settings_lead_to_is_looked_at_and_left_alone() {
    let site = Site::new();
    let elsewhere = site.path("no/db");
    let text = format!("database = {elsewhere:?}\nready_file = \"no/such/ready.json\"\n");
    let run = check(&site, &text, &[]).failed(10, "line 1: `");
    assert!(
        run.stderr.contains("line 2: `no/such/ready.json`: there is no directory"),
        "{}",
        run.stderr
    );
    let text = format!("database = {:?}\n", site.path("db"));
    check(&site, &text, &[]).succeeded();
    let made = check(&site, &text, &["--connect"]).succeeded();
    assert!(made.stderr.ends_with("db is not there yet: `serve` makes it\n"), "{}", made.stderr);
    assert!(!site.path("db").exists());
    site.run(&["migrate"]).succeeded();
    check(&site, &text, &["--connect"]).succeeded();
    fs::write(site.path("db"), "not a database, but long enough to be looked at".repeat(99))
        .unwrap();
    check(&site, &text, &[]).succeeded();
    check(&site, &text, &["--connect"]).failed(10, "is not a formsvc database");
}

#[cfg(unix)]
#[test]
fn what_holds_a_secret_is_nobody_elses() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    let mode = |name: &str, mode| {
        fs::set_permissions(site.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let text = "database = \"postgres://me:hunter2@127.0.0.1:1/d\"\nsecret_key_file = \"k\"\n";
    let path = file(&site, text);
    mode("server.toml", 0o644);
    let args = ["config", "check", "--config", path.to_str().unwrap()];
    let run = |args: &[&str]| {
        let mut command = site.command(args);
        command.env_remove("FORMSVC_SERVER_DATABASE").current_dir(site.path(""));
        Run::from(command.output().unwrap())
    };
    run(&args).failed(10, "hint: it holds a password: `chmod 600` it");
    mode("server.toml", 0o600);
    let told = run(&args).succeeded();
    assert_eq!(setting(&told, "database")["value"], "postgres://me:***@127.0.0.1:1/d");
    let unreached = run(&[&args[..], &["--connect"]].concat()).failed(10, "line 1: ");
    let help = run(&["serve", "--help", "--config", path.to_str().unwrap()]).succeeded();
    for output in [told.stdout, told.stderr, unreached.stderr, help.stdout] {
        assert!(!output.contains("hunter2"), "{output}");
    }
    fs::write(site.path("k"), "fsvk_").unwrap();
    mode("k", 0o644);
    let key = run(&args).failed(10, "line 2: cannot use the server key file `k`");
    assert!(key.stderr.contains("its mode is `0644`"), "{}", key.stderr);
}

#[test]
fn the_example_is_a_file_that_sets_nothing() {
    let site = Site::new();
    let example = site.run(&["config", "example"]).succeeded().stdout;
    assert_eq!(example, formsvc_server::cmd::example());
    let run = check(&site, &example, &["--database", "db"]).succeeded();
    let set: Vec<_> = run.lines().into_iter().filter(|line| line["origin"] == "file").collect();
    assert!(set.is_empty(), "{set:?}");
}

#[test]
fn a_variable_that_nothing_reads_is_told() {
    let site = Site::new();
    let told = |name: &str| {
        let mut command = site.command(&["config", "check"]);
        Run::from(command.env(name, "5").output().unwrap()).succeeded().stderr
    };
    let mistyped = told("FORMSVC_SERVER_RATE_LIMTI");
    assert!(mistyped.contains("did you mean `FORMSVC_SERVER_RATE_LIMIT`?"), "{mistyped}");
    let other = told("FORMSVC_SERVER_BOGUS");
    assert!(other.contains("nothing reads the variable `FORMSVC_SERVER_BOGUS`\n"), "{other}");
}

#[test]
fn a_command_without_a_database_is_told_how_to_name_one() {
    let site = Site::new();
    let run = |args: &[&str]| {
        let mut command = site.command(args);
        Run::from(command.env_remove("FORMSVC_SERVER_DATABASE").output().unwrap())
    };
    let told = "error: no database is named, and there is no default\nhint: name one with \
        `--database`, in the variable FORMSVC_SERVER_DATABASE, or as `database` in the file";
    for args in [&["user", "list"][..], &["serve"], &["migrate"], &["config", "check"]] {
        run(args).failed(2, told);
    }
    // What else is wrong is told as well.
    let check = run(&["config", "check", "--rate-limit", "0"]).failed(2, told);
    assert!(check.stderr.contains("`--rate-limit` cannot be `0`"), "{}", check.stderr);
    let check = run(&["config", "check", "--ready-file", "no/such/f", "--connect"]).failed(2, told);
    assert!(check.stderr.contains("there is no directory `no/such`"), "{}", check.stderr);
}
