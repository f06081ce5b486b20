//! The `formsvc-server` command; everything is in the library.

/// Submissions, pages and deliveries are made by one thread and dropped by another, which the C library's
/// allocator is slow at: docs/PERFORMANCE.md has what it costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    formsvc_server::cmd::main(std::env::args_os())
}
