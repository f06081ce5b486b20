//! A command line of one flag: what the parser alone costs a start.

use clap::Parser;

/// Says hello
#[derive(Parser)]
#[command(version)]
struct Hello {
    /// To whom
    #[arg(long, default_value = "world")]
    name: String,
}

fn main() -> std::process::ExitCode {
    use std::io::Write;
    let hello = Hello::parse();
    match writeln!(std::io::stdout(), "hello {}", hello.name) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}
