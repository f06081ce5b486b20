//! Why a delivery got no response: a table of stable codes.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use hyper_util::client::legacy;
use rustix::io::Errno;

use super::attempt::{Phase, Progress};
use super::connect::ConnectError;
use super::policy::Denied;
use super::stream::Link;
use super::tls;
use crate::causes::causes;
use crate::printable::Escaped;

/// Longest detail that is kept, in characters.
const DETAIL_MAX: usize = 256;

macro_rules! failure_codes {
    ($( $variant:ident = $code:literal, $meaning:literal; )+) => {
        /// Why a delivery got no response. The codes are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FailureCode {
            $( #[doc = $meaning] $variant, )+
        }

        impl FailureCode {
            /// Every code.
            pub const ALL: &[Self] = &[$( Self::$variant, )+];

            /// The code, as stored and counted.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $code, )+ }
            }

            /// What happened, for a person.
            pub const fn meaning(self) -> &'static str {
                match self { $( Self::$variant => $meaning, )+ }
            }
        }
    };
}

failure_codes! {
    DnsFailed         = "dns_failed",         "the host's name was not resolved to an address";
    EgressDenied      = "egress_denied",      "the host is at an address that deliveries may not reach";
    ConnectFailed     = "connect_failed",     "no connection was made";
    TlsFailed         = "tls_failed",         "no encryption was agreed on, or the certificate is not trusted";
    Overloaded        = "overloaded",         "this service is short of connections, memory or look-ups; uses an attempt only after an hour";
    Timeout           = "timeout",            "no status line and headers arrived in time";
    ConnectionLost    = "connection_lost",    "the connection ended before the headers of the response";
    ResponseMalformed = "response_malformed", "the response is not HTTP, or its head is too large";
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An attempt without a response. Its message never holds the URL's path or query, the
/// request or the response; text from outside is escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryFailure {
    /// What went wrong.
    pub code: FailureCode,
    /// What the attempt was doing.
    pub phase: Phase,
    /// Whom it was connected to, or tried to.
    pub peer: Option<SocketAddr>,
    /// Why the address may not be reached, for [`FailureCode::EgressDenied`].
    pub denied: Option<Denied>,
    /// What the system or a library said.
    pub detail: Option<Box<str>>,
}

impl fmt::Display for DeliveryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.meaning())?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None if self.code == FailureCode::Timeout => write!(f, " (phase `{}`)", self.phase),
            None => Ok(()),
        }
    }
}

impl StdError for DeliveryFailure {}

impl DeliveryFailure {
    fn new(code: FailureCode, progress: Progress) -> Self {
        let Progress { phase, peer } = progress;
        Self { code, phase, peer, denied: None, detail: None }
    }

    pub(super) fn timeout(progress: Progress) -> Self {
        Self::new(FailureCode::Timeout, progress)
    }

    /// From what the client says about a request.
    pub(super) fn of_request(error: &legacy::Error) -> Self {
        if let Some(connect) = error.source().and_then(|source| source.downcast_ref()) {
            return Self::of_connect(connect);
        }
        let peer = error.connect_info().and_then(Link::of).map(|link| link.peer());
        Self::of_exchange(error, Progress { phase: Phase::Response, peer })
    }

    fn of_connect(error: &ConnectError) -> Self {
        let at = |phase, peer| Progress { phase, peer };
        let (code, progress) = match error {
            ConnectError::Dns(error) if lacks_resource(error) => {
                (FailureCode::Overloaded, at(Phase::Dns, None))
            }
            ConnectError::Tcp(peer, error) if lacks_resource(error) || lacks_port(*peer, error) => {
                (FailureCode::Overloaded, at(Phase::Connect, Some(*peer)))
            }
            ConnectError::Dns(_) => (FailureCode::DnsFailed, at(Phase::Dns, None)),
            ConnectError::Denied(_) => (FailureCode::EgressDenied, at(Phase::Dns, None)),
            ConnectError::Tcp(peer, _) => {
                (FailureCode::ConnectFailed, at(Phase::Connect, Some(*peer)))
            }
            ConnectError::Tls(peer, _) => (FailureCode::TlsFailed, at(Phase::Tls, Some(*peer))),
            ConnectError::Lost(peer, _) => {
                (FailureCode::ConnectionLost, at(Phase::Tls, Some(*peer)))
            }
            ConnectError::Late(phase, peer) => (FailureCode::Timeout, at(*phase, *peer)),
        };
        let mut failure = Self::new(code, progress);
        match error {
            ConnectError::Denied(denied) => {
                failure.denied = Some(*denied);
                failure.detail = detail_of(denied);
            }
            _ => failure.detail = error.source().and_then(detail_of),
        }
        failure
    }

