//! The `formsvc` command with its main function. Only for tests.

fn main() -> std::process::ExitCode {
    formsvc_cli::main()
}
