//! Finds the files that the compiler reads, from a root file through its `mod` lines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns the root file and every file that it reaches by `mod name;` lines. Ignores lines without a file,
/// because the compiler reports them.
pub fn reachable_modules(root_file: &Path) -> BTreeSet<PathBuf> {
    let mut reached = BTreeSet::new();
    let beside = root_file.parent().expect("a file has a directory").to_owned();
    follow(root_file, &beside, &mut reached);
    reached
}

/// `dir` is the directory of the modules that `file` declares.
fn follow(file: &Path, dir: &Path, reached: &mut BTreeSet<PathBuf>) {
    let Ok(text) = std::fs::read_to_string(file) else { return };
    if !reached.insert(file.to_owned()) {
        return;
    }
    for name in text.lines().filter_map(declared_module) {
        let inner = dir.join(name);
        for candidate in [dir.join(format!("{name}.rs")), inner.join("mod.rs")] {
            if candidate.is_file() {
                follow(&candidate, &inner, reached);
            }
        }
    }
}

/// Returns the name in a `mod name;` line with any visibility.
fn declared_module(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1,
        Some(rest) => rest,
        None => line,
    };
    let name = line.trim_start().strip_prefix("mod ")?.split(';').next()?.trim();
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && line.contains(';')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_lines_are_recognized() {
        for (line, name) in [
            ("mod a;", Some("a")),
            ("    pub mod b_2; // why", Some("b_2")),
            ("pub(crate) mod c;", Some("c")),
            ("pub(in crate::x) mod d;", Some("d")),
            ("mod tests {", None),
            ("// mod e;", None),
            ("model;", None),
            ("let mod_f = 1;", None),
        ] {
            assert_eq!(declared_module(line), name, "{line}");
        }
    }
}
