//! Secrets that must be read again, kept so that the database alone does not give them away.
//!
//! A receiver checks a delivery with the secret that signed it (SPEC §5), so a signing secret cannot
//! be kept as a hash, as API keys are. It is encrypted under the server's key, which stands in a
//! file of its own.
//!
//! | Question | File |
//! |---|---|
//! | what a signing secret is | `signing_secret` |
//! | how a secret is encrypted, and what is refused | `vault` |
//! | what the server's key is, and how it is written | `server_key` |
//! | where the key comes from, who may see it | `key_file` |

mod key_file;
mod server_key;
mod signing_secret;
mod vault;

pub(crate) use key_file::check as check_private;
pub use key_file::{KeyFile, KeyFileError, KeyFileFault, Missing};
pub use server_key::{NotAKey, ServerKey, ServerKeyId};
pub(crate) use signing_secret::PREFIX as SECRET_PREFIX;
pub use signing_secret::generate;
pub use vault::{OpenError, Vault};
