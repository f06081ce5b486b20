//! The lowest Rust we promise is one number, said the same everywhere, and our dependencies keep it.

use formsvc_tests::{Findings, Metadata, read};

/// What users compile; tests and tools may ask for more.
const SHIPPED: &[&str] = &[
    "formsvc-protocol",
    "formsvc-client",
    "formsvc-receiver",
    "formsvc-export",
    "formsvc-server",
    "formsvc-cli",
];

/// The root manifest's `rust-version`.
fn promised() -> String {
    let manifest = read("Cargo.toml");
    let value = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    value.expect("the root manifest states rust-version").trim_matches('"').to_owned()
}

/// `1.89`, which is `1.89.0`, or `1.89.1` as numbers that compare.
fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(version.split('.')) {
        *number = part.parse().expect("a Rust version is numbers and points");
    }
    numbers
}

#[test]
fn every_place_names_the_same_lowest_rust() {
    let (promised, mut findings) = (promised(), Findings::default());
    let places = [
        ("README.md", format!("Rust {promised} or newer")),
        ("CONTRIBUTING.md", format!("Rust {promised}")),
        (".github/workflows/ci.yml", format!("MSRV: \"{promised}\"")),
        ("clippy.toml", format!("msrv = \"{promised}\"")),
    ];
    for (path, wanted) in places {
        if !read(path).contains(&wanted) {
            findings.of(path, format!("does not say `{wanted}`"));
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
    findings.assert_none("the lowest Rust is one number");
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
    findings.assert_none(&format!("rust-version = {promised} is a promise"));
}

#[test]
fn versions_compare_as_numbers() {
    assert!(numbers("1.100") > numbers("1.89"));
    assert!(numbers("1.89.1") > numbers("1.89"));
    assert_eq!(numbers("1.89"), numbers("1.89.0"));
}
