//! The forms that were listed last, kept for completion: one small file for each service and
//! profile, for nobody else's eyes. Nothing depends on it: what goes wrong here is nobody's failure.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use formsvc_client::Form;
use serde::{Deserialize, Serialize};

use crate::base::files::{self, Trust};
use crate::base::paths::Paths;
use crate::settings::{Service, Settings};

/// How long the list counts as the service's own.
const FRESH_FOR: Duration = Duration::from_secs(5 * 60);
/// How long the list is kept where nothing refreshes it: completion does not ask a keyring for the key
/// it would need.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Longest file that is read; 200 forms with long titles are a tenth of it.
const FILE_MAX: u64 = 1 << 20;
/// Longest name of a file.
const NAME_MAX: usize = 200;

/// A form, as far as completion needs to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) id: String,
    pub(super) public_id: String,
    pub(super) title: String,
}

/// What was kept.
pub(super) struct Cached {
    pub(super) forms: Vec<Known>,
    /// Whether it is young enough not to ask again.
    pub(super) fresh: bool,
}

#[derive(Serialize, Deserialize)]
struct File {
    /// Whose forms these are, in full: names of files are shortened.
    of: String,
    forms: Vec<Known>,
}

impl Known {
    pub(super) fn of(form: &Form) -> Self {
        Self {
            id: form.id.to_string(),
            public_id: form.public_id.to_string(),
            title: form.title.clone(),
        }
    }
}

/// Keeps the forms of a service.
pub(crate) fn remember(settings: &Settings, forms: &[Form]) {
    if let Some((path, of)) = place(settings) {
        let forms = forms.iter().map(Known::of).collect();
        // A cache that cannot be written is a cache that is not there.
        let _ = write(&path, &File { of, forms });
    }
}

/// Removes what is kept of the services of a profile.
pub(crate) fn forget(paths: &Paths, profile: &str) {
    let Some(folder) = &paths.cache else { return };
    // No profile has the character between, so that this ends the names of its own files alone.
    let end = format!("{}.json", encoded(&format!("|{profile}")));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours =
            name.to_str().is_some_and(|name| name.starts_with("forms-") && name.ends_with(&end));
        if ours {
            // What cannot be removed is a list of forms, and no key.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The forms of a service as they were listed last.
pub(super) fn recall(settings: &Settings) -> Option<Cached> {
    let (path, of) = place(settings)?;
    read(&path, &of, SystemTime::now())
}

/// Where the forms of a service are kept, and whose they are; nowhere for one that is gone after
/// the command.
fn place(settings: &Settings) -> Option<(PathBuf, String)> {
    let Service::At { base_url: Some(base_url), .. } = &settings.service else { return None };
    let of = format!("{}|{}", base_url.trim_end_matches('/'), settings.profile);
    let name = format!("forms-{}", encoded(&of));
    (name.len() <= NAME_MAX).then_some(())?;
    Some((settings.paths.cache.as_ref()?.join(format!("{name}.json")), of))
}

/// A text as a part of the name of a file.
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

fn read(path: &Path, of: &str, now: SystemTime) -> Option<Cached> {
    let file = files::open(path, Trust::OwnUser).ok()??;
    let metadata = file.metadata().ok()?;
    let mut text = String::new();
    file.take(FILE_MAX).read_to_string(&mut text).ok()?;
    let kept: File = serde_json::from_str(&text).ok()?;
    let age = now.duration_since(metadata.modified().ok()?);
    if age.as_ref().is_ok_and(|age| *age >= KEPT_FOR) {
        // Whoever uses the service lists forms now and then; what nobody refreshed is history.
        let _ = fs::remove_file(path);
        return None;
    }
    // A file of the future is of a clock that was set back: nobody knows how old it is.
    let fresh = age.is_ok_and(|age| age < FRESH_FOR);
    (kept.of == of).then_some(Cached { forms: kept.forms, fresh })
}

fn write(path: &Path, file: &File) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    files::create_private_folder(folder)?;
    files::write_private(path, serde_json::to_string(file)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(folder: &Path) -> PathBuf {
        let path = folder.join("formsvc/forms-x.json");
        let known = Known { id: "frm_1".into(), public_id: "a".into(), title: "A".into() };
        write(&path, &File { of: "https://x|default".into(), forms: vec![known] }).unwrap();
        path
    }

    #[test]
    fn a_list_is_fresh_for_five_minutes_and_kept_for_thirty_days() {
        let folder = tempfile::tempdir().unwrap();
        let path = kept(folder.path());
        let at = |seconds| SystemTime::now() + Duration::from_secs(seconds);
        let days = 24 * 60 * 60;
        for (now, fresh) in
            [(at(1), true), (at(290), true), (at(301), false), (at(29 * days), false)]
        {
            let cached = read(&path, "https://x|default", now).unwrap();
            assert_eq!((cached.fresh, cached.forms.len()), (fresh, 1), "{now:?}");
        }
        let past = SystemTime::now() - Duration::from_secs(3600);
        assert!(!read(&path, "https://x|default", past).unwrap().fresh);
        assert!(read(&path, "https://x|default", at(31 * days)).is_none());
        assert!(!path.exists(), "it is dropped");
    }

    #[test]
    fn forms_of_another_service_and_broken_files_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = kept(folder.path());
        assert!(read(&path, "https://y|default", SystemTime::now()).is_none());
        fs::write(&path, "{\"of\":").unwrap();
        assert!(read(&path, "https://x|default", SystemTime::now()).is_none());
        assert!(read(folder.path(), "https://x|default", SystemTime::now()).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_kept_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = kept(folder.path());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}
