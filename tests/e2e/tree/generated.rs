//! Generated files are up to date.

use formsvc_tests::root;

#[test]
fn generated_files_are_fresh() {
    let stale = xtask::stale(&root()).unwrap();
    assert!(stale.is_empty(), "{stale:?} are stale: run `cargo run -p xtask -- gen`");
}
