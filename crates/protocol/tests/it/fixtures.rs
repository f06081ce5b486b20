//! Reads the fixtures.

use std::path::{Path, PathBuf};

/// Returns a path below the workspace's `fixtures/`.
pub(crate) fn path(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(below)
}

/// Reads the bytes of a fixture.
pub(crate) fn bytes(below: &str) -> Vec<u8> {
    let path = path(below);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads the text of a fixture.
pub(crate) fn text(below: &str) -> String {
    String::from_utf8(bytes(below)).expect("text fixtures are UTF-8")
}
