//! What the page is asked for with.

use clap::Args;

use crate::args::whole;

/// Flags of the inspector page.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct InspectorArgs {
    /// Serve a page that shows deliveries as they come, on this machine alone; its address is printed
    /// once it can be opened
    #[arg(long, help_heading = "Inspector page")]
    pub(crate) ui: bool,
    /// Port of the page; 0 finds a free one
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        requires = "ui",
        value_parser = whole::<u16>(0..=65_535),
        help_heading = "Inspector page"
    )]
    pub(crate) ui_port: u16,
}
