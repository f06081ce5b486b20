//! The file that decides where a key goes.

use super::Check;
use crate::context::Context;
use crate::settings::config::File;

/// The user's configuration: whether it can be read, and nobody else can write it.
pub(super) fn configuration(cx: &Context) -> Check {
    const NAME: &str = "configuration";
    let Some(path) = File::path_in(&cx.settings.paths) else {
        return Check::failed(NAME, &File::no_folder());
    };
    let shown = path.display();
    if let Err(error) = File::load(&cx.settings.paths).and_then(|file| file.entries()) {
        return Check::failed(NAME, &error);
    }
    if path.exists() {
        Check::ok(NAME, format!("`{shown}`"))
    } else {
        Check::ok(NAME, format!("none yet; it would be `{shown}`"))
    }
}
