//! `formsvc`: form submissions, complete and safe, in the hands of the people who need them.

use std::process::ExitCode;

fn main() -> ExitCode {
    formsvc_cli::main()
}
