//! Owners and modes of files.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn files_are_private_to_their_owner() {
    let home = Home::new();
    let store = home.open();
    insert(&store, &delivery("x"), 1).await;
    assert_eq!(mode(&home.folder()), 0o700);
    assert_eq!(mode(home.folder().parent().unwrap()), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(home.folder()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["captures.db", "captures.db-shm", "captures.db-wal"]);
}

#[tokio::test]
async fn file_of_others_is_an_error_and_not_changed() {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let home = Home::new();
        home.open().close().await;
        let path = home.folder().join(format!("captures.db{suffix}"));
        let other = home.0.path().join("other");
        fs::write(&other, "").unwrap();
        let _ = fs::remove_file(&path);
        symlink(&other, &path).unwrap();
        let error = home.open_error();
        assert_eq!(error.to_string(), format!("`{}` is a symbolic link", path.display()));
        assert_eq!(fs::read(&other).unwrap(), b"");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let error = home.open_error();
        assert!(error.to_string().ends_with("can be read or changed by others"), "{error}");
        let expected = format!("`chmod 600 '{}'`", path.display());
        assert!(matches!(error, StoreError::Unsafe { fix, .. } if fix == expected));
        assert_eq!(mode(&path), 0o644);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(home.open_error().to_string().ends_with("is not a regular file"));
    }
}

#[tokio::test]
async fn folder_of_others_is_an_error() {
    let home = Home::new();
    home.open().close().await;
    fs::set_permissions(home.folder(), Permissions::from_mode(0o755)).unwrap();
    let error = home.open_error();
    let expected = format!("`chmod 700 '{}'`", home.folder().display());
    assert!(matches!(error, StoreError::Unsafe { fix, .. } if fix == expected));
    let moved = home.0.path().join("moved");
    fs::rename(home.folder(), &moved).unwrap();
    symlink(&moved, home.folder()).unwrap();
    let error = home.open_error();
    assert!(error.to_string().ends_with("is a symbolic link"), "{error}");
    let slash = PathBuf::from(format!("{}/", home.folder().display()));
    assert!(CaptureStore::open(&slash, LIMITS).is_err());
}

#[tokio::test]
async fn parent_that_others_can_change_is_accepted() {
    let home = Home::new();
    home.open().close().await;
    // Folders are created with this mode if the umask is 002.
    let mode = Permissions::from_mode(0o775);
    fs::set_permissions(home.folder().parent().unwrap(), mode).unwrap();
    home.open().close().await;
}

#[test]
fn folder_below_a_file_cannot_be_created() {
    let folder = Path::new("/dev/null/formsvc/webhook");
    assert!(CaptureStore::open_existing(folder).unwrap().is_none());
    let error = CaptureStore::open(folder, LIMITS).unwrap_err().to_string();
    assert_eq!(error, "cannot access `/dev/null/formsvc/webhook`");
}
