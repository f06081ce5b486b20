use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

/// A temporary file of a killed run.
const LEFTOVER: &str = ".credentials.toml.x";
const KEY: &str = "fsk_SECRETSECRET";

struct Place {
    _home: TempDir,
    folder: PathBuf,
    file: KeyFile,
}

fn place() -> Place {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("config/formsvc");
    let file = KeyFile::new(Some(&folder));
    Place { _home: home, folder, file }
}

impl Place {
    fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    fn with(text: &str) -> Self {
        let place = place();
        place.file.set(&account("a"), &KEY.into()).unwrap();
        fs::write(place.path(), text).unwrap();
        place
    }

    /// Everything asked of it fails with the same error, which is given.
    fn refused(&self) -> StoreError {
        let set = self.file.set(&account("b"), &KEY.into()).unwrap_err().to_string();
        let remove = self.file.remove(&account("a")).unwrap_err().to_string();
        let get = self.file.get(&account("a")).unwrap_err();
        assert_eq!([&*set, &*remove], [&*get.to_string(); 2]);
        assert!(self.file.check().is_err());
        get
    }
}

fn account(profile: &str) -> Account {
    Account::new(profile, "https://forms.example").unwrap()
}

fn key(place: &Place, account: &Account) -> Option<String> {
    place.file.get(account).unwrap().map(|key| key.expose_secret().to_owned())
}

