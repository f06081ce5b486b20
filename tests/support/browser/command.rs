//! WebDriver commands that only Chromium's driver supports.

use fantoccini::wd::WebDriverCompatibleCommand;
use serde_json::{Value, json};
use url::{ParseError, Url};

#[derive(Debug)]
pub(super) enum Command {
    /// Returns the log entries since the last call.
    Log(&'static str),
    /// Calls a method of the DevTools protocol with parameters.
    DevTools(&'static str, Value),
}

impl WebDriverCompatibleCommand for Command {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        let path = match self {
            Self::Log(_) => "se/log",
            Self::DevTools(..) => "goog/cdp/execute",
        };
        base.join(&format!("session/{}/{path}", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        let body = match self {
            Self::Log(kind) => json!({ "type": kind }),
            Self::DevTools(method, parameters) => json!({ "cmd": method, "params": parameters }),
        };
        (http::Method::POST, Some(body.to_string()))
    }
}
