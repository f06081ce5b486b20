//! Key files, config files and home folders that are unsafe, broken or not writable.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::process::Command;

use super::{Home, me};
use crate::processes;
use crate::support::{Canned, SECRET, Said, formsvc};

#[test]
fn key_file_readable_by_others_is_refused_with_chmod() {
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
fn config_folder_must_be_private_only_with_a_key() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    fs::create_dir_all(home.config_folder()).unwrap();
    fs::set_permissions(home.config_folder(), PermissionsExt::from_mode(0o755)).unwrap();
    let program = ["--api-key-command", "/bin/echo", SECRET];
    let login = ["auth", "login", "--base-url", &service.base_url];
    home.succeed(&[&login[..], &program[..]].concat());
    home.succeed(&["me"]);
    home.succeed(&["auth", "logout"]);
    let said = home.run_with(SECRET, &["auth", "login", "--api-key-stdin", "--store", "file"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("chmod 700"), "{}", said.stderr);
    assert_eq!(home.kept(), "");
    fs::set_permissions(home.config_folder(), PermissionsExt::from_mode(0o700)).unwrap();
    home.log_in("default", &service.base_url, SECRET, &[]);
}

#[test]
fn symlinked_key_file_is_refused_and_its_target_unchanged() {
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
fn logout_fails_if_a_copy_of_the_key_may_remain() {
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
fn login_in_an_unwritable_home_is_exit_10() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let login = ["auth", "login", "--api-key-stdin", "--store", "file"];
    let (login, _copied) =
        unprivileged(&home, &[&login[..], &["--base-url", &service.base_url]].concat());
    fs::set_permissions(home.folder.path(), PermissionsExt::from_mode(0o500)).unwrap();
    let said = super::piped(login, SECRET);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains(home.folder.path().to_str().unwrap()), "{}", said.stderr);
    assert!(!said.stderr.contains(SECRET));
    fs::set_permissions(home.folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    home.assert_untouched();
}

/// The user id of `nobody`.
const NOBODY: u32 = 65534;

/// Returns the binary, run as a user for whom file modes apply. If the tests run as root, the home
/// folder is given to `nobody`, which runs a copy of the binary in the returned folder.
fn unprivileged(home: &Home, args: &[&str]) -> (Command, tempfile::TempDir) {
    let (mut ours, copied) = (home.formsvc(args), tempfile::tempdir().unwrap());
    if rustix::process::geteuid().is_root() {
        let binary = copied.path().join("formsvc");
        // `cp` copies the binary, because Linux refuses to execute a file that is open for writing,
        // and a child of this process may have inherited the descriptor.
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
fn login_with_a_home_that_is_no_folder_is_exit_10() {
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
fn broken_config_is_reported_before_the_key_prompt() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    fs::create_dir_all(home.config_folder()).unwrap();
    fs::write(home.config_folder().join("config.toml"), "profile = [\n").unwrap();
    let mut login = home.formsvc(&["auth", "login", "--base-url", &service.base_url]);
    let said = Said::from(login.output().unwrap());
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("config.toml"), "{}", said.stderr);
}
