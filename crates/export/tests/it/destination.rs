//! When an output comes to be.

use std::path::Path;

use formsvc_export::{
    Destination, Existing, ExportError, FORMATS, RenderOptions, RowSource, StoredRow, render,
    writer,
};

use crate::support::{options, stored};

/// Rows that check the folder of the output before each row, then end or fail.
struct Observed<'a> {
    folder: &'a Path,
    fails: bool,
}

impl RowSource for Observed<'_> {
    fn for_each(
        &self,
        row: &mut dyn FnMut(StoredRow<'_>) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let out = self.folder.join("out");
        let text = std::fs::read_to_string(out).ok();
        assert!(text.is_none_or(|text| text == "old"), "no incomplete file under its name");
        row(stored("sub_1", r#"{"a":1}"#))?;
        if self.fails { Err(ExportError::RowsChanged) } else { Ok(()) }
    }
}

#[test]
fn file_appears_only_when_complete() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let destination = Destination::file(&path, Existing::Replace).unwrap();
        let rows = Observed { folder: folder.path(), fails: false };
        render(&rows, &RenderOptions::new(format.format), destination).unwrap();
        assert!(path.exists(), "{}", format.name);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{}", format.name);
    }
}

#[test]
fn failure_keeps_old_file() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "old").unwrap();
        let destination = Destination::file(&path, Existing::Replace).unwrap();
        let rows = Observed { folder: folder.path(), fails: true };
        let failed = render(&rows, &RenderOptions::new(format.format), destination);
        assert!(matches!(failed, Err(ExportError::RowsChanged)), "{failed:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{}", format.name);
    }
}

#[test]
fn a_file_to_be_kept_is_kept_even_when_it_comes_to_be_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.ndjson");
    let export = || {
        let destination = Destination::file(&path, Existing::Keep)?;
        writer(destination, options(formsvc_export::Format::Ndjson))
    };
    let under_way = export().unwrap();
    std::fs::write(&path, "someone else's").unwrap();
    for refused in [under_way.finish().map(drop), export().map(drop)] {
        assert!(matches!(refused, Err(ExportError::Output { .. })), "{refused:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "someone else's");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn working_files_can_be_removed_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let destination = Destination::file(&folder.path().join("out.csv"), Existing::Replace);
    let destination = destination.unwrap();
    let files = destination.working_files();
    let _under_way = writer(destination, options(formsvc_export::Format::Csv)).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    files.remove();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_name_as_long_as_the_system_allows_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{}.csv", "ü".repeat(125)));
    let export = writer(
        Destination::file(&path, Existing::Replace).unwrap(),
        options(formsvc_export::Format::Csv),
    );
    export.unwrap().finish().unwrap();
    assert!(path.exists());
}

#[cfg(unix)]
#[test]
fn a_file_that_is_the_owners_alone_is_so_whatever_was_there() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let put = || Destination::file(&path, Existing::Replace).unwrap().owner_only();
    put().publish().unwrap();
    assert_eq!(mode(), 0o600, "a new one");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    put().publish().unwrap();
    assert_eq!(mode(), 0o600, "one that others could read");
}
