//! When an output comes to be.

use std::path::Path;

use formsvc_export::{
    Destination, Existing, ExportError, FORMATS, Format, RenderOptions, RowSource, StoredRow,
    render,
};

use crate::support::stored;

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
    for format in FORMATS.iter().filter(|row| row.format.is_available()) {
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
    for format in FORMATS.iter().filter(|row| row.format.is_available()) {
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
fn kept_file_stays_if_created_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.ndjson");
    let open = || Destination::file(&path, Existing::Keep);
    let begun = open().unwrap();
    std::fs::write(&path, "of another program").unwrap();
    let rendered = render(&Vec::new(), &RenderOptions::new(Format::Ndjson), begun);
    for refused in [rendered.map(drop), open().map(drop)] {
        assert!(matches!(refused, Err(ExportError::Output { .. })), "{refused:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "of another program");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn working_files_can_be_removed_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let destination = Destination::file(&folder.path().join("out.csv"), Existing::Replace);
    let destination = destination.unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    destination.working_files().remove();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn name_of_the_greatest_length_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{}.csv", "ü".repeat(125)));
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    render(&Vec::new(), &RenderOptions::new(Format::Csv), destination).unwrap();
    assert!(path.exists());
}

#[cfg(unix)]
#[test]
fn owner_only_file_has_mode_0600() {
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

#[cfg(target_os = "linux")]
mod awkward {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use formsvc_export::{Format, Remark, Rendered};

    use super::*;

    const FILE: &str = "FORMSVC_TEST_FILE";

    fn replace(path: &Path) -> Rendered {
        let destination = Destination::file(path, Existing::Replace).unwrap();
        let rows = vec![stored("sub_1", "{}")];
        render(&rows, &RenderOptions::new(Format::Csv), destination).unwrap()
    }

    fn is_root() -> bool {
        std::fs::metadata("/proc/self").unwrap().uid() == 0
    }

    /// Runs a test of this module again in a process that `change` prepares. Returns false if that
    /// process could not be started, which is a failure if `FORMSVC_REQUIRE_MOUNTS` is `1`.
    #[expect(clippy::print_stdout, reason = "reports a skipped test, with --nocapture")]
    fn run_again(test: &str, path: &Path, change: impl FnOnce(&Path) -> Command) -> bool {
        let program = std::env::current_exe().unwrap();
        let mut command = change(&program);
        let name = format!("destination::awkward::{test}");
        command.args(["--exact", &name, "--nocapture"]).env(FILE, path);
        let printed = match command.output() {
            Ok(out) => {
                let (stdout, stderr) = (&out.stdout, &out.stderr);
                let printed = String::from_utf8_lossy(stdout) + String::from_utf8_lossy(stderr);
                if out.status.success() {
                    // The library of workbooks panics on a full disk, which becomes an error.
                    assert!(printed.contains("1 passed"), "{printed}");
                    return true;
                }
                printed.into_owned()
            }
            Err(error) => format!("{error}: the program is not found, or not permitted"),
        };
        // Containers may forbid mounts.
        assert!(printed.contains("not permitted") || printed.contains("denied"), "{printed}");
        let is_required = std::env::var_os("FORMSVC_REQUIRE_MOUNTS").is_some_and(|set| set == "1");
        assert!(!is_required, "FORMSVC_REQUIRE_MOUNTS is set: {printed}");
        println!("skipped: {test}: {printed}");
        false
    }

    fn given_file() -> Option<std::path::PathBuf> {
        std::env::var_os(FILE).map(Into::into)
    }

    /// Does nothing unless it runs in the process that `file_mounted_by_itself_is_written_in_place` starts.
    #[test]
    fn writes_a_mounted_file() {
        let Some(file) = given_file() else { return };
        let done = replace(&file);
        assert_eq!(done.remarks, [Remark::WrittenInPlace]);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("id,created_at\nsub_1,{}\n", crate::support::TIME));
    }

    #[test]
    fn file_mounted_by_itself_is_written_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let (file, mount) = (folder.path().join("host file"), folder.path().join("a mount"));
        std::fs::write(&file, "old, and longer than the new content".repeat(9)).unwrap();
        std::fs::write(&mount, "").unwrap();
        let has_run = run_again("writes_a_mounted_file", &mount, |program| {
            let script = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", script, "sh"]).args([&file, &mount]).arg(program);
            command
        });
        if has_run {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.ends_with("Z\n") && text.lines().count() == 2, "{text}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        }
    }

    /// Does nothing unless it runs in the process that `folder_that_cannot_be_listed_takes_files` starts.
    #[test]
    fn writes_without_listing() {
        let Some(file) = given_file() else { return };
        assert!(std::fs::read_dir(file.parent().unwrap()).is_err());
        replace(&file);
        replace(&file);
    }

    #[test]
    fn folder_that_cannot_be_listed_takes_files() {
        if !is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let hidden = folder.path().join("hidden");
        std::fs::create_dir(&hidden).unwrap();
        std::fs::set_permissions(&hidden, PermissionsExt::from_mode(0o333)).unwrap();
        let has_run = run_again("writes_without_listing", &hidden.join("out.csv"), |program| {
            let mut command = Command::new(program);
            command.uid(65_534).gid(65_534);
            command
        });
        assert_eq!(has_run, hidden.join("out.csv").exists());
    }

    #[test]
    fn replaced_file_keeps_owner_and_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        if is_root() {
            chown(&path, Some(1_234), Some(5_678)).unwrap();
        }
        let before = std::fs::metadata(&path).unwrap();
        let done = replace(&path);
        let after = std::fs::metadata(&path).unwrap();
        assert_ne!(before.ino(), after.ino());
        assert_eq!((before.uid(), before.gid()), (after.uid(), after.gid()));
        assert_eq!(after.mode() & 0o777, 0o640);
        assert_eq!(done.remarks, []);
    }

    /// Does nothing unless it runs in the process that `lost_owner_is_reported` starts.
    #[test]
    fn writes_over_a_file_of_another_user() {
        let Some(file) = given_file() else { return };
        assert_eq!(replace(&file).remarks, [Remark::OwnerChanged]);
    }

    #[test]
    fn lost_owner_is_reported() {
        if !is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let path = folder.path().join("out.csv");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        let has_run = run_again("writes_over_a_file_of_another_user", &path, |program| {
            let mut command = Command::new(program);
            command.uid(65_534).gid(65_534);
            command
        });
        assert_eq!(has_run, std::fs::metadata(&path).unwrap().uid() == 65_534);
    }

    /// Submissions of a megabyte in all that cannot be compressed much.
    fn large_rows() -> Vec<String> {
        let mut state = 1_u64;
        let mut text = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{state:x}")
        };
        (0..1_000)
            .map(|_| format!("{{\"a\":\"{}\"}}", (0..64).map(|_| text()).collect::<String>()))
            .collect()
    }

    /// Does nothing unless it runs in the process that `full_disk_keeps_old_file` starts.
    #[test]
    fn writes_to_a_full_disk() {
        let Some(file) = given_file() else { return };
        let data = large_rows();
        let ids: Vec<String> = (0..data.len()).map(|number| format!("sub_{number}")).collect();
        let rows: Vec<_> = ids.iter().zip(&data).map(|(id, data)| stored(id, data)).collect();
        let folder = file.parent().unwrap().to_owned();
        for format in FORMATS.iter().filter(|row| row.format.is_available()) {
            std::fs::write(&file, "old").unwrap();
            let destination = Destination::file(&file, Existing::Replace).unwrap();
            let failed = render(&rows, &RenderOptions::new(format.format), destination);
            let message = match failed {
                Err(ExportError::Output { path: Some(path), source, .. }) => {
                    assert_eq!(path, file, "{}", format.name);
                    source.to_string()
                }
                other => panic!("{}: {other:?}", format.name),
            };
            assert!(message.contains("full") || message.contains("space"), "{message}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "old", "{}", format.name);
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "{}", format.name);
        }
    }

    #[test]
    fn full_disk_keeps_old_file() {
        let folder = tempfile::tempdir().unwrap();
        run_again("writes_to_a_full_disk", &folder.path().join("out"), |program| {
            let script = "mount -t tmpfs -o size=256k tmpfs \"$1\" && shift && exec \"$@\"";
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", script, "sh"]).arg(folder.path()).arg(program);
            command
        });
    }

    #[test]
    fn working_file_is_private_and_result_follows_the_umask() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let destination = Destination::file(&path, Existing::Replace).unwrap();
        let work = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(work.metadata().unwrap().mode() & 0o777, 0o600);
        destination.publish().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode();
        assert_eq!(mode(&path), mode(&plain));
    }
}
