//! Files that contain settings, API keys or other private data: reads that check owner and mode, locks, and
//! atomic replacement.
//!
//! The checks run on the open file, and for a link also on its folder, so that another user cannot exchange the file
//! between the check and the read. A read does not wait for the writer of a pipe.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use secrecy::zeroize::Zeroizing;
use tempfile::NamedTempFile;

/// Longest wait for a lock. Its owner holds it only while it writes a small file.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Time between two attempts to get the lock.
const LOCK_POLL: Duration = Duration::from_millis(5);

/// The users that may have written a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Any user, for content that can do no harm. The path must not be a link.
    AnyUser,
    /// The user and root: no other user can change the file. The path may be a link of the user or of root;
    /// the linked file and the folder of the link are checked.
    OwnUser,
    /// The user alone: no other user can read or change the file or its folder, and neither is a link.
    Private,
}

/// A file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("cannot {action} `{}`", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// Another user can read or change the file or its folder.
    #[error("`{}` {problem}", path.display())]
    Unsafe { path: PathBuf, problem: &'static str, fix: String },
    /// Not a regular file, too long, or not text.
    #[error("`{}` {problem}", path.display())]
    Invalid { path: PathBuf, problem: String },
    #[error("another run of formsvc holds the lock `{}`", .0.display())]
    Locked(PathBuf),
}

impl FileError {
    fn io(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { action, path: path.to_owned(), source: source.into() }
    }

    fn is_link(path: &Path) -> Self {
        let fix = format!("replace `{}` by the file or folder itself", path.display());
        Self::Unsafe { path: path.to_owned(), problem: "is a symbolic link", fix }
    }

    fn invalid(path: &Path, problem: impl Into<String>) -> Self {
        Self::Invalid { path: path.to_owned(), problem: problem.into() }
    }
}

/// Opens a regular file for reading. Returns `None` if it does not exist.
pub(crate) fn open(path: &Path, trust: Trust) -> Result<Option<File>, FileError> {
    // A path below a file, such as `/dev/null/config.toml`, does not exist either.
    let is_absent = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    };
    let is_link = match path.symlink_metadata() {
        Err(error) if is_absent(&error) => return Ok(None),
        Ok(metadata) if !metadata.is_symlink() => false,
        Ok(_) if trust != Trust::OwnUser => return Err(FileError::is_link(path)),
        Ok(metadata) => {
            check_access(&metadata, path, trust)?;
            // Otherwise, another user could exchange the link after this check.
            let folder = folder_of(path);
            let metadata = folder.metadata().map_err(|error| FileError::io("check", folder, error));
            check_access(&metadata?, folder, trust)?;
            true
        }
        Err(_) => false,
    };
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // Another process may create a link after the check above.
        let links = if is_link { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::NONBLOCK | links;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let file = match options.open(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        file => file.map_err(|error| FileError::io("open", path, error))?,
    };
    let metadata = file.metadata().map_err(|error| FileError::io("check", path, error))?;
    if !metadata.is_file() {
        return Err(FileError::invalid(path, "is not a file"));
    }
    check_access(&metadata, path, trust)?;
    if trust == Trust::Private {
        check_private_folder(folder_of(path))?;
    }
    Ok(Some(file))
}

/// Reads a text file of at most `max_len` bytes. Returns `None` if it does not exist.
pub(crate) fn read(
    path: &Path,
    trust: Trust,
    max_len: u64,
) -> Result<Option<Zeroizing<String>>, FileError> {
    let Some(file) = open(path, trust)? else { return Ok(None) };
    let size = file.metadata().map_or(0, |metadata| metadata.len()).min(max_len);
    // The buffer has its full size from the start: a buffer that grows leaves copies of keys in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1));
    let read = file.take(max_len + 1).read_to_end(&mut bytes);
    if read.map_err(|error| FileError::io("read", path, error))? as u64 > max_len {
        return Err(FileError::invalid(path, format!("is longer than {max_len} bytes")));
    }
    match String::from_utf8(std::mem::take(&mut *bytes)) {
        Ok(text) => Ok(Some(Zeroizing::new(text))),
        Err(error) => {
            let valid_up_to = error.utf8_error().valid_up_to();
            let bytes = Zeroizing::new(error.into_bytes());
            let line = bytes[..valid_up_to].split(|byte| *byte == b'\n').count();
            Err(FileError::invalid(path, format!("is not UTF-8 text (line {line})")))
        }
    }
}

/// Creates a folder and its parents. New folders have mode 0700.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Checks that a folder belongs to the user, that no other user has any right to it, and that it is not a
/// link. A folder that does not exist passes.
pub(crate) fn check_private_folder(folder: &Path) -> Result<(), FileError> {
    match folder.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => Err(FileError::is_link(folder)),
        Ok(metadata) => check_access(&metadata, folder, Trust::Private),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FileError::io("check", folder, error)),
    }
}

