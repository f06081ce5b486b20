//! Full disks: the server refuses submissions, and recovers when space is free.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use formsvc_tests::figures::Figures;
use formsvc_tests::scale::is_long;
use formsvc_tests::site::Site;

use super::ledgers::{PROGRAM, Story};

/// Submissions that prove that the server accepts them again.
const SOME: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_database_refuses_submissions_until_space_is_free() {
    let story = Story::new(2).await;
    let here = story.site.serve_here().await;
    let base_url = here.running.base_url();
    let visitors = story.visit(&base_url);
    story.intake.wait_for(SOME).await;
    here.store.set_full(true).await.unwrap();
    story.intake.wait_for_refusals(SOME).await;
    // Reading still works, and returns what was accepted.
    story.compare_shown(&base_url).await;
    here.store.set_full(false).await.unwrap();
    story.intake.wait_for(story.intake.taken() + SOME).await;
    visitors.stop().await;
    here.running.shutdown().await.unwrap();
    let refused = story.intake.refused();
    let figures = story.end("a database that cannot grow").await;
    println!("{}", figures.with("refused", refused.values().sum::<u64>()));
    assert_eq!(refused.keys().collect::<Vec<_>>(), [&(503, true)], "503 with Retry-After");
    if is_long() {
        println!("{}", a_full_disk().await);
    }
}

/// A file system of 96 MiB. Only root can create one.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=96m", "tmpfs"]).arg(dir.path());
        assert!(mount.status().unwrap().success(), "the long run needs root to mount a small disk");
        Self(dir)
    }

    fn filler(&self) -> PathBuf {
        self.0.path().join("filler")
    }

    /// Fills the disk completely.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.filler()).unwrap();
        for size in [1 << 20, 1 << 12, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "the disk cannot be unmounted");
    }
}

/// Repeats the test ten times with a server process and a full disk.
async fn a_full_disk() -> Figures {
    let disk = Disk::new();
    let folder = tempfile::tempdir_in(disk.0.path()).unwrap();
    let story = Story::on(Site::within(PROGRAM, folder).await, 1, 2).await;
    let server = story.serve().await;
    let visitors = story.visit(&server.base_url);
    for _ in 0..10 {
        story.intake.wait_for(story.intake.taken() + SOME).await;
        disk.fill();
        story.intake.wait_for_refusals(SOME).await;
        story.compare_shown(&server.base_url).await;
        remove(&disk.filler());
        story.intake.wait_for(story.intake.taken() + SOME).await;
    }
    visitors.stop().await;
    story.stop(server).await;
    let refused = story.intake.refused();
    let figures = story.end("a disk that fills up ten times").await;
    assert_eq!(refused.keys().collect::<Vec<_>>(), [&(503, true)], "503 with Retry-After");
    figures.with("refused", refused.values().sum::<u64>())
}

fn remove(path: &Path) {
    std::fs::remove_file(path).unwrap();
}
