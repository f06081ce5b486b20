//! Every statement of the specification has its check and tests.

use formsvc_tests::root;

#[test]
fn contract_page_names_existing_checks_and_tests() {
    let problems = xtask::contract_problems(&root()).unwrap();
    assert!(problems.is_empty(), "crates/xtask/src/contract_statements.txt: {problems:#?}");
}
