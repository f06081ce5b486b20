//! The lowest supported Rust version is the same in all files, and all dependencies support it.

use formsvc_tests::{Findings, Metadata, read};

/// The packages that users compile. Tests and tools may need a newer version.
const SHIPPED: &[&str] = &[
    "formsvc-protocol",
    "formsvc-client",
    "formsvc-receiver",
    "formsvc-export",
    "formsvc-server",
    "formsvc-cli",
];

/// Returns `rust-version` of the root manifest.
fn promised() -> String {
    let manifest = read("Cargo.toml");
    let value = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    value.expect("the root manifest states rust-version").trim_matches('"').to_owned()
}

/// Parses `1.89` (the same as `1.89.0`) or `1.89.1` into comparable numbers.
fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(version.split('.')) {
        *number = part.parse().expect("a Rust version consists of numbers and points");
    }
    numbers
}

#[test]
fn msrv_is_the_same_in_all_files() {
    let (promised, mut findings) = (promised(), Findings::default());
    let places = [
        ("README.md", format!("Rust {promised} or newer")),
        ("CONTRIBUTING.md", format!("Rust {promised}")),
        (".github/workflows/ci.yml", format!("MSRV: \"{promised}\"")),
        ("clippy.toml", format!("msrv = \"{promised}\"")),
    ];
    for (path, wanted) in places {
        if !read(path).contains(&wanted) {
            findings.of(path, format!("does not contain `{wanted}`"));
        }
    }
    for path in ["README.md", "CONTRIBUTING.md"] {
        findings.lines(path, &read(path), |line| {
            let other = line.split("Rust 1.").skip(1).any(|rest| {
                !format!("1.{rest}").starts_with(&promised)
                    || rest[promised.len() - 2..].starts_with(|c: char| c.is_ascii_digit())
            });
            other.then(|| format!("names a Rust other than {promised}"))
        });
    }
    findings.assert_none("the lowest Rust version is the same everywhere");
}

#[test]
fn no_shipped_dependency_needs_a_newer_rust() {
    let (metadata, mut findings) = (Metadata::read(), Findings::default());
    let promised = promised();
    let shipped = metadata.shipped_with(SHIPPED);
    assert!(shipped.len() > 50, "only {} dependencies found", shipped.len());
    for package in shipped {
        if let Some(needs) = &package.rust_version
            && numbers(needs) > numbers(&promised)
        {
            findings.of(&package.name, format!("{} needs Rust {needs}", package.version));
        }
    }
    findings.assert_none(&format!("dependencies support rust-version = {promised}"));
}

#[test]
fn versions_compare_as_numbers() {
    assert!(numbers("1.100") > numbers("1.89"));
    assert!(numbers("1.89.1") > numbers("1.89"));
    assert_eq!(numbers("1.89"), numbers("1.89.0"));
}
