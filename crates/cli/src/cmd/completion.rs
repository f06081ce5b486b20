//! `formsvc completion`

use clap::{Args, ValueEnum};

use super::page;
use crate::complete::Shell;
use crate::error::CliError;

/// Print the completion script for a shell
///
/// The script asks this program, so that forms and profiles are completed too. Forms come from a
/// list that is kept for five minutes; the service is asked for no longer than a blink.
#[derive(Debug, Args)]
#[command(after_help = "Where the script goes:
  bash        ~/.local/share/bash-completion/completions/formsvc, which needs
              the package bash-completion; without it, a line in ~/.bashrc:
              source <(formsvc completion bash)
  zsh         _formsvc in a folder of $fpath, before compinit runs
  fish        ~/.config/fish/completions/formsvc.fish
  powershell  at the end of $PROFILE
  elvish      at the end of ~/.config/elvish/rc.elv

Examples:
  formsvc completion bash > formsvc.bash
  formsvc completion zsh > _formsvc
  formsvc completion fish > formsvc.fish")]
pub(crate) struct Completion {
    /// The shell
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        page::put(&self.shell.script())
    }
}

/// The script of every shell, by the usual name of its file.
pub fn completion_scripts() -> Vec<(&'static str, String)> {
    Shell::value_variants().iter().map(|shell| (shell.file(), shell.script())).collect()
}
