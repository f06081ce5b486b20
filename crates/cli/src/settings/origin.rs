//! The sources of the values of settings.

use std::fmt;
use std::path::PathBuf;

/// The source of the value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag.
    Flag(&'static str),
    /// A variable of the environment.
    Env(&'static str),
    /// A line of a project file.
    Project(PathBuf, usize),
    /// A line of a profile in the user's file.
    Profile(PathBuf, usize),
    /// A line at the top of the user's file.
    User(PathBuf, usize),
    /// No source has a value.
    Default,
}

impl Origin {
    /// True for a flag or variable, which sets the value for this run only.
    pub(crate) fn is_of_this_run(&self) -> bool {
        matches!(self, Self::Flag(_) | Self::Env(_))
    }

    /// Returns the kind of the source, as in JSON output.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Flag(_) => "flag",
            Self::Env(_) => "environment",
            Self::Project(..) => "project",
            Self::Profile(..) => "profile",
            Self::User(..) => "user",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Env(name) => f.write_str(name),
            Self::Project(path, line) | Self::Profile(path, line) | Self::User(path, line) => {
                write!(f, "{}:{line}", path.display())
            }
            Self::Default => f.write_str("default"),
        }
    }
}