    fn of_exchange(error: &(dyn StdError + 'static), progress: Progress) -> Self {
        let chain = || std::iter::successors(Some(error), |&error| error.source());
        let code = chain().find_map(code_of).unwrap_or(FailureCode::ConnectionLost);
        let detail = chain().last().and_then(detail_of);
        Self { detail, ..Self::new(code, progress) }
    }
}

/// Returns true if a connection failed because this machine lacks a resource: not the endpoint's
/// fault.
fn lacks_resource(error: &io::Error) -> bool {
    #[cfg(unix)]
    const SHORT_OF: &[Errno] = &[Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    // There are no others among the errors of sockets there.
    #[cfg(not(unix))]
    const SHORT_OF: &[Errno] = &[Errno::MFILE, Errno::NOBUFS];
    let code = error.raw_os_error();
    matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::OutOfMemory)
        || SHORT_OF.iter().any(|errno| code == Some(errno.raw_os_error()))
}

/// Returns true if all local ports for connections to an address are in use. For IPv6 the same error
/// means that this machine has no IPv6, which the endpoint has to allow for.
fn lacks_port(peer: SocketAddr, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable && peer.is_ipv4()
}

/// What an error in a chain says for certain.
fn code_of(error: &(dyn StdError + 'static)) -> Option<FailureCode> {
    if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
        return hyper.is_parse().then_some(FailureCode::ResponseMalformed);
    }
    let io = error.downcast_ref::<io::Error>()?;
    tls::is_of_tls(io).then_some(FailureCode::TlsFailed)
}

/// An error and its causes as a short text that is safe to show.
pub(super) fn detail_of(error: &(dyn StdError + 'static)) -> Option<Box<str>> {
    let mut parts: Vec<String> = causes(error).collect();
    // Wrappers that only repeat what they wrap.
    parts.dedup();
    let text = Escaped(&parts.join(": ")).to_string();
    let text = match text.char_indices().nth(DETAIL_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    (!text.is_empty()).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_distinct_and_plain() {
        let texts: BTreeSet<_> = FailureCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), FailureCode::ALL.len());
        for code in FailureCode::ALL {
            assert!(code.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        }
    }

    #[test]
    fn eaddrnotavail_is_overload_for_ipv4_only() {
        let code = |peer: &str, errno: Errno| {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            DeliveryFailure::of_connect(&ConnectError::Tcp(peer.parse().unwrap(), error)).code
        };
        let (v4, v6) = ("127.0.0.1:9", "[::1]:9");
        assert_eq!(code(v4, Errno::ADDRNOTAVAIL), FailureCode::Overloaded);
        assert_eq!(code(v6, Errno::ADDRNOTAVAIL), FailureCode::ConnectFailed);
        for peer in [v4, v6] {
            assert_eq!(code(peer, Errno::MFILE), FailureCode::Overloaded);
            assert_eq!(code(peer, Errno::CONNREFUSED), FailureCode::ConnectFailed);
        }
    }

    #[test]
    fn details_are_short_and_safe_to_show() {
        let hostile = "\u{1b}[31m\n".to_owned() + &"é".repeat(1000);
        let detail = detail_of(&io::Error::other(hostile)).unwrap();
        assert!(detail.starts_with("\\u{1b}[31m\\né"), "{detail}");
        assert_eq!(detail.chars().count(), DETAIL_MAX + 1);
        assert_eq!(detail_of(&io::Error::other("")), None);
        let same = io::Error::other(io::Error::other("refused"));
        assert_eq!(detail_of(&same).as_deref(), Some("refused"));
    }

    #[test]
    fn tls_error_inside_io_error_is_tls_failed() {
        let of_tls = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError);
        assert_eq!(code_of(&of_tls), Some(FailureCode::TlsFailed));
        assert_eq!(code_of(&io::Error::from(io::ErrorKind::ConnectionReset)), None);
    }
}
