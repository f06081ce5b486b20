//! Access control: only a browser on this machine that opened the page's URL with its token has access.
//!
//! - The `Host` of a request must be a loopback name with the page's port. So a page of an attacker gets no data if its
//!   domain name resolves to 127.0.0.1 (DNS rebinding).
//! - The URL that the user opens contains a token. The response sets the token as a cookie. Browsers send cookies
//!   of 127.0.0.1 to all ports, so the cookie is limited to the page's path, which is random too.
//! - Pages of other origins can neither read data nor send replays: see `may_read` and `may_act`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use url::form_urlencoded;

use super::reply::{Problem, protect};
use super::{MAX_BODY, Shared};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const COOKIE: &str = "inspector";
/// Random bytes of the token: 192 bits.
const TOKEN_LEN: usize = 24;
/// Random bytes of the path.
const PATH_LEN: usize = 6;

/// The address of the page and its token.
pub(super) struct Access {
    port: u16,
    /// A random path: `/RANDOM/`.
    path: String,
    token: SecretString,
}

/// The status and message of a refused request.
type Refusal = (StatusCode, &'static str);

const WRONG_HOST: Refusal = (StatusCode::MISDIRECTED_REQUEST, "this host is not the inspector");
const NO_TOKEN: Refusal =
    (StatusCode::FORBIDDEN, "open the complete URL that formsvc printed at its start");
const FOREIGN: Refusal = (StatusCode::FORBIDDEN, "only the page itself may send this request");
const TOO_LARGE: Refusal = (StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");

impl Access {
    /// Creates a random path and token.
    pub(super) fn new(port: u16) -> Result<Self, getrandom::Error> {
        let path = format!("/{}/", random::<PATH_LEN>()?);
        Ok(Self { port, path, token: random::<TOKEN_LEN>()?.into() })
    }

    /// Returns the path of a file or API of the page.
    pub(super) fn path_of(&self, file: &str) -> String {
        format!("{}{file}", self.path)
    }

    /// Returns the URL that the user opens, with the token.
    pub(super) fn url(&self) -> String {
        let Self { port, path, token } = self;
        format!("http://127.0.0.1:{port}{path}?token={}", token.expose_secret())
    }

    /// Returns the value of `Set-Cookie` with the token.
    fn cookie(&self) -> HeaderValue {
        let (path, token) = (&self.path, self.token.expose_secret());
        let cookie = format!("{COOKIE}={token}; Path={path}; HttpOnly; SameSite=Strict");
        HeaderValue::try_from(cookie).expect("base64 is visible ASCII")
    }

    /// Compares a text with the token in constant time.
    fn is_token(&self, text: &str) -> bool {
        text.as_bytes().ct_eq(self.token.expose_secret().as_bytes()).into()
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs =
            values.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
        pairs.into_iter().any(|(name, value)| name.trim() == COOKIE && self.is_token(value.trim()))
    }

    fn has_token_in_query(&self, query: &str) -> bool {
        form_urlencoded::parse(query.as_bytes())
            .any(|(name, value)| name == "token" && self.is_token(&value))
    }

    /// Checks a request. Returns true if the request is for the page and has the token in its URL.
    fn admit(&self, parts: &Parts) -> Result<bool, Refusal> {
        if !is_loopback(parts, self.port) {
            return Err(WRONG_HOST);
        }
        let is_page = parts.method == Method::GET && parts.uri.path() == self.path;
        let has_token = is_page && self.has_token_in_query(parts.uri.query().unwrap_or_default());
        if !has_token && !self.has_cookie(&parts.headers) {
            return Err(NO_TOKEN);
        }
        let is_allowed = match parts.method {
            Method::GET => may_read(&parts.headers, is_page),
            Method::POST => may_act(&parts.headers),
            _ => false,
        };
        if !is_allowed {
            return Err(FOREIGN);
        }
        // Check the length before the body is read, because reading would send `100 Continue`.
        let length = only(&parts.headers, &header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.parse::<usize>().ok());
        if length.is_some_and(|length| length > MAX_BODY) {
            return Err(TOO_LARGE);
        }
        Ok(has_token)
    }
}

/// Middleware that checks each request, and adds the security headers to all responses.
pub(super) async fn check(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match shared.access.admit(&parts) {
        Ok(has_token) => {
            let mut response = next.run(Request::from_parts(parts, body)).await;
            if has_token {
                response.headers_mut().insert(header::SET_COOKIE, shared.access.cookie());
            }
            response
        }
        Err((status, error)) => {
            let mut response = Problem::new(status, error).into_response();
            // A client without the token must not occupy a connection.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }
    };
    protect(response.headers_mut());
    response
}

fn random<const LEN: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; LEN];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns true if there is exactly one `Host`, and `Host` and the authority of an absolute URI are loopback names
/// with this port.
fn is_loopback(parts: &Parts, port: u16) -> bool {
    let Some(host) = only(&parts.headers, &header::HOST) else { return false };
    let authority = parts.uri.authority().map_or(host, |authority| authority.as_str());
    [host, authority].into_iter().all(|name| {
        let Some((name, given)) = name.rsplit_once(':') else { return false };
        given == port.to_string()
            && (matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost"))
    })
}

/// Returns false if a page of another origin sent the request, unless the user followed a link to this page.
fn may_read(headers: &HeaderMap, is_page: bool) -> bool {
    match headers.get(FETCH_SITE).map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => true,
        Some(_) => is_page && headers.get(FETCH_DEST).is_some_and(|dest| dest == "document"),
    }
}

/// Returns true if a script of this page sent the request. HTML forms cannot send JSON, and browsers let scripts of
/// other origins send JSON only with a permission (CORS) that the inspector never gives.
fn may_act(headers: &HeaderMap) -> bool {
    let origin = only(headers, &header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
    let content_type = only(headers, &header::CONTENT_TYPE);
    origin.is_some()
        && origin == only(headers, &header::HOST)
        && headers.get(FETCH_SITE).is_none_or(|site| site == "same-origin")
        && content_type.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

/// Returns the value of a header, or `None` if the header is missing or occurs more than once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests;
