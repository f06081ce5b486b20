//! The process: reads the arguments, runs one command, handles signals and panics, and returns the exit code.

mod log;
mod panics;
mod run;
mod signals;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::ErrorKind;

use crate::base::env;
use crate::base::text::stderr_width;
use crate::cmd::completion::Shell;
use crate::cmd::{Cli, help_flags, page};
use crate::complete;
use crate::error::{CliError, ErrorFormat, usage};
use crate::exit::Exit;
use crate::output::to_stderr;
use crate::settings::args::given;
use crate::settings::early::ParsedEarly;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let mut early = ParsedEarly::new(&args, &env::of_process);
    panics::report(early);
    let exit = panics::catch(|| {
        if complete::respond(&args, &env::of_process) {
            return Exit::Done;
        }
        let result = match text_without_parser(&args) {
            Some(text) => page::put(&text),
            None => parse(early, &args).and_then(|cli| run::run(cli, &mut early)),
        };
        match result {
            Ok(()) => Exit::Done,
            Err(error) => print(&error, early),
        }
    });
    ExitCode::from(exit.code())
}

/// Returns the version or a completion script without the parser, or `None` for other arguments. Shells and editors
/// request these texts at each start, and the construction of the parser takes longer than all other work.
fn text_without_parser(args: &[OsString]) -> Option<String> {
    let words: Option<Vec<&str>> = args.iter().skip(1).map(|arg| arg.to_str()).collect();
    match words?[..] {
        ["--version" | "-V"] => Some(concat!("formsvc ", env!("CARGO_PKG_VERSION"), "\n").into()),
        ["completion", shell] => Some(Shell::named(shell)?.script()),
        _ => None,
    }
}

fn parse(early: ParsedEarly, args: &[OsString]) -> Result<Cli, CliError> {
    let mut root = page::laid_out_command();
    let matches = root.try_get_matches_from_mut(args);
    let parsed = matches.and_then(|mut matches| {
        let (given, checked) = (given(&root, &matches), help_flags::check(&matches));
        let mut cli = Cli::from_arg_matches_mut(&mut matches)?;
        cli.globals.given = given;
        Ok(checked.map(|()| cli))
    });
    let error = match parsed {
        Ok(cli) => return cli,
        Err(error) => error,
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // `page` decides about colours, because the rules of the parser are different.
        page::show(&error.render().ansi(), early)?;
        return Err(CliError::silent(Exit::Done));
    }
    if args.iter().skip(1).all(|arg| arg == "--quiet" || arg == "-q" || arg == "--no-pager") {
        page::show(&root.render_help().ansi(), early)?;
        return Err(CliError::silent(Exit::Done));
    }
    root.build();
    let path = usage::path(&root, args);
    let is_missing = matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if let (Some(group), true, ErrorFormat::Text) = (path.last(), is_missing, early.error_format) {
        let help = (*group).clone().render_help();
        // A failed write is ignored, because the exit code still reports the error.
        let _ = to_stderr(early.color, |err| write!(err, "{}", help.ansi()));
        return Err(CliError::silent(Exit::Usage));
    }
    Err(usage::explain(&error, &path, args))
}

/// Prints an error on standard error and returns its exit code.
fn print(error: &CliError, early: ParsedEarly) -> Exit {
    // A failed write is ignored, because the exit code still reports the error.
    let _ = to_stderr(early.color, |err| error.print(err, early.error_format, stderr_width()));
    error.exit
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn text(args: &[&str]) -> Option<String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        text_without_parser(&args)
    }

    #[test]
    fn version_without_parser_equals_version_of_parser() {
        for flag in ["--version", "-V"] {
            let parsed = crate::cmd::command().try_get_matches_from(["formsvc", flag]).unwrap_err();
            assert_eq!(text(&["formsvc", flag]), Some(parsed.render().to_string()), "{flag}");
        }
        for shell in Shell::value_variants() {
            let name = shell.to_possible_value().unwrap().get_name().to_owned();
            assert_eq!(text(&["formsvc", "completion", &name]), Some(shell.script()));
        }
    }

    #[test]
    fn other_arguments_need_the_parser() {
        for words in [
            &[][..],
            &["me"],
            &["--version", "me"],
            &["me", "--version"],
            &["-hV"],
            &["completion"],
            &["completion", "tcsh"],
            &["completion", "bash", "-q"],
        ] {
            assert_eq!(text(&[&["formsvc"], words].concat()), None, "{words:?}");
        }
        assert_eq!(text(&[]), None);
    }
}
