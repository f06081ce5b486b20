//! Deliveries: one submission on its way to one endpoint, as a store keeps and hands them out.
//!
//! A delivery that is not finished stands in one of its endpoint's [lanes](Lane). A worker *claims*
//! it, which moves it to the lane of leased ones until the *lease* ends; whoever settles it must show
//! the [`Lease`] it was claimed under, so that a worker whose lease has run out changes nothing
//! (fencing).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{DeliveryId, EndpointId, FormId, FormInstant, SubmissionId, Timestamp};

use super::endpoint::{EndpointNo, SealedSecret};
use super::error::StoreError;

/// Which delivery: a submission by its number in the store, and an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryKey {
    /// The submission.
    pub submission: i64,
    /// The endpoint.
    pub endpoint: EndpointNo,
}

impl DeliveryKey {
    /// Its identifier, which names the same two numbers.
    pub fn id(self) -> DeliveryId {
        let mut bits = [0; 16];
        bits[..8].copy_from_slice(&self.submission.to_be_bytes());
        bits[8..].copy_from_slice(&self.endpoint.0.to_be_bytes());
        DeliveryId::from_bits(bits)
    }

    /// The key in an identifier; `None` when it is none of ours.
    pub fn from_id(id: &DeliveryId) -> Option<Self> {
        let bits = id.to_bits()?;
        let number = |bytes: &[u8]| bytes.try_into().map(i64::from_be_bytes).ok();
        Some(Self { submission: number(&bits[..8])?, endpoint: EndpointNo(number(&bits[8..])?) })
    }
}

/// How far a delivery is (SPEC §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeliveryState {
    /// Not attempted yet.
    Pending,
    /// Attempted without success; retries are left.
    Retrying,
    /// The endpoint answered 2xx. Final.
    Delivered,
    /// All retries are used. Final: never retried again by itself.
    Failed,
    /// The endpoint was removed first. Final.
    Canceled,
}

impl DeliveryState {
    /// Every state with its text, in the order of their numbers in storage.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Pending, "pending"),
        (Self::Retrying, "retrying"),
        (Self::Delivered, "delivered"),
        (Self::Failed, "failed"),
        (Self::Canceled, "canceled"),
    ];

    /// Its text.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The state with a text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == text).map(|(state, _)| *state)
    }

    /// Whether attempts are still to come.
    pub fn is_unfinished(self) -> bool {
        matches!(self, Self::Pending | Self::Retrying)
    }
}

/// Where an endpoint's unfinished deliveries stand. Each lane has an order and a front of its own, so
/// that neither is looked for among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// Never attempted: in the order of submission, due at once.
    Fresh,
    /// Retries, resends, and what was put off, by the time they are due.
    Late,
    /// Claimed, by the end of the lease; due again when it has ended.
    Leased,
}

impl Lane {
    /// Every lane, in the order of their numbers in storage.
    pub const ALL: [Self; 3] = [Self::Fresh, Self::Late, Self::Leased];
}

/// An endpoint's lane with something in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The endpoint.
    pub endpoint: EndpointNo,
    /// The lane.
    pub lane: Lane,
    /// How long until the first in it is due; zero when it is.
    pub after: Duration,
    /// How long the first in it has been due.
    pub overdue: Duration,
}

/// What a worker would take.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// From which lanes, and how many; taken in this order.
    pub wants: Vec<Want>,
    /// How long the claim holds.
    pub lease: Duration,
    /// Bytes of answers after which no more are taken, but never before the first.
    pub bytes_max: usize,
}

/// What a worker would take of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// The endpoint.
    pub endpoint: EndpointNo,
    /// The lane.
    pub lane: Lane,
    /// How many at most.
    pub count: u32,
}

/// What a worker got.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// The deliveries, in the order of the wants.
    pub deliveries: Vec<Claimed>,
    /// What is now first in the lanes asked for; a lane with nothing in it is not here.
    pub due: Vec<Due>,
    /// Endpoints that cannot be read as they are stored. Nothing was taken for them, and nothing is said
    /// of their lanes; whoever asks for them should not do so all the time.
    pub unreadable: Vec<EndpointNo>,
}

/// Proof of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// Tells this claim from every other.
    pub token: i64,
    /// When it ends, by the store's clock; also where the delivery stands in its lane.
    pub until: FormInstant,
}

/// A claimed delivery, with all that an attempt needs.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Which.
    pub key: DeliveryKey,
    /// Proof of the claim.
    pub lease: Lease,
    /// Where it goes.
    pub endpoint: Arc<ClaimedEndpoint>,
    /// The submission.
    pub submission: SubmissionId,
    /// Title of the form when the submission was made, so that every attempt has the same body.
    pub form_title: String,
    /// The answers, as exact JSON text.
    pub data: Bytes,
    /// When the submission was made.
    pub created_at: Timestamp,
    /// Its state so far.
    pub state: DeliveryState,
    /// Attempts made so far, resends included.
    pub attempts: u32,
    /// Retries used so far.
    pub retries: u32,
    /// Whether this attempt was asked for by a person, outside the budget of retries.
    pub resend: bool,
    /// The lane it was claimed from.
    pub lane: Lane,
    /// Claims since it was last settled, this one included. More than a few mean that it brings its
    /// workers down.
    pub claims: u32,
    /// How long ago the first of the faults in a row was that are this service's own; zero when an
    /// attempt was made since.
    pub own_fault_for: Duration,
}

/// An endpoint as it was when a delivery to it was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedEndpoint {
    /// Its number.
    pub number: EndpointNo,
    /// Its identifier.
    pub id: EndpointId,
    /// The form it belongs to.
    pub form: FormId,
    /// Where deliveries go.
    pub url: String,
    /// Its signing secret.
    pub secret: SealedSecret,
    /// The one before it, while deliveries are signed with both.
    pub previous_secret: Option<SealedSecret>,
}

