//! `formsvc`: form submissions, complete and safe, in the hands of the people who need them.

use std::process::ExitCode;

/// One thread allocates rows, pages and deliveries and another one frees them. The C library's
/// allocator is slow in this case.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    formsvc_cli::main()
}
