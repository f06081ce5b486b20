//! Cookies: which there are, how they are read, and with which flags they are set.
//!
//! None is readable by scripts, none is sent with what other sites have a browser post, and all stay
//! below `/dashboard`. Where the service is reached by https they are never sent in the clear, and
//! their names say so: a browser takes one that begins with `__Secure-` from nobody else.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};

use super::token::Token;

/// A cookie of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// Whoever holds it is signed in.
    Session,
    /// Ties the forms that are sent before anybody signed in to the browser they were shown to.
    Visit,
}

impl Cookie {
    fn name(self, is_secure: bool) -> &'static str {
        match (self, is_secure) {
            (Self::Session, true) => "__Secure-formsvc_session",
            (Self::Session, false) => "formsvc_session",
            (Self::Visit, true) => "__Secure-formsvc_visit",
            (Self::Visit, false) => "formsvc_visit",
        }
    }

    /// What a browser sent of it. Two of one name mean that somebody else set one: then there is none.
    pub(super) fn read(self, headers: &HeaderMap, is_secure: bool) -> Option<Token> {
        let name = self.name(is_secure);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(found, _)| found.trim() == name);
        let (_, value) = values.next()?;
        if values.next().is_some() { None } else { Token::parse(value.trim()) }
    }

    /// The header that sets it; for as long as the browser runs where there is no lifetime.
    pub(super) fn set(
        self,
        is_secure: bool,
        token: &Token,
        lifetime: Option<Duration>,
    ) -> HeaderValue {
        self.header(is_secure, token.expose(), lifetime.map(|lifetime| lifetime.as_secs()))
    }

    /// The header that takes it away.
    pub(super) fn clear(self, is_secure: bool) -> HeaderValue {
        self.header(is_secure, "", Some(0))
    }

    fn header(self, is_secure: bool, value: &str, max_age: Option<u64>) -> HeaderValue {
        let secure = if is_secure { "; Secure" } else { "" };
        let age = max_age.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
        let name = self.name(is_secure);
        let text = format!("{name}={value}; Path=/dashboard{age}; HttpOnly; SameSite=Lax{secure}");
        let mut header = HeaderValue::try_from(text).expect("a token is visible ASCII");
        header.set_sensitive(true);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str], is_secure: bool) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::COOKIE, HeaderValue::from_str(line).unwrap());
        }
        Cookie::Session.read(&headers, is_secure).is_some()
    }

    #[test]
    fn a_cookie_is_found_among_others_and_only_once() {
        let token = "a".repeat(43);
        let ours = format!("formsvc_session={token}");
        assert!(read(&[&ours], false));
        assert!(read(&[&format!("a=b; {ours};c=d")], false));
        assert!(read(&["a=b", &ours], false));
        let named_else = format!("xformsvc_session={token}");
        assert!(!read(&[&named_else], false));
        assert!(!read(&[&format!("{ours}; {ours}")], false), "one of them is somebody else's");
        assert!(!read(&[&ours, &format!("formsvc_session={}", "b".repeat(43))], false));
        assert!(!read(&["formsvc_session=short"], false));
        assert!(!read(&[&ours], true), "it came in the clear");
        assert!(read(&[&format!("__Secure-{ours}")], true));
    }

    #[test]
    fn flags_are_those_of_how_the_service_is_reached() {
        let token = Token::generate().unwrap();
        let plain = Cookie::Session.set(false, &token, Some(Duration::from_secs(60)));
        assert_eq!(
            plain.to_str().unwrap(),
            format!(
                "formsvc_session={}; Path=/dashboard; Max-Age=60; HttpOnly; SameSite=Lax",
                token.expose()
            )
        );
        let secure = Cookie::Visit.set(true, &token, None);
        assert_eq!(
            secure.to_str().unwrap(),
            format!(
                "__Secure-formsvc_visit={}; Path=/dashboard; HttpOnly; SameSite=Lax; Secure",
                token.expose()
            )
        );
        assert!(
            Cookie::Session
                .clear(true)
                .to_str()
                .unwrap()
                .contains("=; Path=/dashboard; Max-Age=0;")
        );
        assert!(plain.is_sensitive());
    }
}
