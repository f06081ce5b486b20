//! The kinds of failure.

/// The kind of failure of an [`Error`](crate::Error). Match on the kind, never on the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting or an argument breaks a rule; no request was sent.
    Config,
    /// No connection: name resolution, TCP, proxy or TLS.
    Connect,
    /// An attempt, or the whole call, exceeded its [`Timeouts`](crate::Timeouts).
    Timeout,
    /// The connection broke while the request was in flight.
    Transport,
    /// The service answered with another status than 200 (SPEC §7): see
    /// [`status`](crate::Error::status) and [`code`](crate::Error::code).
    Api,
    /// The response is not JSON, is truncated, has a damaged gzip body, or violates the API's contract:
    /// see [`json_path`](crate::Error::json_path).
    Decode,
    /// An item of a list violates the API's contract. The error names the item and its page; see also
    /// [`json_path`](crate::Error::json_path). [`allow_incomplete`](crate::SubmissionQuery::allow_incomplete)
    /// leaves such submissions out.
    InvalidItem,
    /// A body is larger than [`max_body`](crate::ClientBuilder::max_body), or a list is longer than
    /// the caller allows.
    TooLarge,
    /// The rate limit requires a longer wait than [`max_wait`](crate::ClientBuilder::max_wait) or the
    /// remaining time of the call allows: see [`retry_after`](crate::Error::retry_after).
    RateLimitWait,
    /// The pages of a list do not lead to its end: the cursor is missing or repeats, or a row is
    /// newer than the row before it (SPEC §4). Continuing could lose or repeat rows.
    Pagination,
    /// More submissions share a unit of the service's cursor, a second or a millisecond, than a page
    /// can show: some may be missing. Or more than 1,000,000 share one time, so that a repeated one would
    /// not be recognized.
    TieOverflow,
}

impl ErrorKind {
    /// A stable name in lower case, for logs and metrics.
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
            Self::InvalidItem => "invalid_item",
            Self::TooLarge => "too_large",
            Self::RateLimitWait => "rate_limit_wait",
            Self::Pagination => "pagination",
            Self::TieOverflow => "tie_overflow",
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
