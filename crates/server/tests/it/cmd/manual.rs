//! What the command says of itself, and what the manual says of it.

use formsvc_server::import::FORMATS;

use super::Site;

#[test]
fn output_nobody_reads_is_no_failure() {
    let site = Site::with_user();
    let mut child = site.command(&["key", "list", "--user", "a@b.c"]);
    for _ in 0..3 {
        site.run(&["key", "create", "--user", "a@b.c", "--name", "k"]).succeeded();
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert!(child.stdout(writer).status().unwrap().success());
}

#[test]
fn help_and_version_go_to_standard_output() {
    let site = Site::new();
    for args in [["--help"].as_slice(), &["--version"], &["key", "create", "--help"]] {
        let run = site.run(args).succeeded();
        assert!(!run.stdout.is_empty() && run.stderr.is_empty());
    }
}

#[test]
fn the_manual_names_every_variable_format_and_exit_status() {
    let manual = include_str!("../../../../../docs/SERVER.md");
    for row in formsvc_server::cmd::ENV {
        let line = format!("| `{}` | `{}` | {} |", row.name, row.flag, row.meaning);
        assert!(manual.contains(&line), "{line}");
    }
    for row in FORMATS {
        let extensions: Vec<_> = row.extensions.iter().map(|ext| format!("`.{ext}`")).collect();
        let line = format!("| `{}` | {} | {} |", row.name, extensions.join(", "), row.about);
        assert!(manual.contains(&line), "{line}");
    }
    for row in formsvc_server::cmd::EXITS {
        let line = format!("| {} | {} |", row.code, row.meaning);
        assert!(manual.contains(&line), "{line}");
    }
}
