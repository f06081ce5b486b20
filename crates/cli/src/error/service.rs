//! What errors of the client and of exports mean for a run.

use formsvc_client::{ErrorCode, ErrorKind};
use formsvc_export::{ExportError, SyncError, Unsupported};

use super::{CliError, Code, Facts, network};
use crate::exit::Exit;

impl From<formsvc_client::Error> for CliError {
    fn from(error: formsvc_client::Error) -> Self {
        let (exit, hint) = match error.kind() {
            ErrorKind::Api => of_code(&error),
            ErrorKind::Config => (Exit::Usage, None),
            ErrorKind::Connect => (Exit::Network, connect_hint(&error)),
            ErrorKind::Timeout => (Exit::Network, Some("allow more time with `--timeout`")),
            ErrorKind::Transport => (Exit::Network, None),
            ErrorKind::RateLimitWait => {
                (Exit::RateLimited, Some("wait longer with `--max-wait`, or try again later"))
            }
            ErrorKind::TieOverflow => (
                Exit::Service,
                Some(
                    "keep the other submissions with `--allow-incomplete`, which ends with exit 9",
                ),
            ),
            ErrorKind::Decode if error.is_retryable() => (
                Exit::Service,
                Some(
                    "try again later: the service, or a proxy in front of it, sent a part of a response",
                ),
            ),
            ErrorKind::InvalidItem => (
                Exit::Service,
                Some(
                    "leave such submissions out with `--allow-incomplete`, which ends with exit 9",
                ),
            ),
            ErrorKind::Decode if is_of_the_api(&error) => (
                Exit::Service,
                Some("report this to the operator of the service: its answer breaks the API"),
            ),
            ErrorKind::Decode => (
                Exit::Service,
                Some("check the service address: a login page or a proxy may have answered"),
            ),
            _ => (Exit::Service, None),
        };
        let mut shown = Self::new(exit, told(&error)).because_of(&error);
        shown.code = code_of(&error, exit);
        *shown.facts = facts(&error);
        if matches!(error.kind(), ErrorKind::Connect | ErrorKind::Transport | ErrorKind::Decode) {
            // Only the cause from the operating system; the others name layers of the HTTP library.
            shown.causes.drain(..shown.causes.len().saturating_sub(1));
        }
        if error.kind() == ErrorKind::TieOverflow {
            shown = shown.cause(MISSING_UNKNOWN);
        }
        shown.hint = redirect_hint(&error).or_else(|| hint.map(str::to_owned));
        shown
    }
}

/// The service reports no total, so the number of missing submissions of a tie cannot be known.
pub(crate) const MISSING_UNKNOWN: &str = "the number of missing submissions is unknown";

/// What to do about a failed connection.
pub(crate) fn connect_hint(error: &formsvc_client::Error) -> Option<&'static str> {
    error.connect_failure().and_then(|failure| network::hint(failure.kind()))
}

/// What an error of the client says to a person, who knows commands and not the operations they are made
/// of.
pub(crate) fn told(error: &formsvc_client::Error) -> String {
    described(error.kind(), &error.to_string())
}

/// The same of the kind and the text of an error.
pub(crate) fn described(kind: ErrorKind, text: &str) -> String {
    // The text begins with the operation.
    let what = text.split_once(": ").map_or(text, |(_, what)| what);
    match kind {
        ErrorKind::Api => format!("the service answered {what}"),
        ErrorKind::Config => what.replace("the base URL", "the service address"),
        _ => what.to_owned(),
    }
}

/// Returns a hint for a redirect. It names the origin of another server, which is a possible address.
fn redirect_hint(error: &formsvc_client::Error) -> Option<String> {
    error.status().filter(http::StatusCode::is_redirection)?;
    let elsewhere = error.redirect_target().filter(|_| error.is_redirect_elsewhere());
    let origin = elsewhere.and_then(|target| Some(url::Url::parse(target).ok()?.origin()));
    Some(match origin.filter(url::Origin::is_tuple) {
        Some(origin) => format!(
            "check the service address; if the service is at {} now, and you trust it, use that address",
            origin.ascii_serialization()
        ),
        None => "check the service address and its path: the API does not redirect".to_owned(),
    })
}

/// Returns true for an answer that has members of the API, so that no other program sent it.
fn is_of_the_api(error: &formsvc_client::Error) -> bool {
    error.json_path().is_some_and(|path| path != ".")
}

/// Whether it is a 404 without a code, as no service of ours answers it.
fn is_strange_404(error: &formsvc_client::Error) -> bool {
    error.is_not_found() && error.code().is_none()
}

