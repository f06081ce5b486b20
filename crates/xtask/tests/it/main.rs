//! Runs the binary as CI does.

use std::process::{Command, Output};

fn xtask(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).output().expect("the binary runs")
}

#[test]
fn unknown_argument_fails_with_usage() {
    for args in [&[][..], &["generate"], &["gen", "--force"], &["gen", "--check", "more"]] {
        let output = xtask(args);
        assert!(!output.status.success(), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: "), "{args:?}");
    }
}

#[test]
fn check_of_fresh_tree_succeeds() {
    let output = xtask(&["gen", "--check"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stderr, "every generated file is fresh\n");
}
