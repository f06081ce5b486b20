//! Exit statuses: one table.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or the reader of the output closed it.
    Done = 0,
    /// A bug, or a check that failed.
    Failed = 1,
    /// A wrong command line or value.
    Usage = 2,
    /// Something named does not exist.
    NotFound = 3,
    /// A file, a port or the database could not be used.
    LocalIo = 10,
}

/// A status and what it means.
#[derive(Clone, Copy, Debug)]
pub struct ExitRow {
    /// The status.
    pub code: u8,
    /// What it means.
    pub meaning: &'static str,
}

/// Every status the command ends with.
pub const EXITS: &[ExitRow] = &[
    ExitRow { code: 0, meaning: "done, or the reader of the output closed it" },
    ExitRow { code: 1, meaning: "a bug, or a check that failed" },
    ExitRow { code: 2, meaning: "wrong command line or value" },
    ExitRow { code: 3, meaning: "something named does not exist" },
    ExitRow { code: 10, meaning: "a file, a port or the database cannot be used" },
    ExitRow { code: 130, meaning: "a second SIGINT during shutdown" },
    ExitRow { code: 143, meaning: "a second SIGTERM during shutdown" },
];

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
