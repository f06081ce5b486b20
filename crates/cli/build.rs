//! Keeps two shared libraries out of the command, which would be looked up, mapped and set up at every
//! start: the unwinder, which is linked in where a static one is found, and libm, which `pow.c` loads when
//! it is needed. `readelf -d` of a release build names no library but libc and the loader.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=pow.c");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" {
        return;
    }
    // A program that is linked with libc itself loads nothing.
    if !target("FEATURE").split(',').any(|feature| feature == "crt-static") {
        cc::Build::new()
            .file("pow.c")
            .flag("-fno-builtin")
            .warnings_into_errors(true)
            .compile("pow");
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
