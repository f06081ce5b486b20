//! The `formsvc-server` command; everything is in the library.

fn main() -> std::process::ExitCode {
    formsvc_server::cmd::main(std::env::args_os())
}
