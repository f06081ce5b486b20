//! The table of endpoints against the reference page.

use formsvc_protocol::paths::ENDPOINTS;

#[test]
fn the_api_page_has_a_heading_for_each_endpoint_and_no_other() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/API.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let headings: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("### GET ")).collect();
    assert_eq!(headings, ENDPOINTS.map(|endpoint| endpoint.template));
    assert!(ENDPOINTS.iter().all(|endpoint| endpoint.method == "GET"));
}
