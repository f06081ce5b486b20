//! `formsvc-server user link`.

use formsvc_server::admin::WELCOME_PATH;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{LinkRecord, Store, TokenHash, system_clock};

use super::Site;

#[tokio::main(flavor = "current_thread")]
async fn link_of(site: &Site, token: &str) -> Option<LinkRecord> {
    let store = SqliteStore::open(&site.path("db"), system_clock()).unwrap();
    let found = store.link(&TokenHash::of(token)).await.unwrap();
    store.close().await.unwrap();
    found
}

#[test]
fn a_link_is_printed_once_and_the_one_before_ends() {
    let site = Site::with_user();
    let path = site.run(&["user", "link", "A@B.C"]).succeeded();
    let first = path.line().strip_prefix(WELCOME_PATH).unwrap().to_owned();
    assert!(first.len() == 43 && first.bytes().all(|b| b.is_ascii_alphanumeric()), "{first}");
    assert!(!path.stderr.contains(&first), "{}", path.stderr);
    assert!(path.stderr.contains("--base-url"), "{}", path.stderr);
    assert_eq!(link_of(&site, &first).unwrap().user.unwrap().email, "a@b.c");

    let base = ["user", "link", "a@b.c", "--base-url", "https://forms.example.org/"];
    let url = site.run(&base).succeeded();
    let second = url.line().strip_prefix("https://forms.example.org/dashboard/welcome/").unwrap();
    assert!(link_of(&site, second).is_some());
    assert!(link_of(&site, &first).is_none());
    let kept = std::fs::read(site.path("db")).unwrap();
    assert!(!kept.windows(43).any(|bytes| bytes == second.as_bytes()), "only its hash is kept");
}

#[test]
fn a_link_is_for_a_user_who_is_there() {
    let site = Site::with_user();
    site.run(&["user", "link", "b@b.c"]).failed(3, "no user `b@b.c`");
    let base = ["user", "link", "a@b.c", "--base-url", "forms"];
    site.run(&base).failed(2, "`--base-url` cannot be `forms`: it must be");
    Site::new().run(&["user", "link", "a@b.c"]).failed(3, "there is no database");
}
