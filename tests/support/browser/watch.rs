//! What a page did: what it asked for, what it complained of, whether it opened a dialog.

use serde_json::Value;

/// What happened in a browser.
#[derive(Debug, Default)]
pub struct Seen {
    /// Addresses that were asked for, in order.
    pub requests: Vec<String>,
    /// What was written to the console, refusals by a content security policy among it.
    pub console: Vec<String>,
    /// The text of a dialog that stands open.
    pub dialog: Option<String>,
}

impl Seen {
    /// That pages asked for nothing but `allowed` addresses, complained of nothing, and opened nothing.
    ///
    /// # Panics
    ///
    /// When they did.
    pub fn assert_inert(&self, allowed: impl Fn(&str) -> bool) {
        let strays: Vec<_> = self.requests.iter().filter(|url| !allowed(url)).collect();
        assert!(strays.is_empty(), "asked for {strays:?}");
        assert!(self.console.is_empty(), "complained: {:?}", self.console);
        assert_eq!(self.dialog, None, "a dialog was opened");
    }

    pub(super) fn read_requests(&mut self, log: &Value) {
        for entry in log.as_array().into_iter().flatten() {
            let message = entry["message"].as_str().unwrap_or_default();
            let message: Value = serde_json::from_str(message).unwrap_or_default();
            if message["message"]["method"] == "Network.requestWillBeSent" {
                let url = &message["message"]["params"]["request"]["url"];
                self.requests.push(url.as_str().unwrap_or_default().to_owned());
            }
        }
    }

    pub(super) fn read_console(&mut self, log: &Value) {
        for entry in log.as_array().into_iter().flatten() {
            // Statuses of answers; what was asked for is known anyway.
            if entry["source"] == "network" {
                continue;
            }
            self.console.push(entry["message"].as_str().unwrap_or_default().to_owned());
        }
    }
}
