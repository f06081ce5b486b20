//! The kinds of failure.

/// What kind of failure an [`Error`](crate::Error) is: match on this, never on text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting or an argument breaks a rule; nothing was sent.
    Config,
    /// No connection: name resolution, TCP or TLS.
    Connect,
    /// An attempt, or the whole call, took longer than its [`Timeouts`](crate::Timeouts) allow.
    Timeout,
    /// The connection broke while the request was under way.
    Transport,
    /// The service answered with another status than 200 (SPEC §7): see
    /// [`status`](crate::Error::status) and [`code`](crate::Error::code).
    Api,
    /// The answer is not JSON, is cut short, or is not what the API promises (more submissions than
    /// were asked for, say): see [`json_path`](crate::Error::json_path).
    Decode,
    /// More than the caller or this library is ready to hold: a body over
    /// [`ClientBuilder::max_body`](crate::ClientBuilder::max_body), more items
    /// than `try_collect_max` allows.
    TooLarge,
    /// The rate limit demands a longer wait than [`max_wait`](crate::ClientBuilder::max_wait) or
    /// the time left allow: see [`retry_after`](crate::Error::retry_after).
    RateLimitWait,
    /// The list says there is more but does not say where, or goes in circles.
    PaginationStuck,
    /// A row is newer than the row before it, though the list is newest first (SPEC §4); going on
    /// could lose or repeat rows.
    OutOfOrder,
    /// More submissions share a unit of the service's cursor, a second or a millisecond, than a page
    /// can show: some may be missing.
    TieOverflow,
}

impl ErrorKind {
    /// A stable lower-case name, also used as `error.type` in spans.
    ///
    /// ```
    /// assert_eq!(formsvc_client::ErrorKind::RateLimitWait.as_str(), "rate_limit_wait");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Transport => "transport",
            Self::Api => "api",
            Self::Decode => "decode",
            Self::TooLarge => "too_large",
            Self::RateLimitWait => "rate_limit_wait",
            Self::PaginationStuck => "pagination_stuck",
            Self::OutOfOrder => "out_of_order",
            Self::TieOverflow => "tie_overflow",
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
