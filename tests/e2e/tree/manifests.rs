//! The root manifest alone sets versions and lints.

use formsvc_tests::{Findings, SourceFile, files};

/// Returns all manifests but the root, the fuzz targets and the consumers, which are not in the workspace.
fn members() -> Vec<SourceFile> {
    let others = ["Cargo.toml", "fuzz/Cargo.toml"];
    let is_member = |file: &SourceFile| {
        !others.contains(&&*file.path) && !file.path.starts_with("tests/consumers/")
    };
    files("Cargo.toml").into_iter().filter(is_member).collect()
}

/// Returns line number, section and text of every entry of a manifest.
fn entries(text: &str) -> Vec<(usize, &str, &str)> {
    let (mut section, mut entries) = ("", Vec::new());
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']', ' ']);
        } else if line.contains('=') && !line.trim_start().starts_with(['#', '"']) {
            entries.push((at + 1, section, line.trim()));
        }
    }
    entries
}

#[test]
fn members_take_every_dependency_from_the_workspace() {
    let mut findings = Findings::default();
    for file in members() {
        for (line, section, entry) in entries(&file.text) {
            // A crate may depend on itself to enable features for its tests, but only by its path, which
            // publishing omits: a version would have to be published before itself.
            let is_itself = section == "dev-dependencies" && entry.contains("{ path = \".\"");
            let is_shared = entry.contains("workspace = true");
            if section.ends_with("dependencies") && !is_shared && !is_itself {
                findings.at(&file.path, line, format!("`{entry}` is not from the workspace"));
            }
            if section.contains("dependencies.") {
                findings.at(&file.path, line, "write a dependency on one line");
            }
        }
    }
    findings.assert_none("versions are in the root manifest only");
}

#[test]
fn members_share_version_edition_rust_and_licence() {
    // The published crates.
    let published = ["protocol", "client", "receiver"].map(|name| format!("crates/{name}/"));
    let mut findings = Findings::default();
    for file in members() {
        for field in ["version", "edition", "rust-version", "license", "publish"] {
            let is_published = published.iter().any(|crate_| file.path.starts_with(&**crate_));
            let wanted = match field {
                "publish" if is_published => "publish = true".to_owned(),
                _ => format!("{field}.workspace = true"),
            };
            if !entries(&file.text).contains_entry("package", &wanted) {
                findings.of(&file.path, format!("`[package]` lacks `{wanted}`"));
            }
        }
    }
    findings.assert_none("all crates inherit the shared fields");
}

#[test]
fn members_use_the_lints_of_the_workspace() {
    let mut findings = Findings::default();
    // The examples print to standard output, so they need other lints.
    for file in members().into_iter().filter(|file| file.path != "examples/Cargo.toml") {
        if !entries(&file.text).contains_entry("lints", "workspace = true") {
            findings.of(&file.path, "`[lints]` lacks `workspace = true`");
        }
    }
    findings.assert_none("all crates inherit the lints");
}

trait ContainsEntry {
    fn contains_entry(&self, section: &str, entry: &str) -> bool;
}

impl ContainsEntry for Vec<(usize, &str, &str)> {
    fn contains_entry(&self, section: &str, entry: &str) -> bool {
        self.iter().any(|(_, s, e)| *s == section && *e == entry)
    }
}
