//! Standard output as the destination of an export.

use std::io::{self, Stdout, Write};
use std::path::Path;

use formsvc_export::Destination;

use crate::base::sanitize::SanitizingWriter;
use crate::context::Context;

/// Names of standard output. The last three would be opened as files of their own, at their start, so that
/// `>>` would not append.
const NAMES: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

pub(super) fn is_name_of_it(path: &Path) -> bool {
    NAMES.iter().any(|name| path == Path::new(name))
}

/// Standard output; without characters that act on a terminal, if it is one.
pub(super) fn destination(cx: &Context) -> Destination<'static> {
    let (out, progress) = (io::stdout(), cx.progress.clone());
    if cx.settings.terminal.stdout {
        let begins = Some(move || progress.share_terminal());
        Destination::stream(Box::new(SanitizingWriter::new(StandardOutput { out, begins })))
    } else {
        let begins = Some(move || progress.step_aside());
        Destination::stream(Box::new(StandardOutput { out, begins }))
    }
}

/// Standard output, and a function that is called before the first write: until then a progress line may
/// be on the terminal.
struct StandardOutput<F> {
    out: Stdout,
    begins: Option<F>,
}

impl<F: FnOnce()> Write for StandardOutput<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(begins) = self.begins.take() {
            begins();
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
