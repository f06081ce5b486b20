//! Compares the table of endpoints with docs/API.md.

use formsvc_protocol::paths::ENDPOINTS;

#[test]
fn api_page_headings_equal_the_endpoints() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/API.md");
    let page = std::fs::read_to_string(page).expect("docs/API.md exists");
    let headings: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("### GET ")).collect();
    assert_eq!(headings, ENDPOINTS.map(|endpoint| endpoint.template));
}
