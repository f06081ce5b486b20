//! Rules for source files.

use std::collections::BTreeSet;
use std::path::Path;

use formsvc_tests::{Findings, Metadata, files, reachable_modules, read, root};

/// Maximum length of a source file, in lines. Files over 400 lines should be split.
const LINES_MAX: usize = 600;

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let mut findings = Findings::default();
    for file in files(".rs") {
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            findings.at(&file.path, LINES_MAX + 1, format!("{lines} lines"));
        }
    }
    findings.assert_none("a source file has at most 600 lines");
}

#[test]
fn every_source_file_is_compiled() {
    let (metadata, mut findings) = (Metadata::read(), Findings::default());
    let roots = metadata.members().flat_map(|package| &package.targets);
    // Makes paths such as `../a.rs` of targets outside their crate comparable.
    let place = |path: &str| Path::new(path).canonicalize().expect("a target has a file");
    let mut reached: BTreeSet<_> =
        roots.flat_map(|target| reachable_modules(&place(&target.src_path))).collect();
    // Outside the workspace: fuzz targets.
    let manifest = read("fuzz/Cargo.toml");
    let named =
        manifest.lines().filter_map(|line| line.strip_prefix("path = \"")?.strip_suffix('"'));
    for path in named.chain(["src/lib.rs"]) {
        reached.extend(reachable_modules(&root().join("fuzz").join(path)));
    }
    // Outside the workspace: programs that use a published crate.
    reached.extend(reachable_modules(&root().join("tests/consumers/client/src/main.rs")));
    for file in files(".rs") {
        // Outside the workspace: programs that a step of `.ci/run` compiles.
        let is_consumer = file.path.starts_with("tests/consumers/");
        if !is_consumer && !reached.contains(&root().join(&file.path)) {
            findings.of(&file.path, "no `mod` line or target includes the file");
        }
    }
    findings.assert_none("every source file is compiled");
}

#[test]
fn source_files_contain_code() {
    let mut findings = Findings::default();
    for file in files(".rs") {
        let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        if !file.text.lines().any(is_code) {
            findings.of(&file.path, "only blank lines and comments");
        }
    }
    findings.assert_none("a source file contains code");
}

/// Modules that the tests of several packages share: proxies and TLS servers, and PostgreSQL servers.
const SHARED_MODULES: [&str; 4] = [
    r#"#[path = "../../../receiver/tests/it/postgres_cluster.rs"]"#,
    r#"#[path = "../../../client/tests/it/support/net.rs"]"#,
    r#"#[path = "../../crates/client/tests/it/support/net.rs"]"#,
    r#"#[path = "../../crates/receiver/tests/it/postgres_cluster.rs"]"#,
];

#[test]
fn module_files_match_their_names() {
    let mut findings = Findings::default();
    for file in files(".rs") {
        findings.lines(&file.path, &file.text, |line| {
            let line = line.trim_start();
            let hides = line.starts_with("#[path") && !SHARED_MODULES.contains(&line);
            hides.then(|| "`#[path]` hides a module".to_owned())
        });
    }
    findings.assert_none("a module's file is at the path of its name");
}
