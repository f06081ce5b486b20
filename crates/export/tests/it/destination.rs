//! When an output comes to be.

use formsvc_client::{Answers, Submission};
use formsvc_export::{Destination, Existing, ExportError, FORMATS, writer};

use crate::support::{TIME, options};

fn submission() -> Submission {
    let answers = Answers::parse("{}").unwrap();
    Submission::new("sub_1".parse().unwrap(), answers, TIME.parse().unwrap())
}

#[test]
fn a_file_exists_only_once_it_is_complete() {
    for row in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut export =
            writer(Destination::file(&path, Existing::Replace).unwrap(), options(row.format))
                .unwrap();
        export.write(&[submission()]).unwrap();
        assert!(!path.exists(), "{}", row.name);
        export.finish().unwrap();
        assert!(path.exists(), "{}", row.name);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{}", row.name);
    }
}

#[test]
fn an_export_that_is_dropped_leaves_what_was_there() {
    for row in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "old").unwrap();
        let mut export =
            writer(Destination::file(&path, Existing::Replace).unwrap(), options(row.format))
                .unwrap();
        export.write(&[submission()]).unwrap();
        drop(export);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{}", row.name);
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
