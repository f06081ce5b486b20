//! Homes that are not as they should be.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::process::Command;

use super::{Home, me};
use crate::processes;
use crate::support::{Canned, SECRET, Said, formsvc};

#[test]
fn a_file_of_keys_that_others_can_read_is_refused_with_what_mends_it() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    service.request();
    for (path, mode, good, fix) in [
        (home.key_file(), 0o640, 0o600, "chmod 600"),
        (home.key_file(), 0o604, 0o600, "chmod 600"),
        (home.config_folder(), 0o777, 0o700, "chmod 700"),
    ] {
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        for args in [&["me"][..], &["auth", "token"], &["auth", "status"]] {
            let said = home.run(args);
            assert_eq!(said.code, Some(4), "{args:?} {mode:o}: {}", said.stderr);
            assert!(said.stderr.contains(fix), "{}", said.stderr);
        }
        fs::set_permissions(&path, PermissionsExt::from_mode(good)).unwrap();
    }
    assert_eq!(service.pending(), 0);
    home.succeed(&["me"]);
}

#[test]
fn a_folder_that_others_can_read_matters_once_there_is_a_key_in_it() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    fs::create_dir_all(home.config_folder()).unwrap();
    fs::set_permissions(home.config_folder(), PermissionsExt::from_mode(0o755)).unwrap();
    let program = ["--api-key-command", "/bin/echo", SECRET];
    let login = ["auth", "login", "--base-url", &service.base_url];
    home.succeed(&[&login[..], &program[..]].concat());
    home.succeed(&["me"]);
    home.succeed(&["auth", "doctor"]);
    home.succeed(&["auth", "logout"]);
    let said = home.run_with(SECRET, &["auth", "login", "--api-key-stdin", "--store", "file"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("chmod 700"), "{}", said.stderr);
    assert_eq!(home.kept(), "");
    fs::set_permissions(home.config_folder(), PermissionsExt::from_mode(0o700)).unwrap();
    home.log_in("default", &service.base_url, SECRET, &[]);
}

#[test]
fn a_symbolic_link_in_the_place_of_keys_is_refused_and_what_it_names_untouched() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    let elsewhere = home.folder.path().join("elsewhere");
    fs::rename(home.key_file(), &elsewhere).unwrap();
    symlink(&elsewhere, home.key_file()).unwrap();
    let before = fs::read_to_string(&elsewhere).unwrap();
    assert_eq!(home.run(&["me"]).code, Some(4));
    let login = ["auth", "login", "--api-key-stdin", "--store", "file"];
    let said = home.run_with("fsk_another", &login);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), before);
}

#[test]
fn logout_fails_if_a_copy_may_be_left() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    let broken = "this is not TOML\n";
    fs::write(home.key_file(), broken).unwrap();
    let said = home.run(&["auth", "logout"]);
    assert_ne!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("may still be"), "{}", said.stderr);
    assert_eq!(home.kept(), broken);
}

#[test]
fn a_home_that_cannot_be_written_is_exit_10_and_names_the_place() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let login = ["auth", "login", "--api-key-stdin", "--store", "file"];
    let (login, _copied) =
        bound_by_modes(&home, &[&login[..], &["--base-url", &service.base_url]].concat());
    fs::set_permissions(home.folder.path(), PermissionsExt::from_mode(0o500)).unwrap();
    let said = super::piped(login, SECRET);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains(home.folder.path().to_str().unwrap()), "{}", said.stderr);
    assert!(!said.stderr.contains(SECRET));
    fs::set_permissions(home.folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    home.assert_untouched();
}

/// Nobody in particular.
const NOBODY: u32 = 65534;

/// The binary as somebody whom modes bind: whoever runs the tests, or where that is root, somebody
/// else, to whom the home is given, with the place of a copy that they can run.
fn bound_by_modes(home: &Home, args: &[&str]) -> (Command, tempfile::TempDir) {
    let (mut ours, copied) = (home.formsvc(args), tempfile::tempdir().unwrap());
    if rustix::process::geteuid().is_root() {
        let binary = copied.path().join("formsvc");
        // By a program of its own: a file that this process writes may still be open in another.
        let made = processes::command("cp").arg(ours.get_program()).arg(&binary).status().unwrap();
        assert!(made.success());
        fs::set_permissions(copied.path(), PermissionsExt::from_mode(0o755)).unwrap();
        chown(home.folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let mut theirs = processes::command("setpriv");
        theirs.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}")]);
        theirs.args(["--clear-groups", "--"]).arg(binary).args(args).env_clear();
        theirs.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        theirs.current_dir(home.folder.path());
        ours = theirs;
    }
    (ours, copied)
}

#[test]
fn a_home_that_is_no_folder_is_exit_10_and_names_the_place() {
    let service = Canned::start(vec![me()]);
    for home in ["/dev/null", "/proc"] {
        let login = ["auth", "login", "--api-key-stdin", "--store", "file"];
        let mut command = formsvc(&[&login[..], &["--base-url", &service.base_url]].concat());
        command.env("HOME", home);
        let said = super::piped(command, SECRET);
        assert_eq!(said.code, Some(10), "{home}: {}", said.stderr);
        assert!(said.stderr.contains(home), "{}", said.stderr);
        assert!(!said.stderr.contains(SECRET));
    }
}

#[test]
fn a_broken_configuration_is_told_before_a_key_is_asked_for() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    fs::create_dir_all(home.config_folder()).unwrap();
    fs::write(home.config_folder().join("config.toml"), "profile = [\n").unwrap();
    let mut login = home.formsvc(&["auth", "login", "--base-url", &service.base_url]);
    let said = Said::from(login.output().unwrap());
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("config.toml"), "{}", said.stderr);
}
