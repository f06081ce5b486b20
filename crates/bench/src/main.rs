//! The `formsvc-bench` command; the library contains the code.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    formsvc_bench::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    // Pinning to cores works on Linux only.
    std::process::ExitCode::FAILURE
}
