//! Which path of the service a person means. What must never be is a request with the key to another
//! service; that the path leads nowhere above the base URL is seen to by the client.

use url::Url;

use crate::error::CliError;

/// What a path is.
pub(super) const HINT: &str =
    "a path is below the service address, such as `forms` or `/api/v1/forms`, without `..`";

/// What to do about a path that leads nowhere.
pub(super) const NO_SUCH: &str =
    "the service has no such path: it has `me`, `forms` and `forms/ID/submissions`";

/// What to do about a form that is not there.
pub(super) const BY_ID: &str = "a path takes the id of a form (frm_…), not its public id: `formsvc forms list --json id,public_id` \
     shows both";

/// Where what has no leading slash is looked for.
const PREFIX: &str = "/api/v1/";

/// The path and query below the base URL. A whole address must lie there.
pub(super) fn path(typed: &str, base_url: &str) -> Result<String, CliError> {
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

/// Whether it begins like an address: a scheme and a colon, before any slash or query.
fn has_scheme(typed: &str) -> bool {
    let first = typed.split(['/', '?']).next().unwrap_or_default();
    first.contains(':')
}

fn below(typed: &str, base_url: &str) -> Result<String, CliError> {
    let elsewhere = || {
        let what = "this address is not of the service, and the API key would go to it";
        CliError::usage(what).hint(format!("the service is at {base_url}; {HINT}"))
    };
    let (Ok(url), Ok(base)) = (Url::parse(typed), Url::parse(base_url)) else {
        return Err(elsewhere());
    };
    let plain = url.username().is_empty() && url.password().is_none();
    if url.origin() != base.origin() || !plain {
        return Err(elsewhere());
    }
    // As typed, so that the client sees what a parser would have tidied away.
    let after_scheme = typed.split_once("://").ok_or_else(elsewhere)?.1;
    let at = after_scheme.find(['/', '?', '#']).unwrap_or(after_scheme.len());
    let rest = after_scheme[at..].strip_prefix(base.path().trim_end_matches('/'));
    let rest = rest.ok_or_else(elsewhere)?;
    Ok(if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") })
}

/// Whether a list takes the size of its pages, and none was given.
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
    fn a_path_is_short_or_whole_or_an_address_of_the_service() {
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
    fn an_address_of_anybody_else_is_refused() {
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
            // In the tenant's folder only for a parser that resolves it.
            "https://forms.example/x/../tenant/api",
        ] {
            assert!(path(typed, BASE).is_err(), "{typed}");
        }
        // What is left to the client: it refuses a way up.
        assert_eq!(path("../x", BASE).ok().as_deref(), Some("/api/v1/../x"));
    }

    #[test]
    fn pages_are_as_large_as_they_can_be_unless_said() {
        assert!(takes_page_size("/f/submissions?cursor=1", &[("a", "b")]));
        assert!(!takes_page_size("/f/submissions?a=1&limit=2", &[]));
        assert!(!takes_page_size("/f/submissions", &[("limit", "2")]));
        assert!(!takes_page_size("/api/v1/forms", &[]));
    }
}
