//! The `formsvc-bench` command; everything is in the library.

/// That of the programs that are measured, for their floors as well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    formsvc_bench::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    // The benchmarks read /proc and pin processes to cores.
    std::process::ExitCode::FAILURE
}
