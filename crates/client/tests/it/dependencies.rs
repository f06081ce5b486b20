//! What a program takes on with this crate.

use std::collections::BTreeSet;
use std::process::Command;

/// Crates of a build on Linux with TLS by rustls and spans, this one included.
const CRATES_MAX: usize = 110;

#[cfg(target_os = "linux")]
#[test]
fn the_crates_of_a_build_are_counted() {
    let tree = ["tree", "-p", "formsvc-client", "-e", "normal", "--prefix", "none", "--locked"];
    let output = Command::new(env!("CARGO")).args(tree).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let name = |line: &str| line.split(" (").next().unwrap().trim().to_owned();
    let crates: BTreeSet<_> = listed.lines().map(name).filter(|name| !name.is_empty()).collect();
    assert!(crates.iter().any(|name| name.starts_with("formsvc-client ")), "{crates:?}");
    assert!(crates.len() <= CRATES_MAX, "{} crates: {crates:#?}", crates.len());
}
