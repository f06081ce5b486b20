//! Logout removes the key of a profile, and only that one.

use super::{Home, me};
use crate::support::{Canned, SECRET, Said, entries, one_form};

const ELSEWHERE: &str = "http://127.0.0.1:9";

#[test]
fn logout_with_another_base_url_is_refused() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    let before = (home.config(), home.kept());
    let by_flag = home.run(&["auth", "logout", "--base-url", ELSEWHERE]);
    let mut by_variable = home.formsvc(&["auth", "logout"]);
    let by_variable = by_variable.env("FORMSVC_BASE_URL", ELSEWHERE).output().unwrap();
    for said in [by_flag, Said::from(by_variable)] {
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(&service.base_url), "{}", said.stderr);
        assert_eq!((home.config(), home.kept()), before);
    }
    // A different spelling of the same base URL is accepted.
    let same = format!("{}/", service.base_url);
    home.succeed(&["auth", "logout", "--base-url", &same]);
    assert!(!home.kept().contains(SECRET));
}

#[test]
fn missing_key_after_logout_names_the_key_file() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    home.succeed(&["auth", "logout"]);
    let said = home.run(&["me"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains(home.key_file().to_str().unwrap()), "{}", said.stderr);
    assert!(!said.stderr.contains("keyring"), "{}", said.stderr);
}

#[test]
fn logout_keeps_keys_of_other_profiles() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    home.log_in("work", ELSEWHERE, "fsk_of_work", &["--no-verify"]);
    home.succeed(&["auth", "logout", "--profile", "default"]);
    assert!(!home.kept().contains(SECRET) && home.kept().contains("fsk_of_work"));
    assert!(home.config().contains("store = \"file\""), "{}", home.config());
}

#[test]
fn base_url_of_a_stored_key_cannot_be_changed() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    let before = home.config();
    for args in [
        &["config", "set", "base_url", ELSEWHERE][..],
        &["config", "set", "profiles.default.base_url", ELSEWHERE],
        &["config", "unset", "base_url"],
    ] {
        let said = home.run(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        for way in ["auth login --overwrite", "auth logout"] {
            assert!(said.stderr.contains(way), "{way}: {}", said.stderr);
        }
        assert_eq!(home.config(), before);
    }
    home.succeed(&["config", "set", "base_url", &format!("{}/", service.base_url)]);
    home.succeed(&["auth", "logout"]);
    home.succeed(&["config", "set", "base_url", ELSEWHERE]);
    home.succeed(&["config", "unset", "base_url"]);
}

#[test]
fn logout_removes_cached_forms_of_the_profile() {
    let service = Canned::start(vec![me(), me(), one_form()]);
    let home = Home::new();
    for profile in ["work", "rk"] {
        home.log_in(profile, &service.base_url, SECRET, &[]);
    }
    let cache = home.folder.path().join(".cache/formsvc");
    for profile in ["work", "rk"] {
        home.succeed(&["forms", "list", "--profile", profile]);
    }
    assert_eq!(entries(&cache).len(), 2);
    home.succeed(&["auth", "logout", "--profile", "rk"]);
    let left = entries(&cache);
    assert!(left.len() == 1 && left[0].ends_with("work.json"), "{left:?}");
    home.succeed(&["auth", "logout", "--profile", "work"]);
    assert!(entries(&cache).is_empty());
}
