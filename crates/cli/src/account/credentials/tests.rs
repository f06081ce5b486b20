//! The rules that two stores keep together, with a keyring of the test's own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::keyring::Calls;
use super::*;

/// A keyring in memory, which can be made to fail.
#[derive(Default)]
struct Fake {
    keys: Mutex<BTreeMap<String, String>>,
    fails: Mutex<Option<fn() -> StoreError>>,
    /// Keeps something else than it was given.
    garbles: Mutex<bool>,
    asked: Mutex<usize>,
}

impl Fake {
    fn answer(&self) -> Result<(), StoreError> {
        *self.asked.lock().unwrap() += 1;
        self.fails.lock().unwrap().map_or(Ok(()), |why| Err(why()))
    }

    fn fail(&self, why: fn() -> StoreError) {
        *self.fails.lock().unwrap() = Some(why);
    }

    fn mend(&self) {
        *self.fails.lock().unwrap() = None;
    }
}

impl Calls for Fake {
    fn get(&self, account: &Account) -> Result<Option<SecretString>, StoreError> {
        self.answer()?;
        Ok(self.keys.lock().unwrap().get(&account.entry()).map(|key| key.as_str().into()))
    }

    fn set(&self, account: &Account, key: &SecretString) -> Result<(), StoreError> {
        self.answer()?;
        let garbled = if *self.garbles.lock().unwrap() { "?" } else { "" };
        let key = format!("{}{garbled}", key.expose_secret());
        self.keys.lock().unwrap().insert(account.entry(), key);
        Ok(())
    }

    fn remove(&self, account: &Account) -> Result<bool, StoreError> {
        self.answer()?;
        Ok(self.keys.lock().unwrap().remove(&account.entry()).is_some())
    }

    fn accounts(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.answer()?;
        Ok(self.keys.lock().unwrap().keys().filter_map(|key| Account::of_entry(key)).collect())
    }

    fn check(&self) -> Result<(), StoreError> {
        self.answer()
    }
}

struct Setup {
    folder: tempfile::TempDir,
    keyring: Arc<Fake>,
    stores: Stores,
}

fn setup(choice: Choice) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let keyring = Arc::new(Fake::default());
    let file = KeyFile::new(Some(&folder.path().join("formsvc")));
    let calls = Arc::clone(&keyring) as Arc<dyn Calls>;
    let stores = Stores { choice, file, keyring: Keyring::of(calls, Duration::from_secs(60)) };
    Setup { folder, keyring, stores }
}

impl Setup {
    /// Puts a key into a store, and makes it the only one or takes it back.
    fn save(
        &self,
        account: &Account,
        key: &SecretString,
        store: Store,
    ) -> Result<Option<StoreError>, StoreError> {
        let put = self.stores.put(account, key, store)?;
        self.stores.settle(&put).inspect_err(|_| self.stores.take_back(&put).unwrap())
    }

