//! `formsvc submissions export`: output files, and the files that remain after a failure.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::processes;
use crate::support::{
    Canned, answer, entries, formsvc, hanging_up, one_form, page, run, signal, succeed,
    wait_until_inside,
};

const ROW: &str = r#"{"id":"sub_1","data":{"a":"x"},"created_at":"2026-01-01T00:00:00.000Z"}"#;

#[test]
fn format_follows_the_file_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, begins) in [("p.csv", "id,"), ("p.ndjson", "{"), ("p.JSON", "["), ("p", "id,")] {
        let path = folder.path().join(name);
        succeed(&["--demo", "submissions", "export", "penguins", "-o", path.to_str().unwrap()]);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(begins), "{name}");
    }
    assert_eq!(entries(folder.path()), ["p", "p.JSON", "p.csv", "p.ndjson"]);
}

#[test]
fn failed_export_leaves_only_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.csv");
    std::fs::write(&path, "precious").unwrap();
    // The second page is cut off.
    let cut = Some("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n<html></ht".to_owned());
    let service = Canned::start(vec![one_form(), page(ROW, Some("next")), cut]);
    let out = path.to_str().unwrap();
    let said = service.run(&["submissions", "export", "survey", "-o", out]);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(entries(folder.path()), ["old.csv"]);
}

#[test]
fn truncated_json_stream_does_not_parse() {
    let service = Canned::start(vec![one_form(), page(ROW, Some(""))]);
    let said = service.run(&["submissions", "export", "survey", "--format", "json"]);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    assert!(serde_json::from_str::<serde_json::Value>(&said.stdout).is_err(), "{}", said.stdout);
    // The state of the output follows the hint of the error.
    let revoked = r#"{"error":{"code":"key_revoked","message":"it was revoked"}}"#;
    for (format, left) in [
        ("ndjson", "the data on standard output is not complete"),
        ("csv", "nothing was written to standard output"),
    ] {
        let revoked = answer("401 Unauthorized", "", revoked);
        let pages = vec![one_form(), page(ROW, Some("2026-01-01T00:00:00.000000Z")), revoked];
        let said =
            Canned::start(pages).run(&["submissions", "export", "survey", "--format", format]);
        assert_eq!(said.code, Some(4), "{}", said.stderr);
        assert!(said.stderr.contains(&format!("; {left}")), "{}", said.stderr);
        assert!(format != "csv" || said.stdout.is_empty(), "{}", said.stdout);
    }
}

#[test]
fn interrupted_export_leaves_no_file_and_exits_130() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.csv");
    let service = Canned::start(vec![one_form(), page(ROW, Some("next")), None]);
    let out = path.to_str().unwrap();
    let child = service
        .formsvc(&["submissions", "export", "survey", "-o", out])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..3 {
        service.request();
    }
    let working = entries(folder.path());
    assert_eq!(working.len(), 1, "the export has one working file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = folder.path().join(&working[0]).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "other users can read the working file");
    }
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("error: interrupted"));
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}

