//! `formsvc completion`

mod shell;

use clap::{Args, ValueEnum};

use super::page;
use crate::error::CliError;
pub(crate) use shell::{Shell, is_plain};

/// Print the completion script for a shell
///
/// The script calls formsvc to complete commands, flags and their values. Forms are those that the last
/// `formsvc forms list` or another command received; completion sends no requests.
#[derive(Debug, Args)]
#[command(after_help = "Where to save the script:
  bash        ~/.local/share/bash-completion/completions/formsvc, if the
              package bash-completion is installed; else add to ~/.bashrc:
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
    /// Shell for which the script is printed
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        page::put(&self.shell.script())
    }
}

/// Returns the usual file name and the script of each shell.
pub fn completion_scripts() -> Vec<(&'static str, String)> {
    Shell::value_variants().iter().map(|shell| (shell.file(), shell.script())).collect()
}