    /// The keys in the keyring and in the file; nothing for none.
    fn both(&self) -> [String; 2] {
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

fn kept(store: Store) -> Account {
    account().kept_in(Some(store))
}

fn locked() -> StoreError {
    StoreError::Locked
}

fn broken() -> StoreError {
    StoreError::NotKept(Store::Keyring)
}

#[test]
fn a_key_has_one_copy_whichever_store_it_moves_to() {
    let it = setup(Choice::Auto);
    let _ = it.save(&account(), &"1".into(), Store::File).unwrap();
    assert_eq!(it.both(), ["", "1"]);
    let _ = it.save(&kept(Store::File), &"2".into(), Store::Keyring).unwrap();
    assert_eq!(it.both(), ["2", ""]);
    let _ = it.save(&kept(Store::Keyring), &"3".into(), Store::File).unwrap();
    assert_eq!(it.both(), ["", "3"]);
}

#[test]
fn until_it_is_settled_a_key_that_moves_has_the_one_before_beside_it() {
    for (from, to) in [(Store::File, Store::Keyring), (Store::Keyring, Store::File)] {
        let it = setup(Choice::Auto);
        it.save(&account(), &"1".into(), from).unwrap();
        let put = it.stores.put(&kept(from), &"2".into(), to).unwrap();
        // By the record of before it is the old key, and by that of after the new one.
        for (record, key) in [(from, "1"), (to, "2")] {
            let found = it.stores.find(&kept(record)).unwrap().unwrap();
            assert_eq!(found.key.expose_secret(), key, "{from} to {to}, recorded {record}");
        }
        it.stores.take_back(&put).unwrap();
        let found = it.stores.find(&kept(from)).unwrap().unwrap();
        assert_eq!((found.store, found.key.expose_secret()), (from, "1"));
    }
}

#[test]
fn a_key_that_cannot_be_kept_leaves_the_one_before() {
    let it = setup(Choice::Auto);
    let _ = it.save(&account(), &"1".into(), Store::File).unwrap();
    *it.keyring.garbles.lock().unwrap() = true;
    let error = it.save(&account(), &"2".into(), Store::Keyring).unwrap_err();
    assert!(matches!(error, StoreError::NotKept(Store::Keyring)), "{error:?}");
    assert_eq!(it.both(), ["", "1"]);
    *it.keyring.garbles.lock().unwrap() = false;
    it.keyring.fail(broken);
    let error = it.save(&account(), &"2".into(), Store::File).unwrap_err();
    assert!(matches!(error, StoreError::Survives { store: Store::Keyring, .. }), "{error:?}");
    assert_eq!(it.both(), ["", "1"]);
}

#[test]
fn an_older_copy_out_of_reach_is_told_where_there_is_one() {
    let it = setup(Choice::Auto);
    it.keyring.fail(locked);
    let saved = it.save(&account(), &"1".into(), Store::File).unwrap();
    assert!(saved.is_none());
    let saved = it.save(&kept(Store::Keyring), &"2".into(), Store::File).unwrap();
    assert!(matches!(saved, Some(StoreError::Locked)));
}

#[test]
fn a_keyring_that_fails_is_passed_over_for_a_key_in_the_file() {
    let it = setup(Choice::Auto);
    let _ = it.save(&account(), &"1".into(), Store::File).unwrap();
    it.keyring.fail(locked);
    let found = it.stores.find(&account()).unwrap().unwrap();
    assert_eq!((found.store, found.key.expose_secret()), (Store::File, "1"));
    assert!(matches!(found.passed_over, Some(StoreError::Locked)));
    assert!(it.stores.remove(&kept(Store::File)).unwrap() == [Store::File]);
    assert!(matches!(it.stores.find(&account()), Err(StoreError::Locked)));
    it.keyring.mend();
    assert!(it.stores.find(&account()).unwrap().is_none());
}

#[test]
fn a_keyring_is_asked_for_no_key_that_is_known_to_be_in_the_file() {
    let it = setup(Choice::Auto);
    let _ = it.save(&account(), &"1".into(), Store::File).unwrap();
    let asked = *it.keyring.asked.lock().unwrap();
    assert!(it.stores.find(&kept(Store::File)).unwrap().unwrap().passed_over.is_none());
    assert_eq!(*it.keyring.asked.lock().unwrap(), asked);
}

#[test]
fn a_copy_that_may_survive_fails_the_removal() {
    for (record, survives) in [
        (Some(Store::Keyring), true),
        // Nobody knows.
        (None, true),
        // It is elsewhere.
        (Some(Store::File), false),
    ] {
        let it = setup(Choice::Auto);
        it.keyring.fail(locked);
        let removed = it.stores.remove(&account().kept_in(record));
        assert_eq!(removed.is_err(), survives, "{record:?}: {removed:?}");
    }
    let it = setup(Choice::Auto);
    it.keyring.fail(broken);
    let error = it.stores.remove(&kept(Store::File)).unwrap_err();
    assert!(matches!(error, StoreError::Survives { store: Store::Keyring, .. }), "{error:?}");
}

#[test]
fn what_can_be_removed_is_removed_though_a_copy_survives() {
    let it = setup(Choice::Auto);
    let _ = it.save(&account(), &"1".into(), Store::File).unwrap();
    it.keyring.fail(locked);
    assert!(it.stores.remove(&kept(Store::Keyring)).is_err());
    assert_eq!(it.both()[1], "");
    // The other way about: a file that is no file of keys, beside a keyring that is well.
    it.keyring.mend();
    let _ = it.save(&account(), &"2".into(), Store::Keyring).unwrap();
    let file = it.folder.path().join("formsvc/credentials.toml");
    std::fs::create_dir_all(file).unwrap();
    assert!(it.stores.remove(&account()).is_err());
    assert!(it.keyring.keys.lock().unwrap().is_empty());
}

#[test]
fn a_store_that_is_switched_off_is_asked_only_if_it_is_known_to_have_a_copy() {
    let it = setup(Choice::File);
    assert_eq!(it.stores.preferred(), Store::File);
    let _ = it.save(&account(), &"1".into(), Store::File).unwrap();
    assert!(it.stores.find(&account()).unwrap().is_some());
    it.stores.remove(&account()).unwrap();
    assert!(it.stores.check(Store::Keyring).is_err());
    assert_eq!(*it.keyring.asked.lock().unwrap(), 0);
    it.stores.remove(&kept(Store::Keyring)).unwrap();
    assert_eq!(*it.keyring.asked.lock().unwrap(), 1);
}

#[test]
fn what_is_no_key_is_kept_nowhere() {
    let it = setup(Choice::Auto);
    let long = "k".repeat(KEY_MAX + 1);
    for bad in ["", "a b", "a\nb", "a\0b", "a\u{7f}", &long] {
        for store in [Store::Keyring, Store::File] {
            let error = it.save(&account(), &bad.into(), store).unwrap_err();
            assert!(matches!(error, StoreError::NotAKey(_)), "{error:?}");
        }
    }
    assert_eq!(it.both(), ["", ""]);
    assert_eq!(*it.keyring.asked.lock().unwrap(), 0);
}

#[test]
fn each_failure_says_what_to_do_and_shows_no_key() {
    let it = setup(Choice::Auto);
    let _ = it.save(&account(), &"fsk_SECRET".into(), Store::File).unwrap();
    let shown = format!("{:?} {:?}", it.stores, it.stores.find(&account()));
    assert!(!shown.contains("SECRET"), "{shown}");
    for error in [StoreError::Locked, StoreError::Silent, StoreError::Absent(Absence::NoBus)] {
        let hint = error.hint().unwrap();
        for way in ["`formsvc auth login --store file`", "FORMSVC_API_KEY", "`--api-key-file PATH`"]
        {
            assert!(hint.contains(way), "{hint}");
        }
    }
}
