//! Dependencies between the crates of the workspace follow docs/ARCHITECTURE.md.

use formsvc_tests::{Findings, Metadata};

/// The crates that each crate may depend on, development dependencies included. A new crate needs a row
/// here and a place in the picture in docs/ARCHITECTURE.md.
const MAY_SEE: &[(&str, &[&str])] = &[
    ("formsvc-protocol", &[]),
    ("formsvc-client", &["formsvc-protocol"]),
    ("formsvc-receiver", &["formsvc-protocol"]),
    ("formsvc-table", &["formsvc-protocol"]),
    ("formsvc-export", &["formsvc-client", "formsvc-protocol", "formsvc-table"]),
    ("formsvc-server", &["formsvc-protocol"]),
    ("formsvc-contract", &["formsvc-client", "formsvc-protocol", "formsvc-receiver"]),
    (
        "formsvc-workbench",
        &["formsvc-client", "formsvc-contract", "formsvc-protocol", "formsvc-receiver"],
    ),
    (
        "formsvc-cli",
        &[
            "formsvc-client",
            "formsvc-contract",
            "formsvc-export",
            "formsvc-protocol",
            "formsvc-receiver",
            "formsvc-server",
            "formsvc-table",
            "formsvc-workbench",
        ],
    ),
    ("formsvc-bench", &["formsvc-client", "formsvc-receiver"]),
    (
        "formsvc-examples",
        &[
            "formsvc-client",
            "formsvc-export",
            "formsvc-receiver",
            "formsvc-server",
            "formsvc-tests",
        ],
    ),
    ("formsvc-tests", ALL),
    ("xtask", ALL),
];

const ALL: &[&str] = &[
    "formsvc-bench",
    "formsvc-cli",
    "formsvc-client",
    "formsvc-contract",
    "formsvc-export",
    "formsvc-protocol",
    "formsvc-receiver",
    "formsvc-server",
    "formsvc-table",
    "formsvc-workbench",
    "xtask",
];

#[test]
fn crates_depend_only_on_allowed_crates() {
    let (metadata, mut findings) = (Metadata::read(), Findings::default());
    let ours: Vec<&str> = metadata.members().map(|package| package.name.as_str()).collect();
    for package in metadata.members() {
        let row = MAY_SEE.iter().find(|(name, _)| *name == package.name);
        let Some((_, may_see)) = row else {
            findings.of(&package.name, "has no row in the table of this test");
            continue;
        };
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            // A crate may depend on itself, because its tests enable additional features.
            let is_other = ours.contains(&name) && name != package.name;
            if is_other && !may_see.contains(&name) {
                findings.of(&package.name, format!("may not depend on `{name}`"));
            }
        }
    }
    findings.assert_none("dependencies between crates follow docs/ARCHITECTURE.md");
}

#[test]
fn dependency_table_lists_only_crates() {
    let metadata = Metadata::read();
    for (name, _) in MAY_SEE {
        metadata.member(name);
    }
}

#[test]
fn cli_depends_on_server_only_with_sandbox_feature() {
    let metadata = Metadata::read();
    let cli = metadata.member("formsvc-cli");
    let normal = |name: &str| cli.dependencies.iter().find(|d| d.name == name && d.kind.is_none());
    let server = normal("formsvc-server").expect("formsvc-cli depends on formsvc-server");
    assert!(server.optional, "formsvc-server is not optional in formsvc-cli");
    let asking: Vec<_> = cli
        .features
        .iter()
        .filter(|(_, turns_on)| turns_on.iter().any(|item| item.contains("formsvc-server")))
        .map(|(feature, _)| feature.as_str())
        .collect();
    assert_eq!(asking, ["sandbox"]);
}