/// SIGHUP ends an export, unless the parent process ignores it, as nohup does.
#[cfg(target_os = "linux")]
#[test]
fn hangup_ends_an_export_unless_it_is_ignored() {
    for outlives in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let service = Canned::start(vec![one_form(), page(ROW, Some("next")), None]);
        let out = folder.path().join("new.csv");
        let export = ["submissions", "export", "survey", "-o", out.to_str().unwrap()];
        let mut command = hanging_up(&service.formsvc(&export), outlives);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        for _ in 0..3 {
            service.request();
        }
        signal(&child, "HUP");
        if outlives {
            signal(&child, "TERM");
        }
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(if outlives { 143 } else { 129 }), "{stderr}");
        assert_eq!(entries(folder.path()), Vec::<String>::new());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn signal_ends_an_export_into_a_full_pipe() {
    // The output is larger than the buffer of a pipe that has no reader.
    let args = ["--demo", "submissions", "export", "randhie", "--format", "ndjson"];
    let mut child = formsvc(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_inside(&child, "1 0x1 ");
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn closed_pipe_is_exit_0() {
    for format in ["csv", "ndjson", "json"] {
        let mut child =
            formsvc(&["--demo", "submissions", "export", "randhie", "--format", format])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}

#[test]
fn unwritable_output_is_exit_10_without_request() {
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path().to_str().unwrap();
    // No server listens there: a request would be exit 6.
    let base = ["--base-url", "http://127.0.0.1:9", "submissions", "export", "survey", "-o"];
    for out in ["/nonexistent/x.csv", folder_path, "/dev/null/x.csv"] {
        let args = [&base[..], &[out]].concat();
        let output = formsvc(&args).env("FORMSVC_API_KEY", "fsk_x").output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(10), "{out}: {stderr}");
        assert!(stderr.contains("cannot create") && stderr.contains(out), "{stderr}");
    }
    let kept = folder.path().join("kept.csv");
    std::fs::write(&kept, "precious").unwrap();
    let args = [&base[..], &[kept.to_str().unwrap(), "--no-clobber"]].concat();
    let output = formsvc(&args).env("FORMSVC_API_KEY", "fsk_x").output().unwrap();
    assert_eq!(output.status.code(), Some(10));
}

/// Uses a device that is always full, and a limit of the shell for file sizes.
#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_exit_10_and_leaves_no_file() {
    for format in ["csv", "ndjson", "json"] {
        let args =
            ["--demo", "submissions", "export", "penguins", "-o", "/dev/full", "--format", format];
        let said = run(&args);
        assert_eq!(said.code, Some(10), "{format}: {}", said.stderr);
        assert!(said.stderr.contains("No space left"), "{}", said.stderr);
        assert!(!said.stderr.contains("unchanged"), "{}", said.stderr);
    }
    let folder = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_formsvc");
    let script =
        format!("ulimit -f 64; exec '{binary}' --demo submissions export randhie -o big.csv");
    let output =
        processes::command("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(10), "{stderr}");
    assert!(stderr.contains("cannot keep rows in the temporary folder"), "{stderr}");
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}

/// CSV is written to a temporary file before it is copied to standard output.
#[cfg(target_os = "linux")]
#[test]
fn missing_or_full_temporary_folder_is_named() {
    let binary = env!("CARGO_BIN_EXE_formsvc");
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().to_str().unwrap();
    for (temporary, limit) in [("/nonexistent", "true"), (there, "ulimit -f 64")] {
        let script =
            format!("{limit}; exec '{binary}' --demo submissions export randhie --format csv");
        let mut shell = processes::command("sh");
        let output = shell.args(["-c", &script]).env("TMPDIR", temporary).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(10), "{stderr}");
        let expected = format!("cannot keep rows in the temporary folder `{temporary}`");
        assert!(stderr.contains(&expected) && stderr.contains("nothing was written"), "{stderr}");
        assert_eq!(output.stdout, b"");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn folder_without_files_is_not_reported_as_missing() {
    let said = run(&["--demo", "submissions", "export", "penguins", "-o", "/proc/x.csv"]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("cannot create `/proc/x.csv`"), "{}", said.stderr);
    assert!(!said.stderr.contains("there is no folder"), "{}", said.stderr);
    let said = run(&["--demo", "submissions", "export", "penguins", "-o", "/nonexistent/x.csv"]);
    assert!(said.stderr.contains("there is no folder `/nonexistent`"), "{}", said.stderr);
}

/// The content of a file to which standard output is redirected stays.
#[cfg(target_os = "linux")]
#[test]
fn stdout_by_any_name_is_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_formsvc");
    let shell = |script: &str| {
        let mut shell = processes::command("bash");
        let output = shell.args(["-c", script]).current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let export = format!("'{binary}' --demo -q submissions export penguins --format csv -o");
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let (code, stderr) = shell(&format!("echo before >out; {export} {name} >>out"));
        assert_eq!(code, Some(0), "{stderr}");
        let text = std::fs::read_to_string(folder.path().join("out")).unwrap();
        assert!(text.starts_with("before\nid,"), "{name}");
        assert_eq!(text.lines().count(), 346, "{name}");
    }
    let (code, stderr) = shell(&format!("{export} >(wc -l >lines) && wait $!"));
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(std::fs::read_to_string(folder.path().join("lines")).unwrap().trim(), "345");
    let (code, stderr) = shell(&format!("{export} /dev/fd/3 3>>out"));
    assert_eq!(code, Some(10), "{stderr}");
    assert!(stderr.contains("cannot create `/dev/fd/3`"), "{stderr}");
    assert!(stderr.contains("it is a file that a process has open"), "{stderr}");
    let text = std::fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(text.lines().count(), 346, "no line was removed");
}

#[cfg(unix)]
#[test]
fn replaced_file_keeps_its_mode_and_its_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("real.csv"), folder.path().join("link.csv"));
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&file, &link).unwrap();
    succeed(&["--demo", "submissions", "export", "penguins", "-o", link.to_str().unwrap()]);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    // A link to a file that does not exist yet is followed too.
    let (new, dangling) = (folder.path().join("new.csv"), folder.path().join("dangling.csv"));
    symlink("new.csv", &dangling).unwrap();
    succeed(&["--demo", "submissions", "export", "penguins", "-o", dangling.to_str().unwrap()]);
    assert!(dangling.symlink_metadata().unwrap().is_symlink() && new.is_file());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("id,created_at,species"));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn wrong_format_or_output_names_the_argument_to_use() {
    let export = &["--demo", "submissions", "export", "penguins"][..];
    for (args, hint) in [
        ([export, &["--format", "excel"]].concat(), "did you mean `xlsx`?"),
        ([export, &["--output", "q 1.csv"]].concat(), "name the file with `-o 'q 1.csv'`"),
        ([export, &["anes96", "-o", "p.csv"]].concat(), "use `-o p --format csv`"),
        (
            vec!["--demo", "forms", "list", "--format", "json"],
            "the output format is `--output`, such as `--output json`",
        ),
        (
            vec!["--demo", "submissions", "sync", "penguins", "--to", "demo.db"],
            "for an SQLite file, use `--to sqlite:demo.db`",
        ),
        (
            vec!["--demo", "submissions", "sync", "penguins", "--to", "duckdb:demo.db"],
            "for DuckDB, export a Parquet file",
        ),
    ] {
        let said = run(&args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(hint), "{args:?}: {}", said.stderr);
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn format_that_the_build_lacks_names_the_install_command() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.parquet");
    let said = run(&["--demo", "submissions", "export", "penguins", "-o", out.to_str().unwrap()]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let install = "`cargo install --path crates/cli --locked --features parquet`";
    assert!(said.stderr.contains(install), "{}", said.stderr);
}
