//! Converts the path argument to a path below the base URL, so that the API key is never sent to another server.
//! The client refuses a path that leaves the base URL through `..`.

use url::Url;

use crate::error::CliError;

/// Hint with the rules for a path.
pub(super) const HINT: &str =
    "a path is below the service address, such as `forms` or `/api/v1/forms`, without `..`";

/// Hint for an unknown path.
pub(super) const NO_SUCH: &str =
    "the service has no such path: it has `me`, `forms` and `forms/ID/submissions`";

/// Hint for an unknown form.
pub(super) const BY_ID: &str = "a path takes the id of a form (frm_…), not its public id: `formsvc forms list --json id,public_id` \
     shows both";

/// The prefix for a path without a leading slash.
const PREFIX: &str = "/api/v1/";

/// Returns the path and query below the base URL. A complete URL must be below the base URL.
pub(super) fn path(typed: &str, base_url: &str) -> Result<String, CliError> {
    if let Some(path) = rewritten_by_shell(typed) {
        let what = format!("the path arrived as `{typed}`: the shell replaced its leading slash");
        return Err(
            CliError::usage(what).hint(format!("drop the leading slash: `formsvc api {path}`"))
        );
    }
    if typed.starts_with("//") || typed.contains('\\') || has_scheme(typed) {
        return below(typed, base_url);
    }
    Ok(if typed.starts_with('/') {
        typed.to_owned()
    } else if typed.starts_with("api/") {
        format!("/{typed}")
    } else {
        format!("{PREFIX}{typed}")
    })
}

/// Returns the typed path without its leading slash, if a shell such as Git Bash replaced the slash by a folder.
fn rewritten_by_shell(typed: &str) -> Option<&str> {
    let mut start = typed.chars();
    let is_drive = start.next()?.is_ascii_alphabetic() && start.next()? == ':';
    if !is_drive || !matches!(start.next(), Some('/' | '\\')) {
        return None;
    }
    let at = typed.find("/api/").map(|at| at + 1);
    at.or_else(|| typed.rfind(['/', '\\']).map(|at| at + 1)).map(|at| &typed[at..])
}

/// Returns true if the text has a scheme: a colon before any slash or query.
fn has_scheme(typed: &str) -> bool {
    let first = typed.split(['/', '?']).next().unwrap_or_default();
    first.contains(':')
}

fn below(typed: &str, base_url: &str) -> Result<String, CliError> {
    let elsewhere = || {
        let what = "this URL is on another server, which would get the API key";
        CliError::usage(what).hint(format!("the service is at {base_url}; {HINT}"))
    };
    let (Ok(url), Ok(base)) = (Url::parse(typed), Url::parse(base_url)) else {
        return Err(elsewhere());
    };
    let plain = url.username().is_empty() && url.password().is_none();
    if url.origin() != base.origin() || !plain {
        return Err(elsewhere());
    }
    // The path is not normalized, so that the client can check `..` and similar parts.
    let after_scheme = typed.split_once("://").ok_or_else(elsewhere)?.1;
    let at = after_scheme.find(['/', '?', '#']).unwrap_or(after_scheme.len());
    let rest = after_scheme[at..].strip_prefix(base.path().trim_end_matches('/'));
    let rest = rest.ok_or_else(elsewhere)?;
    Ok(if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") })
}

/// Returns true if the list at this path takes a page size and the request does not set one.
pub(super) fn takes_page_size(path: &str, query: &[(&str, &str)]) -> bool {
    let (path, of_path) = path.split_once('?').unwrap_or((path, ""));
    let given = of_path.split('&').any(|pair| pair.split('=').next() == Some("limit"))
        || query.iter().any(|(name, _)| *name == "limit");
    path.ends_with("/submissions") && !given
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://forms.example/tenant";

    #[test]
    fn path_rewritten_by_a_shell_is_explained() {
        for (typed, path) in [
            ("C:/Program Files/Git/api/v1/forms", "`formsvc api api/v1/forms`"),
            ("D:/msys64/forms", "`formsvc api forms`"),
        ] {
            let error = super::path(typed, BASE).unwrap_err().to_text();
            assert!(error.contains(typed) && error.contains(path), "{error}");
        }
    }

    #[test]
    fn path_is_short_or_complete_or_a_url_of_the_service() {
        for (typed, expected) in [
            ("forms", "/api/v1/forms"),
            ("me?x=1", "/api/v1/me?x=1"),
            ("api/v1/me", "/api/v1/me"),
            ("/api/v2/me", "/api/v2/me"),
            (
                "forms/frm_1/submissions?cursor=2026-01-01T00:00:00Z",
                "/api/v1/forms/frm_1/submissions?cursor=2026-01-01T00:00:00Z",
            ),
            ("https://forms.example/tenant/api/v1/me", "/api/v1/me"),
            ("HTTPS://FORMS.example:443/tenant/api/v1/me?a=b", "/api/v1/me?a=b"),
            ("https://forms.example/tenant?x", "/?x"),
        ] {
            assert_eq!(path(typed, BASE).ok().as_deref(), Some(expected), "{typed}");
        }
    }

    #[test]
    fn url_of_another_server_is_refused() {
        for typed in [
            "https://evil.example/api/v1/me",
            "http://forms.example/tenant/api/v1/me",
            "https://forms.example:8443/tenant/api/v1/me",
            "https://forms.example.evil.example/tenant/x",
            "https://forms.example@evil.example/tenant/x",
            "https://u:p@forms.example/tenant/x",
            "//evil.example/x",
            r"\\evil.example\x",
            r"https:\\evil.example\x",
            "https:/evil.example/x",
            "https:evil.example",
            "ftp://forms.example/tenant/x",
            "javascript:alert(1)",
            "https://forms.example/other",
            "https://forms.example/",
            // Below the base URL only after `..` is resolved.
            "https://forms.example/x/../tenant/api",
        ] {
            assert!(path(typed, BASE).is_err(), "{typed}");
        }
        // The client refuses `..`.
        assert_eq!(path("../x", BASE).ok().as_deref(), Some("/api/v1/../x"));
    }

    #[test]
    fn page_size_is_added_to_submissions_without_limit() {
        assert!(takes_page_size("/f/submissions?cursor=1", &[("a", "b")]));
        assert!(!takes_page_size("/f/submissions?a=1&limit=2", &[]));
        assert!(!takes_page_size("/f/submissions", &[("limit", "2")]));
        assert!(!takes_page_size("/api/v1/forms", &[]));
    }
}
