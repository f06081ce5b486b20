//! The key file: modes, links, locks and invalid content.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

/// A temporary file of a killed run.
const LEFTOVER: &str = ".credentials.toml.x";
const KEY: &str = "fsk_SECRETSECRET";

struct Fixture {
    _home: TempDir,
    folder: PathBuf,
    file: KeyFile,
}

fn fixture() -> Fixture {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("config/formsvc");
    let file = KeyFile::new(Some(&folder));
    Fixture { _home: home, folder, file }
}

impl Fixture {
    fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    fn with(text: &str) -> Self {
        let fixture = fixture();
        fixture.file.set(&account("a"), &KEY.into()).unwrap();
        fs::write(fixture.path(), text).unwrap();
        fixture
    }

    /// Checks that all operations fail with the same error, and returns it.
    fn refused(&self) -> StoreError {
        let set = self.file.set(&account("b"), &KEY.into()).unwrap_err().to_string();
        let remove = self.file.remove(&account("a")).unwrap_err().to_string();
        let get = self.file.get(&account("a")).unwrap_err();
        assert_eq!([&*set, &*remove], [&*get.to_string(); 2]);
        assert!(self.file.check().is_err());
        get
    }
}

fn message(error: &StoreError) -> String {
    error.to_string()
}

fn account(profile: &str) -> Account {
    Account::new(profile, "https://forms.example").unwrap()
}