/// Checks the owner and the mode of a file or folder.
#[cfg(unix)]
fn check_access(metadata: &Metadata, path: &Path, trust: Trust) -> Result<(), FileError> {
    use std::os::unix::fs::MetadataExt;

    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    // Every user has all rights to a link, but only its owner can change it. The same holds for the files of a sticky
    // folder.
    let is_sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0 && trust == Trust::OwnUser;
    let mode = if metadata.is_symlink() || is_sticky { 0 } else { metadata.mode() };
    let Some(problem) = access_problem(trust, owner, mode, user) else { return Ok(()) };
    let quoted = crate::base::shell::quoted(&path.display().to_string()).into_owned();
    let fix = match trust {
        _ if problem == OTHER_OWNER => {
            format!("run as its owner, or `chown \"$(id -u)\" {quoted}`")
        }
        Trust::Private if metadata.is_dir() => format!("`chmod 700 {quoted}`"),
        Trust::Private => format!("`chmod 600 {quoted}`"),
        _ => format!("`chmod go-w {quoted}`"),
    };
    Err(FileError::Unsafe { path: path.to_owned(), problem, fix })
}

#[cfg(unix)]
const OTHER_OWNER: &str = "belongs to another user";

/// Returns the reason why another user can read or change a file.
#[cfg(unix)]
fn access_problem(trust: Trust, owner: u32, mode: u32, user: u32) -> Option<&'static str> {
    match trust {
        Trust::Private if owner != user => Some(OTHER_OWNER),
        Trust::Private if mode & 0o077 != 0 => Some("can be read or changed by other users"),
        Trust::OwnUser if owner != user && owner != 0 => Some(OTHER_OWNER),
        Trust::OwnUser if mode & 0o022 != 0 => Some("can be changed by other users"),
        Trust::AnyUser | Trust::Private | Trust::OwnUser => None,
    }
}

/// Files in the profile folder of a Windows user belong to this user.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
fn check_access(_: &Metadata, _: &Path, _: Trust) -> Result<(), FileError> {
    Ok(())
}

/// Locks a file, which is created if necessary, until the returned handle is dropped.
pub(crate) fn lock(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| FileError::io("open", path, error))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => {
                thread::sleep(LOCK_POLL);
            }
            Err(TryLockError::WouldBlock) => return Err(FileError::Locked(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(FileError::io("lock", path, error)),
        }
    }
}

/// A file that is written under a temporary name. [`Self::commit`] moves it to its path; if it is dropped
/// before, an older file at the path stays unchanged.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    path: PathBuf,
    work: NamedTempFile,
}

impl AtomicFile {
    /// Creates a file that only the user can read: mode 0600.
    pub(crate) fn private(path: &Path) -> io::Result<Self> {
        Self::create(path, 0o600)
    }

    /// Creates a file with the mode that the umask gives to new files.
    pub(crate) fn shared(path: &Path) -> io::Result<Self> {
        Self::create(path, 0o666)
    }

    fn create(path: &Path, mode: u32) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let prefix = work_prefix(path);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        #[cfg(not(unix))]
        let _ = mode;
        Ok(Self { path: path.to_owned(), work: builder.tempfile_in(folder_of(path))? })
    }

    /// Writes the content to disk and moves the file to its path.
    pub(crate) fn commit(self) -> io::Result<()> {
        self.work.as_file().sync_all()?;
        self.work.persist(&self.path)?;
        // The rename is durable only after the folder is synced.
        if cfg!(unix) { File::open(folder_of(&self.path))?.sync_all() } else { Ok(()) }
    }

    /// Moves the file to its path without waiting until it is durable. As the last step, this makes the file visible
    /// to a process that may remove the folder at once.
    pub(crate) fn publish(self) -> io::Result<()> {
        Ok(self.work.persist(&self.path).map(drop)?)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.work.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.work.flush()
    }
}

/// Replaces a file atomically. The new file has mode 0600.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::private(path)?;
    file.write_all(content)?;
    file.commit()
}

/// Replaces the content of a file atomically. The mode stays the same, and a link stays a link. A new file
/// has mode 0600.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
    let mut file = AtomicFile::private(&path)?;
    if let Ok(metadata) = fs::metadata(&path) {
        file.work.as_file().set_permissions(metadata.permissions())?;
    }
    file.write_all(content)?;
    file.commit()
}

