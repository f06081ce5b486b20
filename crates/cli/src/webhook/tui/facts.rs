//! What does not change while the interface is shown.

use jiff::tz::TimeZone;
use url::Url;

use super::look::Theme;
use crate::webhook::store::Query;

/// What does not change.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The listener's own address; none where only what was kept is shown.
    pub(super) address: Option<Url>,
    /// What it forwards to.
    pub(super) targets: Vec<Url>,
    /// Whether there is a secret to sign with.
    pub(super) can_sign: bool,
    /// Whether signatures are shown whole.
    pub(super) reveal: bool,
    /// What flags leave of the list, and whether that is not all.
    pub(super) within: Query,
    pub(super) narrowed: bool,
    pub(super) zone: TimeZone,
    pub(super) theme: Theme,
}

impl Facts {
    /// Whether deliveries come while it is shown.
    pub(super) fn is_live(&self) -> bool {
        self.address.is_some()
    }
}
