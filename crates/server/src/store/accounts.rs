//! Who may sign in: passwords, sessions, and links that set a password, as they go into a store and
//! come out of it.

use std::time::Duration;

use formsvc_protocol::{FormInstant, User, UserId};
use sha2::{Digest, Sha256};

use super::endpoint::EndpointRecord;
use super::records::UserRecord;

/// SHA-256 of what a browser holds, of a session or in a link: all that is kept of it.
///
/// Such tokens carry 256 random bits, so a fast hash is as strong as a slow one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash that a token is known by.
    pub fn of(token: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(token).into())
    }
}

impl std::fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// A password's hash with its salt and its costs, as a PHC string: `$argon2id$v=19$…`.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// From the PHC string.
    pub fn new(phc: String) -> Self {
        Self(phc)
    }

    /// The PHC string.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// What somebody who signs in is judged by.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The user with the e-mail address.
    pub user: User,
    /// The password; a user without one cannot sign in.
    pub password: Option<PasswordHash>,
}

/// A session to begin.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Hash of its token, which only the browser has.
    pub token: TokenHash,
    /// Who signed in.
    pub user: UserId,
    /// The password they were judged by, none of a user without one: should it have been changed
    /// since, no session begins.
    pub password: Option<PasswordHash>,
    /// How long it lasts.
    pub lifetime: Duration,
}

/// A session under way.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRecord {
    /// Who signed in.
    pub user: User,
    /// When.
    pub created_at: FormInstant,
    /// When it ends.
    pub expires_at: FormInstant,
}

/// A link to make, which sets a password once.
#[derive(Clone, Debug)]
pub struct NewLink {
    /// Hash of its token, which only the link has.
    pub token: TokenHash,
    /// Whose password it sets; none for the link that makes the first owner.
    pub user: Option<UserId>,
    /// How long it can be used.
    pub lifetime: Duration,
}

/// A link that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRecord {
    /// Whose password it sets; none for the link that makes the first owner.
    pub user: Option<User>,
    /// When it can be used no more.
    pub expires_at: FormInstant,
}

/// What the holder of a link does with it.
#[derive(Clone, Debug)]
pub struct Redemption {
    /// The password to set.
    pub password: PasswordHash,
    /// The first owner, with the link that makes one; none with any other.
    pub new_user: Option<UserRecord>,
}

/// An endpoint with whom it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedEndpoint {
    /// The endpoint.
    pub endpoint: EndpointRecord,
    /// The owner of its form.
    pub owner: UserId,
}

/// The rule a redemption breaks that names a user though the link is for one who exists.
pub const LINK_HAS_USER: &str = "sets the password of a user who exists";
/// The rule it breaks when it names none though the link makes the first owner.
pub const LINK_WANTS_USER: &str = "makes the first owner, who has to be named";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opens_an_account_is_not_in_debug_output() {
        let redemption =
            Redemption { password: PasswordHash::new("$argon2id$secret".into()), new_user: None };
        let shown = format!("{:?} {redemption:?}", TokenHash([171; 32]));
        assert!(!shown.contains("argon2") && !shown.contains("171"), "{shown}");
    }
}
