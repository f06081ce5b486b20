//! The `formsvc-server` command with fault points, at which a test lets it die. Only for tests.

fn main() -> std::process::ExitCode {
    formsvc_server::cmd::main(std::env::args_os())
}
