//! `formsvc sandbox`

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::ready_file;
use crate::context::Context;
use crate::error::CliError;
use crate::sandbox::{self, SandboxOptions, banner};
use crate::settings::args::whole;

/// Run a service with sample data on this machine, for tests and first steps
///
/// It listens on loopback only and runs until it is interrupted. Prints the lines that set its address and
/// API key in a shell; all messages go to standard error. Its forms: the RAND health
/// insurance experiment (randhie), election interviews (anes96), penguins, text that breaks
/// software (naughty), and a form without submissions (contact, at /f/contact). The submissions are
/// spread over the 180 days before today (UTC).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc sandbox --port 0 --ready-file sandbox.json\n  formsvc sandbox --generate big=100000 --rate-limit off\n  formsvc sandbox --fault errors=20% --fault latency=300ms\n  formsvc sandbox --webhook contact=http://localhost:9000/ --submit-every 2s"
)]
pub(crate) struct Sandbox {
    /// Port to listen on; 0 finds a free one
    #[arg(long, value_name = "PORT", default_value_t = 8787, value_parser = whole::<u16>(0..=65_535))]
    port: u16,
    /// Write a JSON object to this file once the service answers: pid, base_url, api_key, forms, webhooks
    #[arg(long, value_name = "PATH")]
    ready_file: Option<PathBuf>,
    #[command(flatten)]
    options: SandboxOptions,
}

impl Sandbox {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let (every, faults) = (self.options.submit_every, self.options.fault.clone());
        let mut sandbox = sandbox::Sandbox::start(self.port, self.options).await?;
        let stopped = cx.shutdown.drain_within(sandbox::STOP_TIME);
        cx.shutdown.run_until_stopped();
        ready_file::write(cx, self.ready_file, &sandbox.info).await?;
        for line in banner(&sandbox.info, every, &faults).split('\n') {
            if line.starts_with("export ") {
                writeln!(io::stdout(), "{line}").map_err(|error| CliError::stdout(&error))?;
            } else {
                cx.progress.remark(line);
            }
        }
        loop {
            tokio::select! {
                Some(line) = sandbox.attempts.recv() => cx.progress.remark(&line),
                () = stopped.cancelled() => break,
            }
        }
        cx.shutdown.remove_files();
        sandbox.stop().await?;
        Err(cx.stopped(cx.shutdown.requested().await))
    }
}
