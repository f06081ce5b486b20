//! `cargo run -p xtask -- gen [--check]`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- gen [--check]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let outcome = match words.as_slice() {
        ["gen"] => write_all(&root),
        ["gen", "--check"] => check_all(&root),
        _ => Err(USAGE.to_owned()),
    };
    let (text, code) = match &outcome {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(text) => (text, ExitCode::FAILURE),
    };
    match writeln!(std::io::stderr(), "{text}") {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn write_all(root: &Path) -> Result<String, String> {
    match xtask::write(root) {
        Ok(written) if written.is_empty() => Ok("every generated file is fresh".to_owned()),
        Ok(written) => Ok(format!("wrote {}", written.join(", "))),
        Err(error) => Err(format!("error: {error}")),
    }
}

fn check_all(root: &Path) -> Result<String, String> {
    match xtask::stale(root) {
        Ok(stale) if stale.is_empty() => Ok("every generated file is fresh".to_owned()),
        Ok(stale) => Err(format!("stale: {}\nrun: cargo run -p xtask -- gen", stale.join(", "))),
        Err(error) => Err(format!("error: {error}")),
    }
}
