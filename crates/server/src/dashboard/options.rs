//! How the dashboard is served.

use std::time::Duration;

use super::password::Hashing;
use super::site::Site;

/// Options of the dashboard of a server.
#[derive(Clone, Debug)]
pub struct DashboardOptions {
    /// Where browsers find it. Default: this machine only.
    pub site: Site,
    /// How long a session lasts, from signing in. Default: 14 days.
    pub session_lifetime: Duration,
    /// What hashing a password costs.
    pub hashing: Hashing,
    /// Time a test of an endpoint has. Default: what SPEC §8 gives endpoints.
    pub test_timeout: Duration,
}

impl Default for DashboardOptions {
    fn default() -> Self {
        Self {
            site: Site::default(),
            session_lifetime: Duration::from_secs(14 * 24 * 60 * 60),
            hashing: Hashing::default(),
            test_timeout: formsvc_protocol::limits::DELIVERY_TIMEOUT,
        }
    }
}
