//! `formsvc-server serve` and `healthcheck`: starting, stopping, and what stands beside a server.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::{PATIENCE, Run, Serving, Site};

#[test]
fn a_second_server_on_one_database_is_refused() {
    let site = Site::new();
    let serving = site.serve(&[]);
    let ready = site.path("ready.json");
    let args = ["serve", "--port", "0", "--ready-file", ready.to_str().unwrap()];
    let run = site.run(&args).failed(10, "another server uses this database");
    assert!(ready.exists(), "it is the other server's");
    assert!(run.stderr.contains("hint: "));
    assert!(serving.get("/livez", "").contains("live"));
}

type Log = std::io::Lines<BufReader<std::process::ChildStderr>>;

/// A server with a request that has begun and is not finished, which holds a shutdown up; and its log.
fn held_up(site: &Site) -> (Serving, std::net::TcpStream, Log) {
    let mut serving = site.serve(&["--shutdown-deadline", "10m"]);
    let addr = serving.base_url.strip_prefix("http://").unwrap();
    let mut held = std::net::TcpStream::connect(addr).unwrap();
    std::io::Write::write_all(&mut held, b"GET /livez HTTP/1.1\r\n").unwrap();
    let log = BufReader::new(serving.child.stderr.take().unwrap()).lines();
    serving.get("/livez", "");
    (serving, held, log)
}

fn wait_for_shutdown(log: &mut Log) {
    log.find(|line| line.as_ref().unwrap().contains("shutting down")).unwrap().unwrap();
}

#[test]
fn a_second_signal_ends_a_shutdown_at_once() {
    let site = Site::new();
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let (mut serving, _held, mut log) = held_up(&site);
        serving.signal("TERM");
        wait_for_shutdown(&mut log);
        // What comes at once is the same signal.
        // Sleeps because a signal counts as another one by its time alone.
        std::thread::sleep(Duration::from_millis(60));
        serving.signal(name);
        assert_eq!(serving.child.wait().unwrap().code(), Some(code), "{name}");
        assert!(!site.path("ready.json").exists(), "{name}");
    }
}

#[test]
fn a_signal_that_comes_twice_at_once_leaves_a_shutdown_its_time() {
    let site = Site::new();
    for _ in 0..5 {
        let (mut serving, mut held, mut log) = held_up(&site);
        // As timeout(1) does it.
        let id = serving.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id, &id]).status().unwrap().success());
        wait_for_shutdown(&mut log);
        std::io::Write::write_all(&mut held, b"host: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut held, &mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn the_ready_file_goes_when_the_server_does() {
    let site = Site::new();
    let ready = site.path("ready.json");
    for name in ["INT", "TERM"] {
        let serving = site.serve(&[]);
        assert!(ready.exists());
        serving.signal(name);
        let (code, log) = serving.wait();
        assert_eq!((code, ready.exists()), (Some(0), false), "{name}: {log}");
    }
    // Its directory is gone: nothing to remove, and no reason to fail.
    let other = tempfile::tempdir().unwrap();
    let mut command = site.command(&["serve", "--port", "0", "--ready-file"]);
    let ready = other.path().join("ready.json");
    let serving = Serving::start(command.arg(&ready).stderr(Stdio::piped()), &ready);
    drop(other);
    serving.signal("TERM");
    let (code, log) = serving.wait();
    assert_eq!(code, Some(0), "{log}");
    // What is in the file's place cannot be removed: the server stops all the same, and says so.
    let serving = site.serve(&[]);
    let ready = site.path("ready.json");
    std::fs::remove_file(&ready).unwrap();
    std::fs::create_dir(&ready).unwrap();
    serving.signal("TERM");
    let (code, log) = serving.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("the ready file is left"), "{log}");
}

#[cfg(unix)]
#[test]
fn a_service_manager_is_told_when_it_answers_and_when_it_stops() {
    let site = Site::new();
    let (ready, socket) = (site.path("ready.json"), site.path("notify"));
    let manager = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let told = || {
        let mut state = [0; 64];
        let len = manager.recv(&mut state).unwrap();
        String::from_utf8_lossy(&state[..len]).into_owned()
    };
    let mut command = site.command(&["serve", "--port", "0", "--ready-file"]);
    command.arg(&ready).env("NOTIFY_SOCKET", &socket).stderr(Stdio::piped());
    let serving = Serving::start(&mut command, &ready);
    assert_eq!(told(), "READY=1");
    assert!(serving.get("/livez", "").starts_with("HTTP/1.1 200"));
    serving.signal("TERM");
    assert_eq!(told(), "STOPPING=1");
    assert_eq!(serving.wait().0, Some(0));
}

