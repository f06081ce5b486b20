//! Names and values: of a query, and of a form that was sent.

use std::time::Duration;

use axum::body::Body;
use formsvc_protocol::ErrorCode;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::api::Problem;

/// Longest form that is read of somebody who is not signed in, in bytes.
pub(super) const STRANGERS_MAX: usize = 16 << 10;
/// Longest form that is read of somebody who is, in bytes: 2 MiB, of which the fields of a form may
/// have nearly all.
pub(super) const MEMBERS_MAX: usize = 2 << 20;
/// Time a form has to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Names and values, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs(Vec<(String, String)>);

impl Pairs {
    /// Of a query, or of a body as browsers encode forms.
    pub(super) fn decode(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Reads the body of a form.
    pub(super) async fn read(headers: &HeaderMap, body: Body, max: usize) -> Result<Self, Problem> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Problem::bad_request("the body is no form as browsers send it"));
        }
        let too_long = || {
            let message = format!("the form has more than the {max} bytes that are taken");
            Problem::new(ErrorCode::PayloadTooLarge, message)
        };
        match tokio::time::timeout(TIMEOUT, Limited::new(body, max).collect()).await {
            Ok(Ok(body)) => Ok(Self::decode(&body.to_bytes())),
            Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_long()),
            Ok(Err(_)) => Err(Problem::bad_request("the body ends before it is complete")),
            Err(_) => {
                let message = "the form did not arrive in time";
                Err(Problem::new(ErrorCode::RequestTimeout, message))
            }
        }
    }

    /// The first value of a name.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a name, empty when there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A query with these names and values; those without a value are left out.
pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_name_is_its_value() {
        let pairs = Pairs::decode(b"a=1&b=%C3%A9+x&a=2&c");
        assert_eq!((pairs.get("a"), pairs.get("b"), pairs.get("c")), ("1", "é x", ""));
        assert_eq!((pairs.find("d"), pairs.get("d")), (None, ""));
    }

    #[test]
    fn a_query_is_read_as_it_was_made() {
        let text = query(&[("q", "a&b=ü +?#"), ("none", ""), ("at", "1")]);
        let pairs = Pairs::decode(text.strip_prefix('?').unwrap().as_bytes());
        assert_eq!((pairs.get("q"), pairs.get("at")), ("a&b=ü +?#", "1"));
        assert_eq!(pairs.find("none"), None);
        assert_eq!(query(&[("a", "")]), "");
    }
}
