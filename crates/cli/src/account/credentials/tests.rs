//! Both stores together, with a keyring in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::error::Absence;
use super::keyring::Calls;
use super::*;

/// A keyring in memory. Tests can make its calls fail.
#[derive(Default)]
struct MemoryKeyring {
    keys: Mutex<BTreeMap<String, String>>,
    fails: Mutex<Option<fn() -> StoreError>>,
    /// True if `set` stores a different key than the given one.
    changes_keys: Mutex<bool>,
    calls: Mutex<usize>,
}

impl MemoryKeyring {
    fn count_call(&self) -> Result<(), StoreError> {
        *self.calls.lock().unwrap() += 1;
        self.fails.lock().unwrap().map_or(Ok(()), |why| Err(why()))
    }

    fn fail(&self, why: fn() -> StoreError) {
        *self.fails.lock().unwrap() = Some(why);
    }

    fn repair(&self) {
        *self.fails.lock().unwrap() = None;
    }
}

impl Calls for MemoryKeyring {
    fn get(&self, account: &Account) -> Result<Option<SecretString>, StoreError> {
        self.count_call()?;
        Ok(self.keys.lock().unwrap().get(&account.entry()).map(|key| key.as_str().into()))
    }

    fn set(&self, account: &Account, key: &SecretString) -> Result<(), StoreError> {
        self.count_call()?;
        let suffix = if *self.changes_keys.lock().unwrap() { "?" } else { "" };
        let key = format!("{}{suffix}", key.expose_secret());
        self.keys.lock().unwrap().insert(account.entry(), key);
        Ok(())
    }

    fn remove(&self, account: &Account) -> Result<bool, StoreError> {
        self.count_call()?;
        Ok(self.keys.lock().unwrap().remove(&account.entry()).is_some())
    }

    fn check(&self) -> Result<(), StoreError> {
        self.count_call()
    }
}

struct Setup {
    folder: tempfile::TempDir,
    keyring: Arc<MemoryKeyring>,
    stores: Stores,
}

fn setup() -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let keyring = Arc::new(MemoryKeyring::default());
    let file = KeyFile::new(Some(&folder.path().join("formsvc")));
    let calls = Arc::clone(&keyring) as Arc<dyn Calls>;
    let stores = Stores { file, keyring: Keyring::of(calls, Duration::from_secs(60)) };
    Setup { folder, keyring, stores }
}

impl Setup {
    /// Writes a key, then removes the other copy.
    fn save(&self, account: &Account, key: &str, store: KeyStore) -> Result<(), StoreError> {
        self.stores.write(account, &key.into(), store)?;
        self.stores.remove_other_copy(account, store)
    }

    /// Returns the keys in the keyring and in the file. A missing key is an empty text.
    fn stored_keys(&self) -> [String; 2] {
        let shown = |key: Option<SecretString>| {
            key.map(|key| key.expose_secret().to_owned()).unwrap_or_default()
        };
        let kept = self.keyring.keys.lock().unwrap().get(&account().entry()).cloned();
        [kept.unwrap_or_default(), shown(self.stores.file.get(&account()).unwrap())]
    }
}

fn account() -> Account {
    Account::new("p", "https://forms.example").unwrap()
}

fn stored_in(store: KeyStore) -> Account {
    account().stored_in(Some(store))
}

fn locked() -> StoreError {
    StoreError::Locked
}

fn broken() -> StoreError {
    StoreError::NotKept(KeyStore::Keyring)
}

#[test]
fn moved_key_has_one_copy() {
    let it = setup();
    it.save(&account(), "1", KeyStore::File).unwrap();
    assert_eq!(it.stored_keys(), ["", "1"]);
    it.save(&stored_in(KeyStore::File), "2", KeyStore::Keyring).unwrap();
    assert_eq!(it.stored_keys(), ["2", ""]);
    it.save(&stored_in(KeyStore::Keyring), "3", KeyStore::File).unwrap();
    assert_eq!(it.stored_keys(), ["", "3"]);
}

#[test]
fn written_key_leaves_the_copy_in_the_other_store() {
    for (from, to) in [(KeyStore::File, KeyStore::Keyring), (KeyStore::Keyring, KeyStore::File)] {
        let it = setup();
        it.save(&account(), "1", from).unwrap();
        it.stores.write(&stored_in(from), &"2".into(), to).unwrap();
        for (store, expected) in [(from, "1"), (to, "2")] {
            let (_, key) = it.stores.find(&stored_in(store)).unwrap().unwrap();
            assert_eq!(key.expose_secret(), expected, "{from:?} to {to:?}, stored in {store:?}");
        }
    }
}

