//! Chromium's driver: found on the search path, started on a free port, ended with the test.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Program names of Chromium.
const BROWSERS: [&str; 5] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
/// Maximum start time of a driver on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);
/// Text before the port in the output of a driver.
const STARTED: &str = "started successfully on port ";

/// Paths of the two programs.
pub(super) struct Programs {
    browser: PathBuf,
    driver: PathBuf,
}

impl Programs {
    /// Searches `PATH`.
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

/// A driver process. It is killed when this is dropped, and its browser ends too.
#[derive(Debug)]
pub(super) struct Driver {
    port: u16,
    _child: Child,
}

impl Driver {
    pub(super) async fn start(programs: &Programs) -> Self {
        let mut command = Command::new(&programs.driver);
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().expect("the driver starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let port = tokio::time::timeout(START_MAX, async {
            while let Some(line) = lines.next_line().await.expect("text") {
                if let Some((_, port)) = line.split_once(STARTED) {
                    return port.trim_end_matches('.').parse().expect("a port");
                }
            }
            panic!("the driver ended before it printed its port");
        });
        Self { port: port.await.expect("the driver prints its port"), _child: child }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// Returns the WebDriver capabilities of the browser.
pub(super) fn capabilities(programs: &Programs) -> Value {
    json!({
        "browserName": "chrome",
        // Otherwise the driver would close dialogs before a test can see them.
        "unhandledPromptBehavior": "ignore",
        "goog:loggingPrefs": { "performance": "ALL", "browser": "ALL" },
        "goog:chromeOptions": {
            "binary": programs.browser,
            "args": [
                "--headless=new",
                // Otherwise the browser survives when its driver is killed.
                "--remote-debugging-pipe",
                // The sandbox does not work for root. The pages are our own.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--hide-scrollbars",
                // Prevents DNS lookups of other hosts.
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
            ],
        },
    })
}
