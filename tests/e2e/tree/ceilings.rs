//! Limits the number of crates that each SDK adds to a program.

use std::collections::BTreeSet;
use std::process::Command;

use formsvc_tests::root;

/// A package with its features, and its maximum number of crates on Linux, itself included.
const CEILINGS: &[(&str, &[&str], usize)] = &[
    ("formsvc-receiver", &["--no-default-features"], 35),
    ("formsvc-receiver", &["--features=axum"], 45),
    ("formsvc-client", &[], 105),
];

/// Returns the crates that are compiled into a program with the package, without build scripts and tests.
fn crates(package: &str, features: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "-p", package, "--edges=normal", "--prefix=none"])
        .args(["--target=x86_64-unknown-linux-gnu", "--format={p}"])
        .args(features)
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).expect("names of crates are UTF-8");
    // Name and version come first; the rest is the source, or a mark for a crate that was listed before.
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    listed.lines().filter(|line| !line.is_empty()).map(name).collect()
}

#[test]
fn sdk_crate_count_is_within_limit() {
    for (package, features, most) in CEILINGS {
        let found = crates(package, features);
        assert!(found.iter().any(|name| name.starts_with(&format!("{package} "))), "{found:?}");
        let count = found.len();
        assert!(count <= *most, "{package} needs {count} crates, the limit is {most}: {found:#?}");
    }
}
