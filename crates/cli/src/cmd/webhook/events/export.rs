//! `formsvc webhook events export`

use std::path::{Path, PathBuf};

use clap::Args;
use formsvc_export::{Destination, Existing};
use formsvc_workbench::export::{ExportFormat, Exporter};

use super::super::args::{CapturesArgs, export_format};
use super::super::captures;
use crate::base::text::count;
use crate::context::Context;
use crate::error::CliError;

/// Write recorded deliveries as HTTP requests, curl commands, a HAR file or JSON
///
/// The file appears when it is complete, and only its owner can read it. Signatures and secrets in headers are
/// masked unless `--reveal` is given, so receivers refuse the requests. `webhook replay --export … --reveal` exports
/// them with a fresh signature and the URL of the target. The signing secret is never exported.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events export 2 --as curl\n  formsvc --demo webhook events export --status failed --as har -o failed.har\n  formsvc --demo webhook events export 1 2 3 --as http --reveal"
)]
pub(crate) struct Export {
    #[command(flatten)]
    captures: CapturesArgs,
    /// Output format
    #[arg(long = "as", value_name = "FORMAT", value_parser = export_format(false))]
    format: ExportFormat,
    /// Output file; `-` is standard output
    #[arg(short, long = "out", value_name = "PATH|-", default_value = "-")]
    out: PathBuf,
    /// Do not mask signatures and secrets. They allow others to replay the deliveries
    #[arg(long)]
    reveal: bool,
}

impl Export {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let store = captures::require(cx).await?;
        let (_, numbers) = self.captures.select(cx, &store).await?;
        if numbers.is_empty() {
            cx.progress.remark("no captures match");
        }
        let file = (self.out != Path::new("-")).then_some(&*self.out);
        let mut destination = match file {
            Some(path) => {
                let destination = Destination::file(path, Existing::Replace)?.owner_only();
                let files = destination.working_files();
                cx.shutdown.at_exit(move || files.remove());
                Some(destination)
            }
            None => None,
        };
        let mut put = |bytes: &[u8]| match &mut destination {
            Some(destination) => destination.put(bytes).map_err(CliError::from),
            None => cx.output.exactly(bytes),
        };
        let mut exporter = Exporter::new(self.format, self.reveal);
        put(exporter.begin().as_bytes())?;
        for number in &numbers {
            let delivery = captures::get(&store, *number).await?;
            put(&exporter.delivery(&delivery))?;
        }
        put(exporter.end().as_bytes())?;
        let ends_with_body = self.format == ExportFormat::Http && exporter.count() > 0;
        if ends_with_body && file.is_none() && cx.settings.terminal.stdout {
            put(b"\n")?;
        }
        if let Some(destination) = destination {
            destination.publish()?;
        }
        for warning in exporter.warnings() {
            cx.progress.warn(&warning);
        }
        if let Some(file) = file {
            let captures = count(exporter.count() as u64, "capture");
            cx.progress.remark(&format!("{captures} → {}", file.display()));
        }
        Ok(())
    }
}
