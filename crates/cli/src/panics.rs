//! A panic is a bug, and is told as one: in two lines a person can act on, with where it happened
//! and nothing of the data that was being worked on.

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};

use crate::early::Early;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::choice;

/// Tells of panics from now on in the words of every other error. Whoever catches the panic ends
/// with [`Exit::Bug`], and says nothing more.
pub(crate) fn tell(early: Early) {
    panic::set_hook(Box::new(move |info| {
        let mut err =
            anstream::AutoStream::new(io::stderr().lock(), choice(early.color, &io::stderr()));
        // With standard error closed, the exit code still says it.
        let _ = bug(info).print(&mut err, early.error_format);
        let _ = err.flush();
    }));
}

/// Runs something that ends in [`Exit::Bug`] when it panics.
pub(crate) fn caught(run: impl FnOnce() -> Exit) -> Exit {
    panic::catch_unwind(panic::AssertUnwindSafe(run)).unwrap_or(Exit::Bug)
}

/// The words of a panic stay out: they may quote an answer, a key or a file.
fn bug(info: &PanicHookInfo<'_>) -> CliError {
    let place = info.location().map_or_else(
        || "somewhere".to_owned(),
        |place| format!("at {}:{}", place.file(), place.line()),
    );
    CliError::new(Exit::Bug, "this is a bug in formsvc")
        .cause(format!("version {} panicked {place}", env!("CARGO_PKG_VERSION")))
        .hint("please report these lines and the command, without keys or data in it")
}
