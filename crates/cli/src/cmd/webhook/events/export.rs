//! `formsvc webhook events export`

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use formsvc_export::{Destination, Existing};

use crate::context::Context;
use crate::error::CliError;
use crate::output::Harmless;
use crate::webhook::capture::Capture;
use crate::webhook::kept::{WhichArgs, get, some_captures, whole_json};
use crate::webhook::{har, mask, message};

/// Write deliveries as messages of HTTP, commands of curl, an archive, or JSON
///
/// A file appears under its name only when it is complete, and only its owner can read it. Signatures and secrets among the headers show
/// their beginning only, unless `--reveal` is given; the signing secret itself is never in it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events export 2 --as curl\n  formsvc --demo webhook events export --status failed --as har -o failed.har\n  formsvc --demo webhook events export 1-3 --as http --reveal"
)]
pub(crate) struct Export {
    #[command(flatten)]
    which: WhichArgs,
    /// What they are written as
    #[arg(long = "as", value_name = "FORMAT")]
    format: Format,
    /// The output; `-` is standard output
    #[arg(short, long = "out", value_name = "PATH|-", default_value = "-")]
    out: PathBuf,
    /// Refuse to replace an existing file
    #[arg(long)]
    no_clobber: bool,
    /// Write signatures and secrets whole; whoever has them can replay the deliveries
    #[arg(long)]
    reveal: bool,
}

/// What captures are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As they went over the wire, one after the other
    Http,
    /// Commands for a shell, each of which sends one again
    Curl,
    /// An HTTP archive (HAR 1.2), with what was answered
    Har,
    /// One JSON object a line, with all that is known
    Ndjson,
}

impl Export {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        cx.output.refuse_flags("the format is `--as`; `events show` takes fields and jq")?;
        let captures = some_captures(cx).await?;
        let numbers = self.which.numbers(cx, &captures).await?;
        if numbers.is_empty() {
            cx.progress.remark("no captures like that");
        }
        let mut out = self.destination(cx)?;
        let mut put = |bytes: &[u8]| out.put(bytes).map_err(CliError::from);
        if self.format == Format::Har {
            put(har::AROUND[0].as_bytes())?;
        }
        let mut hides = false;
        for (at, number) in numbers.iter().enumerate() {
            let capture = get(&captures, *number).await?;
            let mut headers = capture.received.headers.iter();
            hides |= headers.any(|(name, value)| mask::hides(name, value));
            put(&self.written(&capture, at == 0))?;
        }
        if self.format == Format::Har {
            put(har::AROUND[1].as_bytes())?;
        }
        out.publish()?;
        if hides && !self.reveal && matches!(self.format, Format::Curl | Format::Http) {
            cx.progress.remark(
                "note: signatures are masked, and a receiver refuses them so: --reveal shows them, and \
                 `formsvc webhook replay` signs anew",
            );
        }
        if let Some(file) = self.file() {
            let (count, s) = (numbers.len(), if numbers.len() == 1 { "" } else { "s" });
            cx.progress.remark(&format!("{count} capture{s} → {}", file.display()));
        }
        Ok(())
    }

    fn written(&self, capture: &Capture, is_first: bool) -> Vec<u8> {
        let received = &*capture.received;
        match self.format {
            Format::Http => message::received(received, self.reveal),
            Format::Curl => {
                let number = capture.number.unwrap_or_default();
                let between = if is_first { "" } else { "\n" };
                let head = format!("{between}# capture {number}\n").into_bytes();
                [head, message::curl_of(received, self.reveal)].concat()
            }
            Format::Har => {
                let comma = if is_first { "\n" } else { ",\n" };
                format!("{comma}{}", har::entry(capture, self.reveal)).into_bytes()
            }
            Format::Ndjson => format!("{}\n", whole_json(capture, self.reveal)).into_bytes(),
        }
    }

    fn file(&self) -> Option<&Path> {
        (self.out != Path::new("-")).then_some(&self.out)
    }

    fn destination(&self, cx: &Context) -> Result<Destination<'static>, CliError> {
        let Some(path) = self.file() else {
            let out = io::stdout();
            if !cx.settings.terminal.stdout {
                return Ok(Destination::stream(Box::new(out)));
            }
            cx.progress.share_terminal();
            return Ok(Destination::stream(Box::new(Harmless::new(out))));
        };
        let existing = if self.no_clobber { Existing::Keep } else { Existing::Replace };
        let destination = Destination::file(path, existing)?.owner_only();
        cx.abort.removes(destination.working_files());
        Ok(destination)
    }
}
