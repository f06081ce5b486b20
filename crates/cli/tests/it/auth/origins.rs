//! A key is never sent to a service for which it was not stored.

use super::{Home, me};
use crate::support::{Canned, Said, answer};

const ONE: &str = "fsk_ONEONEONEONEONEONEONEONEONEONEONEONEONEONEON";
const TWO: &str = "fsk_TWOTWOTWOTWOTWOTWOTWOTWOTWOTWOTWOTWOTWOTWOTW";

/// Two services, and a home folder with a key for each.
fn two_services() -> (Canned, Canned, Home) {
    let (one, two) = (Canned::start(vec![me()]), Canned::start(vec![me()]));
    let home = Home::new();
    home.log_in("one", &one.base_url, ONE, &[]);
    home.log_in("two", &two.base_url, TWO, &[]);
    assert!(one.request().contains(ONE) && two.request().contains(TWO));
    (one, two, home)
}

#[test]
fn each_profile_sends_its_key_to_its_service() {
    let (one, two, home) = two_services();
    for _ in 0..2 {
        home.succeed(&["me", "--profile", "two"]);
        home.succeed(&["me", "--profile", "one"]);
        // The first login made its profile the active one.
        home.succeed(&["me"]);
        let (at_one, again, at_two) = (one.request(), one.request(), two.request());
        for (request, key, other) in [(at_one, ONE, TWO), (again, ONE, TWO), (at_two, TWO, ONE)] {
            assert!(request.contains(key) && !request.contains(other), "{request}");
        }
    }
}

#[test]
fn key_is_not_sent_to_another_base_url() {
    let (one, two, home) = two_services();
    let by_flag = home.run(&["me", "--profile", "one", "--base-url", &two.base_url]);
    let mut by_variable = home.formsvc(&["me", "--profile", "one"]);
    by_variable.env("FORMSVC_BASE_URL", &two.base_url);
    let by_variable = Said::from(by_variable.output().unwrap());
    for said in [by_flag, by_variable] {
        assert_eq!(said.code, Some(4), "{}", said.stderr);
    }
    // A different path, port or host name is a different service.
    let port = one.base_url.rsplit(':').next().unwrap();
    for other in [format!("{}/below", one.base_url), format!("http://localhost:{port}")] {
        let said = home.run(&["me", "--profile", "one", "--base-url", &other]);
        assert_eq!(said.code, Some(4), "{other}: {}", said.stderr);
    }
    // A different spelling of the same base URL is the same service.
    let same = format!("{}/", one.base_url).replace("http", "HTTP");
    home.succeed(&["me", "--profile", "one", "--base-url", &same]);
    assert!(one.request().contains(ONE));
    assert_eq!((one.pending(), two.pending()), (0, 0));
}

#[test]
fn key_is_not_sent_to_an_edited_base_url() {
    let (one, two, home) = two_services();
    let config = home.config().replace(&one.base_url, &two.base_url);
    std::fs::write(home.config_folder().join("config.toml"), config).unwrap();
    let said = home.run(&["me", "--profile", "one"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert_eq!(two.pending(), 0);
}

#[test]
fn project_file_cannot_redirect_a_key() {
    let (one, two, home) = two_services();
    let project = tempfile::tempdir().unwrap();
    for text in [
        format!("base_url = \"{}\"\n", two.base_url),
        format!("profile = \"two\"\nbase_url = \"{}\"\n", two.base_url),
        format!("[profiles.one]\nbase_url = \"{}\"\n", two.base_url),
        "api_key_command = [\"/bin/false\"]\n".to_owned(),
    ] {
        std::fs::write(project.path().join(".formsvc.toml"), text).unwrap();
        let mut me = home.formsvc(&["me"]);
        let said = Said::from(me.current_dir(project.path()).output().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains("warning"), "{}", said.stderr);
        assert!(one.request().contains(ONE));
    }
    assert_eq!(two.pending(), 0);
}

#[test]
fn key_is_not_sent_to_a_redirect_target() {
    let two = Canned::start(vec![me()]);
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let location = format!("location: {}/api/v1/me\r\n", two.base_url);
        let one = Canned::start(vec![me(), answer(status, &location, "")]);
        let home = Home::new();
        home.log_in("default", &one.base_url, ONE, &[]);
        let said = home.run(&["me"]);
        assert_ne!(said.code, Some(0), "{status}");
        assert!(!said.stderr.contains(ONE), "{}", said.stderr);
    }
    assert_eq!(two.pending(), 0);
}
