//! Converts errors of the client and of exports: exit codes, codes and hints.

use formsvc_client::{ErrorCode, ErrorKind};
use formsvc_export::{ExportError, SyncError, Unsupported};

use super::{CliError, Code, ErrorDetails, network};
use crate::exit::Exit;

/// The cause line of a tie overflow. The service reports no total, so the number is unknown.
pub(crate) const MISSING_UNKNOWN: &str = "the number of missing submissions is unknown";

/// Hint if the last attempt of a request failed with the status 429.
const STILL_LIMITED: &str =
    "try again later, or send fewer requests with `--max-rate`: other programs may use this key";

impl From<formsvc_client::Error> for CliError {
    fn from(error: formsvc_client::Error) -> Self {
        let (code, hint) = code_and_hint(&error);
        let mut converted =
            Self::coded(code, describe(error.kind(), &error.to_string())).because_of(&error);
        *converted.details = ErrorDetails {
            http_status: error.status().map(|status| status.as_u16()),
            content_type: error.content_type().map(str::to_owned),
            body_start: error.body_start().map(str::to_owned),
            json_path: error.json_path().map(str::to_owned),
            retry_after: error.retry_after(),
            request_id: error.request_id().map(str::to_owned),
            resume: None,
        };
        if matches!(error.kind(), ErrorKind::Connect | ErrorKind::Transport | ErrorKind::Decode) {
            // Keep only the last cause, which comes from the operating system. The others name layers of the HTTP
            // library.
            converted.causes.drain(..converted.causes.len().saturating_sub(1));
        }
        if error.kind() == ErrorKind::TieOverflow {
            converted = converted.cause(MISSING_UNKNOWN);
        }
        converted.hint(redirect_hint(&error).unwrap_or_else(|| hint.to_owned()))
    }
}

/// Returns the code and the hint. An empty text means that there is no hint.
fn code_and_hint(error: &formsvc_client::Error) -> (Code, &'static str) {
    match error.kind() {
        ErrorKind::Api => api_code_and_hint(error),
        ErrorKind::Config => (Code::Usage, ""),
        ErrorKind::Connect => (Code::Network, connect_hint(error).unwrap_or_default()),
        ErrorKind::Timeout => (Code::Timeout, "allow more time with `--timeout`"),
        ErrorKind::Transport => (Code::Network, ""),
        ErrorKind::RateLimitWait => {
            (Code::RateLimited, "wait longer with `--max-wait`, or try again later")
        }
        ErrorKind::TieOverflow => (
            Code::TieOverflow,
            "keep the other submissions with `--allow-incomplete` (exit code 9)",
        ),
        ErrorKind::InvalidItem => {
            (Code::BadAnswer, "leave such submissions out with `--allow-incomplete` (exit code 9)")
        }
        ErrorKind::Decode if error.is_retryable() => (
            Code::BadAnswer,
            "try again later: the service, or a proxy in front of it, sent a part of a response",
        ),
        // A response with members of the API comes from the service, not from a proxy.
        ErrorKind::Decode if error.json_path().is_some_and(|path| path != ".") => (
            Code::BadAnswer,
            "report this to the operator of the service: its response breaks the API",
        ),
        ErrorKind::Decode => (
            Code::BadAnswer,
            "check the service address: a login page or a proxy may have responded",
        ),
        _ => (Code::BadAnswer, ""),
    }
}

/// Returns the code and the hint of an error response.
fn api_code_and_hint(error: &formsvc_client::Error) -> (Code, &'static str) {
    let status = error.status().map(|status| status.as_u16());
    match (error.code(), status) {
        (Some(ErrorCode::BadRequest), _) => (Code::Usage, ""),
        (Some(ErrorCode::MissingAuthorization | ErrorCode::InvalidKey), _) => {
            (Code::KeyRefused, "check the key: copy it again, or create a new one")
        }
        (Some(ErrorCode::KeyRevoked), _) => {
            (Code::KeyRefused, "create a new key: a revoked key stays invalid")
        }
        (Some(ErrorCode::FormNotFound), _) => {
            (Code::FormNotFound, "`formsvc forms list` shows the forms this key can read")
        }
        (Some(ErrorCode::NotFound), _) => (
            Code::Usage,
            "check the service address: the service has no such path; the address does not include /api/v1",
        ),
        (Some(ErrorCode::RateLimited), _) | (_, Some(429)) => (Code::RateLimited, STILL_LIMITED),
        (_, Some(204)) => (Code::Service, "check the service address: this response has no body"),
        (_, Some(401)) => (Code::KeyRefused, ""),
        (_, Some(403)) => (
            Code::Service,
            "the key has no permission for this, or a proxy in front of the service refuses it",
        ),
        // A 404 without an error code does not come from the service.
        (None, Some(404)) => (Code::BadAnswer, "check the service address"),
        (_, Some(404)) => (Code::NotFound, ""),
        _ => (Code::Service, ""),
    }
}