/// Endpoints, by a look that waits for nobody: what was claimed a while ago is held against it, so that
/// nothing goes where it should not go any more.
pub trait EndpointsAtOnce: Send + Sync {
    /// How often this process changed an endpoint: another number once a change is committed, and before it
    /// is answered. What other processes change is not counted.
    fn changes(&self) -> u64;
    /// An endpoint as a claim would find it now; none when nothing is to be delivered to it.
    fn endpoint(&self, endpoint: EndpointNo) -> Result<Option<Arc<ClaimedEndpoint>>, StoreError>;
}

/// One attempt, as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// When it began, by the wall's clock.
    pub started_at: FormInstant,
    /// How long it took.
    pub duration: Duration,
    /// The status of the answer; none when there was no answer.
    pub status: Option<u16>,
    /// Why it failed, as a stable code; none when it did not.
    pub error: Option<String>,
    /// What else is known of the failure, for a person.
    pub detail: Option<String>,
    /// The address that was connected to, or tried.
    pub address: Option<String>,
    /// The beginning of the answer's body: bytes of a stranger.
    pub snippet: Bytes,
    /// Whether a person asked for it.
    pub resend: bool,
}

/// The outcome of a claim.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// Which delivery.
    pub key: DeliveryKey,
    /// The claim it was attempted under.
    pub lease: Lease,
    /// What is to become of it.
    pub verdict: Verdict,
    /// The attempt, if one was made or used.
    pub attempt: Option<Attempt>,
    /// Whether this service, not the endpoint, was at fault. The store notes when the first of these
    /// in a row was, as long as the delivery is retried.
    pub own_fault: bool,
}

impl Settlement {
    /// Returns the time to note as that of a fault of this service, given the store's time.
    pub(super) fn own_fault_at(&self, now: FormInstant) -> Option<FormInstant> {
        (self.own_fault && matches!(self.verdict, Verdict::Retry { .. })).then_some(now)
    }
}

/// What is to become of a claimed delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is delivered.
    Delivered,
    /// It is tried again after a pause. Without an attempt it is only put off: its state stays. After a
    /// resend that came before a retry, that retry stays where it was, whatever the pause.
    Retry {
        /// The pause.
        after: Duration,
        /// Retries used, this failure's included.
        retries: u32,
    },
    /// It failed for good.
    Failed,
    /// A resend of a finished delivery changed nothing. One that is not finished is not to be settled
    /// so; a store puts it back where it was rather than lose it.
    Unchanged,
    /// It was not attempted: it goes back to where it was.
    Release,
}

/// Whether a settlement took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It did.
    Kept,
    /// The lease had run out and somebody else claimed the delivery, or its endpoint was removed.
    /// Nothing was changed.
    Lost,
    /// It does not go with what is stored of the delivery, and changed nothing. The delivery is claimed
    /// again when the lease ends.
    Refused,
}

/// What deliveries are wanted.
#[derive(Clone, Debug)]
pub struct DeliveriesRequest {
    /// Of which form.
    pub form: FormId,
    /// Only to this endpoint.
    pub endpoint: Option<EndpointId>,
    /// Only in this state.
    pub state: Option<DeliveryState>,
    /// Only those of this submission.
    pub submission: Option<SubmissionId>,
    /// Only ones listed after this.
    pub after: Option<DeliveryKey>,
    /// How many at most.
    pub limit: u32,
}

/// A delivery as listed.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryRecord {
    /// Which.
    pub key: DeliveryKey,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Where the endpoint is.
    pub url: String,
    /// The submission.
    pub submission: SubmissionId,
    /// Its state.
    pub state: DeliveryState,
    /// Attempts made, resends included.
    pub attempts: u32,
    /// The status of the last attempt's answer; none when there was no answer.
    pub last_status: Option<u16>,
    /// Why the last attempt failed, as a stable code; none when it did not.
    pub last_error: Option<String>,
    /// When the submission was made.
    pub created_at: Timestamp,
    /// When the next attempt is due; none when none is.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was delivered, failed for good, or canceled.
    pub finished_at: Option<Timestamp>,
}

/// A delivery with its attempts, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryDetail {
    /// The delivery.
    pub record: DeliveryRecord,
    /// Its attempts.
    pub history: Vec<Attempt>,
}

/// How much work there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Deliveries that are to be attempted: unfinished ones, claimed ones and resends.
    pub unfinished: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_id_names_its_submission_and_endpoint() {
        let key = DeliveryKey { submission: (3 << 40) + 77, endpoint: EndpointNo(12) };
        let id = key.id();
        assert_eq!(id.as_str(), "dlv_000003000000004d000000000000000c");
        assert_eq!(DeliveryKey::from_id(&id), Some(key));
        for other in ["dlv_", "dlv_1", "sub_000003000000004d000000000000000c"] {
            let other = DeliveryId::new(other).unwrap();
            assert_eq!(DeliveryKey::from_id(&other), None, "{other}");
        }
    }

    #[test]
    fn states_and_lanes_are_numbered_as_their_tables_say() {
        for (number, (state, text)) in DeliveryState::ALL.into_iter().enumerate() {
            assert_eq!((state as usize, state.as_str()), (number, text));
            assert_eq!(DeliveryState::from_text(text), Some(state));
        }
        assert_eq!(DeliveryState::from_text("lost"), None);
        for (number, lane) in Lane::ALL.into_iter().enumerate() {
            assert_eq!(lane as usize, number);
        }
    }
}
