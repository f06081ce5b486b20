//! `formsvc-server backup`.

use std::path::{Path, PathBuf};

use serde::Serialize;

#[cfg(feature = "postgres")]
use super::address;
use super::database::DatabaseArgs;
#[cfg(feature = "postgres")]
use super::database::block_on;
use super::error::CommandError;
use super::exit::Exit;
use super::output;
use super::place::{OLDER, Place, UNFINISHED};
use super::secret_key::SecretKeyArgs;
use crate::printable::Excerpt;
use crate::same_file::is_same_file;
#[cfg(feature = "postgres")]
use crate::store::postgres::{OpenError as ServerError, PostgresStore};
use crate::store::sqlite::{BackupError, OpenError, backup};

/// What the server's key is to this command, which makes none.
const KEY_HELP: &str = "File with the server's key, which is not in the copy: no copy is made over it, \
    and whether it is there is told [default: beside the database file, its name with `.key` added]";

#[derive(Debug, clap::Args)]
#[command(mut_arg("secret_key_file", |arg| arg.help(KEY_HELP)))]
pub(super) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    secret_key: SecretKeyArgs,
    /// The copy to make; its folder must be there.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace the file if there is one.
    #[arg(long)]
    force: bool,
}

/// A copy as JSON shows it.
#[derive(Serialize)]
struct Shown<'a> {
    file: &'a Path,
    bytes: u64,
    users: u64,
    forms: u64,
    submissions: u64,
    deliveries: u64,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let database = match &args.database.database {
        Place::File(path) => path,
        #[cfg(feature = "postgres")]
        Place::Server(address) => {
            // A half is no service, by whichever tool it is copied.
            block_on(refuse_unfinished(address))?;
            // One that cannot be asked is dumped whole, should it answer by then.
            let schema = block_on(async { Ok(PostgresStore::schema(address).await) })?;
            return Err(on_a_server(address, schema.ok().flatten().as_deref(), &args.file));
        }
        other @ Place::Unread(_) => return other.check(),
    };
    let place = &args.database.database;
    if !database.exists() {
        return Err(CommandError::new(Exit::NotFound, format!("there is no database `{place}`")));
    }
    let is_key = |key: PathBuf| key == args.file || is_same_file(&key, &args.file);
    if args.secret_key.path(place).is_ok_and(is_key) {
        let told = format!("`{}` is the server's key", Excerpt(&args.file.display().to_string()));
        return Err(CommandError::usage(told).hint("choose another name"));
    }
    let made = backup(database, &args.file, args.force).map_err(|error| refused(place, &error))?;
    match args.secret_key.path(place) {
        Ok(key) if !key.exists() => output::note(&format!(
            "there is no server's key `{}`: signing secrets in the copy, if any, open only with theirs; find \
            it, and keep a copy of that as well, and elsewhere",
            key.display()
        )),
        Ok(key) => output::note(&format!(
            "the signing secrets in it open only with the server's key, `{}`: keep a copy of that as \
            well, and elsewhere",
            key.display()
        )),
        Err(_) => output::note("keep a copy of the server's key as well, and elsewhere"),
    }
    output::json(&Shown {
        file: &args.file,
        bytes: made.bytes,
        users: made.users,
        forms: made.forms,
        submissions: made.submissions,
        deliveries: made.deliveries,
    })
}

fn refused(place: &Place, error: &BackupError) -> CommandError {
    match error {
        BackupError::Exists(_) => {
            CommandError::of(Exit::Usage, error).hint("choose another name, or add `--force`")
        }
        BackupError::Itself(_) | BackupError::NotAFile(_) => {
            CommandError::of(Exit::Usage, error).hint("choose another name")
        }
        BackupError::Open(OpenError::NotADatabase | OpenError::NotOurs | OpenError::Empty) => {
            CommandError::new(Exit::LocalIo, format!("`{place}` is not a formsvc database"))
        }
        BackupError::Open(OpenError::Unfinished) => {
            CommandError::of(Exit::LocalIo, error).hint(UNFINISHED).about(&place.to_string())
        }
        BackupError::Open(OpenError::OlderSchema { .. }) => CommandError::of(Exit::LocalIo, error)
            .hint(format!("{OLDER}; to back it up as it is, use the release that wrote it"))
            .about(&place.to_string()),
        BackupError::Damaged(_) => CommandError::of(Exit::Failed, error)
            .hint("keep the copies you have, and look at the disk"),
        _ => CommandError::of(Exit::LocalIo, error)
            .hint("check that the folder exists, can be written, and has room for a copy"),
    }
}

/// Refuses a copy that was not finished. What else is wrong with the database is told by PostgreSQL's tool.
#[cfg(feature = "postgres")]
async fn refuse_unfinished(address: &secrecy::SecretString) -> Result<(), CommandError> {
    match PostgresStore::inspect(address).await {
        Err(error @ ServerError::Unfinished) => {
            Err(CommandError::of(Exit::LocalIo, &error).hint(UNFINISHED))
        }
        _ => Ok(()),
    }
}

/// PostgreSQL has a tool of its own, which is told where the database is, but no password. The command is
/// to be copied, and so stands there whole.
#[cfg(feature = "postgres")]
fn on_a_server(address: &secrecy::SecretString, schema: Option<&str>, file: &Path) -> CommandError {
    use secrecy::ExposeSecret;
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let address = address::without_passwords(address.expose_secret());
    let (file, address) = (quoted(&file.display().to_string()), quoted(&address));
    // Every database has this one, and a dump that makes it could not be restored into any.
    let schema = schema.filter(|schema| *schema != "public");
    let schema = schema.map(|schema| format!(" --schema={}", quoted(&exactly(schema))));
    let schema = schema.unwrap_or_default();
    let told = "a database of PostgreSQL is backed up by its own tools";
    CommandError::new(Exit::Usage, told)
        .hint(format!("pg_dump --format=custom --file={file}{schema} {address}"))
}

/// A pattern of PostgreSQL's tools that one name matches.
#[cfg(feature = "postgres")]
fn exactly(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    fn told(address: &str, schema: Option<&str>, file: &str) -> String {
        format!("{:?}", on_a_server(&address.to_owned().into(), schema, Path::new(file)))
    }

    #[test]
    fn the_command_for_postgresql_names_no_password() {
        let told = told("postgres://me:hunter2@h/d", None, "it's.db");
        assert!(!told.contains("hunter2"), "{told}");
        assert!(told.contains("pg_dump --format=custom --file='it"), "{told}");
    }

    #[test]
    fn the_command_for_postgresql_is_whole_however_long() {
        let (host, file) = ("h".repeat(200), "f".repeat(200));
        let address = format!("postgres://me@{host}/d?options=-c%20search_path%3Dforms");
        let told = told(&address, Some("forms"), &file);
        assert!(told.contains(&format!("--file='{file}'")), "{told}");
        assert!(told.contains(&format!(" '{address}'\"")), "{told}");
    }

    #[test]
    fn a_schema_that_is_not_the_usual_one_is_named() {
        for (schema, named) in [
            (None, ""),
            (Some("public"), ""),
            (Some("forms"), r#" --schema='"forms"'"#),
            (Some("It's \"1\".*"), r#" --schema='"It'\''s ""1"".*"'"#),
        ] {
            let address = "postgres://h/d".to_owned().into();
            let told = on_a_server(&address, schema, Path::new("f")).hinted();
            let command = format!("pg_dump --format=custom --file='f'{named} 'postgres://h/d'");
            assert_eq!(told, Some(command));
        }
    }
}
