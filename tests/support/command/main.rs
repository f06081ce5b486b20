//! The whole `formsvc` command. Only for tests.

fn main() -> std::process::ExitCode {
    formsvc_cli::main()
}
