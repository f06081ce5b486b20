//! Where deliveries may go, as commands are told of it.

use std::path::PathBuf;

use super::error::CommandError;
use super::exit::Exit;
use super::settings::bad;
use crate::egress::{AllowEntry, ClientOptions, EgressPolicy, ExtraRoots};

#[derive(Debug, clap::Args)]
pub(super) struct EgressArgs {
    /// What the server is for: prod delivers to public addresses only, dev to this machine as well
    /// [default: prod].
    #[arg(long, value_name = "PROFILE", env = "FORMSVC_SERVER_PROFILE")]
    profile: Option<String>,
    /// Let deliveries reach an address range (10.1.0.0/16), an address, or a host and port
    /// (hooks.internal:8443) that is not public; can be repeated, or have commas.
    #[arg(long, value_name = "ENTRY", value_delimiter = ',', env = "FORMSVC_SERVER_EGRESS_ALLOW")]
    egress_allow: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct EgressRootsArgs {
    /// PEM file with certificates of authorities that deliveries trust besides the system's.
    #[arg(long, value_name = "PATH", env = "FORMSVC_SERVER_EGRESS_CA")]
    egress_ca: Option<PathBuf>,
}

impl EgressArgs {
    /// Which addresses deliveries may reach.
    pub(super) fn policy(&self) -> Result<EgressPolicy, CommandError> {
        let policy = match self.profile.as_deref() {
            None | Some("prod") => EgressPolicy::production(),
            Some("dev") => EgressPolicy::dev(),
            Some(other) => return Err(bad("--profile", other, "must be prod or dev")),
        };
        self.egress_allow.iter().try_fold(policy, |policy, entry| {
            let allowed: Result<AllowEntry, _> = entry.parse();
            let refused = |error| {
                let told = CommandError::of(Exit::Usage, &error).about("--egress-allow");
                told.of_flag("--egress-allow")
            };
            Ok(policy.allow(allowed.map_err(refused)?))
        })
    }
}

impl EgressRootsArgs {
    /// How deliveries are sent, under a policy.
    pub(super) fn client(&self, policy: EgressPolicy) -> Result<ClientOptions, CommandError> {
        let mut options = ClientOptions { policy, ..ClientOptions::default() };
        if let Some(path) = &self.egress_ca {
            let shown = path.display().to_string();
            let flag = "--egress-ca";
            let text = std::fs::read(path)
                .map_err(|error| CommandError::unread(path, &error).of_flag(flag))?;
            options.extra_roots = ExtraRoots::from_pem(&text).map_err(|error| {
                CommandError::of(Exit::Usage, &error).about(&shown).of_flag(flag)
            })?;
        }
        Ok(options)
    }
}
