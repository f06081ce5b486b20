//! The whole `formsvc-server` command, with the places where a test has it die. Only for tests.

fn main() -> std::process::ExitCode {
    formsvc_server::cmd::main(std::env::args_os())
}
