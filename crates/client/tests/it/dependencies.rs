//! The dependencies of this crate, and the foreign types in its API.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Largest number of crates of a build on Linux with default features, this one included.
const CRATES_MAX: usize = 110;

#[cfg(target_os = "linux")]
#[test]
fn default_build_has_few_crates() {
    let tree = ["tree", "-p", "formsvc-client", "-e", "normal", "--prefix", "none", "--locked"];
    let output = Command::new(env!("CARGO")).args(tree).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let name = |line: &str| line.split(" (").next().unwrap().trim().to_owned();
    let crates: BTreeSet<_> = listed.lines().map(name).filter(|name| !name.is_empty()).collect();
    assert!(crates.iter().any(|name| name.starts_with("formsvc-client ")), "{crates:?}");
    assert!(crates.len() <= CRATES_MAX, "{} crates: {crates:#?}", crates.len());
}

/// Crates that must not be part of the API, so that their versions can change.
const PRIVATE: [&str; 11] = [
    "reqwest",
    "rustls",
    "hyper",
    "tokio",
    "jiff",
    "httpdate",
    "url",
    "secrecy",
    "SecretString",
    "zeroize",
    "tower",
];

/// The public items and implementations of a source file, up to their bodies.
fn signatures(source: &str) -> Vec<String> {
    let code: Vec<_> = source
        .split("#[cfg(test)]")
        .next()
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"))
        .collect();
    let starts = |line: &str| line.starts_with("pub ") || line.starts_with("impl");
    let mut found = Vec::new();
    for (at, line) in code.iter().enumerate().filter(|(_, line)| starts(line)) {
        let mut signature = (*line).to_owned();
        for more in &code[at + 1..] {
            if signature.contains(['{', ';', ',']) && !signature.ends_with([',', '(']) {
                break;
            }
            signature.push(' ');
            signature.push_str(more);
        }
        found.push(signature);
    }
    found
}

fn sources(directory: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn public_signatures_contain_no_private_types() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let all: Vec<_> = files.iter().flat_map(|source| signatures(source)).collect();
    assert!(all.iter().any(|signature| signature.starts_with("pub fn api_key(")), "{all:#?}");
    for signature in &all {
        let mut words = signature.split(|c: char| !c.is_alphanumeric() && c != '_');
        let found = words.find(|word| PRIVATE.contains(word));
        // Hidden, and for the crates of this workspace only.
        if signature.starts_with("pub fn http_client_builder(") {
            continue;
        }
        let is_setter = signature.contains("url: impl Into<String>");
        assert!(found.is_none() || is_setter, "`{}` in `{signature}`", found.unwrap_or_default());
    }
}
