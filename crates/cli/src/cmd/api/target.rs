//! Converts the path argument to a path below the base URL. The client refuses a path that leaves the base URL,
//! so that the API key is never sent to another server.

use formsvc_client::{Error, ErrorCode, ErrorKind};

use crate::base::shell::quoted;
use crate::error::CliError;

/// The prefix for a path without a leading slash.
const PREFIX: &str = "/api/v1/";

/// Returns the path and query below the base URL.
pub(super) fn path(typed: &str) -> Result<String, CliError> {
    if let Some(path) = rewritten_by_shell(typed) {
        let what = format!("the path arrived as `{typed}`: the shell replaced its leading slash");
        return Err(
            CliError::usage(what).hint(format!("drop the leading slash: `formsvc api {path}`"))
        );
    }
    if typed.contains("://") {
        let what = "`api` takes a path below the base URL, not a URL";
        return Err(CliError::usage(what).hint("such as `formsvc api forms`"));
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

/// Converts an error of a request, and adds a hint about its path.
pub(super) fn failed(error: Error, path: &str) -> CliError {
    let short = path.strip_prefix('/').filter(|path| !path.starts_with("api/"));
    let hint = match (error.kind(), error.code(), short) {
        (ErrorKind::Config, ..) => {
            "a path is below the base URL, such as `forms` or `/api/v1/forms`, without `..`".into()
        }
        (_, Some(ErrorCode::NotFound), Some(short)) => {
            format!("without the leading slash: `formsvc api {}`", quoted(short))
        }
        (_, Some(ErrorCode::NotFound), None) => {
            "the service has the paths `me`, `forms` and `forms/ID/submissions`".into()
        }
        (_, Some(ErrorCode::FormNotFound), _) => {
            "a path takes the id of a form (frm_…), not its public id: `formsvc forms list --json \
             id,public_id` shows both"
                .into()
        }
        _ => return error.into(),
    };
    CliError::from(error).hint(hint)
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

    #[test]
    fn path_rewritten_by_a_shell_is_explained() {
        for (typed, path) in [
            ("C:/Program Files/Git/api/v1/forms", "`formsvc api api/v1/forms`"),
            ("D:/msys64/forms", "`formsvc api forms`"),
        ] {
            let error = super::path(typed).unwrap_err().to_text();
            assert!(error.contains(typed) && error.contains(path), "{error}");
        }
    }

    #[test]
    fn path_without_a_slash_is_below_the_api() {
        for (typed, expected) in [
            ("forms", "/api/v1/forms"),
            ("me?x=1", "/api/v1/me?x=1"),
            ("api/v1/me", "/api/v1/me"),
            ("/api/v2/me", "/api/v2/me"),
            (
                "forms/frm_1/submissions?cursor=2026-01-01T00:00:00Z",
                "/api/v1/forms/frm_1/submissions?cursor=2026-01-01T00:00:00Z",
            ),
        ] {
            assert_eq!(path(typed).ok().as_deref(), Some(expected), "{typed}");
        }
    }

    #[test]
    fn url_is_refused() {
        for typed in ["https://forms.example/api/v1/me", "https://u:p@forms.example/x"] {
            assert!(path(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn page_size_is_added_to_submissions_without_limit() {
        assert!(takes_page_size("/f/submissions?cursor=1", &[("a", "b")]));
        assert!(!takes_page_size("/f/submissions?a=1&limit=2", &[]));
        assert!(!takes_page_size("/f/submissions", &[("limit", "2")]));
        assert!(!takes_page_size("/api/v1/forms", &[]));
    }
}
