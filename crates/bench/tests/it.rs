//! Comparisons that need no other program, at the smallest size.
#![cfg(target_os = "linux")]

use std::process::Command;

#[test]
fn receiver_without_peers_prints_rate_and_notes() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_formsvc-bench"));
    command.args(["receiver", "--rounds", "1", "--seconds", "1"]);
    let output = command.args(["--node", "/nowhere", "--python", "/nowhere"]).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    let rate = table.lines().find(|line| line.contains("deliveries/s")).unwrap();
    assert!(rate.trim_start().starts_with("formsvc-receiver, SQLite inbox"), "{table}");
    let per_second: f64 = rate.split_ascii_whitespace().next_back().unwrap().parse().unwrap();
    assert!(per_second > 0.0, "{table}");
    assert_eq!(table.matches("not measured").count(), 2, "{table}");
}

#[test]
fn missing_formsvc_is_an_error_that_names_its_build() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_formsvc-bench"));
    let output = command.args(["client", "--formsvc", "/nowhere/formsvc"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(stderr.contains("`/nowhere/formsvc`") && stderr.contains("cargo build"), "{stderr}");
}