fn key(fixture: &Fixture, account: &Account) -> Option<String> {
    fixture.file.get(account).unwrap().map(|key| key.expose_secret().to_owned())
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn key_file_is_private_and_deleted_with_the_last_key() {
    let fixture = fixture();
    assert_eq!(key(&fixture, &account("a")), None);
    assert!(!fixture.file.remove(&account("a")).unwrap());
    assert!(!fixture.folder.exists(), "a read creates no folder");
    fixture.file.set(&account("a"), &KEY.into()).unwrap();
    assert_eq!([mode(&fixture.folder), mode(&fixture.path())], [0o700, 0o600]);
    assert_eq!(key(&fixture, &account("a")).as_deref(), Some(KEY));
    fixture.file.set(&account("a"), &"other".into()).unwrap();
    assert_eq!(key(&fixture, &account("a")).as_deref(), Some("other"));
    assert!(fixture.file.remove(&account("a")).unwrap());
    assert!(!fixture.file.remove(&account("a")).unwrap());
    let left: Vec<_> = fs::read_dir(&fixture.folder).unwrap().collect();
    assert_eq!(left.len(), 1, "only the lock file remains: {left:?}");
}

#[test]
fn key_is_found_only_for_its_origin_and_profile() {
    let fixture = fixture();
    let others = ["https://forms.example/a", "http://localhost", "https://forms.example:1"];
    fixture.file.set(&account("a"), &KEY.into()).unwrap();
    for origin in others {
        assert_eq!(key(&fixture, &Account::new("a", origin).unwrap()), None, "{origin}");
    }
    assert_eq!(key(&fixture, &account("b")), None);
    fixture.file.set(&account("b"), &"other".into()).unwrap();
    assert!(fixture.file.remove(&account("b")).unwrap());
    assert_eq!(key(&fixture, &account("a")).as_deref(), Some(KEY));
}

#[test]
fn set_and_remove_keep_comments_and_other_keys() {
    let fixture = Fixture::with("# mine\n[\"https://x\"]\nz = \"k\" # why\n");
    fixture.file.set(&account("a"), &KEY.into()).unwrap();
    assert!(fixture.file.remove(&account("a")).unwrap());
    assert_eq!(
        fs::read_to_string(fixture.path()).unwrap(),
        "# mine\n[\"https://x\"]\nz = \"k\" # why\n"
    );
}

#[test]
fn mode_for_other_users_is_refused_with_a_chmod_hint() {
    for loose in [0o601, 0o604, 0o620, 0o640, 0o666, 0o777] {
        let fixture = Fixture::with("");
        chmod(&fixture.path(), loose);
        let hint = fixture.refused().hint().unwrap();
        assert_eq!(hint, format!("`chmod 600 {}`", fixture.path().display()), "{loose:o}");
        chmod(&fixture.path(), 0o600);
        chmod(&fixture.folder, loose | 0o100);
        let hint = fixture.refused().hint().unwrap();
        assert_eq!(hint, format!("`chmod 700 {}`", fixture.folder.display()), "{loose:o}");
    }
}

#[test]
fn symbolic_link_to_file_or_folder_is_refused() {
    let fixture = Fixture::with("");
    let real = fixture.folder.with_file_name("real");
    fs::rename(&fixture.folder, &real).unwrap();
    symlink(&real, &fixture.folder).unwrap();
    assert!(message(&fixture.refused()).contains("symbolic link"));
    for spelled in ["formsvc/", "formsvc/.", "./formsvc//"] {
        let file = KeyFile::new(Some(&fixture.folder.with_file_name(spelled)));
        assert!(file.get(&account("a")).is_err(), "{spelled}");
    }
    fs::remove_file(&fixture.folder).unwrap();
    fs::rename(&real, &fixture.folder).unwrap();
    let elsewhere = fixture.folder.with_file_name("elsewhere.toml");
    fs::rename(fixture.path(), &elsewhere).unwrap();
    symlink(&elsewhere, fixture.path()).unwrap();
    assert!(message(&fixture.refused()).contains("symbolic link"));
}

#[test]
fn symbolic_link_at_lock_or_new_file_is_not_followed() {
    let fixture = Fixture::with("");
    let victim = fixture.folder.with_file_name("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, fixture.folder.join(LEFTOVER)).unwrap();
    fixture.file.set(&account("a"), &KEY.into()).unwrap();
    fs::remove_file(fixture.folder.join(LOCK_NAME)).unwrap();
    symlink(&victim, fixture.folder.join(LOCK_NAME)).unwrap();
    assert!(fixture.file.set(&account("a"), &KEY.into()).is_err());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn pipe_or_folder_at_the_path_is_refused_without_waiting() {
    let fixture = Fixture::with("");
    fs::remove_file(fixture.path()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(fixture.path()).status();
    assert!(made.unwrap().success());
    assert!(message(&fixture.refused()).contains("is not a file"));
    fs::remove_file(fixture.path()).unwrap();
    fs::create_dir(fixture.path()).unwrap();
    assert!(message(&fixture.refused()).contains("is not a file"));
}

#[test]
fn invalid_file_error_shows_no_content() {
    let huge = "#".repeat(usize::try_from(MAX_LEN).unwrap() + 1);
    for (text, wrong) in [
        ("a = \"fsk_SECRETSECRET\"\nfsk_SECRETSECRET\n", "line 2"),
        ("[\"https://forms.example\"]\na = \"two fsk_SECRETSECRET\"", "not an API key"),
        ("[\"https://forms.example\"]\na = \"fsk_SECRETSECRET\\u0000\"", "not an API key"),
        ("[\"https://forms.example\"]\na = \"\"", "not an API key"),
        ("[\"https://forms.example\"]\na = 7", "not an API key"),
        (&huge, "longer than"),
    ] {
        let fixture = Fixture::with(text);
        let error = fixture.file.get(&account("a")).unwrap_err();
        assert!(message(&error).contains(wrong), "{error}");
        assert!(!format!("{error:?}{error}").contains("SECRET"), "{error:?}");
    }
    let fixture = Fixture::with("");
    fs::write(fixture.path(), b"\xff\xfe").unwrap();
    assert!(message(&fixture.refused()).contains("UTF-8"));
    let fixture = Fixture::with("\"https://forms.example\" = \"fsk_SECRETSECRET\"");
    let error = fixture.file.set(&account("a"), &KEY.into()).unwrap_err();
    assert!(message(&error).contains("not a table"), "{error}");
}

#[test]
fn temporary_file_of_a_killed_run_is_removed() {
    let fixture = Fixture::with("");
    fs::write(fixture.folder.join(LEFTOVER), KEY).unwrap();
    fixture.file.remove(&account("a")).unwrap();
    assert!(!fixture.folder.join(LEFTOVER).exists());
    fs::write(fixture.folder.join(LEFTOVER), "left").unwrap();
    chmod(&fixture.folder.join(LEFTOVER), 0o666);
    fixture.file.set(&account("a"), &KEY.into()).unwrap();
    assert_eq!(mode(&fixture.path()), 0o600);
}

#[test]
fn concurrent_writes_lose_no_key() {
    let fixture = fixture();
    let profiles: Vec<String> = (0..16).map(|n| format!("p{n}")).collect();
    std::thread::scope(|scope| {
        for profile in &profiles {
            let file = &fixture.file;
            scope.spawn(move || file.set(&account(profile), &profile.as_str().into()).unwrap());
        }
    });
    for profile in &profiles {
        assert_eq!(key(&fixture, &account(profile)).as_ref(), Some(profile));
    }
}

#[test]
fn failed_write_keeps_the_stored_keys() {
    let fixture = Fixture::with("[\"https://forms.example\"]\na = \"kept\"\n");
    // A folder at the path of a temporary file makes the write fail, because it cannot be removed.
    fs::create_dir(fixture.folder.join(LEFTOVER)).unwrap();
    assert!(fixture.file.set(&account("b"), &KEY.into()).is_err());
    assert_eq!(key(&fixture, &account("a")).as_deref(), Some("kept"));
}

#[test]
fn key_file_without_a_folder_is_empty_and_read_only() {
    let file = KeyFile::new(None);
    assert!(file.get(&account("a")).unwrap().is_none());
    assert!(matches!(file.set(&account("a"), &KEY.into()), Err(StoreError::NoFolder)));
}
