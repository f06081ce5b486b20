//! One-time links that set a password: how the first owner, and whoever forgot theirs, get in.

use std::time::Duration;

use formsvc_protocol::UserId;
use secrecy::{ExposeSecret, SecretString};

use super::{Admin, AdminError};
use crate::random;
use crate::store::{LinkRecord, NewLink, TokenHash};

/// How long a link can be used.
pub const LINK_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The path of a link, before its token.
pub const WELCOME_PATH: &str = "/dashboard/welcome/";
/// Digits of a token: 43 of base 62 hold 256 bits.
const TOKEN_LEN: usize = 43;

/// A link just made.
#[derive(Debug)]
pub struct CreatedLink {
    /// Whose password it sets, and until when.
    pub record: LinkRecord,
    /// Its token; only the hash is kept, so this is the only time it can be shown.
    pub token: SecretString,
}

impl CreatedLink {
    /// The path to open in a browser.
    pub fn path(&self) -> SecretString {
        format!("{WELCOME_PATH}{}", self.token.expose_secret()).into()
    }
}

impl Admin {
    /// Makes a link that sets a user's password once, within 24 hours; without a user, one that makes
    /// the first owner. Earlier links for the same stop working.
    pub async fn create_link(&self, user: Option<&UserId>) -> Result<CreatedLink, AdminError> {
        let token = random::base62("", TOKEN_LEN)?;
        let link = NewLink {
            token: TokenHash::of(token.expose_secret()),
            user: user.cloned(),
            lifetime: LINK_LIFETIME,
        };
        Ok(CreatedLink { record: self.store.add_link(link).await?, token })
    }
}
