//! Destinations of an export: a file that appears only when it is complete, or a stream.

mod file_system;

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::NamedTempFile;

use self::file_system::{
    copy_owner, folder, followed, is_mount_point, is_of_a_process, permissions_of_new_file, rights,
    sync, sync_folder,
};
use crate::error::{ExportError, Operation};
use crate::remark::Remark;

/// An output, opened before the first request is made so that an unwritable one costs nothing.
pub struct Destination<'a> {
    kind: Kind<'a>,
    path: Option<PathBuf>,
    pub(crate) existing: Existing,
    files: WorkingFiles,
}

enum Kind<'a> {
    File(Box<WorkingFile>),
    Stream(Box<dyn Write + Send + 'a>),
}

/// The output while it is incomplete.
struct WorkingFile {
    work: NamedTempFile,
    permissions: Permissions,
    /// The replaced file. The new one gets its owner.
    replaced: Option<fs::Metadata>,
    /// The file is a mount point, which cannot be replaced by a rename.
    in_place: bool,
}

/// The hidden files of an export in progress. Dropping the export removes them; this removes them when a
/// signal ends the process while another thread is blocked in a write.
#[derive(Clone, Debug, Default)]
pub struct WorkingFiles(Arc<Mutex<Vec<PathBuf>>>);

impl WorkingFiles {
    /// Removes the files. An export that still runs fails.
    pub fn remove(&self) {
        for path in self.paths().drain(..) {
            // A file that was completed or removed meanwhile does not exist any more.
            let _ = fs::remove_file(path);
        }
    }

    fn paths(&self) -> std::sync::MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Treatment of an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The new file replaces it when it is complete.
    Replace,
    /// It stays, and the export fails: at the start, or at the end if it was created meanwhile.
    Keep,
}

impl<'a> Destination<'a> {
    /// Opens a file. Until it is complete, the output is a hidden `.NAME.….partial` beside its path, which
    /// only its owner can read and which is removed when the export fails. An existing file stays until
    /// then. The new file gets its owner and its permissions (without the set-user-id bits). A link is
    /// followed. A file that is not regular (a named pipe, `/dev/null`) is written directly.
    pub fn file(path: &Path, existing: Existing) -> Result<Self, ExportError> {
        Self::tracked_file(path, existing, &WorkingFiles::default())
    }

    /// Opens a file as [`file`](Self::file) does, with its working file among `files`.
    pub(crate) fn tracked_file(
        path: &Path,
        existing: Existing,
        files: &WorkingFiles,
    ) -> Result<Self, ExportError> {
        Self::open(path, existing, files)
            .map_err(|source| ExportError::output(Operation::Create, Some(path), source))
    }

