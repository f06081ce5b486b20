//! Makes a form of a file: CSV, TSV, NDJSON, or a JSON array.
//!
//! The file is read once or twice from front to back in bounded memory, and the form appears whole
//! or not at all. What a value was in the file it is in the form, to the letter; see [`CellTypes`]
//! for the one choice there is.

mod cells;
mod csv;
mod error;
mod format;
mod json;
mod meter;
mod source;

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::limits::ANSWERS_MAX;
use formsvc_protocol::{Answers, Form, FormInstant, FormStatus, PublicId, SubmissionId, UserId};

pub use error::{Flaw, ImportError};
pub use format::{FORMATS, FormatRow, ImportFormat};

use self::cells::Reading;
use self::source::Source;
use crate::admin::{Admin, FormOptions, new_form, new_id};
use crate::staging::{LoadError, Sink, load};
use crate::store::StagedSubmission;

/// What the cells of a CSV or TSV file become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellTypes {
    /// Every cell is text.
    Text,
    /// A column in which every cell is a JSON number (or null) becomes numbers, with the digits as
    /// they stand: an export gives the same text back. `007` and `1.` are no JSON numbers.
    #[default]
    Infer,
}

/// The times of imported submissions: bursts at equal intervals. Consecutive submissions of a burst are one
/// microsecond apart.
#[derive(Clone, Copy, Debug)]
pub struct ImportTimes {
    /// Time of the first submission.
    pub first: FormInstant,
    /// Time between the beginnings of two bursts.
    pub interval: Duration,
    /// Submissions in a burst, at least 1 and at most as many as the interval has microseconds.
    pub burst: u64,
}

impl ImportTimes {
    /// Returns the time of the submission of this number, from 0.
    fn at(self, number: u64) -> FormInstant {
        let interval = u64::try_from(self.interval.as_micros()).unwrap_or(u64::MAX);
        let after = (number / self.burst).saturating_mul(interval) + number % self.burst;
        FormInstant::from_micros(self.first.micros().saturating_add_unsigned(after))
    }
}

/// What to make of a file.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Owner of the form.
    pub user: UserId,
    /// Identifier in the public address; made up when none is given.
    pub public_id: Option<PublicId>,
    /// Title of the form.
    pub title: String,
    /// Status of the form.
    pub status: FormStatus,
    /// How the file is written.
    pub format: ImportFormat,
    /// What the cells of a CSV or TSV file become.
    pub types: CellTypes,
    /// The text that stands for null in a CSV or TSV file, such as `NA`; none by default, so that an
    /// empty cell is an empty text.
    pub null: Option<String>,
    /// The question that a JSON array of texts answers.
    pub label: Option<String>,
    /// Times of the submissions. The default is the time of the import.
    pub times: Option<ImportTimes>,
}

impl ImportOptions {
    /// A published form of a file in a format.
    pub fn new(user: UserId, title: impl Into<String>, format: ImportFormat) -> Self {
        Self {
            user,
            public_id: None,
            title: title.into(),
            status: FormStatus::Published,
            format,
            types: CellTypes::default(),
            null: None,
            label: None,
            times: None,
        }
    }
}

/// A form made of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// The form.
    pub form: Form,
    /// How many submissions it has.
    pub submissions: u64,
}

/// Makes a form of a file. On any error nothing was changed.
pub async fn form_from_file(
    admin: &Admin,
    options: ImportOptions,
    path: &Path,
) -> Result<Imported, ImportError> {
    let path = path.to_owned();
    // A named pipe blocks until someone writes to it.
    let open = move || Source::open(&path);
    let source = tokio::task::spawn_blocking(open)
        .await
        .map_err(|panic| ImportError::Read(std::io::Error::other(panic)))??;
    import(admin, options, source).await
}

/// Makes a form of a file's content that is in memory already.
pub async fn form_from_bytes(
    admin: &Admin,
    options: ImportOptions,
    content: impl Into<Bytes>,
) -> Result<Imported, ImportError> {
    import(admin, options, Source::Memory(content.into())).await
}

/// Makes a form of what a reader gives. Where a file has to be read twice, what is read goes to a
/// temporary file.
pub async fn form_from_reader(
    admin: &Admin,
    options: ImportOptions,
    reader: impl Read + Send + 'static,
) -> Result<Imported, ImportError> {
    import(admin, options, Source::stream(reader)).await
}

async fn import(
    admin: &Admin,
    options: ImportOptions,
    source: Source,
) -> Result<Imported, ImportError> {
    let form = FormOptions {
        public_id: options.public_id.clone(),
        title: options.title.clone(),
        status: options.status.clone(),
    };
    let form = new_form(&options.user, form)?;
    let produce = move |sink: &mut Sink| read(source, &options, sink);
    match load(admin.store(), form, produce).await {
        Ok((form, submissions)) => Ok(Imported { form, submissions }),
        Err(LoadError::Store(error)) => Err(ImportError::Admin(error.into())),
        Err(LoadError::Producer(error)) => Err(error),
    }
}

/// The rule that answers of so many bytes break.
fn too_long(bytes: usize) -> String {
    format!("whose answers are {bytes} bytes of JSON, over the limit of {ANSWERS_MAX} (4 MiB)")
}

fn read(source: Source, options: &ImportOptions, sink: &mut Sink) -> Result<(), ImportError> {
    let mut number = 0;
    let mut keep = |answers: Answers| {
        let id = SubmissionId::from_bits(new_id());
        let at = options.times.map(|times| times.at(number));
        number += 1;
        sink.push(StagedSubmission { id, at, answers }).map_err(ImportError::from)
    };
    let (types, null) = (options.types, options.null.as_deref());
    let cells = |separator| Reading { separator, types, null };
    match options.format {
        ImportFormat::Csv => cells::read(source, cells(b','), &mut keep),
        ImportFormat::Tsv => cells::read(source, cells(b'\t'), &mut keep),
        ImportFormat::Ndjson => json::lines(source.once(), &mut keep),
        ImportFormat::Json => json::array(source.once(), options.label.as_deref(), &mut keep),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_times_are_bursts_at_equal_intervals() {
        let first = FormInstant::from_micros(1_000_000);
        let times = ImportTimes { first, interval: Duration::from_micros(100), burst: 3 };
        let micros = [0, 1, 2, 3, 5, 6].map(|number| times.at(number).micros() - first.micros());
        assert_eq!(micros, [0, 1, 2, 100, 102, 200]);
    }
}
