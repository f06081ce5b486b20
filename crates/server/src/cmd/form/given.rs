//! What the commands of forms are given, judged.

use std::io::Read;
use std::path::{Path, PathBuf};

use formsvc_protocol::{FormStatus, PublicId};

use crate::admin::parse_id;
use crate::cmd::error::CommandError;
use crate::cmd::exit::Exit;
use crate::cmd::settings::bad;
use crate::fields::{DEFINITIONS_MAX, Fields};
use crate::public::Origin;

#[derive(Debug, clap::Args)]
pub(super) struct FieldsArgs {
    /// File with the fields of the form, a JSON array; `-` reads standard input. Without fields a
    /// form takes any answers.
    #[arg(long, value_name = "FILE")]
    fields: Option<PathBuf>,
}

impl FieldsArgs {
    /// The fields, if a file of them was named.
    pub(super) fn read(&self) -> Result<Option<Fields>, CommandError> {
        let Some(path) = &self.fields else { return Ok(None) };
        let shown = path.display().to_string();
        let text = text_of(path).map_err(|error| CommandError::unread(path, &error))?;
        let fields = Fields::parse(&text);
        fields.map(Some).map_err(|error| CommandError::of(Exit::Usage, &error).about(&shown))
    }
}

/// The text of a file, or of standard input; of one that is too long only enough to find that out.
fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let most = u64::try_from(DEFINITIONS_MAX).unwrap_or(u64::MAX).saturating_add(1);
    if path == Path::new("-") {
        std::io::stdin().take(most).read_to_string(&mut text)?;
    } else {
        std::fs::File::open(path)?.take(most).read_to_string(&mut text)?;
    }
    Ok(text)
}

pub(super) fn public_id(flag: &str, text: &str) -> Result<PublicId, CommandError> {
    parse_id(text).map_err(|rule| bad(flag, text, rule))
}

pub(super) fn status(text: &str) -> Result<FormStatus, CommandError> {
    let status = FormStatus::from(text);
    if FormStatus::KNOWN.contains(&status) {
        Ok(status)
    } else {
        Err(bad("--status", text, "must be draft, published or closed"))
    }
}

/// The origins that were named; `None` when none was.
pub(super) fn origins(texts: &[String]) -> Result<Option<Vec<Origin>>, CommandError> {
    let parse = |text: &String| Origin::parse(text).map_err(|rule| bad("--origin", text, rule));
    let origins = texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(origins).filter(|origins| !origins.is_empty()))
}
