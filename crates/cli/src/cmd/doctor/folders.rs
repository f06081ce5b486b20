//! Whether what completion offers can be kept between runs.

use std::path::Path;

use crate::base::paths::Paths;
use crate::checks::Check;

const NAME: &str = "cache folder";

/// The folder of the cache.
pub(super) fn check(paths: &Paths) -> Check {
    match &paths.cache {
        Some(folder) => writable(NAME, folder),
        None => Check::warn(NAME, "none: neither a variable nor a home says where it is")
            .hint("set HOME, or XDG_CACHE_HOME"),
    }
}

/// Tries it, in the folder or where it would be made, with a file that has no name.
fn writable(name: &'static str, folder: &Path) -> Check {
    let shown = folder.display();
    let there = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    match tempfile::tempfile_in(there) {
        Ok(_) if there == folder => Check::ok(name, format!("`{shown}` can be written")),
        Ok(_) => Check::ok(name, format!("`{shown}` is not there yet, and can be made")),
        Err(error) => {
            Check::warn(name, format!("`{}` cannot be written: {error}", there.display()))
                .hint("nothing can be kept there between runs")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Outcome;

    #[test]
    fn a_folder_is_tried_where_it_is_or_would_be() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &Path| writable(NAME, path);
        assert!(at(folder.path()).found.ends_with("can be written"));
        let later = folder.path().join("a/b");
        assert!(at(&later).found.ends_with("can be made"));
        assert!(!later.exists());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(at(&file).outcome, Outcome::Warn);
        assert_eq!(at(&file.join("below")).outcome, Outcome::Warn);
        let none = check(&Paths::default());
        assert_eq!(none.outcome, Outcome::Warn);
        assert!(none.hint.unwrap().contains("XDG_CACHE_HOME"));
    }
}
