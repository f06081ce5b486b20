//! Exit statuses: one table.

use std::process::ExitCode;

use crate::serve::StopSignal;

/// A status and what it means.
#[derive(Clone, Copy, Debug)]
pub struct ExitRow {
    /// The status.
    pub code: u8,
    /// What it means.
    pub meaning: &'static str,
}

macro_rules! exits {
    ($( $name:ident = $code:literal, $meaning:literal; )+ { $( $others:expr ),+ $(,)? }) => {
        /// How a command ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Exit {
            $( #[doc = $meaning] $name = $code, )+
        }

        /// Every status the command ends with.
        pub const EXITS: &[ExitRow] = &[
            $( ExitRow { code: Exit::$name as u8, meaning: $meaning }, )+
            $( $others, )+
        ];
    };
}

exits! {
    Done = 0, "done, or the reader of the output closed it";
    Failed = 1, "a bug, or a check that failed";
    Usage = 2, "wrong command line or value";
    NotFound = 3, "something named does not exist";
    LocalIo = 10, "a file, a port or the database cannot be used";
    {
        by_signal(StopSignal::Interrupt, "a second SIGINT during shutdown; of other commands the first"),
        by_signal(StopSignal::Terminate, "a second SIGTERM during shutdown; of other commands the first"),
    }
}

/// The process is gone before a command could end.
const fn by_signal(signal: StopSignal, meaning: &'static str) -> ExitRow {
    ExitRow { code: signal.exit_code(), meaning }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_end_has_a_row_and_a_status_of_its_own() {
        assert!(EXITS.is_sorted_by(|a, b| a.code < b.code));
        for exit in [Exit::Done, Exit::Failed, Exit::Usage, Exit::NotFound, Exit::LocalIo] {
            // A new way to end is asked for here, and gets its row from the macro.
            match exit {
                Exit::Done | Exit::Failed | Exit::Usage | Exit::NotFound | Exit::LocalIo => {}
            }
            assert!(EXITS.iter().any(|row| row.code == exit as u8), "{exit:?}");
        }
        for signal in [StopSignal::Interrupt, StopSignal::Terminate] {
            let row = EXITS.iter().find(|row| row.code == signal.exit_code()).unwrap();
            assert!(row.meaning.contains(signal.name()), "{row:?}");
        }
    }
}
