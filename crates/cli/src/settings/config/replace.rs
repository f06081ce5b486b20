//! A small text file that is read with care, and replaced whole under a lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::base::files::OpenError;

/// Longest configuration that is read.
const MAX: u64 = 256 * 1024;
/// Name of the file that is locked while the configuration is replaced.
const LOCK_NAME: &str = ".config.lock";
/// How long another run is waited for; it holds the lock for as long as it writes a small file.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Time between two tries to get the lock.
const LOCK_POLL: Duration = Duration::from_millis(5);
/// Most links that are followed to a file.
const LINKS_MAX: usize = 16;

/// The text of a file; none if there is none. `open` decides whose words it takes.
pub(super) fn read(
    path: &Path,
    open: fn(&Path) -> Result<File, OpenError>,
) -> Result<Option<String>, OpenError> {
    let file = match open(path) {
        Ok(file) => file,
        Err(OpenError::Io(error)) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    if file.take(MAX + 1).read_to_end(&mut bytes)? as u64 > MAX {
        return Err(invalid(format!("it is longer than {MAX} bytes")).into());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
            Err(invalid(format!("it is not UTF-8 text (line {line})")).into())
        }
    }
}

/// A folder above it that is a file (as with the idiom `/dev/null`) holds no configuration either.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn invalid(rule: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, rule.into())
}

/// Makes the folder, for its owner alone if it is new.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Keeps other runs from replacing files of a folder until it is dropped.
pub(super) fn lock(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(folder.join(LOCK_NAME))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => {
                thread::sleep(LOCK_POLL);
            }
            Err(TryLockError::WouldBlock) => {
                let what = "another run of formsvc holds the configuration";
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Puts a text in place of a file, whole or not at all. A link stays one; a mode stays as it is; a
/// new file is its owner's alone.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = followed(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut work = tempfile::Builder::new().prefix(".config.").tempfile_in(folder)?;
    if let Ok(metadata) = fs::metadata(&path) {
        work.as_file().set_permissions(metadata.permissions())?;
    }
    work.write_all(text.as_bytes())?;
    work.as_file().sync_all()?;
    work.persist(&path)?;
    // A rename lasts only once the folder that holds the name does.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The path behind links, of which the last may lead to a file that does not exist yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new(".")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(invalid("it is a link that leads to itself"))
}
