//! Small files that decide something, opened: nothing is waited for, nothing leads elsewhere unseen, and
//! what is looked at is what was opened, so that nobody can exchange it between the look and the use.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    Io(io::Error),
    /// Somebody else decides what it says.
    #[cfg_attr(not(unix), expect(dead_code, reason = "who that is, is looked at on Unix"))]
    Untrusted {
        what: &'static str,
        /// What mends it.
        fix: String,
    },
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Untrusted { what, .. } => f.write_str(what),
        }
    }
}

impl std::error::Error for OpenError {}

/// Opens a file of whoever wrote it, for words that can do no harm. A link is not followed.
pub(crate) fn anybodys(path: &Path) -> Result<File, OpenError> {
    let file = imp::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file").into());
    }
    Ok(file)
}

/// Opens a file whose words are the user's: one that nobody but the user and root can change. It may
/// be a link where nobody but them can make one.
pub(crate) fn own(path: &Path) -> Result<File, OpenError> {
    match imp::open(path) {
        Err(error) if imp::is_link(&error) => imp::follow(path),
        file => imp::checked(file?, path),
    }
}

#[cfg(unix)]
mod imp {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, OFlags, RawMode};
    use rustix::io::Errno;

    use super::OpenError;
    use crate::base::shell;

    /// For reading, without a wait for whoever writes to it, should it be a pipe.
    const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
    /// What nobody but the owner may do.
    const WRITE: RawMode = 0o022;
    /// In a folder that everybody may write to: nobody moves or removes what others made.
    const STICKY: RawMode = 0o1000;

    pub(super) fn open(path: &Path) -> io::Result<File> {
        Ok(rustix::fs::openat(CWD, path, FLAGS | OFlags::NOFOLLOW, Mode::empty())?.into())
    }

    /// Whether that was not opened because it is a link.
    pub(super) fn is_link(error: &io::Error) -> bool {
        // The second is what some systems say.
        [Errno::LOOP, Errno::MLINK]
            .iter()
            .any(|link| error.raw_os_error() == Some(link.raw_os_error()))
    }

    /// Opens what a link leads to, if it is the user's own link.
    pub(super) fn follow(path: &Path) -> Result<File, OpenError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(folder, flags, Mode::empty()).map_err(io::Error::from)?;
        look(&handle, folder, "others can make links in its folder")?;
        let name = path.file_name().unwrap_or_default();
        let file = rustix::fs::openat(&handle, name, FLAGS, Mode::empty());
        checked(file.map_err(io::Error::from)?.into(), path)
    }

    pub(super) fn checked(file: File, path: &Path) -> Result<File, OpenError> {
        let handle = OwnedFd::from(file);
        let mode = rustix::fs::fstat(&handle).map_err(io::Error::from)?.st_mode;
        if FileType::from_raw_mode(mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file").into());
        }
        look(&handle, path, "others can write it")?;
        Ok(handle.into())
    }

    /// Whether nobody but the user and root can change what was opened.
    fn look(handle: impl AsFd, path: &Path, open_to_others: &'static str) -> Result<(), OpenError> {
        let stat = rustix::fs::fstat(handle).map_err(io::Error::from)?;
        let quoted = || shell::quoted(&path.display().to_string()).into_owned();
        match who(stat.st_uid, stat.st_mode, rustix::process::geteuid().as_raw()) {
            Who::User => Ok(()),
            Who::Owner => Err(OpenError::Untrusted {
                what: "it belongs to another user",
                fix: format!("run as its owner, or `chown \"$(id -u)\" {}`", quoted()),
            }),
            Who::Others => Err(OpenError::Untrusted {
                what: open_to_others,
                fix: format!("`chmod go-w {}`", quoted()),
            }),
        }
    }

    /// Who else can change something.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) enum Who {
        /// Nobody: it is the user's, or root's.
        User,
        Owner,
        Others,
    }

    pub(super) fn who(owner: u32, mode: RawMode, user: u32) -> Who {
        let is_folder = FileType::from_raw_mode(mode) == FileType::Directory;
        if owner != user && owner != 0 {
            Who::Owner
        } else if mode & WRITE != 0 && !(is_folder && mode & STICKY != 0) {
            Who::Others
        } else {
            Who::User
        }
    }
}

/// Here folders decide who can change a file, and a home is its owner's.
#[cfg(not(unix))]
mod imp {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use super::OpenError;

    pub(super) fn open(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(super) fn is_link(_: &io::Error) -> bool {
        false
    }

    pub(super) fn follow(path: &Path) -> Result<File, OpenError> {
        Ok(File::open(path)?)
    }

    pub(super) fn checked(file: File, _: &Path) -> Result<File, OpenError> {
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file").into());
        }
        Ok(file)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::RawMode;

    use super::imp::{Who, who};
    use super::*;

    const FILE: RawMode = 0o100_000;
    const FOLDER: RawMode = 0o040_000;

    #[test]
    fn a_file_is_trusted_that_only_its_user_and_root_can_change() {
        for (owner, mode, user, told) in [
            (1000, FILE | 0o600, 1000, Who::User),
            (1000, FILE | 0o644, 1000, Who::User),
            (0, FILE | 0o444, 1000, Who::User),
            (1001, FILE | 0o600, 1000, Who::Owner),
            // Not even root takes a user's word for which program to run.
            (1000, FILE | 0o600, 0, Who::Owner),
            (1000, FILE | 0o664, 1000, Who::Others),
            (1000, FILE | 0o602, 1000, Who::Others),
            (0, FILE | 0o666, 1000, Who::Others),
            (1000, FILE | 0o1666, 1000, Who::Others),
            (1000, FOLDER | 0o755, 1000, Who::User),
            (1000, FOLDER | 0o775, 1000, Who::Others),
            (0, FOLDER | 0o1777, 1000, Who::User),
        ] {
            assert_eq!(who(owner, mode, user), told, "{owner} {mode:o} {user}");
        }
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a file of ours");
    }

    #[test]
    fn a_link_is_followed_where_nobody_else_can_make_one() {
        let top = tempfile::tempdir().unwrap();
        let (folder, real) = (top.path().join("folder"), top.path().join("real"));
        fs::create_dir(&folder).unwrap();
        fs::write(&real, "x").unwrap();
        let link = folder.join("link");
        symlink(&real, &link).unwrap();
        mode(&folder, 0o755);
        mode(&real, 0o640);
        assert!(own(&link).is_ok());
        assert!(anybodys(&link).is_err());
        mode(&real, 0o660);
        assert!(matches!(
            own(&link),
            Err(OpenError::Untrusted { what: "others can write it", .. })
        ));
        mode(&real, 0o600);
        mode(&folder, 0o775);
        let told = own(&link).unwrap_err();
        let OpenError::Untrusted { what, fix } = told else { panic!("{told:?}") };
        assert_eq!(what, "others can make links in its folder");
        assert_eq!(fix, format!("`chmod go-w {}`", folder.display()));
        // What is there as itself is nobody's link.
        assert!(own(&real).is_ok());
    }

    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_read() {
        let top = tempfile::tempdir().unwrap();
        let pipe = top.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        mode(&pipe, 0o600);
        for path in [pipe.as_path(), top.path(), Path::new("/dev/null")] {
            assert!(matches!(own(path), Err(OpenError::Io(_))), "{}", path.display());
            assert!(matches!(anybodys(path), Err(OpenError::Io(_))), "{}", path.display());
        }
    }
}
