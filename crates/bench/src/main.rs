//! The `formsvc-bench` command; everything is in the library.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    formsvc_bench::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    // The benchmarks read /proc and pin processes to cores.
    std::process::ExitCode::FAILURE
}