#[test]
fn key_that_is_not_read_back_leaves_the_old_copy() {
    let it = setup();
    it.save(&account(), "1", KeyStore::File).unwrap();
    *it.keyring.changes_keys.lock().unwrap() = true;
    let error = it.save(&account(), "2", KeyStore::Keyring).unwrap_err();
    assert!(matches!(error, StoreError::NotKept(KeyStore::Keyring)), "{error:?}");
    assert_eq!(it.stored_keys()[1], "1");
}

#[test]
fn old_copy_that_is_not_removed_is_an_error() {
    let it = setup();
    it.keyring.fail(locked);
    it.save(&account(), "1", KeyStore::File).unwrap();
    let error = it.save(&stored_in(KeyStore::Keyring), "2", KeyStore::File).unwrap_err();
    assert!(matches!(error, StoreError::Survives { store: KeyStore::Keyring, .. }), "{error:?}");
    assert_eq!(it.stored_keys()[1], "2");
}

#[test]
fn keyring_is_not_opened_for_a_key_in_the_file() {
    let it = setup();
    it.save(&account(), "1", KeyStore::File).unwrap();
    let calls = *it.keyring.calls.lock().unwrap();
    for account in [account(), stored_in(KeyStore::File)] {
        let (store, key) = it.stores.find(&account).unwrap().unwrap();
        assert_eq!((store, key.expose_secret()), (KeyStore::File, "1"));
    }
    assert_eq!(*it.keyring.calls.lock().unwrap(), calls);
    assert!(it.stores.find(&stored_in(KeyStore::Keyring)).unwrap().is_none());
    it.stores.remove(&account()).unwrap();
    it.keyring.fail(locked);
    assert!(matches!(it.stores.find(&account()), Err(StoreError::Locked)));
}

#[test]
fn copy_that_may_be_left_fails_the_removal() {
    for (record, survives) in
        [(Some(KeyStore::Keyring), true), (None, true), (Some(KeyStore::File), false)]
    {
        let it = setup();
        it.keyring.fail(locked);
        let removed = it.stores.remove(&account().stored_in(record));
        assert_eq!(removed.is_err(), survives, "{record:?}: {removed:?}");
    }
    let it = setup();
    it.keyring.fail(broken);
    let error = it.stores.remove(&stored_in(KeyStore::File)).unwrap_err();
    assert!(matches!(error, StoreError::Survives { store: KeyStore::Keyring, .. }), "{error:?}");
}

#[test]
fn removal_continues_after_a_failure() {
    let it = setup();
    it.save(&account(), "1", KeyStore::File).unwrap();
    it.keyring.fail(locked);
    assert!(it.stores.remove(&stored_in(KeyStore::Keyring)).is_err());
    assert_eq!(it.stored_keys()[1], "");
    // A folder at the path of the key file makes the removal fail.
    it.keyring.repair();
    it.save(&account(), "2", KeyStore::Keyring).unwrap();
    let file = it.folder.path().join("formsvc/credentials.toml");
    std::fs::create_dir_all(file).unwrap();
    assert!(it.stores.remove(&account()).is_err());
    assert!(it.keyring.keys.lock().unwrap().is_empty());
}

#[test]
fn invalid_key_is_not_stored() {
    let it = setup();
    let long = "k".repeat(KEY_MAX + 1);
    for bad in ["", "a b", "a\nb", "a\0b", "a\u{7f}", &long] {
        for store in [KeyStore::Keyring, KeyStore::File] {
            let error = it.save(&account(), bad, store).unwrap_err();
            assert!(matches!(error, StoreError::NotAKey(_)), "{error:?}");
        }
    }
    assert_eq!(it.stored_keys(), ["", ""]);
    assert_eq!(*it.keyring.calls.lock().unwrap(), 0);
}

#[test]
fn errors_have_hints_and_show_no_key() {
    let it = setup();
    it.save(&account(), "fsk_SECRET", KeyStore::File).unwrap();
    let shown = format!("{:?}", it.stores.find(&account()));
    assert!(!shown.contains("SECRET"), "{shown}");
    for error in [StoreError::Locked, StoreError::Silent, StoreError::Absent(Absence::NoBus)] {
        let hint = error.hint().unwrap();
        for way in ["`formsvc auth login --store file`", "FORMSVC_API_KEY", "`--api-key-file PATH`"]
        {
            assert!(hint.contains(way), "{hint}");
        }
    }
}
