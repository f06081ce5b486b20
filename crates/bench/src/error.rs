//! Why a benchmark could not be run.

use std::fmt;
use std::path::Path;

/// One sentence for whoever runs it.
#[derive(Debug)]
pub(crate) struct BenchError(String);

impl BenchError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// Something failed because of an error, which is told with all that caused it.
    pub(crate) fn caused(what: impl fmt::Display, why: &dyn std::error::Error) -> Self {
        let mut text = format!("{what}: {why}");
        let mut source = why.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(text)
    }

    /// Something failed because of something else.
    pub(crate) fn because(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self(format!("{what}: {why}"))
    }

    pub(crate) fn io(what: &str, why: std::io::Error) -> Self {
        Self::because(what, why)
    }

    /// For `map_err` on whatever reads or writes a file.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |why| Self::because(format_args!("`{}`", path.display()), why)
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BenchError {}
