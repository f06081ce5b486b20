//! What is refused, with which words and which exit status.

use std::net::TcpListener;

use super::{Run, Site};

#[test]
fn each_bad_value_is_named_with_its_rule_and_exits_2() {
    let site = Site::with_user();
    std::fs::write(site.path("x.txt"), "a").unwrap();
    std::fs::write(site.path("bad.csv"), "a,b\n1\n").unwrap();
    let import = |more: &[&str]| -> Vec<String> {
        let args = ["form", "import", "--user", "a@b.c", "--title", "T"];
        args.iter().chain(more).map(|arg| (*arg).to_owned()).collect()
    };
    let serve = |more: &[&str]| -> Vec<String> {
        std::iter::once(&"serve").chain(more).map(|arg| (*arg).to_owned()).collect()
    };
    let (text, bad) = (site.path("x.txt"), site.path("bad.csv"));
    let (text, bad) = (text.to_str().unwrap(), bad.to_str().unwrap());
    let table = [
        (serve(&["--listen", "localhost:80"]), "`--listen` cannot be `localhost:80`"),
        (serve(&["--listen", "0.0.0.0:0"]), "--allow-remote"),
        (serve(&["--port", "65536"]), "`--port` cannot be `65536`"),
        (serve(&["--rate-limit", "none"]), "must be `off`, or a whole number per minute"),
        (serve(&["--shutdown-deadline", "10"]), "`--shutdown-deadline` cannot be `10`"),
        (serve(&["--connections-max", "0"]), "from 1 to 1000000"),
        (serve(&["--log-level", "loud"]), "`--log-level` cannot be `loud`"),
        (serve(&["--log-format", "xml"]), "must be text or json"),
        (serve(&["--no-such-flag"]), "--no-such-flag"),
        (import(&[text]), "has no extension that tells its format"),
        (import(&[text, "--format", "xlsx"]), "must be csv, tsv, ndjson or json"),
        (import(&[bad, "--types", "guess"]), "`--types` cannot be `guess`"),
        (import(&[bad, "--status", "open"]), "`--status` cannot be `open`"),
        (import(&[bad, "--public-id", "a/b"]), "`--public-id` cannot be `a/b`"),
        (import(&[bad]), "line 2"),
    ];
    for (args, told) in table {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let run = site.run(&args).failed(2, told);
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    }
    for args in [
        ["seed", "--user", "a@b.c", "--submissions", "-1"].as_slice(),
        &["seed", "--user", "a@b.c", "--seed", "x"],
        &["user", "add", "--email", "nobody", "--name", "N"],
        &["user", "add", "--email", "A@B.C", "--name", "N"],
        &["user", "add", "--email", "x@y", "--name", " "],
        &["healthcheck", "https://localhost"],
        &["healthcheck", "--timeout", "0s"],
        &["healthcheck", "--port", "0"],
        &["key", "revoke", "a b"],
        &[],
    ] {
        site.run(args).failed(2, "");
    }
}

