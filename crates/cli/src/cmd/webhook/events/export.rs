//! `formsvc webhook events export`

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use formsvc_export::{Destination, Existing};
use url::Url;

use crate::context::Context;
use crate::error::CliError;
use crate::output::Harmless;
use crate::webhook::export::{Form, Writer};
use crate::webhook::kept::{WhichArgs, get, some_captures};
use crate::webhook::target::target;

/// Write recorded deliveries as HTTP requests, curl commands, a HAR file or JSON
///
/// A file appears under its name only when it is complete, and only its owner can read it. Signatures and
/// secrets among the headers show their beginning only, and a receiver refuses them so, unless `--reveal` is
/// given; the signing secret itself is never in it. `webhook replay --export`
/// signs them anew, and with `--reveal` shows that.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events export 2 --as curl\n  formsvc --demo webhook events export --status failed --as har -o failed.har\n  formsvc --demo webhook events export 1-3 --as http --reveal"
)]
pub(crate) struct Export {
    #[command(flatten)]
    which: WhichArgs,
    /// What they are written as
    #[arg(long = "as", value_name = "FORMAT")]
    form: Form,
    /// The output; `-` is standard output
    #[arg(short, long = "out", value_name = "PATH|-", default_value = "-")]
    out: PathBuf,
    /// Where the requests go, with `curl` and `http`: a URL, a port of this machine, or host:port/path [default:
    /// where they came to]
    #[arg(long, value_name = "URL", value_parser = target)]
    to: Option<Url>,
    /// Refuse to replace an existing file
    #[arg(long)]
    no_clobber: bool,
    /// Write signatures and secrets whole; whoever has them can replay the deliveries
    #[arg(long)]
    reveal: bool,
}

impl Export {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        cx.output.refuse_flags("the format is `--as`; `events show` takes fields and jq")?;
        if self.to.is_some() && !Form::OF_REQUESTS.contains(&self.form) {
            let what = "`--to` is for `--as curl` and `--as http`, which are requests to be sent";
            return Err(CliError::usage(what).hint("the others say where each delivery came to"));
        }
        let captures = some_captures(cx).await?;
        let numbers = self.which.numbers(cx, &captures).await?;
        if numbers.is_empty() {
            cx.progress.remark("no captures like that");
        }
        let mut out = self.destination(cx)?;
        let mut put = |bytes: &[u8]| out.put(bytes).map_err(CliError::from);
        let mut writer = Writer::new(self.form, self.reveal);
        put(writer.begin().as_bytes())?;
        for number in &numbers {
            let capture = get(&captures, *number).await?;
            put(&writer.capture(&capture, self.to.as_ref()))?;
        }
        put(writer.end().as_bytes())?;
        if self.file().is_none() && cx.settings.terminal.stdout {
            put(writer.end_of_line().as_bytes())?;
        }
        out.publish()?;
        for warning in writer.warnings() {
            cx.progress.warn(warning);
        }
        if let Some(file) = self.file() {
            let (count, s) = (writer.count(), if writer.count() == 1 { "" } else { "s" });
            cx.progress.remark(&format!("{count} capture{s} → {}", file.display()));
        }
        Ok(())
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