/// Removes the temporary files that killed runs left beside a file. Call it only while the lock is held.
pub(crate) fn remove_leftovers(path: &Path) -> io::Result<()> {
    let prefix = work_prefix(path);
    for entry in fs::read_dir(folder_of(path))? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn work_prefix(path: &Path) -> String {
    format!(".{}.", path.file_name().unwrap_or_default().display())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::Trust::{AnyUser, OwnUser, Private};
    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a file of the test");
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a file of the test").permissions().mode() & 0o777
    }

    fn problem(path: &Path, trust: Trust) -> &'static str {
        match open(path, trust) {
            Err(FileError::Unsafe { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn access_depends_on_owner_and_mode() {
        let readable = Some("can be read or changed by other users");
        let writable = Some("can be changed by other users");
        let other = Some(OTHER_OWNER);
        for (owner, mode, user, own, private) in [
            (1000, 0o600, 1000, None, None),
            (1000, 0o644, 1000, None, readable),
            (0, 0o400, 1000, None, other),
            (1001, 0o600, 1000, other, other),
            // A file can name programs, and root must not run the programs of another user.
            (1000, 0o600, 0, other, other),
            (1000, 0o664, 1000, writable, readable),
            (1000, 0o602, 1000, writable, readable),
        ] {
            assert_eq!(access_problem(OwnUser, owner, mode, user), own, "{owner} {mode:o} {user}");
            let found = access_problem(Private, owner, mode, user);
            assert_eq!(found, private, "{owner} {mode:o} {user}");
            assert_eq!(access_problem(AnyUser, owner, mode, user), None);
        }
    }

    #[test]
    fn link_is_followed_only_to_a_file_of_the_user() {
        let top = tempfile::tempdir().unwrap();
        let (folder, real) = (top.path().join("folder"), top.path().join("real"));
        create_private_folder(&folder).unwrap();
        fs::write(&real, "x").unwrap();
        let link = folder.join("link");
        symlink(&real, &link).unwrap();
        set_mode(&real, 0o640);
        assert!(open(&link, OwnUser).unwrap().is_some());
        assert_eq!(problem(&link, AnyUser), "is a symbolic link");
        assert_eq!(problem(&link, Private), "is a symbolic link");
        set_mode(&real, 0o660);
        assert_eq!(problem(&link, OwnUser), "can be changed by other users");
        set_mode(&real, 0o640);
        for (loose, expected) in [(0o770, true), (0o1777, false), (0o700, false)] {
            set_mode(&folder, loose);
            assert_eq!(open(&link, OwnUser).is_err(), expected, "{loose:o}");
        }
        // Only root can give a link to another user.
        if std::os::unix::fs::lchown(&link, Some(12_345), None).is_ok() {
            assert_eq!(problem(&link, OwnUser), OTHER_OWNER);
        }
    }

    #[test]
    fn private_file_needs_a_private_folder() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("folder");
        let path = folder.join("key");
        assert!(read(&path, Private, 9).unwrap().is_none());
        create_private_folder(&folder).unwrap();
        write_private(&path, b"key").unwrap();
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        assert_eq!(read(&path, Private, 9).unwrap().unwrap().as_str(), "key");
        for (path, loose) in [(&folder, 0o750), (&path, 0o640)] {
            let before = mode(path);
            set_mode(path, loose);
            assert_eq!(
                problem(&folder.join("key"), Private),
                "can be read or changed by other users"
            );
            set_mode(path, before);
        }
        let link = top.path().join("link");
        symlink(&folder, &link).unwrap();
        assert_eq!(problem(&link.join("key"), Private), "is a symbolic link");
        assert!(open(&link.join("none"), Private).unwrap().is_none());
    }

    #[test]
    fn pipe_folder_and_device_are_refused_without_waiting() {
        let top = tempfile::tempdir().unwrap();
        let pipe = top.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        set_mode(&pipe, 0o600);
        for path in [pipe.as_path(), top.path(), Path::new("/dev/null")] {
            for trust in [AnyUser, OwnUser] {
                let opened = open(path, trust);
                assert!(matches!(opened, Err(FileError::Invalid { .. })), "{opened:?}");
            }
        }
        assert!(matches!(open(&pipe, Private), Err(FileError::Invalid { .. })));
    }

    #[test]
    fn long_or_binary_file_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("file");
        for (content, problem) in [
            (&b"1234567890"[..], "is longer than 9 bytes"),
            (b"a\nb\xff", "is not UTF-8 text (line 2)"),
        ] {
            write_private(&path, content).unwrap();
            let error = read(&path, OwnUser, 9).unwrap_err().to_string();
            assert!(error.ends_with(problem), "{error}");
        }
        assert!(read(&path.join("below"), OwnUser, 9).unwrap().is_none());
    }

    #[test]
    fn replaced_file_keeps_its_mode_and_its_link() {
        let top = tempfile::tempdir().unwrap();
        let (real, link) = (top.path().join("real"), top.path().join("link"));
        replace(&real, b"1").unwrap();
        assert_eq!(mode(&real), 0o600);
        set_mode(&real, 0o640);
        symlink(&real, &link).unwrap();
        replace(&link, b"2").unwrap();
        assert!(link.is_symlink());
        assert_eq!((fs::read(&real).unwrap(), mode(&real)), (b"2".to_vec(), 0o640));
    }

    #[test]
    fn uncommitted_file_changes_nothing() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("report");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::shared(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
        assert!(AtomicFile::shared(top.path()).is_err());
        std::mem::forget(AtomicFile::private(&path).unwrap());
        remove_leftovers(&path).unwrap();
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
    }
}
