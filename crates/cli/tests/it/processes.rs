//! Starts the programs of tests, with default signal actions and a limited lifetime.

use std::ffi::OsStr;
use std::process::Command;

/// Returns a command. Tests must not start programs in another way.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    #[cfg(target_os = "linux")]
    {
        static PREPARED: std::sync::Once = std::sync::Once::new();
        PREPARED.call_once(|| {
            // On a thread of its own, because a runtime cannot be dropped inside another one.
            std::thread::spawn(linux::handle_ignored_signals).join().unwrap();
            std::thread::spawn(linux::kill_late_children);
        });
    }
    Command::new(program)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};
    use std::io::{self, Write};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, kill_process};
    use tokio::signal::unix::{SignalKind, signal};

    /// Maximum lifetime of a program that a test starts.
    const LIFE_MAX: Duration = Duration::from_secs(600);

    /// Handles the signals that this process ignores, because it was started with `nohup`, or with `&` in
    /// a script. A child inherits an ignored signal, while a handled one has its default action again.
    /// Other signals stay as they are, so that Ctrl-C ends the tests.
    pub(super) fn handle_ignored_signals() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let _context = runtime.enter();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        for kind in [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit()] {
            if mask & (1 << (kind.as_raw_value() - 1)) != 0 {
                // The signal handler of the operating system stays installed when this is dropped.
                drop(signal(kind).unwrap());
            }
        }
    }

    /// Kills programs that exceed the maximum lifetime, with all their child processes, in an endless loop. A
    /// test that waits for such a program, or reads its output, then fails.
    pub(super) fn kill_late_children() {
        let mut since = HashMap::new();
        loop {
            // Sleeps because the kernel does not report the age of a child.
            std::thread::sleep(Duration::from_secs(5));
            let all: Vec<Process> = processes();
            let ours = |process: &&Process| process.parent == std::process::id().cast_signed();
            let children: HashSet<_> = all.iter().filter(ours).map(Process::key).collect();
            since.retain(|key, _| children.contains(key));
            for key in children {
                let late = since.entry(key.clone()).or_insert_with(Instant::now).elapsed();
                if late > LIFE_MAX {
                    // Unlike the macro, this is not captured as output of a test.
                    let _ =
                        writeln!(io::stderr(), "killed after {late:?}: {}", command_line(key.0));
                    kill_tree(&all, key.0);
                }
            }
        }
    }

    struct Process {
        id: i32,
        parent: i32,
        /// The start time of a process, which distinguishes processes with the same id.
        started: String,
    }

    impl Process {
        fn key(&self) -> (i32, String) {
            (self.id, self.started.clone())
        }
    }

    fn processes() -> Vec<Process> {
        let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let read = entries.filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name of the program, in parentheses, can contain anything.
            let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
            Some(Process { id, parent: fields[1].parse().ok()?, started: fields[19].to_owned() })
        });
        read.collect()
    }

    fn command_line(id: i32) -> String {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    }

    fn kill_tree(all: &[Process], id: i32) {
        // The parent first, so that it does not start another child.
        let _ = kill_process(Pid::from_raw(id).unwrap(), Signal::KILL);
        for child in all.iter().filter(|process| process.parent == id) {
            kill_tree(all, child.id);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn child_begins_with_default_signals() {
    const IS_INNER: &str = "FORMSVC_TEST_IGNORES_SIGNALS";
    if std::env::var_os(IS_INNER).is_none() {
        // Runs this test again in a process that ignores the signals, as under nohup.
        let test = std::env::current_exe().unwrap();
        let output = command("env")
            .args(["--ignore-signal=HUP,INT,QUIT".as_ref(), test.as_os_str()])
            .args(["--exact", "processes::child_begins_with_default_signals", "--nocapture"])
            .env(IS_INNER, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
        return;
    }
    // SIGHUP, SIGINT and SIGQUIT have the numbers 1 to 3.
    let ignored = |status: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap() & 0b111
    };
    assert_eq!(ignored(&std::fs::read_to_string("/proc/self/status").unwrap()), 0b111);
    let child = command("cat").arg("/proc/self/status").output().unwrap();
    assert_eq!(ignored(&String::from_utf8(child.stdout).unwrap()), 0);
}

#[test]
fn programs_are_started_in_one_place() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("processes.rs") && path.extension().is_some_and(|e| e == "rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!text.contains("Command::new("), "{}", path.display());
            }
        }
    }
}