/// Returns the hint for a failed connection.
pub(crate) fn connect_hint(error: &formsvc_client::Error) -> Option<&'static str> {
    error.connect_failure().and_then(|failure| network::hint(failure.kind()))
}

/// Returns the text of an error of the client without the name of the operation at its start.
pub(crate) fn describe(kind: ErrorKind, text: &str) -> String {
    let what = text.split_once(": ").map_or(text, |(_, what)| what);
    match kind {
        ErrorKind::Api => format!("the service responded with {what}"),
        ErrorKind::Config => what.replace("the base URL", "the service address"),
        _ => what.to_owned(),
    }
}

/// Returns the hint for a redirect. If the redirect leads to another server, the hint suggests the origin of that
/// server as the service address.
fn redirect_hint(error: &formsvc_client::Error) -> Option<String> {
    error.status().filter(http::StatusCode::is_redirection)?;
    let elsewhere = error.redirect_target().filter(|_| error.is_redirect_elsewhere());
    let origin = elsewhere.and_then(|target| Some(url::Url::parse(target).ok()?.origin()));
    Some(match origin.filter(url::Origin::is_tuple) {
        Some(origin) => format!(
            "check the service address; if the service is at {} now, and you trust it, use that address",
            origin.ascii_serialization()
        ),
        None => "check the service address and its path".to_owned(),
    })
}

impl From<ExportError> for CliError {
    fn from(error: ExportError) -> Self {
        let is_conflict = error.is_conflict();
        let mut converted = match error {
            ExportError::Service(error) => error.into(),
            ExportError::ReaderClosed => Self::silent(Exit::Done),
            ExportError::Unsupported(Unsupported::Format(format)) => {
                let name = format.name();
                Self::usage(error.to_string()).hint(format!(
                    "install a build that can: `cargo install --path crates/cli --locked --features {name}`"
                ))
            }
            ExportError::Unsupported(_) | ExportError::Filter { .. } => {
                Self::usage(error.to_string())
            }
            ExportError::Unfinished { cause, .. } => (*cause).into(),
            ExportError::Sync(error) => error.into(),
            #[cfg(feature = "postgres")]
            ExportError::Postgres(error) => {
                Self::new(postgres_exit(&error), error.to_string()).because_of(&error)
            }
            _ => Self::new(Exit::LocalIo, error.to_string()).because_of(&error),
        };
        if is_conflict {
            converted.code = Code::Busy;
        }
        converted
    }
}

impl From<SyncError> for CliError {
    fn from(error: SyncError) -> Self {
        let (exit, hint) = match &error {
            SyncError::Target(_) => (Exit::Usage, ""),
            SyncError::Exported(_) => (
                Exit::Usage,
                "use another file: an export replaces its file, and a sync adds to it",
            ),
            SyncError::NotProven { .. } => (Exit::DataPolicy, ""),
            SyncError::EmptyList(_) => (
                Exit::DataPolicy,
                "if all submissions were deleted, mark or remove them with `--allow-empty`",
            ),
            SyncError::Locked(_) => (Exit::LocalIo, "wait until the other run has ended"),
            _ => (Exit::LocalIo, ""),
        };
        Self::new(exit, error.to_string()).because_of(&error).hint(hint)
    }
}

#[cfg(feature = "postgres")]
fn postgres_exit(error: &formsvc_export::PostgresError) -> Exit {
    use formsvc_export::PostgresError as E;
    match error {
        E::Connect(_) | E::Tls(_) | E::Certificate(_) | E::Lost(_) => Exit::Network,
        _ => Exit::LocalIo,
    }
}
