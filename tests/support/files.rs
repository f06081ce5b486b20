//! The files of the workspace.

use std::path::{Path, PathBuf};

/// A text file of the workspace.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// Content of the file.
    pub text: String,
}

/// The workspace root.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the workspace root exists")
}

/// Returns every file whose path ends with `ending`, sorted. Skips build output (`target`) and directories
/// with a leading dot in the name, except `.github`.
pub fn files(ending: &str) -> Vec<SourceFile> {
    let root = root();
    let mut found = Vec::new();
    walk(&root, &mut |path| {
        let below = path.strip_prefix(&root).expect("the path is below the root");
        let below: Vec<_> = below.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        let below = below.join("/");
        if below.ends_with(ending) {
            found.push(SourceFile { text: read(&below), path: below });
        }
    });
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no path ends in `{ending}`");
    found
}

/// Returns the text of one file. The path is relative to the root.
pub fn read(path: &str) -> String {
    let full = root().join(path);
    let text = std::fs::read_to_string(&full);
    text.unwrap_or_else(|error| panic!("{}: {error}", full.display())).replace("\r\n", "\n")
}

fn walk(dir: &Path, visit: &mut dyn FnMut(&Path)) {
    let entries = std::fs::read_dir(dir).expect("directories of the workspace are readable");
    for entry in entries {
        let path = entry.expect("entries of the workspace are readable").path();
        let name = path.file_name().expect("entries have names").to_string_lossy().into_owned();
        if !path.is_dir() {
            visit(&path);
        } else if name == ".github" || !(name.starts_with('.') || name == "target") {
            walk(&path, visit);
        }
    }
}