    fn open(path: &Path, existing: Existing, files: &WorkingFiles) -> io::Result<Self> {
        let path = &followed(path)?;
        if existing == Existing::Keep && path.symlink_metadata().is_ok() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists already"));
        }
        let replaced = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
            }
            Ok(metadata) if metadata.is_file() && is_of_a_process(path) => {
                // A process continues to write to the open file, which a rename would hide.
                let what = "it is a file that a process has open";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            Ok(metadata) if !metadata.is_file() => {
                let out = File::options().write(true).open(path)?;
                return Ok(Self { path: Some(path.into()), ..Self::stream(Box::new(out)) });
            }
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let path = if replaced.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
        // Replacing a file needs only its folder to be writable; refuse files that their owner protected.
        if replaced.is_some() {
            File::options().write(true).open(&path)?;
        }
        let in_place = replaced.is_some() && is_mount_point(&path);
        let home = if in_place { std::env::temp_dir() } else { folder(&path).to_owned() };
        let work = working_file(&path, &home, files)?;
        let permissions = match &replaced {
            Some(file) => rights(&file.permissions()),
            None => permissions_of_new_file(&home)?,
        };
        let kind = Kind::File(Box::new(WorkingFile { work, permissions, replaced, in_place }));
        Ok(Self { kind, path: Some(path), existing, files: files.clone() })
    }

    /// Makes a file readable and writable for its owner only, whatever the mode of a replaced file. A
    /// stream stays as it is. On a file system without modes, the folder decides.
    #[must_use]
    pub fn owner_only(mut self) -> Self {
        #[cfg(unix)]
        if let Kind::File(file) = &mut self.kind {
            file.permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        }
        #[cfg(not(unix))]
        let _ = &mut self;
        self
    }

    /// Any writer. Written bytes cannot be taken back: after a failure the output is incomplete.
    pub fn stream(out: Box<dyn Write + Send + 'a>) -> Self {
        let (existing, files) = (Existing::Replace, WorkingFiles::default());
        Self { kind: Kind::Stream(out), path: None, existing, files }
    }

    /// Returns the files to remove when a signal ends the process; none for a stream.
    pub fn working_files(&self) -> WorkingFiles {
        self.files.clone()
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the error of an operation on this destination. For a pipe that its reader closed it is
    /// [`ExportError::ReaderClosed`], because that reader has read enough.
    pub(crate) fn error(&self, operation: Operation, source: io::Error) -> ExportError {
        self.error_source().error(operation, source)
    }

    /// Returns a constructor of errors that does not borrow the destination.
    pub(crate) fn error_source(&self) -> ErrorSource {
        ErrorSource { path: self.path.clone(), is_stream: self.work().is_none() }
    }

    fn work(&self) -> Option<&NamedTempFile> {
        match &self.kind {
            Kind::File(file) => Some(&file.work),
            Kind::Stream(_) => None,
        }
    }

    /// Returns the path of the working file; `None` for a stream.
    pub(crate) fn working_path(&self) -> Option<&Path> {
        self.work().map(NamedTempFile::path)
    }

    /// Returns the size of the working file; 0 for a stream.
    pub(crate) fn size(&self) -> u64 {
        self.working_path().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len())
    }

    /// Flushes the working file to disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.work().map_or(Ok(()), |work| sync(work.as_file()))
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.kind {
            Kind::File(file) => file.work.as_file_mut(),
            Kind::Stream(out) => out,
        }
    }

    /// Writes bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), ExportError> {
        self.write_all(bytes).map_err(|source| self.error(Operation::Write, source))
    }

    /// Makes the written bytes the output: flushed to disk, then named.
    pub fn publish(self) -> Result<(), ExportError> {
        self.complete().map(drop)
    }

    /// Publishes the output and returns remarks about the file. After the rename nothing fails.
    pub(crate) fn complete(self) -> Result<Vec<Remark>, ExportError> {
        let errors = self.error_source();
        let failed = |source| errors.error(Operation::Publish, source);
        let file = match self.kind {
            Kind::File(file) => *file,
            Kind::Stream(mut out) => return out.flush().map_err(failed).map(|()| Vec::new()),
        };
        let (work, path) = (file.work, self.path.expect("a file has a path"));
        // The file keeps its owner and mode.
        if file.in_place {
            sync(work.as_file()).map_err(failed)?;
            // A signal must not remove the only complete output.
            self.files.paths().retain(|file| file != work.path());
            let written = write_in_place(work, &path);
            written.map_err(|source| errors.error(Operation::Overwrite, source))?;
            return Ok(vec![Remark::WrittenInPlace]);
        }
        let is_kept = file.replaced.is_none_or(|file| copy_owner(&file, work.as_file()));
        // Fails only on a file system without modes: the owner may always set them.
        let _ = work.as_file().set_permissions(file.permissions);
        sync(work.as_file()).map_err(failed)?;
        let named = match self.existing {
            Existing::Replace => work.persist(&path),
            Existing::Keep => work.persist_noclobber(&path),
        };
        named.map_err(|error| failed(error.error))?;
        // A folder that cannot be listed cannot be synced either; the file is complete.
        let _ = sync_folder(&path);
        Ok(if is_kept { Vec::new() } else { vec![Remark::OwnerChanged] })
    }
}

impl Write for Destination<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.writer().write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// Creates the errors of a destination.
#[derive(Clone, Debug)]
pub(crate) struct ErrorSource {
    path: Option<PathBuf>,
    is_stream: bool,
}

impl ErrorSource {
    pub(crate) fn error(&self, operation: Operation, source: io::Error) -> ExportError {
        if self.is_stream && source.kind() == io::ErrorKind::BrokenPipe {
            return ExportError::ReaderClosed;
        }
        ExportError::output(operation, self.path.as_deref(), source)
    }
}

/// Creates a working file in a folder. Only its owner can read it, from its creation on.
fn working_file(path: &Path, home: &Path, files: &WorkingFiles) -> io::Result<NamedTempFile> {
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in a file name")
    })?;
    // A long name must still leave room for the added characters (255 bytes on common systems).
    let mut prefix = name.to_string_lossy().into_owned();
    while prefix.len() > 200 {
        prefix.pop();
    }
    let prefix = format!(".{prefix}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial");
    // Locked while the file is created, so that `remove` cannot miss it.
    let mut paths = files.paths();
    let work = builder.tempfile_in(home).map_err(|error| match error.kind() {
        // Some folders exist and take no files, with the same error.
        io::ErrorKind::NotFound if !home.exists() => {
            let missing = format!("there is no folder `{}`", home.display());
            io::Error::new(io::ErrorKind::NotFound, missing)
        }
        _ => error,
    })?;
    paths.push(work.path().to_owned());
    Ok(work)
}

/// Copies a complete working file over a file that cannot be replaced. If that fails, the working file
/// stays and the error names it.
fn write_in_place(work: NamedTempFile, path: &Path) -> io::Result<()> {
    let copy = || {
        let mut out = File::options().write(true).truncate(true).open(path)?;
        io::copy(&mut File::open(work.path())?, &mut out)?;
        sync(&out)
    };
    copy().map_err(|error| match work.keep() {
        Ok((_, kept)) => {
            let kept = kept.display();
            io::Error::new(error.kind(), format!("{error}; the complete output is in `{kept}`"))
        }
        Err(_) => error,
    })
}
