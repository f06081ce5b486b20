//! The tests of the SDKs enable every feature, so that no code is untested.

use std::collections::BTreeSet;

use formsvc_tests::{DependencyKind, Metadata, Package};

const SDKS: [&str; 3] = ["formsvc-protocol", "formsvc-client", "formsvc-receiver"];

/// Returns the features that a crate's tests enable: those of its dependency on itself, and all features
/// that these enable.
fn tested(package: &Package) -> BTreeSet<&str> {
    let mut of_tests = package.dependencies.iter().filter(|d| d.kind == Some(DependencyKind::Dev));
    let of_tests = of_tests.find(|dependency| dependency.name == package.name);
    let asked = of_tests.map_or(&[][..], |dependency| &dependency.features);
    let mut queue: Vec<_> = asked.iter().map(String::as_str).chain(["default"]).collect();
    let mut on = BTreeSet::new();
    while let Some(feature) = queue.pop() {
        if let Some(turns_on) = package.features.get(feature)
            && on.insert(feature)
        {
            queue.extend(turns_on.iter().map(String::as_str));
        }
    }
    on
}

#[test]
fn sdk_tests_enable_every_feature() {
    let metadata = Metadata::read();
    for name in SDKS {
        let package = metadata.member(name);
        let all: Vec<_> = package.features.keys().map(String::as_str).collect();
        assert!(!all.is_empty(), "{name} has features");
        let tested = tested(package);
        let missing: Vec<_> = all
            .into_iter()
            .filter(|feature| *feature != "default" && !tested.contains(feature))
            .collect();
        assert!(missing.is_empty(), "the tests of {name} are built without {missing:?}");
    }
}
