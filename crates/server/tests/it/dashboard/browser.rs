//! A browser, as far as the dashboard can tell: it keeps cookies, says where forms come from, and sends
//! back what a page's form carries.

use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// All values of `Set-Cookie`.
    pub(super) fn cookies(&self) -> Vec<&str> {
        self.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect()
    }

    /// Where it leads.
    #[track_caller]
    pub(super) fn leads(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        self.header("location")
    }

    #[track_caller]
    pub(super) fn is(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self
    }

    #[track_caller]
    pub(super) fn says(&self, text: &str) -> &Self {
        assert!(self.body.contains(text), "{text} is not in {}", self.body);
        self
    }

    #[track_caller]
    pub(super) fn does_not_say(&self, text: &str) -> &Self {
        assert!(!self.body.contains(text), "{text} is in {}", self.body);
        self
    }

    /// What the first field with an id holds, of one line or of several.
    pub(super) fn value_of(&self, id: &str) -> String {
        let element = self.body.split(&format!("id=\"{id}\"")).nth(1).unwrap_or_default();
        let (tag, text) = element.split_once('>').unwrap_or_default();
        let text = text.split("</textarea>").next().unwrap_or_default();
        let value = tag.split_once("value=\"").map(|(_, value)| value.split('"').next());
        value.flatten().unwrap_or(text).to_owned()
    }
}

/// A browser with cookies of its own.
pub(super) struct Browser {
    http: Client<HttpConnector, Full<Bytes>>,
    pub(super) base: String,
    cookies: Mutex<BTreeMap<String, String>>,
    /// What the forms of the last page carried.
    token: Mutex<String>,
}

impl Browser {
    pub(super) fn new(base: &str) -> Self {
        let http = Client::builder(TokioExecutor::new()).build_http();
        let (cookies, token) = (Mutex::default(), Mutex::default());
        Self { http, base: base.to_owned(), cookies, token }
    }

    pub(super) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().unwrap().get(name).cloned()
    }

    pub(super) fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn forget(&self) {
        self.cookies.lock().unwrap().clear();
    }

    pub(super) fn token(&self) -> String {
        self.token.lock().unwrap().clone()
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path), "").await
    }

    /// Sends a form as the page before had it: with what it carried.
    pub(super) async fn post(&self, path: &str, pairs: &[(&str, &str)]) -> Answer {
        self.post_with(path, pairs, Some(&self.token())).await
    }

    /// Sends a form with another token, or none.
    pub(super) async fn post_with(
        &self,
        path: &str,
        pairs: &[(&str, &str)],
        token: Option<&str>,
    ) -> Answer {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(pairs);
        if let Some(token) = token {
            body.append_pair("_token", token);
        }
        self.send(self.form(path), &body.finish()).await
    }

    /// The head of a form that a page of ours sends.
    pub(super) fn form(&self, path: &str) -> http::request::Builder {
        let request = self.request(Method::POST, path);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.header("origin", &self.base).header("sec-fetch-site", "same-origin")
    }

    pub(super) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(format!("{}{path}", self.base))
    }

    pub(super) async fn send(&self, request: http::request::Builder, body: &str) -> Answer {
        let cookies: Vec<_> = {
            let cookies = self.cookies.lock().unwrap();
            cookies.iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        let request =
            if cookies.is_empty() { request } else { request.header("cookie", cookies.join("; ")) };
        let request = request.body(Full::from(body.to_owned())).unwrap();
        let (parts, body) = self.http.request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let answer = Answer { status: parts.status, headers: parts.headers, body };
        self.keep(&answer);
        answer
    }

    fn keep(&self, answer: &Answer) {
        let mut cookies = self.cookies.lock().unwrap();
        for cookie in answer.cookies() {
            let (pair, flags) = cookie.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if flags.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let token = answer.body.split("name=\"_token\" value=\"").nth(1);
        if let Some(token) = token.and_then(|rest| rest.split('"').next()) {
            token.clone_into(&mut self.token.lock().unwrap());
        }
    }
}
