//! The editor of whoever is there, for a text.

use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

use crate::base::{child, env};
use crate::error::CliError;
use crate::exit::Exit;

/// What is started where neither variable says otherwise.
const USUAL: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Lets somebody change a text in `$VISUAL`, `$EDITOR` or vi, in a file that only they can read and that
/// is gone afterwards. `ending` is that of its name, by which editors know the language. Blocks.
pub(crate) fn edited(text: &[u8], ending: &str) -> Result<Vec<u8>, CliError> {
    let variable = |name: &str| {
        env::of_process(name)
            .and_then(|value| value.into_string().ok())
            .filter(|value| !value.trim().is_empty())
    };
    let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
    let editor = editor.unwrap_or_else(|| USUAL.to_owned());
    let failed = |error: &io::Error| {
        CliError::new(Exit::LocalIo, "cannot write what is to be edited to a file").because(error)
    };
    let mut file = tempfile::Builder::new()
        .prefix("formsvc-")
        .suffix(ending)
        .tempfile()
        .map_err(|error| failed(&error))?;
    file.write_all(text).and_then(|()| file.flush()).map_err(|error| failed(&error))?;
    run(&editor, file.path())?;
    // Read anew by its name: editors put another file in the place of the one they opened.
    let edited = std::fs::read(file.path()).map_err(|error| {
        CliError::new(Exit::LocalIo, "cannot read what was edited").because(&error)
    })?;
    Ok(edited)
}

fn run(editor: &str, path: &Path) -> Result<(), CliError> {
    let words = shell_words::split(editor).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        return Err(CliError::usage(format!("`{editor}` is no editor"))
            .hint("set VISUAL or EDITOR to the command that starts one"));
    };
    let ended = child::command(program)
        .args(arguments)
        .arg(path)
        // The output of the editor is not data of this command.
        .stdout(io::stderr())
        .stdin(Stdio::inherit())
        .status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CliError::new(Exit::LocalIo, format!("`{program}` ended with {status}"))
            .cause("nothing was sent")),
        Err(error) => Err(CliError::new(Exit::LocalIo, format!("cannot start `{program}`"))
            .because(&error)
            .hint("set VISUAL or EDITOR to the command that starts an editor")),
    }
}
