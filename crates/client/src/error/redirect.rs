//! The target of a redirect, which the client does not follow.

use std::fmt;

use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use url::Url;

use super::cut;

/// Characters of a target that an error shows.
const TARGET_SHOWN: usize = 200;

/// A redirect, as an error describes it.
pub(crate) struct Redirect {
    /// The target without user name, password, query and fragment; `None` without a valid one.
    pub(crate) target: Option<String>,
    pub(crate) kind: RedirectKind,
}

/// Where a redirect leads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    /// To another scheme, host or port.
    OtherOrigin,
    SameOrigin,
    /// To the URL of the request.
    SameUrl,
    Unknown,
}

impl Redirect {
    /// Reads the target of the response to `request`; `None` for another status.
    pub(crate) fn read(status: StatusCode, headers: &HeaderMap, request: &str) -> Option<Self> {
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let target = Url::parse(request).ok().and_then(|request| {
            let location = String::from_utf8_lossy(headers.get(LOCATION)?.as_bytes()).into_owned();
            let mut target = request.join(&location).ok()?;
            target.set_fragment(None);
            Some((target, request))
        });
        let Some((target, request)) = target else {
            return Some(Self { target: None, kind: RedirectKind::Unknown });
        };
        let kind = if target == request {
            RedirectKind::SameUrl
        } else if target.origin() == request.origin() {
            RedirectKind::SameOrigin
        } else {
            RedirectKind::OtherOrigin
        };
        Some(Self { target: Some(shown(target)), kind })
    }
}

/// Returns the URL without secrets, and not too long. It has no control characters: they are
/// percent-encoded.
fn shown(mut url: Url) -> String {
    if !url.username().is_empty() || url.password().is_some() {
        // A URL with a user name has a host, so that this succeeds.
        let _ = url.set_username("***").and_then(|()| url.set_password(None));
    }
    let has_query = url.query().is_some();
    url.set_query(None);
    let short = cut(url.as_str(), TARGET_SHOWN);
    let more = match (short.len() < url.as_str().len(), has_query) {
        (true, _) => "…",
        (false, true) => "?…",
        (false, false) => "",
    };
    format!("{short}{more}")
}

impl fmt::Display for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(target) => write!(f, " to `{target}`")?,
            None => f.write_str(" without a valid `Location`")?,
        }
        f.write_str(match self.kind {
            RedirectKind::OtherOrigin => {
                ", which is not followed: the API key would be sent to another server"
            }
            RedirectKind::SameOrigin => ", which is not followed: the API does not redirect",
            RedirectKind::SameUrl => ", the same address: the API does not redirect",
            RedirectKind::Unknown => ": the API does not redirect",
        })
    }
}
