//! How many crates a program takes on with each of the SDKs.

use std::collections::BTreeSet;
use std::process::Command;

use formsvc_tests::root;

/// What is asked for, and the most crates that may bring, itself included, on Linux.
const CEILINGS: &[(&str, &[&str], usize)] = &[
    ("formsvc-receiver", &["--no-default-features"], 35),
    ("formsvc-receiver", &["--features=axum"], 45),
    ("formsvc-client", &[], 105),
];

/// Everything that is compiled into a program for its use of a crate: no build scripts, no tests.
fn crates(package: &str, features: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "-p", package, "--edges=normal", "--prefix=none"])
        .args(["--target=x86_64-unknown-linux-gnu", "--format={p}"])
        .args(features)
        .current_dir(root())
        .output()
        .expect("cargo runs, for it runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).expect("names of crates are text");
    // Name and version; what follows says where it comes from, or that it was listed before.
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    listed.lines().filter(|line| !line.is_empty()).map(name).collect()
}

#[test]
fn the_sdks_bring_no_more_crates_than_they_may() {
    for (package, features, most) in CEILINGS {
        let found = crates(package, features);
        assert!(found.iter().any(|name| name.starts_with(&format!("{package} "))), "{found:?}");
        let count = found.len();
        assert!(count <= *most, "{package} brings {count} crates, more than {most}: {found:#?}");
    }
}
