//! The most recently listed forms, saved for completion: one file per profile, in the cache folder. Errors are
//! ignored, because no command depends on the cache.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use formsvc_client::Form;
use serde::{Deserialize, Serialize};

use crate::base::atomic_file;
use crate::base::files::{self, Trust};
use crate::base::paths::Paths;
use crate::settings::{Service, Settings};

/// Age from which a file is not used.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Longest file that is read. A list of 200 forms with long titles has a tenth of this length.
const MAX_LEN: u64 = 1 << 20;

/// The parts of a form that completion shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CachedForm {
    pub(crate) id: String,
    pub(crate) public_id: String,
    pub(crate) title: String,
}

#[derive(Serialize, Deserialize)]
struct CacheFile {
    /// The service of the forms. The profile may be bound to another one later.
    base_url: String,
    forms: Vec<CachedForm>,
}

/// Saves the forms of a service.
pub(crate) fn save(settings: &Settings, forms: &[Form]) {
    let Some((path, base_url)) = location(settings) else { return };
    let cached = |form: &Form| CachedForm {
        id: form.id.to_string(),
        public_id: form.public_id.to_string(),
        title: form.title.clone(),
    };
    let base_url = base_url.to_owned();
    let _ = write(&path, &CacheFile { base_url, forms: forms.iter().map(cached).collect() });
}

/// Removes the forms of a profile.
pub(crate) fn remove(paths: &Paths, profile: &str) {
    if let Some(path) = file(paths, profile) {
        let _ = fs::remove_file(path);
    }
}

/// Returns the saved forms of a service.
pub(crate) fn load(settings: &Settings) -> Option<Vec<CachedForm>> {
    let (path, base_url) = location(settings)?;
    read(&path, base_url, SystemTime::now())
}

/// Returns the path of the file and the base URL. There is no file for a demo.
fn location(settings: &Settings) -> Option<(PathBuf, &str)> {
    let Service::At { base_url: Some(base_url), .. } = &settings.service else { return None };
    Some((file(&settings.paths, &settings.profile)?, base_url.trim_end_matches('/')))
}

/// Returns the path of the file of a profile. The names of profiles have only letters, digits, `-` and `_`.
fn file(paths: &Paths, profile: &str) -> Option<PathBuf> {
    Some(paths.cache.as_ref()?.join(format!("forms-{profile}.json")))
}

fn read(path: &Path, base_url: &str, now: SystemTime) -> Option<Vec<CachedForm>> {
    let file = files::open(path, Trust::OwnUser).ok()??;
    let modified = file.metadata().ok()?.modified().ok()?;
    // A time in the future counts as new: the clock may have been set back.
    if now.duration_since(modified).is_ok_and(|age| age >= MAX_AGE) {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_LEN).read_to_string(&mut text).ok()?;
    let cached: CacheFile = serde_json::from_str(&text).ok()?;
    (cached.base_url == base_url).then_some(cached.forms)
}

fn write(path: &Path, file: &CacheFile) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    files::create_private_folder(folder)?;
    atomic_file::write_private(path, serde_json::to_string(file)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(folder: &Path) -> PathBuf {
        let path = folder.join("formsvc/forms-x.json");
        let form = CachedForm { id: "frm_1".into(), public_id: "a".into(), title: "A".into() };
        write(&path, &CacheFile { base_url: "https://x".into(), forms: vec![form] }).unwrap();
        path
    }

    #[test]
    fn file_is_ignored_after_thirty_days() {
        let folder = tempfile::tempdir().unwrap();
        let path = saved(folder.path());
        let (now, day) = (SystemTime::now(), Duration::from_secs(24 * 60 * 60));
        for now in [now - day, now, now + 29 * day] {
            assert_eq!(read(&path, "https://x", now).unwrap().len(), 1, "{now:?}");
        }
        assert!(read(&path, "https://x", now + 31 * day).is_none());
    }

    #[test]
    fn file_of_other_service_or_invalid_file_has_no_forms() {
        let folder = tempfile::tempdir().unwrap();
        let path = saved(folder.path());
        assert!(read(&path, "https://y", SystemTime::now()).is_none());
        fs::write(&path, "{\"of\":").unwrap();
        assert!(read(&path, "https://x", SystemTime::now()).is_none());
        assert!(read(folder.path(), "https://x", SystemTime::now()).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn file_and_folder_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = saved(folder.path());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}
