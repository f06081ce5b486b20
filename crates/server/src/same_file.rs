//! Whether two paths lead to one file.

use std::path::Path;

/// Whether both are there and are one file: by two names of it, or by way of a link.
#[cfg(unix)]
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    id(one).is_some_and(|one| Some(one) == id(other))
}

#[cfg(not(unix))]
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_each_of_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let [one, hard, soft, other] = ["one", "hard", "soft", "other"].map(|n| dir.path().join(n));
        std::fs::write(&one, "a").unwrap();
        std::fs::write(&other, "a").unwrap();
        std::fs::hard_link(&one, &hard).unwrap();
        std::os::unix::fs::symlink(&one, &soft).unwrap();
        for same in [&one, &hard, &soft] {
            assert!(is_same_file(&one, same), "{same:?}");
        }
        assert!(!is_same_file(&one, &other));
        let absent = dir.path().join("absent");
        assert!(!is_same_file(&absent, &absent), "nothing is there");
    }
}
