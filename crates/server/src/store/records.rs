//! What goes into a store and what comes out of it.

use bytes::Bytes;
use formsvc_protocol::{
    Answers, Form, FormId, FormInstant, FormStatus, KeyId, PublicId, SubmissionId, Timestamp, User,
    UserId,
};

/// SHA-256 of an API key: all that is kept of it.
///
/// Keys carry 256 random bits, so a fast hash is as strong as a slow one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl std::fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

/// A user to add.
#[derive(Clone, Debug)]
pub struct UserRecord {
    /// Identifier, made by the caller.
    pub id: UserId,
    /// E-mail address; unique without regard to case.
    pub email: String,
    /// Display name.
    pub name: String,
}

/// A key to add.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Identifier, made by the caller.
    pub id: KeyId,
    /// The owner.
    pub user: UserId,
    /// What the owner calls it.
    pub name: String,
    /// First characters of the key, so that its owner can recognise it.
    pub prefix: String,
    /// SHA-256 of the key.
    pub hash: KeyHash,
}

/// A key as listed.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// Identifier.
    pub id: KeyId,
    /// The owner.
    pub user: UserId,
    /// What the owner calls it.
    pub name: String,
    /// First characters of the key.
    pub prefix: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// When it last came with a request, to about a minute; none when it never did.
    pub last_used_at: Option<Timestamp>,
}

/// The key a request came with.
#[derive(Clone, Debug)]
pub struct Authenticated {
    /// The key's identifier.
    pub key: KeyId,
    /// The hash as stored, to be compared in constant time.
    pub hash: KeyHash,
    /// Whether it was revoked.
    pub revoked: bool,
    /// The owner.
    pub user: User,
    /// What came of counting the request: admitted, or after how many whole seconds one would be. None
    /// when nothing is limited, the key was revoked, or its one process is to count.
    pub counted: Option<Result<(), u64>>,
}

/// A form to add.
#[derive(Clone, Debug)]
pub struct NewForm {
    /// Identifier, made by the caller.
    pub id: FormId,
    /// The owner.
    pub user: UserId,
    /// Identifier in the public address; unique.
    pub public_id: PublicId,
    /// Title.
    pub title: String,
    /// Status to begin with.
    pub status: FormStatus,
}

/// Tells one state of a form from those before and after it: another one each time its title, status,
/// fields or origins change. To be compared for equality only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(pub i64);

/// What a visitor of a form meets.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicForm {
    /// The form.
    pub form: Form,
    /// Which state of it this is.
    pub revision: Revision,
    /// Its field definitions as they were given; none for a form that takes any answers.
    pub fields: Option<String>,
    /// The origins whose pages may submit to it; none when all may.
    pub origins: Option<Vec<String>>,
}

/// What to change of a form; what is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct FormChange {
    /// Title.
    pub title: Option<String>,
    /// Field definitions; `Some(None)` takes any answers.
    pub fields: Option<Option<String>>,
    /// Origins whose pages may submit; `Some(None)` lets all.
    pub origins: Option<Option<Vec<String>>>,
    /// The state of the form that the change was thought of; `None` when it does not matter.
    pub revision: Option<Revision>,
}

/// What tells a repeated submission from a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// Digest of the idempotency key.
    pub key: [u8; 32],
    /// Digest of what was sent with it.
    pub fingerprint: [u8; 32],
}

/// Answers to keep apart.
#[derive(Clone, Debug)]
pub struct NewSpam {
    /// Identifier, made by the caller.
    pub id: SubmissionId,
    /// The form.
    pub form: FormId,
    /// The answers.
    pub answers: Answers,
}

/// Spam kept of one form, at most: so many of the newest.
pub const SPAM_MAX: usize = 1_000;
/// Bytes of answers in the spam kept of one form, at most: 8 MiB.
pub const SPAM_BYTES_MAX: usize = 8 << 20;

/// What spam is wanted, newest first.
#[derive(Clone, Debug)]
pub struct SpamRequest {
    /// The form.
    pub form: FormId,
    /// Only what is older than this.
    pub after: Option<SubmissionId>,
    /// How many, at most.
    pub limit: u32,
}

/// Answers kept apart, as listed.
#[derive(Clone, Debug, PartialEq)]
pub struct SpamRecord {
    /// Identifier.
    pub id: SubmissionId,
    /// The answers.
    pub answers: Answers,
    /// When they came.
    pub received_at: Timestamp,
}

/// A submission to accept.
#[derive(Clone, Debug)]
pub struct NewSubmission {
    /// Identifier, made by the caller; storing one twice is refused, so a repeated call is safe.
    pub id: SubmissionId,
    /// The form.
    pub form: FormId,
    /// The answers; their size is limited, see [`item::check_size`](super::item::check_size).
    pub answers: Answers,
    /// The state of the form that the answers were checked by; `None` when it does not matter.
    pub revision: Option<Revision>,
    /// What tells a repeat of it, if anything does.
    pub idempotency: Option<Idempotency>,
}

/// An accepted submission.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// Identifier.
    pub id: SubmissionId,
    /// Its place in the form.
    pub instant: FormInstant,
    /// Whether it had been accepted before, so that nothing was kept now.
    pub repeated: bool,
}

/// A form under import.
#[derive(Clone, Debug)]
pub struct StagedForm {
    /// Identifier it will have.
    pub id: FormId,
}

/// A submission to append to a form under import.
#[derive(Clone, Debug)]
pub struct StagedSubmission {
    /// Identifier, made by the caller.
    pub id: SubmissionId,
    /// Its instant, later than the one before it in the form; `None` takes the form's next.
    pub at: Option<FormInstant>,
    /// The answers.
    pub answers: Answers,
}

/// What page is wanted.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Who asks.
    pub user: UserId,
    /// The form.
    pub form: FormId,
    /// Only rows strictly older than this.
    pub before: Option<FormInstant>,
    /// Rows at most, 1 to 100.
    pub limit: u32,
}

/// A page, ready to send.
#[derive(Clone, Debug)]
pub struct StoredPage {
    /// The submissions as JSON, spliced with commas and without the enclosing brackets.
    pub items: Bytes,
    /// How many there are.
    pub len: usize,
    /// The place of the last one; `None` on an empty page.
    pub last: Option<FormInstant>,
    /// Whether older ones remain; a page that is not full can have more, when its rows are large.
    pub has_more: bool,
}
