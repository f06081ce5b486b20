//! The most recently listed forms, saved for completion: one file per service and profile, in the cache
//! folder. Errors are ignored, because no command depends on the cache.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use formsvc_client::Form;
use serde::{Deserialize, Serialize};

use crate::base::files::{self, Trust};
use crate::base::paths::Paths;
use crate::settings::{Service, Settings};

/// Age at which a file is removed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Longest file that is read. A list of 200 forms with long titles has a tenth of this length.
const MAX_LEN: u64 = 1 << 20;
/// Longest name of a file.
const MAX_NAME_LEN: usize = 200;

/// The parts of a form that completion shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CachedForm {
    pub(crate) id: String,
    pub(crate) public_id: String,
    pub(crate) title: String,
}

impl From<&Form> for CachedForm {
    fn from(form: &Form) -> Self {
        Self {
            id: form.id.to_string(),
            public_id: form.public_id.to_string(),
            title: form.title.clone(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct CacheFile {
    /// The base URL and the profile. Different ones can have the same file name.
    of: String,
    forms: Vec<CachedForm>,
}

/// Saves the forms of a service.
pub(crate) fn save(settings: &Settings, forms: &[Form]) {
    if let Some((path, of)) = location(settings) {
        let _ =
            write(&path, &CacheFile { of, forms: forms.iter().map(CachedForm::from).collect() });
    }
}

/// Removes the files of a profile.
pub(crate) fn remove(paths: &Paths, profile: &str) {
    let Some(folder) = &paths.cache else { return };
    // The names of profiles do not contain `|`.
    let end = format!("{}.json", encoded(&format!("|{profile}")));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("forms-") && name.ends_with(&end)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns the saved forms of a service.
pub(crate) fn load(settings: &Settings) -> Option<Vec<CachedForm>> {
    let (path, of) = location(settings)?;
    read(&path, &of, SystemTime::now())
}

/// Returns the path of the file and the base URL with the profile. There is no file for a demo.
fn location(settings: &Settings) -> Option<(PathBuf, String)> {
    let Service::At { base_url: Some(base_url), .. } = &settings.service else { return None };
    let of = format!("{}|{}", base_url.trim_end_matches('/'), settings.profile);
    let name = format!("forms-{}", encoded(&of));
    (name.len() <= MAX_NAME_LEN).then_some(())?;
    Some((settings.paths.cache.as_ref()?.join(format!("{name}.json")), of))
}

/// Encodes a text as a part of a file name.
fn encoded(text: &str) -> String {
    let mut name = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' => name.push(byte.into()),
            _ => name.extend(["-", &byte.to_string()]),
        }
    }
    name
}

fn read(path: &Path, of: &str, now: SystemTime) -> Option<Vec<CachedForm>> {
    let file = files::open(path, Trust::OwnUser).ok()??;
    let modified = file.metadata().ok()?.modified().ok()?;
    // A time in the future counts as new: the clock may have been set back.
    if now.duration_since(modified).is_ok_and(|age| age >= MAX_AGE) {
        let _ = fs::remove_file(path);
        return None;
    }
    let mut text = String::new();
    file.take(MAX_LEN).read_to_string(&mut text).ok()?;
    let cached: CacheFile = serde_json::from_str(&text).ok()?;
    (cached.of == of).then_some(cached.forms)
}

fn write(path: &Path, file: &CacheFile) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    files::create_private_folder(folder)?;
    files::write_private(path, serde_json::to_string(file)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(folder: &Path) -> PathBuf {
        let path = folder.join("formsvc/forms-x.json");
        let form = CachedForm { id: "frm_1".into(), public_id: "a".into(), title: "A".into() };
        write(&path, &CacheFile { of: "https://x|default".into(), forms: vec![form] }).unwrap();
        path
    }

    #[test]
    fn file_is_removed_after_thirty_days() {
        let folder = tempfile::tempdir().unwrap();
        let path = saved(folder.path());
        let (now, day) = (SystemTime::now(), Duration::from_secs(24 * 60 * 60));
        for now in [now - day, now, now + 29 * day] {
            assert_eq!(read(&path, "https://x|default", now).unwrap().len(), 1, "{now:?}");
        }
        assert!(read(&path, "https://x|default", now + 31 * day).is_none());
        assert!(!path.exists());
    }

    #[test]
    fn file_of_other_service_or_invalid_file_has_no_forms() {
        let folder = tempfile::tempdir().unwrap();
        let path = saved(folder.path());
        assert!(read(&path, "https://y|default", SystemTime::now()).is_none());
        fs::write(&path, "{\"of\":").unwrap();
        assert!(read(&path, "https://x|default", SystemTime::now()).is_none());
        assert!(read(folder.path(), "https://x|default", SystemTime::now()).is_none());
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
