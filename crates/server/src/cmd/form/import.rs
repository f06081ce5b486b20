//! `formsvc-server form import`.

use std::path::{Path, PathBuf};

use formsvc_protocol::{FormStatus, PublicId};

use super::given;
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::exit::Exit;
use crate::cmd::output;
use crate::cmd::settings::bad;
use crate::import::{
    CellTypes, FORMATS, ImportError, ImportFormat, ImportOptions, Imported, form_from_file,
    form_from_reader,
};

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The file, oldest submission first; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// E-mail address of the user who gets the form.
    #[arg(long, value_name = "EMAIL")]
    user: String,
    /// Public id of the form; made up when none is given.
    #[arg(long, value_name = "ID")]
    public_id: Option<String>,
    /// Title of the form.
    #[arg(long)]
    title: String,
    #[arg(long, help = format!("{}; by the file's extension when none is given", format_names()))]
    format: Option<String>,
    /// What cells become. text: texts. infer: numbers where a whole column is JSON
    /// numbers; one cell such as .5, +1 or 007 makes it all text.
    #[arg(long, value_name = "TYPES", default_value = "infer")]
    types: String,
    /// Text of a cell that stands for null, such as NA.
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,
    /// The question that a JSON array of texts answers.
    #[arg(long)]
    label: Option<String>,
    /// draft, published or closed.
    #[arg(long, default_value = "published")]
    status: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let choices = choices(args)?;
    let import = async |admin: &Admin| {
        let user = admin.user(&args.user).await?.id;
        let options = ImportOptions {
            user,
            public_id: choices.public_id.clone(),
            title: args.title.clone(),
            status: choices.status.clone(),
            format: choices.format,
            types: choices.types,
            null: args.null.clone(),
            label: args.label.clone(),
            times: None,
        };
        let imported = if args.file == Path::new("-") {
            form_from_reader(admin, options, std::io::stdin()).await
        } else {
            form_from_file(admin, options, &args.file).await
        };
        imported.map_err(|error| refused(&args.file, error))
    };
    let Imported { form, submissions, .. } = with(&args.database, Missing::Refuse, import).await?;
    output::note(&format!("imported {submissions} submissions"));
    output::json(&form)
}

/// The names of the formats as a choice: `a, b or c`.
fn format_names() -> String {
    let names: Vec<_> = FORMATS.iter().map(|row| row.name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// What the flags say.
struct Choices {
    public_id: Option<PublicId>,
    format: ImportFormat,
    types: CellTypes,
    status: FormStatus,
}

fn choices(args: &Args) -> Result<Choices, CommandError> {
    let public_id = args.public_id.as_deref().map(|id| given::public_id("--public-id", id));
    let format = match args.format.as_deref() {
        Some(name) => ImportFormat::named(name)
            .ok_or_else(|| bad("--format", name, &format!("must be {}", format_names())))?,
        None => ImportFormat::of_path(&args.file).ok_or_else(|| {
            let file = args.file.display().to_string();
            bad("FILE", &file, "has no extension that tells its format")
                .hint(format!("add `--format` and {}", format_names()))
        })?,
    };
    let types = match args.types.as_str() {
        "text" => CellTypes::Text,
        "infer" => CellTypes::Infer,
        other => return Err(bad("--types", other, "must be text or infer")),
    };
    let status = given::status(&args.status)?;
    Ok(Choices { public_id: public_id.transpose()?, format, types, status })
}

fn refused(file: &Path, error: ImportError) -> CommandError {
    match error {
        ImportError::Admin(error) => error.into(),
        error => {
            let exit = match &error {
                ImportError::Read(source) if source.kind() == std::io::ErrorKind::NotFound => {
                    Exit::NotFound
                }
                ImportError::Read(_) => Exit::LocalIo,
                _ => Exit::Usage,
            };
            CommandError::of(exit, &error).about(&file.display().to_string())
        }
    }
}
