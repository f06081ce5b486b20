//! The file that holds the server's key: made once, read at every start, never overwritten.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;
use secrecy::zeroize::Zeroizing;

use super::server_key::{NotAKey, ServerKey, TEXT_LEN};
use crate::random::NoRandomness;

/// A place for a server's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFile {
    path: PathBuf,
}

/// What to do when there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Make one with a new key.
    Create,
    /// Fail: what a lost key encrypted must not be joined by what a new one does.
    Refuse,
}

/// The key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the server key file `{}`", path.display())]
pub struct KeyFileError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub fault: KeyFileFault,
}

/// What is wrong with a key file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileFault {
    /// There is none, or a link to nowhere.
    #[error("there is no such file")]
    Absent,
    /// It is a directory, a pipe or a device.
    #[error("it is no file")]
    NotAFile,
    /// Others than its owner may do something with it.
    #[error("its mode is `{mode:04o}`: nobody but its owner may have access")]
    Exposed {
        /// Its permissions.
        mode: u32,
    },
    /// Somebody else owns it, and may have read it or may change it.
    #[error("it belongs to user `{owner}`: it must belong to the user of this process, or to root")]
    Foreign {
        /// Its owner's number.
        owner: u32,
    },
    /// It holds something else, or more than one key.
    #[error("its content is no key")]
    NotAKey(#[source] NotAKey),
    /// No key could be made.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl KeyFile {
    /// The file at a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file beside a database that exists: `<database>.key`, links followed, so that a database
    /// has one key whatever name it is opened by.
    pub fn beside(database: &Path) -> io::Result<Self> {
        Ok(Self::named_after(&database.canonicalize()?))
    }

    /// The same of a database that need not exist, by the name it is given.
    pub fn named_after(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push(".key");
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The key in it. Links are followed; the file they lead to must belong to the user of this
    /// process or to root, who alone may have access. Processes that make one at the same time end
    /// with the same key.
    ///
    /// On systems without Unix permissions, owner and mode are not checked.
    pub fn open(&self, missing: Missing) -> Result<ServerKey, KeyFileError> {
        let key = match self.read() {
            Err(KeyFileFault::Absent) if missing == Missing::Create => self.create(),
            read => read,
        };
        key.map_err(|fault| KeyFileError { path: self.path.clone(), fault })
    }

    fn read(&self) -> Result<ServerKey, KeyFileFault> {
        let mut file = match open_for_reading(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(KeyFileFault::Absent);
            }
            opened => opened?,
        };
        // Of the file that is open, not of the name, which may lead elsewhere by now.
        check(&file.metadata()?)?;
        // Room for a line feed, and for one byte more than a key has.
        let mut text = Zeroizing::new([0; TEXT_LEN + 2]);
        let mut len = 0;
        while len < text.len() {
            match file.read(&mut text[len..]) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        ServerKey::parse(&text[..len]).map_err(KeyFileFault::NotAKey)
    }

    /// Writes a new key beside the path, then gives the file its name, unless that is taken: whoever
    /// comes second uses the key of the first.
    fn create(&self) -> Result<ServerKey, KeyFileFault> {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let key = ServerKey::generate()?;
        // Made with mode 0600, which is never widened.
        let mut file = tempfile::Builder::new().prefix(".formsvc-key-").tempfile_in(directory)?;
        file.write_all(key.print().expose_secret().as_bytes())?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        let named = file.persist_noclobber(&self.path);
        let taken = match named {
            Ok(_) => false,
            Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => true,
            Err(refused) => return Err(refused.error.into()),
        };
        // By the second as well: what it seals must not outlive the name of the key.
        sync_directory(directory)?;
        if taken { self.read() } else { Ok(key) }
    }
}

#[cfg(unix)]
fn open_for_reading(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    // Opening a pipe must not wait for whoever writes to it.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_for_reading(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Refuses a file that others than the user of this process and root may have read or changed.
#[cfg(unix)]
pub(crate) fn check(file: &std::fs::Metadata) -> Result<(), KeyFileFault> {
    use std::os::unix::fs::MetadataExt;
    let us = rustix::process::geteuid().as_raw();
    judge(file.is_file(), file.uid(), file.mode() & 0o7777, us)
}

#[cfg(not(unix))]
pub(crate) fn check(file: &std::fs::Metadata) -> Result<(), KeyFileFault> {
    if file.is_file() { Ok(()) } else { Err(KeyFileFault::NotAFile) }
}

/// Whether a key in a file of this owner and mode is ours alone.
#[cfg(unix)]
fn judge(is_file: bool, owner: u32, mode: u32, us: u32) -> Result<(), KeyFileFault> {
    const ROOT: u32 = 0;
    if !is_file {
        return Err(KeyFileFault::NotAFile);
    }
    if owner != us && owner != ROOT {
        return Err(KeyFileFault::Foreign { owner });
    }
    // What root keeps for a service is readable by a group that the service is in, as container
    // runtimes mount secrets.
    let allowed = if owner == us { 0o7700 } else { 0o7740 };
    if mode & !allowed != 0 { Err(KeyFileFault::Exposed { mode }) } else { Ok(()) }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::{Arc, Barrier};

    use super::*;

    fn directory() -> (tempfile::TempDir, KeyFile) {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("db.key"));
        (dir, file)
    }

    fn fault(file: &KeyFile, missing: Missing) -> KeyFileFault {
        let error = file.open(missing).unwrap_err();
        assert!(error.to_string().contains("db.key"), "{error}");
        error.fault
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_only_and_read_from_then_on() {
        let (dir, file) = directory();
        assert!(matches!(fault(&file, Missing::Refuse), KeyFileFault::Absent));
        let made = file.open(Missing::Create).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o7777, 0o600);
        for missing in [Missing::Create, Missing::Refuse] {
            assert_eq!(file.open(missing).unwrap().id(), made.id());
        }
        let text = fs::read_to_string(file.path()).unwrap();
        assert_eq!(text, format!("{}\n", made.print().expose_secret()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn creators_at_the_same_time_end_with_one_key() {
        for _ in 0..20 {
            let (dir, file) = directory();
            let start = Arc::new(Barrier::new(8));
            let makers = (0..8).map(|_| {
                let (file, start) = (file.clone(), Arc::clone(&start));
                std::thread::spawn(move || {
                    start.wait();
                    file.open(Missing::Create).unwrap().id()
                })
            });
            let makers: Vec<_> = makers.collect();
            let kept: Vec<_> = makers.into_iter().map(|maker| maker.join().unwrap()).collect();
            let read = file.open(Missing::Refuse).unwrap().id();
            assert!(kept.iter().all(|id| *id == read), "{kept:?} {read}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn whatever_is_there_is_never_overwritten() {
        let (dir, file) = directory();
        for other in ["", "\n", "precious", "fsvk_", &"x".repeat(5000)] {
            fs::write(file.path(), other).unwrap();
            fs::set_permissions(file.path(), Permissions::from_mode(0o600)).unwrap();
            assert!(matches!(fault(&file, Missing::Create), KeyFileFault::NotAKey(_)), "{other}");
            assert_eq!(fs::read_to_string(file.path()).unwrap(), other);
        }
        fs::remove_file(file.path()).unwrap();
        symlink(dir.path().join("nowhere"), file.path()).unwrap();
        assert!(matches!(fault(&file, Missing::Create), KeyFileFault::Absent), "a dangling link");
        assert!(!dir.path().join("nowhere").exists());
        fs::remove_file(file.path()).unwrap();
        fs::create_dir(file.path()).unwrap();
        assert!(matches!(fault(&file, Missing::Create), KeyFileFault::NotAFile), "a directory");
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let (_dir, file) = directory();
        let pipe = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, file.path(), pipe, mode, 0).unwrap();
        assert!(matches!(fault(&file, Missing::Create), KeyFileFault::NotAFile));
    }

    #[test]
    fn a_key_that_others_can_see_is_refused_through_links_too() {
        let (dir, file) = directory();
        let made = file.open(Missing::Create).unwrap();
        for mode in [0o640, 0o604, 0o660, 0o602, 0o610, 0o601, 0o644, 0o777] {
            fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            let KeyFileFault::Exposed { mode: found } = fault(&file, Missing::Create) else {
                panic!("{mode:o}");
            };
            assert_eq!(found, mode);
            let link = KeyFile::at(dir.path().join("link-to-db.key"));
            symlink(file.path(), link.path()).unwrap();
            assert!(matches!(fault(&link, Missing::Refuse), KeyFileFault::Exposed { .. }));
            fs::remove_file(link.path()).unwrap();
        }
        for mode in [0o600, 0o400, 0o700] {
            fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(file.open(Missing::Refuse).unwrap().id(), made.id());
        }
    }

    #[test]
    fn the_owner_is_this_user_or_root_whose_group_may_read() {
        const US: u32 = 1000;
        let usable = |owner, mode| judge(true, owner, mode, US).is_ok();
        assert!(usable(US, 0o600) && usable(US, 0o400));
        assert!(!usable(US, 0o640));
        assert!(usable(0, 0o640) && usable(0, 0o440) && usable(0, 0o600));
        assert!(!usable(0, 0o660) && !usable(0, 0o644) && !usable(0, 0o650));
        assert!(!usable(1001, 0o600));
        assert!(matches!(judge(true, 1001, 0o600, US), Err(KeyFileFault::Foreign { owner: 1001 })));
        assert!(
            matches!(judge(true, 0, 0o640, 0), Err(KeyFileFault::Exposed { .. })),
            "we are root"
        );
    }

    #[test]
    fn a_database_has_one_key_whatever_name_it_is_opened_by() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().canonicalize().unwrap().join("forms.db");
        assert!(KeyFile::beside(&database).is_err(), "there is no database");
        fs::write(&database, "").unwrap();
        let link = dir.path().join("link");
        symlink(&database, &link).unwrap();
        for name in [&database, &link] {
            let file = KeyFile::beside(name).unwrap();
            assert_eq!(file.path(), database.with_file_name("forms.db.key"));
        }
    }
}
