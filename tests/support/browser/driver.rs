//! Chromium's driver: found on the machine, started on a free port, gone with the test.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Names that Chromium goes by.
const BROWSERS: [&str; 5] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
/// Longer than a driver takes to start on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);
/// What stands before the port in what a driver prints.
const STARTED: &str = "started successfully on port ";

/// Where the two programs are.
pub(super) struct Programs {
    browser: PathBuf,
    driver: PathBuf,
}

impl Programs {
    /// Looks on the search path.
    pub(super) fn find() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let on_path = |name: &str| {
            std::env::split_paths(&path).map(|dir| dir.join(name)).find(|program| program.is_file())
        };
        Some(Self {
            browser: BROWSERS.iter().find_map(|name| on_path(name))?,
            driver: on_path("chromedriver")?,
        })
    }
}

/// A driver; killed when it is dropped, and its browser goes when the driver does.
#[derive(Debug)]
pub(super) struct Driver {
    port: u16,
    _child: Child,
}

impl Driver {
    pub(super) async fn start(programs: &Programs) -> Self {
        let mut command = Command::new(&programs.driver);
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().expect("the driver is there");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let port = tokio::time::timeout(START_MAX, async {
            while let Some(line) = lines.next_line().await.expect("text") {
                if let Some((_, port)) = line.split_once(STARTED) {
                    return port.trim_end_matches('.').parse().expect("a port");
                }
            }
            panic!("the driver ended before it listened");
        });
        Self { port: port.await.expect("the driver says where it listens"), _child: child }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// What the browser is to be like.
pub(super) fn capabilities(programs: &Programs) -> Value {
    json!({
        "browserName": "chrome",
        // A dialog would be closed, and never be seen.
        "unhandledPromptBehavior": "ignore",
        "goog:loggingPrefs": { "performance": "ALL", "browser": "ALL" },
        "goog:chromeOptions": {
            "binary": programs.browser,
            "args": [
                "--headless=new",
                // Without this it lives on when its driver is killed.
                "--remote-debugging-pipe",
                // Root has no sandbox; what it shows is our own.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--hide-scrollbars",
                // Names that are not loopback's are not looked up.
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
            ],
        },
    })
}
