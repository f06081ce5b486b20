//! Login and `auth use` with closed or full standard streams.

use super::{Home, me};
use crate::processes;
use crate::support::{Canned, SECRET, Said};

/// Redirections of standard output and standard error.
const STREAMS: [&str; 7] =
    ["", ">&-", "2>&-", ">&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>&-"];

/// Runs the binary in a shell, which redirects its streams.
fn in_shell(home: &Home, line: &str) -> Said {
    let mut shell = processes::command("/bin/sh");
    shell.env_clear().args(["-c", line]).env("HOME", home.folder.path());
    shell.env("F", env!("CARGO_BIN_EXE_formsvc")).env("KEY", SECRET).env("PATH", "/usr/bin:/bin");
    shell.current_dir(home.folder.path()).output().unwrap().into()
}

#[test]
fn login_stores_the_key_if_its_output_fails() {
    let service = Canned::start(vec![me()]);
    for streams in STREAMS {
        let home = Home::new();
        let login = format!("auth login --store file --base-url {}", service.base_url);
        let line = format!("echo \"$KEY\" | \"$F\" {login} --api-key-stdin {streams}");
        let said = in_shell(&home, &line);
        assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{line}: {}", said.stderr);
        assert_eq!(home.succeed(&["auth", "token"]), format!("{SECRET}\n"), "{line}");
        // Standard input is closed, and the key comes from a file.
        std::fs::write(home.folder.path().join("key"), "fsk_another").unwrap();
        let line = format!("\"$F\" {login} --api-key-file key <&- {streams}");
        let said = in_shell(&home, &line);
        assert_eq!(said.code, Some(0), "{line}: {}", said.stderr);
        assert_eq!(home.succeed(&["auth", "token"]), "fsk_another\n", "{line}");
    }
}

#[test]
fn login_with_closed_stdin_stores_nothing() {
    let home = Home::new();
    let login = "auth login --store file --no-verify --base-url http://127.0.0.1:9";
    let said = in_shell(&home, &format!("\"$F\" {login} --api-key-stdin <&-"));
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    home.assert_untouched();
}

#[test]
fn use_sets_the_profile_if_its_output_fails() {
    for streams in STREAMS.iter().copied().chain(["<&-", "<&- >&- 2>&-"]) {
        let home = Home::new();
        for profile in ["work", "play"] {
            home.log_in(profile, "http://127.0.0.1:9", SECRET, &["--no-verify"]);
        }
        assert!(home.config().contains("profile = \"work\""), "{}", home.config());
        let said = in_shell(&home, &format!("\"$F\" auth use play {streams}"));
        assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{streams}: {}", said.stderr);
        assert!(home.config().contains("profile = \"play\""), "{streams}: {}", home.config());
    }
}
