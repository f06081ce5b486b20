//! The `formsvc-server` command, through its binary.

mod forms;
mod serving;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use formsvc_server::import::FORMATS;
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes, so that a hang fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// A directory with a database, and the command run on it.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_formsvc-server"));
        // The variables of whoever runs the tests are not theirs.
        for row in formsvc_server::cmd::ENV {
            command.env_remove(row.name);
        }
        command.args(args).env("FORMSVC_SERVER_DATABASE", self.path("db")).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    /// A site with a user.
    fn with_user() -> Self {
        let site = Self::new();
        site.run(&["user", "add", "--email", "a@b.c", "--name", "Zoë"]).succeeded();
        site
    }

    fn serve(&self, args: &[&str]) -> Serving {
        let ready = self.path("ready.json");
        // One that a killed server left would be read as this one's.
        let _ = std::fs::remove_file(&ready);
        let mut command = self.command(&["serve", "--port", "0", "--ready-file"]);
        command.arg(&ready).args(args).stderr(Stdio::piped());
        Serving::start(&mut command, &ready)
    }
}

struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    #[track_caller]
    fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    #[track_caller]
    fn failed(self, code: i32, told: &str) -> Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert!(self.stderr.contains(told), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// A running server; killed when a test ends early.
struct Serving {
    child: Child,
    base_url: String,
}

impl Serving {
    fn start(command: &mut Command, ready: &Path) -> Self {
        let mut child = command.spawn().unwrap();
        let began = Instant::now();
        let text = loop {
            if let Ok(text) = std::fs::read_to_string(ready) {
                break text;
            }
            if let Some(status) = child.try_wait().unwrap() {
                let mut log = String::new();
                child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
                panic!("ended with {status}: {log}");
            }
            assert!(began.elapsed() < PATIENCE, "not ready in time");
            // Sleeps because a file that appears is no event.
            std::thread::sleep(Duration::from_millis(2));
        };
        let ready: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(ready["pid"], child.id());
        Self { base_url: ready["base_url"].as_str().unwrap().to_owned(), child }
    }

    /// One request by a plain socket: status line, head and body.
    fn get(&self, path: &str, key: &str) -> String {
        use std::io::Write;
        let addr = self.base_url.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n");
        write!(stream, "{head}connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the end: exit status and log.
    fn wait(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Already gone when the test waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_key_made_by_the_command_opens_the_api_and_closes_it_when_revoked() {
    let site = Site::with_user();
    let made = site.run(&["key", "create", "--user", "a@b.c", "--name", "laptop"]).succeeded();
    let key = made.stdout.trim_end();
    assert!(key.starts_with("fsk_") && key.len() == 47, "{key}");
    assert!(!made.stderr.contains(key));
    let listed = site.run(&["key", "list", "--user", "a@b.c"]).succeeded();
    let record = listed.json();
    assert_eq!((&record["name"], &record["revoked_at"]), (&"laptop".into(), &Value::Null));
    assert_eq!(record["prefix"], key[..10]);

    let serving = site.serve(&[]);
    assert!(serving.get("/api/v1/me", key).contains(r#""email":"a@b.c","name":"Zoë""#));
    // Beside the running server.
    let revoked = site.run(&["key", "revoke", record["id"].as_str().unwrap()]).succeeded();
    assert!(revoked.json()["revoked_at"].is_string());
    assert!(serving.get("/api/v1/me", key).contains("key_revoked"));
    serving.signal("TERM");
    let (code, log) = serving.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("listening") && log.contains("stopped"), "{log}");
    assert!(!log.contains(key) && !log.contains("a@b.c"), "{log}");
}

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
    site.run(&list).failed(3, "hint: `formsvc-server migrate` makes one");
    assert!(!site.path("db").exists());
    site.run(&["migrate"]).succeeded();
    site.run(&list).failed(3, "error: no user `a@b.c`");
    site.run(&["key", "revoke", "key_0"]).failed(3, "error: no key `key_0`");
    site.run(&["user", "add", "--email", "a@b.c", "--name", "A"]).succeeded();
    let import = ["form", "import", "absent.csv", "--user", "a@b.c", "--title", "T"];
    site.run(&import).failed(3, "absent.csv");
}

#[test]
fn a_key_given_for_its_id_is_not_repeated() {
    let site = Site::with_user();
    let run = site.run(&["key", "revoke", "fsk_abcdefghijkl"]).failed(2, "its id is wanted");
    assert!(!run.stderr.contains("abcdef"));
}

#[test]
fn what_this_machine_refuses_exits_10() {
    let site = Site::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    site.run(&["serve", "--listen", &addr]).failed(10, &format!("cannot listen on `{addr}`"));
    // What an earlier run left would say that this one answers.
    let stale = site.path("stale.json");
    std::fs::write(&stale, r#"{"base_url":"http://127.0.0.1:1","pid":1}"#).unwrap();
    let args = ["serve", "--listen", &addr, "--ready-file", stale.to_str().unwrap()];
    site.run(&args).failed(10, "cannot listen");
    assert!(!stale.exists());
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

#[test]
fn output_nobody_reads_is_no_failure() {
    let site = Site::with_user();
    let mut child = site.command(&["key", "list", "--user", "a@b.c"]);
    for _ in 0..3 {
        site.run(&["key", "create", "--user", "a@b.c", "--name", "k"]).succeeded();
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert!(child.stdout(writer).status().unwrap().success());
}

#[test]
fn help_and_version_go_to_standard_output() {
    let site = Site::new();
    for args in [["--help"].as_slice(), &["--version"], &["key", "create", "--help"]] {
        let run = site.run(args).succeeded();
        assert!(!run.stdout.is_empty() && run.stderr.is_empty());
    }
}

#[test]
fn the_manual_names_every_variable_format_and_exit_status() {
    let manual = include_str!("../../../../docs/SERVER.md");
    for row in formsvc_server::cmd::ENV {
        let line = format!("| `{}` | `{}` | {} |", row.name, row.flag, row.meaning);
        assert!(manual.contains(&line), "{line}");
    }
    for row in FORMATS {
        let extensions: Vec<_> = row.extensions.iter().map(|ext| format!("`.{ext}`")).collect();
        let line = format!("| `{}` | {} | {} |", row.name, extensions.join(", "), row.about);
        assert!(manual.contains(&line), "{line}");
    }
    for row in formsvc_server::cmd::EXITS {
        let line = format!("| {} | {} |", row.code, row.meaning);
        assert!(manual.contains(&line), "{line}");
    }
}
