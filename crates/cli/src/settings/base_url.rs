//! The base URL of a service.

use formsvc_client::BaseUrl;
use url::Url;

use crate::base::masked::secret_prefix;
use crate::error::CliError;

/// Hint about the form of a base URL.
const FORM: &str = "a base URL is https://…, or http://… on this machine, without /api/v1";
const QUOTATION_MARKS: [char; 10] = ['"', '\'', '`', '“', '”', '„', '‘', '’', '«', '»'];

/// Parses a base URL. HTTP is accepted for every host: [`Settings::base_url`] decides which hosts may get
/// requests without encryption. The error does not repeat a text that may contain a password or key.
///
/// [`Settings::base_url`]: super::Settings::base_url
pub(crate) fn parse(text: &str) -> Result<BaseUrl, CliError> {
    if secret_prefix(text).is_some() {
        return Err(CliError::usage("the base URL is an API key or a signing secret")
            .hint("other users can read arguments: replace the key or secret"));
    }
    let error = match BaseUrl::danger_parse_http(text) {
        Ok(url) => return Ok(url),
        Err(error) => error,
    };
    let bare = text.trim().trim_matches(QUOTATION_MARKS);
    // User name, query and fragment may contain a secret.
    if text.contains(['@', '?', '#']) {
        return Err(CliError::usage(error.to_string()).hint(FORM));
    }
    let is = |rule: &str| CliError::usage(format!("the base URL `{}` {rule}", text.trim()));
    if text.contains(QUOTATION_MARKS) {
        let error = is("contains quotation marks");
        return Err(match BaseUrl::parse(bare) {
            Ok(_) => error.hint(format!("remove them: {bare}")),
            Err(_) => error.hint(FORM),
        });
    }
    if bare.contains("://") {
        let rule = error.to_string();
        return Err(is(rule.strip_prefix("the base URL ").unwrap_or(&rule)).hint(FORM));
    }
    let error = is("does not begin with https://");
    let complete = ["http", "https"].map(|scheme| format!("{scheme}://{bare}"));
    Err(match complete.iter().find(|url| BaseUrl::parse(url).is_ok()) {
        Some(url) => error.hint(format!("did you mean `{url}`?")),
        None => error.hint(FORM),
    })
}

/// Returns the host of a base URL, without brackets and port.
pub(super) fn host(url: &BaseUrl) -> String {
    let url = Url::parse(url.as_str()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    host.trim_matches(['[', ']']).to_owned()
}

/// Returns a base URL for output: without user name and password.
pub(crate) fn without_password(text: &str) -> String {
    match text.rsplit_once('@') {
        None => text.to_owned(),
        Some((before, host)) => {
            let scheme =
                before.split_once("://").map_or(String::new(), |(it, _)| format!("{it}://"));
            format!("{scheme}…@{host}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_scheme_is_suggested() {
        for (bare, meant) in [
            ("forms.example", "https://forms.example"),
            ("127.evil.example", "https://127.evil.example"),
            ("forms.localhost:8080", "http://forms.localhost:8080"),
            ("127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
            ("[::1]:1", "http://[::1]:1"),
        ] {
            let error = parse(bare).unwrap_err();
            assert_eq!(error.advice(), Some(format!("did you mean `{meant}`?").as_str()));
        }
        for junk in ["", " ", "user:p4ss@forms.example", "a b"] {
            let error = parse(junk).unwrap_err();
            assert_eq!(error.advice(), Some(FORM), "{junk}");
            assert!(!error.to_text().contains("p4ss"));
        }
    }

    #[test]
    fn quotation_marks_are_named() {
        for text in
            ["\"https://forms.example\"", "'https://forms.example", "“https://forms.example”"]
        {
            let error = parse(text).unwrap_err();
            assert!(error.to_text().contains(&format!("`{text}` contains quotation marks")));
            assert_eq!(error.advice(), Some("remove them: https://forms.example"));
        }
        let error = parse("jkl").unwrap_err().to_text();
        assert!(error.contains("`jkl` does not begin with https://"), "{error}");
    }

    #[test]
    fn key_in_place_of_the_url_is_not_repeated() {
        for secret in ["fsk_SECRET", "https://whsec_SECRET", "\"fsk_SECRET\""] {
            assert!(!parse(secret).unwrap_err().to_text().contains("SECRET"));
        }
    }

    #[test]
    fn password_is_not_in_output() {
        for (url, shown) in
            [("https://u:p@h/x", "https://…@h/x"), ("u:p@h", "…@h"), ("https://h", "https://h")]
        {
            assert_eq!(without_password(url), shown);
        }
    }
}
