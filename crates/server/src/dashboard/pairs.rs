//! Names and values: of a query, and of a form that was sent.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use formsvc_protocol::ErrorCode;
use http::{HeaderMap, header};
use http_body_util::LengthLimitError;

use crate::api::Problem;
use crate::fields::check_value_count;
use crate::read_body::read_body;

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
    /// Decodes a query, or a body as browsers encode forms. Refuses more values than a public form takes.
    pub(super) fn decode(text: &[u8]) -> Result<Self, Problem> {
        check_value_count(text).map_err(|error| Problem::bad_request(error.to_string()))?;
        Ok(Self(form_urlencoded::parse(text).into_owned().collect()))
    }

    /// Reads the body of a form. Decodes a large one on a thread that may block.
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
        match tokio::time::timeout(TIMEOUT, read_body(body, max)).await {
            Ok(Ok(body)) if body.len() <= STRANGERS_MAX => Self::decode(&body),
            Ok(Ok(body)) => {
                let decoded = tokio::task::spawn_blocking(move || Self::decode(&body)).await;
                decoded.unwrap_or_else(|panic| Err(Problem::internal(Arc::new(panic))))
            }
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
    use crate::read_body::tests::{assert_one_buffer, scattered};

    fn form_headers() -> HeaderMap {
        let kind = http::HeaderValue::from_static("application/x-www-form-urlencoded");
        HeaderMap::from_iter([(header::CONTENT_TYPE, kind)])
    }

    #[tokio::test]
    async fn scattered_form_keeps_one_read_buffer() {
        let (body, peak) = scattered(b"email=a%40example.org&password=secret");
        let pairs = Pairs::read(&form_headers(), body, STRANGERS_MAX).await.unwrap();
        assert_eq!(pairs.get("password"), "secret");
        assert_one_buffer(&peak);
    }

    #[tokio::test]
    async fn form_with_too_many_pairs_is_refused() {
        let read = async |count: usize| {
            Pairs::read(&form_headers(), "a&".repeat(count).into(), MEMBERS_MAX).await
        };
        assert_eq!(read(4_096).await.unwrap().iter().count(), 4_096);
        let Err(refused) = read(MEMBERS_MAX / 2).await else { panic!("accepted") };
        assert_eq!(refused.code(), &ErrorCode::BadRequest);
        assert_eq!(refused.message(), "the body has 1048576 values, and at most 4096 are read");
    }

    #[test]
    fn the_first_of_a_name_is_its_value() {
        let pairs = Pairs::decode(b"a=1&b=%C3%A9+x&a=2&c").unwrap();
        assert_eq!((pairs.get("a"), pairs.get("b"), pairs.get("c")), ("1", "é x", ""));
        assert_eq!((pairs.find("d"), pairs.get("d")), (None, ""));
    }

    #[test]
    fn a_query_is_read_as_it_was_made() {
        let text = query(&[("q", "a&b=ü +?#"), ("none", ""), ("at", "1")]);
        let pairs = Pairs::decode(text.strip_prefix('?').unwrap().as_bytes()).unwrap();
        assert_eq!((pairs.get("q"), pairs.get("at")), ("a&b=ü +?#", "1"));
        assert_eq!(pairs.find("none"), None);
        assert_eq!(query(&[("a", "")]), "");
    }
}
