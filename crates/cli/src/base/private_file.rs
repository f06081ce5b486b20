//! The rule of what is its owner's alone: one for the file of keys, and for the captures, which hold what people
//! wrote. What is there is judged by what the system says of it; how it is opened is each caller's.

use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, Stat};

use crate::base::shell;

/// What nobody but the owner may do.
const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);

/// Why a file or a folder is not its owner's alone, and what makes it so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unsafe {
    pub(crate) path: PathBuf,
    pub(crate) what: &'static str,
    pub(crate) fix: String,
}

impl Unsafe {
    fn new(path: &Path, what: &'static str, fix: String) -> Self {
        Self { path: path.to_owned(), what, fix }
    }

    /// A symbolic link, which whoever made it can lead elsewhere.
    pub(crate) fn linked(path: &Path, fix: String) -> Self {
        Self::new(path, "is a symbolic link", fix)
    }
}

/// Whether what is there is of this kind, the user's, and nobody else's to read or change.
pub(crate) fn check(stat: &Stat, path: &Path, kind: FileType) -> Result<(), Unsafe> {
    if FileType::from_raw_mode(stat.st_mode) != kind {
        let fix = format!("move it away: `mv {0} {0}.old`", quoted(path));
        return Err(Unsafe::new(path, "is no ordinary file", fix));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        let fix = format!("run as its owner, or `chown \"$(id -u)\" {}`", quoted(path));
        return Err(Unsafe::new(path, "belongs to another user", fix));
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(OTHERS) {
        let right = if kind == FileType::Directory { "700" } else { "600" };
        let fix = format!("`chmod {right} {}`", quoted(path));
        return Err(Unsafe::new(path, "can be read or changed by others", fix));
    }
    Ok(())
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    shell::quoted(&path.display().to_string()).into_owned()
}