fn told(error: &StoreError) -> String {
    error.to_string()
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_key_is_kept_for_its_owner_alone_and_gone_when_removed() {
    let place = place();
    assert_eq!(key(&place, &account("a")), None);
    assert!(!place.file.remove(&account("a")).unwrap());
    assert!(!place.folder.exists(), "looking makes nothing");
    place.file.set(&account("a"), &KEY.into()).unwrap();
    assert_eq!([mode(&place.folder), mode(&place.path())], [0o700, 0o600]);
    assert_eq!(key(&place, &account("a")).as_deref(), Some(KEY));
    place.file.set(&account("a"), &"other".into()).unwrap();
    assert_eq!(key(&place, &account("a")).as_deref(), Some("other"));
    assert!(place.file.remove(&account("a")).unwrap());
    assert!(!place.file.remove(&account("a")).unwrap());
    let left: Vec<_> = fs::read_dir(&place.folder).unwrap().collect();
    assert_eq!(left.len(), 1, "the lock alone stays: {left:?}");
}

#[test]
fn a_key_of_one_origin_or_profile_is_not_that_of_another() {
    let place = place();
    let others = ["https://forms.example/a", "http://localhost", "https://forms.example:1"];
    place.file.set(&account("a"), &KEY.into()).unwrap();
    for origin in others {
        assert_eq!(key(&place, &Account::new("a", origin).unwrap()), None, "{origin}");
    }
    assert_eq!(key(&place, &account("b")), None);
    place.file.set(&account("b"), &"other".into()).unwrap();
    assert!(place.file.remove(&account("b")).unwrap());
    assert_eq!(key(&place, &account("a")).as_deref(), Some(KEY));
}

#[test]
fn what_people_wrote_into_the_file_stays() {
    let place = Place::with("# mine\n[\"https://x\"]\nz = \"k\" # why\n");
    place.file.set(&account("a"), &KEY.into()).unwrap();
    assert!(place.file.remove(&account("a")).unwrap());
    assert_eq!(
        fs::read_to_string(place.path()).unwrap(),
        "# mine\n[\"https://x\"]\nz = \"k\" # why\n"
    );
}

#[test]
fn modes_that_let_others_in_are_refused_with_the_command_that_mends_them() {
    for loose in [0o601, 0o604, 0o620, 0o640, 0o666, 0o777] {
        let place = Place::with("");
        chmod(&place.path(), loose);
        let hint = place.refused().hint().unwrap();
        assert_eq!(hint, format!("`chmod 600 {}`", place.path().display()), "{loose:o}");
        chmod(&place.path(), 0o600);
        chmod(&place.folder, loose | 0o100);
        let hint = place.refused().hint().unwrap();
        assert_eq!(hint, format!("`chmod 700 {}`", place.folder.display()), "{loose:o}");
    }
}

#[test]
fn symbolic_links_are_refused_wherever_they_point() {
    let place = Place::with("");
    let real = place.folder.with_file_name("real");
    fs::rename(&place.folder, &real).unwrap();
    symlink(&real, &place.folder).unwrap();
    assert!(told(&place.refused()).contains("symbolic link"));
    for spelled in ["formsvc/", "formsvc/.", "./formsvc//"] {
        let file = KeyFile::new(Some(&place.folder.with_file_name(spelled)));
        assert!(file.get(&account("a")).is_err(), "{spelled}");
    }
    fs::remove_file(&place.folder).unwrap();
    fs::rename(&real, &place.folder).unwrap();
    let elsewhere = place.folder.with_file_name("elsewhere.toml");
    fs::rename(place.path(), &elsewhere).unwrap();
    symlink(&elsewhere, place.path()).unwrap();
    assert!(told(&place.refused()).contains("symbolic link"));
}

#[test]
fn a_symbolic_link_in_place_of_the_lock_or_of_the_new_file_is_not_followed() {
    let place = Place::with("");
    let victim = place.folder.with_file_name("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, place.folder.join(LEFTOVER)).unwrap();
    place.file.set(&account("a"), &KEY.into()).unwrap();
    fs::remove_file(place.folder.join(LOCK_NAME)).unwrap();
    symlink(&victim, place.folder.join(LOCK_NAME)).unwrap();
    assert!(place.file.set(&account("a"), &KEY.into()).is_err());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn a_pipe_or_a_folder_in_place_of_the_file_is_refused_at_once() {
    let place = Place::with("");
    fs::remove_file(place.path()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(place.path()).status();
    assert!(made.unwrap().success());
    assert!(told(&place.refused()).contains("is not a file"));
    fs::remove_file(place.path()).unwrap();
    fs::create_dir(place.path()).unwrap();
    assert!(told(&place.refused()).contains("is not a file"));
}

#[test]
fn what_is_no_file_of_keys_is_told_without_a_word_of_it() {
    let huge = "#".repeat(usize::try_from(MAX_LEN).unwrap() + 1);
    for (text, wrong) in [
        ("a = \"fsk_SECRETSECRET\"\nfsk_SECRETSECRET\n", "line 2"),
        ("[\"https://forms.example\"]\na = \"two fsk_SECRETSECRET\"", "not an API key"),
        ("[\"https://forms.example\"]\na = \"fsk_SECRETSECRET\\u0000\"", "not an API key"),
        ("[\"https://forms.example\"]\na = \"\"", "not an API key"),
        ("[\"https://forms.example\"]\na = 7", "not an API key"),
        (&huge, "longer than"),
    ] {
        let place = Place::with(text);
        let error = place.file.get(&account("a")).unwrap_err();
        assert!(told(&error).contains(wrong), "{error}");
        assert!(!format!("{error:?}{error}").contains("SECRET"), "{error:?}");
    }
    let place = Place::with("");
    fs::write(place.path(), b"\xff\xfe").unwrap();
    assert!(told(&place.refused()).contains("UTF-8"));
    let place = Place::with("\"https://forms.example\" = \"fsk_SECRETSECRET\"");
    let error = place.file.set(&account("a"), &KEY.into()).unwrap_err();
    assert!(told(&error).contains("not a table"), "{error}");
}

#[test]
fn what_a_run_that_died_left_behind_is_removed() {
    let place = Place::with("");
    fs::write(place.folder.join(LEFTOVER), KEY).unwrap();
    place.file.remove(&account("a")).unwrap();
    assert!(!place.folder.join(LEFTOVER).exists());
    fs::write(place.folder.join(LEFTOVER), "left").unwrap();
    chmod(&place.folder.join(LEFTOVER), 0o666);
    place.file.set(&account("a"), &KEY.into()).unwrap();
    assert_eq!(mode(&place.path()), 0o600);
}

#[test]
fn many_who_log_in_at_once_lose_nothing() {
    let place = place();
    let profiles: Vec<String> = (0..16).map(|n| format!("p{n}")).collect();
    std::thread::scope(|scope| {
        for profile in &profiles {
            let file = &place.file;
            scope.spawn(move || file.set(&account(profile), &profile.as_str().into()).unwrap());
        }
    });
    for profile in &profiles {
        assert_eq!(key(&place, &account(profile)).as_ref(), Some(profile));
    }
}

#[test]
fn a_write_that_fails_leaves_the_keys_that_are_there() {
    let place = Place::with("[\"https://forms.example\"]\na = \"kept\"\n");
    // In the way of the new file, and no file that could be removed.
    fs::create_dir(place.folder.join(LEFTOVER)).unwrap();
    assert!(place.file.set(&account("b"), &KEY.into()).is_err());
    assert_eq!(key(&place, &account("a")).as_deref(), Some("kept"));
}

#[test]
fn without_a_folder_there_is_no_file() {
    let file = KeyFile::new(None);
    assert!(file.get(&account("a")).unwrap().is_none());
    assert!(matches!(file.set(&account("a"), &KEY.into()), Err(StoreError::NoFolder)));
}
