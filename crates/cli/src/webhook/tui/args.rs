//! The flag of the terminal interface, and whether there is a terminal for it.

use clap::Args;

use super::layout::SMALLEST;
use crate::context::Context;
use crate::env;
use crate::output::is_dumb;

/// How often `-v` has to be given before what happens inside is told on standard error, all the time.
const CHATTY: u8 = 2;

/// The flag of the terminal interface.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct TuiArgs {
    /// Show deliveries in an interface of this terminal, with what is in them, replays and a filter; its
    /// `?` tells the keys. Where there is no terminal, lines come instead
    #[arg(long, help_heading = "Terminal")]
    pub(crate) tui: bool,
}

/// What is known of where it would be shown.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Surroundings {
    stdin: bool,
    stdout: bool,
    dumb: bool,
    /// Whether people read standard output, and no program.
    for_people: bool,
    chatty: bool,
    /// Columns and rows.
    size: Option<(u16, u16)>,
}

impl TuiArgs {
    /// Whether it is to be shown. Where the flag was given and it cannot be, that is said.
    pub(crate) fn is_shown(self, cx: &Context, for_people: bool) -> bool {
        self.tui && can_be_shown(cx, for_people, |why| format!("--tui is left out: {why}"))
    }
}

/// Whether there is a terminal for it. Where there is none, `instead` says what comes in its place, of why
/// it cannot be shown.
pub(crate) fn can_be_shown(
    cx: &Context,
    for_people: bool,
    instead: impl FnOnce(&str) -> String,
) -> bool {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    let (settings, terminal) = (&cx.settings, cx.settings.terminal);
    let surroundings = Surroundings {
        stdin: terminal.stdin,
        stdout: terminal.stdout,
        dumb: is_dumb(&env::of_process),
        for_people,
        chatty: terminal.stderr && settings.verbose >= CHATTY,
        size: size.map(|(width, height)| (width.0, height.0)),
    };
    match why_not(surroundings) {
        None => true,
        Some(why) => {
            cx.progress.remark(&instead(&why));
            false
        }
    }
}

/// Why it cannot be shown; none where it can.
fn why_not(surroundings: Surroundings) -> Option<String> {
    let Surroundings { stdin, stdout, dumb, for_people, chatty, size } = surroundings;
    let (columns, rows) = SMALLEST;
    let why = match size {
        _ if !stdout => "standard output is no terminal",
        _ if !stdin => "standard input is no terminal",
        _ if dumb => "TERM says that the terminal can only print",
        _ if !for_people => "what comes is told to a program",
        _ if chatty => "-vv tells on this terminal what happens inside",
        Some((width, height)) if width < columns || height < rows => {
            return Some(format!(
                "the terminal has {width} columns and {height} rows, and it needs {columns} and {rows}"
            ));
        }
        _ => return None,
    };
    Some(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Surroundings = Surroundings {
        stdin: true,
        stdout: true,
        dumb: false,
        for_people: true,
        chatty: false,
        size: Some((80, 24)),
    };

    #[test]
    fn it_is_shown_on_a_terminal_that_has_room_and_nowhere_else() {
        assert_eq!(why_not(TERMINAL), None);
        assert_eq!(why_not(Surroundings { size: Some(SMALLEST), ..TERMINAL }), None);
        // One that does not say how large it is.
        assert_eq!(why_not(Surroundings { size: None, ..TERMINAL }), None);
        for (place, why) in [
            (Surroundings { stdout: false, ..TERMINAL }, "standard output is no terminal"),
            (Surroundings { stdin: false, ..TERMINAL }, "standard input is no terminal"),
            (Surroundings { dumb: true, ..TERMINAL }, "TERM says that the terminal can only print"),
            (Surroundings { for_people: false, ..TERMINAL }, "what comes is told to a program"),
            (
                Surroundings { chatty: true, ..TERMINAL },
                "-vv tells on this terminal what happens inside",
            ),
            (
                Surroundings { size: Some((39, 24)), ..TERMINAL },
                "the terminal has 39 columns and 24 rows, and it needs 40 and 10",
            ),
            (
                Surroundings { size: Some((80, 9)), ..TERMINAL },
                "the terminal has 80 columns and 9 rows, and it needs 40 and 10",
            ),
        ] {
            assert_eq!(why_not(place).as_deref(), Some(why));
        }
    }
}
