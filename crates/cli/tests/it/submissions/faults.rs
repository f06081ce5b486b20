//! `formsvc submissions export` under faults: kills, full disks and a failing service. The same command
//! completes the output, which equals that of an export without faults.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::processes;
use crate::support::{Sandbox, entries, request, signal};

/// Every format, with and without compression.
const ENDINGS: &[&str] = &[
    "csv",
    "tsv",
    "ndjson",
    "json",
    "xlsx",
    "sqlite",
    "csv.gz",
    "ndjson.zst",
    #[cfg(feature = "parquet")]
    "parquet",
];

/// A sandbox with a form `big`, a folder for outputs, and a state folder.
struct World {
    sandbox: Sandbox,
    folder: tempfile::TempDir,
}

impl World {
    fn new(rows: usize) -> Self {
        let big = format!("big={rows}");
        let sandbox = Sandbox::start(&["--generate", &big, "--rate-limit", "off"]);
        Self { sandbox, folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn export(&self, out: &Path, state: &Path) -> Command {
        let args = ["submissions", "export", "big", "-o"];
        let mut command = self.sandbox.formsvc(&[&args[..], &[out.to_str().unwrap()]].concat());
        command.env("FORMSVC_STATE_DIR", state).stderr(Stdio::null());
        command
    }

    /// Returns the bytes of an export without faults, and its duration.
    fn whole(&self, ending: &str) -> (Vec<u8>, Duration) {
        let (out, began) = (self.path(&format!("whole.{ending}")), Instant::now());
        assert!(self.export(&out, &self.path("whole-state")).status().unwrap().success());
        (std::fs::read(out).unwrap(), began.elapsed())
    }
}

/// Returns true if `FORMSVC_SOAK` requests long runs.
fn is_soak() -> bool {
    std::env::var_os("FORMSVC_SOAK").is_some()
}

#[test]
fn killed_export_equals_an_uninterrupted_one() {
    let runs = if is_soak() { 200 } else { 50 };
    let world = World::new(1_500);
    let wholes: Vec<_> = ENDINGS.iter().map(|ending| world.whole(ending)).collect();
    let (state, seed) = (world.path("state"), fastrand::u64(..));
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut kills = 0;
    for number in 0..runs {
        let (ending, (whole, time)) =
            (ENDINGS[number % ENDINGS.len()], &wholes[number % ENDINGS.len()]);
        let parts = world.path(&format!("parts.{ending}"));
        std::fs::write(&parts, "the previous file").unwrap();
        loop {
            let mut child = world.export(&parts, &state).spawn().unwrap();
            // Sleeps because the signal comes at a random time.
            std::thread::sleep(time.mul_f64(random.f64() * 0.9));
            if child.try_wait().unwrap().is_none() {
                signal(&child, ["KILL", "INT", "TERM"][random.usize(..3)]);
            }
            let is_complete = child.wait().unwrap().success();
            let bytes = std::fs::read(&parts).unwrap();
            // The signal may arrive after the file was renamed to its final name.
            assert!(bytes == b"the previous file" || bytes == *whole, "run {number}, {ending}");
            if is_complete {
                assert!(bytes == *whole, "run {number}: {ending} differs");
                break;
            }
            kills += 1;
        }
        assert_eq!(entries(&state.join("exports")), Vec::<String>::new());
    }
    println!("{runs} runs, {kills} kills");
    assert!(kills > runs / 4, "only {kills} kills in {runs} runs");
}

/// A small file system in memory; unmounted when dropped.
#[cfg(target_os = "linux")]
pub(super) struct SmallDisk(pub(super) PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    /// Mounts the file system. Returns `None` if this process may not mount, which is a failure if
    /// `FORMSVC_REQUIRE_MOUNTS` is `1`.
    #[expect(clippy::print_stdout, reason = "reports a skipped test, with --nocapture")]
    pub(super) fn mount(folder: PathBuf) -> Option<Self> {
        std::fs::create_dir(&folder).unwrap();
        let disk = Self(folder);
        if disk.run("mount", &["-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs"]) {
            return Some(disk);
        }
        let is_required = std::env::var_os("FORMSVC_REQUIRE_MOUNTS").is_some_and(|set| set == "1");
        assert!(!is_required, "FORMSVC_REQUIRE_MOUNTS is set, and this process may not mount");
        println!("skipped: this process may not mount a tmpfs");
        None
    }

    pub(super) fn resize(&self, kib: usize) {
        assert!(self.run("mount", &["-o", &format!("remount,size={kib}k")]));
    }

    fn run(&self, program: &str, args: &[&str]) -> bool {
        let status =
            processes::command(program).args(args).arg(&self.0).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.run("umount", &["--lazy"]);
    }
}

/// The disk of the state folder or of the output is full, a little later in each run.
#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_exit_10_and_the_same_command_continues() {
    let world = World::new(600);
    let Some(disk) = SmallDisk::mount(world.path("disk")) else { return };
    let step = if is_soak() { 4 } else { 48 };
    let (on_disk, elsewhere) = (disk.0.clone(), world.path("elsewhere"));
    std::fs::create_dir(&elsewhere).unwrap();
    for ending in ENDINGS {
        let (whole, _) = world.whole(ending);
        for (out, state) in [(&elsewhere, &on_disk), (&on_disk, &elsewhere)] {
            let out = out.join(format!("rows.{ending}"));
            let state = state.join("state");
            let (mut size, mut failures) = (16, 0);
            loop {
                disk.resize(size);
                let output = world.export(&out, &state).stderr(Stdio::piped()).output().unwrap();
                let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                if output.status.success() {
                    break;
                }
                assert_eq!(output.status.code(), Some(10), "{ending} at {size} KiB: {stderr}");
                assert!(!out.exists(), "{ending} at {size} KiB");
                (size, failures) = (size + step, failures + 1);
                assert!(size < 8_192, "{ending}: {stderr}");
            }
            assert!(std::fs::read(&out).unwrap() == whole, "{ending} differs");
            assert!(failures > 0, "{ending}: the disk was never full");
            std::fs::remove_file(&out).unwrap();
            std::fs::remove_dir_all(&state).unwrap();
            println!("{ending}: {failures} times full, complete with {size} KiB");
        }
    }
}

#[test]
fn faulty_service_is_a_typed_error_or_complete() {
    let world = World::new(400);
    let control = |line: &str, body: &str| {
        let answer = request(&world.sandbox.base_url, line, "", body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    let base = [
        ("latency", "1ms"),
        ("errors", "10%"),
        ("truncated", "10%"),
        ("html", "10%"),
        ("cursor-millis", ""),
        ("duplicate-rows", ""),
        ("empty-page", ""),
    ];
    let worse = [("stuck-cursor", ""), ("rate-limited", "1")];
    let (out, state) = (world.path("rows.csv"), world.path("state"));
    let (whole, _) = world.whole("csv");
    for faults in [&base[..], &[&base[..], &worse[..1]].concat(), &[&base[..], &worse].concat()] {
        for (fault, value) in faults {
            control(&format!("PUT /_sandbox/faults/{fault}"), value);
        }
        let mut command = world.export(&out, &state);
        command.args(["--max-time", "5s", "--error-format", "json"]).stderr(Stdio::piped());
        let output = command.output().unwrap();
        if !output.status.success() {
            let stderr = String::from_utf8(output.stderr).unwrap();
            let error: serde_json::Value =
                serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
            println!("{} faults: {}", faults.len(), error["error"]["message"]);
            assert!(matches!(output.status.code(), Some(5..=8)), "{stderr}");
            assert!(!out.exists(), "{stderr}");
        }
        control("DELETE /_sandbox/faults", "");
        assert!(world.export(&out, &state).status().unwrap().success());
        assert!(std::fs::read(&out).unwrap() == whole, "{} faults: differs", faults.len());
        std::fs::remove_file(&out).unwrap();
    }
}
