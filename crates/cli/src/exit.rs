//! The exit codes: one table, from which help, docs and tests follow.

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or the reader of the output has what it wanted.
    Done = 0,
    /// A check that the command made failed; or the program itself did, which is a bug.
    Failed = 1,
    /// A flag, an argument or a setting is wrong.
    Usage = 2,
    /// The thing asked for does not exist.
    NotFound = 3,
    /// No key, or the service refused it.
    Auth = 4,
    /// The service failed, or its answer is invalid.
    Service = 5,
    /// The service could not be reached.
    Network = 6,
    /// Rate-limited for longer than allowed.
    RateLimited = 7,
    /// Not complete; what is missing can be had by going on.
    Incomplete = 8,
    /// The result is not complete, or breaks another data policy, as far as the run may go.
    DataPolicy = 9,
    /// A file, a pipe or the disk failed.
    LocalIo = 10,
    /// A webhook's signature is not right, or what was expected of deliveries did not come.
    Unmet = 11,
    /// Its terminal was closed (SIGHUP).
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
    /// What it means.
    pub meaning: &'static str,
}

/// Every exit code there is.
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
    ExitRow { exit: Exit::Service, meaning: "the service failed or its answer is invalid" },
    ExitRow { exit: Exit::Network, meaning: "DNS, TLS, connection, proxy or timeout" },
    ExitRow {
        exit: Exit::RateLimited,
        meaning: "rate-limited for longer than `--max-wait`, or still after 4 attempts",
    },
    ExitRow {
        exit: Exit::Incomplete,
        meaning: "not complete; the hint is the command that continues",
    },
    ExitRow {
        exit: Exit::DataPolicy,
        meaning: "data policy refused: the result is incomplete (`--allow-incomplete`)",
    },
    ExitRow { exit: Exit::LocalIo, meaning: "local I/O: disk full, permission, unwritable output" },
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
    /// The number the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}
