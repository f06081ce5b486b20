//! Links the unwinder into the command.
//!
//! As a shared library of its own it is looked up, mapped and set up at every start, which takes
//! longer than printing `--help` does. Where the static one is not found, the shared one serves.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}"));
    if target("OS").as_deref() != Ok("linux") || target("ENV").as_deref() != Ok("gnu") {
        return;
    }
    if let Some(folder) = unwinder() {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// The folder of the static unwinder, as the linker's driver knows it.
fn unwinder() -> Option<PathBuf> {
    let driver = std::env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked = Command::new(driver).arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
    // A driver that has none prints the bare name.
    path.is_absolute().then(|| path.parent().map(Into::into)).flatten()
}
