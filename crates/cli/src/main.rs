//! `formsvc`: reads and exports form submissions, and receives and tests webhook deliveries.

use std::process::ExitCode;

/// One thread allocates rows, pages and deliveries and another one frees them. The C library's
/// allocator is slow in this case.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    formsvc_cli::main()
}
