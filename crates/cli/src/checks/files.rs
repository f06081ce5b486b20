//! Files that decide where a key goes, and who else can change them.

use std::path::Path;

use super::Check;
use crate::config::File;
use crate::context::Context;
use crate::shell;

/// The user's configuration: whether it can be read, and who can write it.
pub(super) fn configuration(cx: &Context) -> Check {
    const NAME: &str = "configuration";
    let Some(path) = File::path_in(&cx.settings.paths) else {
        return Check::failed(NAME, &File::no_folder());
    };
    let shown = path.display();
    if let Err(error) = File::load(&cx.settings.paths).and_then(|file| file.entries()) {
        return Check::failed(NAME, &error);
    }
    match writers(&path) {
        None => Check::ok(NAME, format!("none yet; it would be `{shown}`")),
        Some(Writers::Owner) => Check::ok(NAME, format!("`{shown}`")),
        Some(Writers::Others) => Check::fail(
            NAME,
            format!("others can write `{shown}`, and with it decide which program prints the key"),
        )
        .hint(format!("chmod go-w {}", shell::quoted(&shown.to_string()))),
    }
}

/// Who can write a file.
enum Writers {
    Owner,
    Others,
}

/// Who can write a file that is there.
#[cfg(unix)]
fn writers(path: &Path) -> Option<Writers> {
    use std::os::unix::fs::PermissionsExt;
    let mode = path.metadata().ok()?.permissions().mode();
    Some(if mode & 0o022 == 0 { Writers::Owner } else { Writers::Others })
}

/// Who can write a file that is there. Here folders decide, and a home is its owner's.
#[cfg(not(unix))]
fn writers(path: &Path) -> Option<Writers> {
    path.exists().then_some(Writers::Owner)
}
