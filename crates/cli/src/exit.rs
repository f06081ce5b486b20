//! The table of exit codes. Help and documents are generated from it, and tests check it.

/// The outcome of a run, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success, also if the reader closed the pipe.
    Done = 0,
    /// A check failed, or the program has a bug.
    Failed = 1,
    /// A flag, an argument or a setting is invalid.
    Usage = 2,
    /// The requested form, submission or delivery does not exist, or the setting has no value.
    NotFound = 3,
    /// There is no API key, or the service refused it.
    Auth = 4,
    /// The service failed, or its response is invalid.
    Service = 5,
    /// The service could not be reached.
    Network = 6,
    /// The rate limit required a longer wait than allowed.
    RateLimited = 7,
    /// The work was not complete when `--max-time` ended.
    Incomplete = 8,
    /// The result is incomplete or not proven complete, or `sync verify` found a difference.
    DataPolicy = 9,
    /// A file, a pipe or the disk failed, another run uses the file, or a key cannot be deleted.
    LocalIo = 10,
    /// A signature is invalid, or `--expect` or `--count` was not met.
    Unmet = 11,
    /// The terminal was closed (SIGHUP).
    HungUp = 129,
    /// Interrupted (SIGINT).
    Interrupted = 130,
    /// Terminated (SIGTERM).
    Terminated = 143,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct ExitRow {
    /// The code.
    pub exit: Exit,
    /// The meaning, for help and documents.
    pub meaning: &'static str,
}

/// All exit codes.
pub const EXITS: &[ExitRow] = &[
    ExitRow { exit: Exit::Done, meaning: "done, or the reader closed the pipe" },
    ExitRow {
        exit: Exit::Failed,
        meaning: "a check failed (`doctor`, `webhook check`, `contract check`), or a bug",
    },
    ExitRow { exit: Exit::Usage, meaning: "usage: a flag, argument or setting is wrong" },
    ExitRow {
        exit: Exit::NotFound,
        meaning: "not found: the form, submission or delivery does not exist, or the setting has no value",
    },
    ExitRow { exit: Exit::Auth, meaning: "no API key, or the service refused it (401)" },
    ExitRow { exit: Exit::Service, meaning: "the service failed or its response is invalid" },
    ExitRow { exit: Exit::Network, meaning: "DNS, TLS, connection, proxy or timeout" },
    ExitRow {
        exit: Exit::RateLimited,
        meaning: "rate-limited for longer than `--max-wait`, or still after 4 attempts",
    },
    ExitRow { exit: Exit::Incomplete, meaning: "not complete when `--max-time` ended" },
    ExitRow {
        exit: Exit::DataPolicy,
        meaning: "the result is incomplete, or `sync verify` found a difference",
    },
    ExitRow {
        exit: Exit::LocalIo,
        meaning: "local I/O: disk full, permission, an output that exists (`--no-clobber`) or is in use by \
                  another run, or a key that cannot be deleted from a locked keyring",
    },
    ExitRow {
        exit: Exit::Unmet,
        meaning: "a delivery failed verification, or `--expect` or `--count` was not met",
    },
    ExitRow { exit: Exit::HungUp, meaning: "terminal closed (SIGHUP); no incomplete file is left" },
    ExitRow {
        exit: Exit::Interrupted,
        meaning: "interrupted (SIGINT); no incomplete file is left",
    },
    ExitRow { exit: Exit::Terminated, meaning: "terminated (SIGTERM); no incomplete file is left" },
];

impl Exit {
    /// Returns the exit code as the number that the shell gets.
    pub fn code(self) -> u8 {
        self as u8
    }
}
