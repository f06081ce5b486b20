//! What Chromium's driver understands beyond WebDriver.

use fantoccini::wd::WebDriverCompatibleCommand;
use serde_json::{Value, json};
use url::{ParseError, Url};

/// One such command.
#[derive(Debug)]
pub(super) enum Command {
    /// What was logged since it was asked for last.
    Log(&'static str),
    /// A method of the developer tools' protocol, with its parameters.
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