#[test]
fn what_is_meant_as_an_address_makes_no_file() {
    let site = Site::new();
    for (database, told) in [
        ("sqlite://x.db", "a URI is none"),
        ("file:x.db", "a URI is none"),
        ("postgre://me@h/d", "no such kind of database"),
        ("host=127.0.0.1 user=me dbname=d", "made of `key=value` is not read"),
        ("mysql:x", "a name and a colon"),
    ] {
        for command in [["migrate"].as_slice(), &["serve", "--port", "0"], &["backup", "copy"]] {
            let mut command = site.command(command);
            command.args(["--database", database]).current_dir(site.path(""));
            Run::from(command.output().unwrap()).failed(2, told);
        }
        let mut check = site.command(&["config", "check", "--database", database]);
        Run::from(check.output().unwrap()).failed(2, told);
    }
    let mut command = site.command(&["migrate"]);
    let secret = "host=127.0.0.1 user=me password=hunter2 dbname=d";
    let run = Run::from(command.env("FORMSVC_SERVER_DATABASE", secret).output().unwrap());
    let run = run.failed(2, "is not read");
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    site.run(&["migrate", "--database", secret]).failed(2, "is seen by everyone");
    assert_eq!(std::fs::read_dir(site.path("")).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn address_without_slashes_makes_no_file_and_is_not_shown() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    let secret = "postgres:me:hunter2@127.0.0.1";
    let refused = |command: &mut std::process::Command, message: &str| {
        let run = Run::from(command.current_dir(site.path("")).output().unwrap());
        let run = run.failed(2, message);
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
        assert!(!run.stdout.contains("hunter2"), "{}", run.stdout);
    };
    let message = "a name and a colon";
    for command in [
        ["migrate"].as_slice(),
        &["serve", "--port", "0"],
        &["backup", "copy"],
        &["copy", "--to", "x.db"],
        &["copy", "--from", "x.db"],
        &["config", "check"],
        &["user", "list"],
    ] {
        let mut command = site.command(command);
        refused(command.env("FORMSVC_SERVER_DATABASE", secret), message);
    }
    for flag in ["--database", "--from", "--to"] {
        let mut command = site.command(&["copy", flag, secret]);
        refused(&mut command, "is seen by everyone");
    }
    assert_eq!(std::fs::read_dir(site.path("")).unwrap().count(), 0);
    let config = site.path("config.toml");
    std::fs::write(&config, format!("database = \"{secret}\"\n")).unwrap();
    std::fs::set_permissions(&config, PermissionsExt::from_mode(0o600)).unwrap();
    for command in [["migrate"].as_slice(), &["config", "check"]] {
        let mut command = site.command(command);
        command.arg("--config").arg(&config).env_remove("FORMSVC_SERVER_DATABASE");
        refused(&mut command, message);
    }
    assert_eq!(std::fs::read_dir(site.path("")).unwrap().count(), 1, "the configuration file");
    let mut command = site.command(&["migrate", "--database", "./a:b.db"]);
    Run::from(command.current_dir(site.path("")).output().unwrap()).succeeded();
}

#[cfg(unix)]
#[test]
fn a_question_makes_no_database_of_an_empty_file() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    std::fs::write(site.path("db"), "").unwrap();
    std::fs::set_permissions(site.path("db"), PermissionsExt::from_mode(0o644)).unwrap();
    let found = || std::fs::metadata(site.path("db")).unwrap();
    site.run(&["user", "list"]).failed(3, "it is empty");
    assert_eq!(found().len(), 0);
    site.run(&["user", "add", "--email", "a@b.c", "--name", "A"]).succeeded();
    assert_eq!(found().permissions().mode() & 0o777, 0o600, "as one that is made");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_told_with_its_cause() {
    let site = Site::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = site.command(&["config", "example"]);
    let run = Run::from(command.stdout(full).output().unwrap());
    run.failed(10, "cannot write to standard output\ncause: No space left");
}

#[test]
fn a_bad_variable_is_named_like_its_flag() {
    let site = Site::new();
    let mut command = site.command(&["serve"]);
    let run = Run::from(command.env("FORMSVC_SERVER_RATE_LIMIT", "many").output().unwrap());
    run.failed(2, "`--rate-limit` cannot be `many`");
}

#[test]
fn what_is_named_and_missing_exits_3() {
    let site = Site::new();
    let list = ["key", "list", "--user", "a@b.c"];
    site.run(&["form", "list", "--user", "a@b.c"]).failed(3, "there is no database");
    site.run(&list).failed(3, "hint: `formsvc-server user add` makes one");
    assert!(!site.path("db").exists());
    site.run(&["migrate"]).succeeded();
    site.run(&list).failed(3, "error: no user `a@b.c`");
    site.run(&["key", "revoke", "key_0"]).failed(3, "error: no key `key_0`");
    site.run(&["user", "add", "--email", "a@b.c", "--name", "A"]).succeeded();
    let import = ["form", "import", "absent.csv", "--user", "a@b.c", "--title", "T"];
    site.run(&import).failed(3, "absent.csv");
    let roots = ["serve", "--port", "0", "--egress-ca", "absent.pem"];
    site.run(&roots).failed(3, "error: `absent.pem`: ");
    let directory = ["serve", "--port", "0", "--egress-ca", "."];
    site.run(&directory).failed(10, "error: `.`: ");
}

#[test]
fn what_this_machine_refuses_exits_10() {
    let site = Site::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    site.run(&["serve", "--listen", &addr]).failed(10, &format!("cannot listen on `{addr}`"));
    // What an earlier run left would say that this one answers.
    let stale = site.path("stale.json");
    std::fs::write(&stale, r#"{"base_url":"http://127.0.0.1:1","pid":2147483647}"#).unwrap();
    let args = ["serve", "--listen", &addr, "--ready-file", stale.to_str().unwrap()];
    site.run(&args).failed(10, "cannot listen");
    assert!(!stale.exists());
    // But that of a process that runs may say so of that one.
    std::fs::write(&stale, r#"{"base_url":"http://127.0.0.1:1","pid":1}"#).unwrap();
    site.run(&args).failed(10, "cannot listen");
    assert!(stale.exists());
    std::fs::write(&stale, "precious").unwrap();
    let args = ["serve", "--port", "0", "--ready-file", stale.to_str().unwrap()];
    site.run(&args).failed(10, "hint: choose another path");
    assert_eq!(std::fs::read_to_string(&stale).unwrap(), "precious");
    let nowhere = site.path("no/such/ready.json");
    let args = ["serve", "--port", "0", "--ready-file", nowhere.to_str().unwrap()];
    site.run(&args).failed(10, "cannot write the ready file");
    let elsewhere = site.path("no/such/db");
    let args = ["migrate", "--database", elsewhere.to_str().unwrap()];
    site.run(&args).failed(10, "no/such/db");
    std::fs::write(site.path("text"), "not a database, but long enough to be looked at".repeat(99))
        .unwrap();
    let args = ["migrate", "--database", site.path("text").to_str().unwrap()].map(str::to_owned);
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let refused = site.run(&args).failed(10, "text` is not a formsvc database");
    assert!(!refused.stderr.contains("cause"), "{}", refused.stderr);
    for command in [["serve"].as_slice(), &["migrate"], &["key", "list", "--user", "a@b.c"]] {
        let run = site
            .run(&[command, &["--database", ":memory:"]].concat())
            .failed(2, "`--database` cannot be `:memory:`");
        assert!(run.stderr.contains("formsvc sandbox"), "{}", run.stderr);
    }
}
