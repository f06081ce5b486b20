//! `formsvc`: form submissions, complete and safe, in the hands of the people who need them.

use std::process::ExitCode;

/// Rows, pages and deliveries are made by one thread and dropped by another, which the C library's
/// allocator is slow at: docs/PERFORMANCE.md has what it costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    formsvc_cli::main()
}
