use formsvc_client::test_util::{MockService, form, generate};

use super::*;

fn id(number: i64) -> SubmissionId {
    SubmissionId::new(&format!("sub_{number}")).unwrap()
}

/// Returns a different point for each number.
fn point(number: i64) -> SyncPoint {
    let time = Timestamp::from_unix_nanos(i128::from(number) * 1_000_000_000).unwrap();
    MockService::new().client().form("frm_1").follow().since(&time).items().sync_point()
}

fn open(folder: &Path) -> Result<PollMark, PollError> {
    PollMark::open(folder, "https://forms.test/", "frm_1", "/hook")
}

#[tokio::test]
async fn deliveries_out_of_order_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let mut mark = open(folder.path()).unwrap();
    assert!(!mark.is_known());
    for number in 1..=4 {
        assert!(mark.add(&id(number), point(number)));
    }
    mark.finish(id(3));
    mark.finish(id(1));
    // Submission 2 is unfinished, so no point covers it.
    assert_eq!(*mark.start(), PollStart::First);
    mark.save().await.unwrap();
    drop(mark);

    let mut mark = open(folder.path()).unwrap();
    assert!(mark.is_known());
    let again: Vec<bool> = (1..=2).map(|number| mark.add(&id(number), point(number))).collect();
    assert_eq!(again, [false, true]);
    mark.finish(id(2));
    // The later submissions have not been read again yet.
    assert_eq!(*mark.start(), PollStart::Point(point(2).into()));
    mark.save().await.unwrap();
    drop(mark);

    let mut mark = open(folder.path()).unwrap();
    let again: Vec<bool> = (3..=4).map(|number| mark.add(&id(number), point(number))).collect();
    assert_eq!(again, [false, true]);
    mark.finish(id(4));
    assert_eq!((mark.start(), mark.saved.done.len()), (&PollStart::Point(point(4).into()), 0));
}

#[test]
fn mark_has_no_room_while_one_delivery_hangs() {
    let (mut mark, point) = (PollMark::in_memory(), point(0));
    mark.add(&id(0), point.clone());
    for number in 1..=1_000 {
        assert!(mark.has_room(), "{number}");
        mark.add(&id(number), point.clone());
        mark.finish(id(number));
    }
    assert!(!mark.has_room());
    mark.finish(id(0));
    assert!(mark.has_room() && mark.saved.done.is_empty());
}

#[tokio::test]
async fn new_mark_starts_after_the_newest_submission() {
    for (rows, start) in [
        (0, PollStart::First),
        (3, PollStart::After { created_at: generate(3)[0].created_at.clone(), id: id(3) }),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let service = MockService::new().form(form("frm_1", "F"));
        let service = service.submissions("frm_1", generate(rows));
        let form = service.client().form("frm_1");
        for _ in 0..2 {
            let mut mark = open(folder.path()).unwrap();
            mark.begin(&form).await.unwrap();
            assert!(mark.is_known());
            assert_eq!(*mark.start(), start);
        }
        // Only the first run requests the newest submission.
        assert_eq!(service.requests().len(), 1);
    }
}

#[test]
fn mark_is_one_per_service_form_and_path() {
    let folder = tempfile::tempdir().unwrap();
    let open = |service, form, path| PollMark::open(folder.path(), service, form, path);
    let _mark = open("https://a.test", "frm_1", "/").unwrap();
    let same = open("https://a.test/", "frm_1", "/").unwrap_err();
    assert!(matches!(same, PollError::InUse { .. }), "{same}");
    for (service, form, path) in [
        ("https://b.test", "frm_1", "/"),
        ("https://a.test", "frm_2", "/"),
        ("https://a.test", "frm_1", "/hook"),
    ] {
        open(service, form, path).unwrap();
    }
}

#[test]
fn malformed_mark_error_names_the_file_and_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let mark = open(folder.path()).unwrap();
    let path = mark.file.as_ref().unwrap().path.clone();
    drop(mark);
    replace(&path, b"{").unwrap();
    let error = open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("delete the file to start after the newest submission"), "{error}");
    assert!(error.contains(path.to_str().unwrap()), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn mark_is_private_and_foreign_files_are_errors() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mark = open(&state).unwrap();
    mark.save().await.unwrap();
    let path = mark.file.as_ref().unwrap().path.clone();
    drop(mark);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    let lock = path.with_extension("lock");
    assert_eq!([&path, &lock].map(|path| mode(path) & 0o777), [0o600; 2]);
    assert_eq!(mode(&state.join("poll")) & 0o777, 0o700);
    for path in [&path, &lock, &state.join("poll")] {
        let before = mode(path);
        fs::set_permissions(path, PermissionsExt::from_mode(before | 0o020)).unwrap();
        let error = open(&state).unwrap_err().to_string();
        assert!(error.contains("can be read or changed by others"), "{error}");
        fs::set_permissions(path, PermissionsExt::from_mode(before)).unwrap();
    }
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    let error = open(&state).unwrap_err().to_string();
    assert!(error.contains("is a symbolic link"), "{error}");
}
