//! Actions of a page that the browser recorded: requests, console messages, dialogs.

use serde_json::Value;

/// Recorded actions.
#[derive(Debug, Default)]
pub struct Seen {
    /// Requested URLs, in order.
    pub requests: Vec<String>,
    /// Console messages, including violations of the content security policy.
    pub console: Vec<String>,
    /// The text of an open dialog.
    pub dialog: Option<String>,
}

impl Seen {
    /// Asserts that pages requested only `allowed` URLs, logged nothing, and opened no dialog.
    pub fn assert_inert(&self, allowed: impl Fn(&str) -> bool) {
        let strays: Vec<_> = self.requests.iter().filter(|url| !allowed(url)).collect();
        assert!(strays.is_empty(), "unexpected requests: {strays:?}");
        assert!(self.console.is_empty(), "console messages: {:?}", self.console);
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
            // Skips messages about HTTP statuses, because `requests` has all requests.
            if entry["source"] == "network" {
                continue;
            }
            self.console.push(entry["message"].as_str().unwrap_or_default().to_owned());
        }
    }
}