/// The code of the error. Those that ask for a key, a form or patience have names of their own.
fn code_of(error: &formsvc_client::Error, exit: Exit) -> Code {
    match (error.kind(), exit) {
        (ErrorKind::Api, Exit::NotFound) if error.code() == Some(&ErrorCode::FormNotFound) => {
            Code::FormNotFound
        }
        (ErrorKind::Api, Exit::Auth) => Code::KeyRefused,
        // A 404 without an error code is not from the service.
        (ErrorKind::Api, Exit::Service) if is_strange_404(error) => Code::BadAnswer,
        (ErrorKind::Timeout, _) => Code::Timeout,
        (ErrorKind::TieOverflow, _) => Code::TieOverflow,
        (ErrorKind::Api, _) => Code::of(exit),
        (_, Exit::Service) => Code::BadAnswer,
        _ => Code::of(exit),
    }
}

fn facts(error: &formsvc_client::Error) -> Facts {
    Facts {
        http_status: error.status().map(|status| status.as_u16()),
        content_type: error.content_type().map(str::to_owned),
        body_start: error.body_start().map(str::to_owned),
        json_path: error.json_path().map(str::to_owned),
        retry_after: error.retry_after(),
        request_id: error.request_id().map(str::to_owned),
        resume: None,
    }
}

/// Hint for a 429 answer to the last attempt.
const STILL_LIMITED: &str =
    "try again later, or send fewer requests with `--max-rate`: other programs may use this key";

/// What an answer of the service means for the run.
fn of_code(error: &formsvc_client::Error) -> (Exit, Option<&'static str>) {
    match error.code() {
        Some(ErrorCode::BadRequest) => (Exit::Usage, None),
        Some(ErrorCode::MissingAuthorization | ErrorCode::InvalidKey) => {
            (Exit::Auth, Some("check the key: copy it again, or create a new one"))
        }
        Some(ErrorCode::KeyRevoked) => {
            (Exit::Auth, Some("create a new key: a revoked key stays invalid"))
        }
        Some(ErrorCode::FormNotFound) => {
            (Exit::NotFound, Some("`formsvc forms list` shows the forms this key can read"))
        }
        Some(ErrorCode::NotFound) => (
            Exit::Usage,
            Some(
                "check the service address: the service has no such path; the address does not include /api/v1",
            ),
        ),
        Some(ErrorCode::RateLimited) => (Exit::RateLimited, Some(STILL_LIMITED)),
        _ => match error.status().map(|status| status.as_u16()) {
            Some(204) => {
                (Exit::Service, Some("check the service address: this answer has no body"))
            }
            Some(401) => (Exit::Auth, None),
            Some(403) => (
                Exit::Service,
                Some(
                    "the key has no permission for this, or a proxy in front of the service refuses it",
                ),
            ),
            // A 404 without an error code is not from the service.
            Some(404) if !is_strange_404(error) => (Exit::NotFound, None),
            Some(404) => (Exit::Service, Some("check the service address")),
            Some(429) => (Exit::RateLimited, Some(STILL_LIMITED)),
            _ => (Exit::Service, None),
        },
    }
}

impl From<ExportError> for CliError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Service(error) => error.into(),
            ExportError::ReaderClosed => Self::silent(Exit::Done),
            ExportError::Unsupported(Unsupported::Format(format)) => {
                let name = format.name();
                Self::new(Exit::Usage, error.to_string()).hint(format!(
                    "install a build that can: `cargo install --path crates/cli --locked --features {name}`"
                ))
            }
            ExportError::Unsupported(_) | ExportError::Filter { .. } => {
                Self::new(Exit::Usage, error.to_string())
            }
            ExportError::Unfinished { cause, .. } => (*cause).into(),
            ExportError::Sync(error) => error.into(),
            #[cfg(feature = "postgres")]
            ExportError::Postgres(error) => {
                Self::new(of_postgres(&error), error.to_string()).because_of(&error)
            }
            _ => Self::new(Exit::LocalIo, error.to_string()).because_of(&error),
        }
    }
}

impl From<SyncError> for CliError {
    fn from(error: SyncError) -> Self {
        let (exit, hint) = match &error {
            SyncError::Target(_) => (Exit::Usage, None),
            SyncError::Exported(_) => (
                Exit::Usage,
                Some("use another file: an export replaces its file, and a sync adds to it"),
            ),
            SyncError::NotProven { .. } => (Exit::DataPolicy, None),
            SyncError::EmptyList(_) => (
                Exit::DataPolicy,
                Some("if all submissions were deleted, mark or remove them with `--allow-empty`"),
            ),
            SyncError::Locked(_) => (Exit::LocalIo, Some("wait until the other run has ended")),
            _ => (Exit::LocalIo, None),
        };
        let shown = Self::new(exit, error.to_string()).because_of(&error);
        match hint {
            Some(hint) => shown.hint(hint),
            None => shown,
        }
    }
}

#[cfg(feature = "postgres")]
fn of_postgres(error: &formsvc_export::PostgresError) -> Exit {
    use formsvc_export::PostgresError;
    match error {
        PostgresError::Connect(_)
        | PostgresError::Tls(_)
        | PostgresError::Certificate(_)
        | PostgresError::Lost(_) => Exit::Network,
        _ => Exit::LocalIo,
    }
}