#[test]
fn healthcheck_says_what_the_server_says() {
    let site = Site::new();
    let serving = site.serve(&[]);
    let url = serving.base_url.clone();
    site.run(&["healthcheck", &url]).succeeded();
    site.run(&["healthcheck", &format!("{url}/livez")]).succeeded();
    let port = url.rsplit_once(':').unwrap().1;
    site.run(&["healthcheck", "--port", port]).succeeded();
    let by_variable =
        site.command(&["healthcheck"]).env("FORMSVC_SERVER_PORT", port).output().unwrap();
    Run::from(by_variable).succeeded();
    site.run(&["healthcheck", &url, "--port", "1"]).succeeded();
    let listens = format!("0.0.0.0:{port}");
    let by_variable =
        site.command(&["healthcheck"]).env("FORMSVC_SERVER_LISTEN", &listens).output();
    Run::from(by_variable.unwrap()).succeeded();
    let file = site.path("server.toml");
    std::fs::write(&file, format!("listen = \"{listens}\"\n")).unwrap();
    site.run(&["healthcheck", "--config", file.to_str().unwrap()]).succeeded();
    site.run(&["healthcheck", &format!("{url}/no")]).failed(1, "answered 404");
    let ready = site.path("ready.json");
    let by_file = ["healthcheck", "--ready-file", ready.to_str().unwrap(), "--port", "1"];
    site.run(&by_file).succeeded();
    serving.signal("INT");
    assert_eq!(serving.wait().0, Some(0));
    site.run(&["healthcheck", &url]).failed(1, &url);
    site.run(&by_file).failed(1, "ready.json");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    site.run(&["healthcheck", &silent, "--timeout", "50ms"]).failed(1, "timed out");
}

#[test]
fn logs_are_json_when_asked_and_a_remote_address_is_warned_of() {
    let site = Site::new();
    let args = ["--listen", "0.0.0.0:0", "--allow-remote", "--log-format", "json"];
    let serving = site.serve(&args);
    serving.get("/api/v1/me", "fsk_x");
    serving.signal("TERM");
    let (_, log) = serving.wait();
    // How the first person gets in is no log line.
    let logged = log.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = logged.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!lines.iter().any(|line| line.to_string().contains("/dashboard/welcome/")), "{log}");
    assert!(lines.iter().any(|line| line["level"] == "WARN"), "{log}");
    assert!(lines.iter().any(|line| line["status"] == 401), "{log}");
}

#[cfg(unix)]
#[test]
fn the_ready_file_the_database_and_the_key_are_their_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    let _serving = site.serve(&[]);
    for name in ["ready.json", "db", "db.key"] {
        let mode = std::fs::metadata(site.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn the_servers_key_is_made_once_and_refused_when_others_can_see_it() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    let logged = |key: &[&str]| {
        let serving = site.serve(key);
        serving.signal("TERM");
        let (_, log) = serving.wait();
        let found = log.split("server_key=").nth(1).unwrap().split_whitespace().next().unwrap();
        (found.to_owned(), log)
    };
    let (first, log) = logged(&[]);
    let key = std::fs::read_to_string(site.path("db.key")).unwrap();
    assert!(!log.contains(&key["fsvk_".len()..key.len() - 1]), "{log}");
    assert_eq!(logged(&[]).0, first);
    let other = site.path("other.key");
    let other = ["--secret-key-file", other.to_str().unwrap()];
    assert_ne!(logged(&other).0, first);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(site.path("other.key"), open).unwrap();
    let run = site.run(&[&["serve", "--port", "0"][..], &other].concat());
    run.failed(10, "`0644`").failed(10, "chmod 600");
    // The lock is gone with it, and the other key still serves.
    assert_eq!(logged(&[]).0, first);
}

#[test]
fn a_browser_is_sent_from_the_root_to_the_dashboard_and_a_program_is_not() {
    let site = Site::with_user();
    let serving = site.serve(&[]);
    let ask = |head: &str| serving.ask(&format!("{head}\r\n"), "").to_lowercase();
    let page = "accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";
    for method in ["GET", "HEAD"] {
        let answer = ask(&format!("{method} / HTTP/1.1\r\n{page}"));
        assert!(answer.starts_with("http/1.1 303"), "{answer}");
        assert!(answer.contains("\r\nlocation: /dashboard\r\n"), "{answer}");
    }
    for head in [
        "GET / HTTP/1.1\r\naccept: */*".to_owned(),
        "GET / HTTP/1.1\r\naccept: application/json".to_owned(),
        format!("POST / HTTP/1.1\r\n{page}"),
        format!("GET /nothing HTTP/1.1\r\n{page}"),
    ] {
        let answer = ask(&head);
        assert!(answer.starts_with("http/1.1 404") && answer.contains("not_found"), "{answer}");
    }
}
