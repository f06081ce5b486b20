//! Passwords: which are taken, and how they are hashed (Argon2id) without a flood of them taking all
//! memory and processors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use secrecy::{ExposeSecret, SecretString};

use super::refusal::Refusal;
use super::turns::{Turns, at_turn};
use crate::api::{Problem, text_cause};
use crate::random;
use crate::store::PasswordHash;

/// Shortest password, in characters.
pub(super) const CHARACTERS_MIN: usize = 12;
/// Longest password, in bytes.
pub(super) const BYTES_MAX: usize = 1024;
/// Passwords hashed at a time; each takes memory and a processor.
const AT_A_TIME: usize = 2;
/// Passwords that wait besides; more are sent away.
const WAITING_MAX: usize = 64;
const SALT_LEN: usize = 16;

/// What a hash costs.
#[derive(Clone, Debug)]
pub struct Hashing {
    /// Memory, in KiB. Default: 19 MiB.
    pub memory_kib: u32,
    /// Passes over it. Default: 2.
    pub passes: u32,
    /// Counts the hashes that were computed.
    pub computed: Arc<AtomicU64>,
}

impl Default for Hashing {
    /// What OWASP asks for at least.
    fn default() -> Self {
        Self { memory_kib: 19 * 1024, passes: 2, computed: Arc::default() }
    }
}

/// The rule a new password breaks, as a sentence; `None` when it breaks none.
pub(super) fn flaw(password: &str) -> Option<&'static str> {
    if password.chars().count() < CHARACTERS_MIN {
        Some("A password has at least 12 characters.")
    } else if password.len() > BYTES_MAX {
        Some("A password has at most 1024 bytes.")
    } else {
        None
    }
}

/// Hashes passwords, a few at a time.
#[derive(Debug)]
pub(super) struct Passwords {
    hashing: Hashing,
    params: Params,
    turns: Turns,
}

impl Passwords {
    /// Costs that the algorithm does not have are raised to the least it has.
    pub(super) fn new(hashing: Hashing) -> Self {
        let memory = hashing.memory_kib.max(Params::MIN_M_COST);
        let params = Params::new(memory, hashing.passes.max(1), 1, None);
        Self {
            hashing,
            params: params.expect("the least costs, one lane and the usual length are in range"),
            turns: Turns::new(AT_A_TIME, WAITING_MAX),
        }
    }

    /// The hash of a new password.
    pub(super) async fn hash(&self, password: SecretString) -> Result<PasswordHash, Refusal> {
        let mut salt = [0; SALT_LEN];
        random::fill(&mut salt).map_err(|error| Problem::internal(Arc::new(error)))?;
        let argon = self.argon();
        let hashed = self.compute(move || {
            let hash = argon.hash_password_with_salt(password.expose_secret().as_bytes(), &salt);
            hash.map(|hash| PasswordHash::new(hash.to_string()))
        });
        let failed = |error: argon2::password_hash::Error| {
            Problem::internal(text_cause(format!("a password was not hashed: {error}")))
        };
        Ok(hashed.await?.map_err(failed)?)
    }

    /// Whether a password is the one that was hashed. Without one that was, as much is computed, so that
    /// nobody learns by the time it takes who has an account.
    pub(super) async fn verify(
        &self,
        password: SecretString,
        hash: Option<&PasswordHash>,
    ) -> Result<bool, Refusal> {
        let is_known = hash.is_some();
        let stored = hash.map_or_else(|| self.of_nobody(), |hash| hash.expose().to_owned());
        let argon = self.argon();
        let matches = self.compute(move || {
            argon.verify_password(password.expose_secret().as_bytes(), stored.as_str()).is_ok()
        });
        Ok(matches.await? && is_known)
    }

    fn argon(&self) -> Argon2<'static> {
        Argon2::new(Algorithm::Argon2id, Version::V0x13, self.params.clone())
    }

    /// A hash that costs what others do.
    fn of_nobody(&self) -> String {
        let (memory, passes) = (self.params.m_cost(), self.params.t_cost());
        let (salt, output) = ("AAAAAAAAAAAAAAAAAAAAAA", "A".repeat(43));
        format!("$argon2id$v=19$m={memory},t={passes},p=1${salt}${output}")
    }

    async fn compute<T: Send + 'static>(
        &self,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = self.turns.take("too many passwords are being checked").await?;
        self.hashing.computed.fetch_add(1, Ordering::Relaxed);
        Ok(at_turn(turn, hash).await?.1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use formsvc_protocol::ErrorCode;

    use super::*;

    fn passwords() -> Passwords {
        Passwords::new(Hashing { memory_kib: 8, passes: 1, computed: Arc::default() })
    }

    #[test]
    fn a_password_has_12_characters_and_at_most_1_kib() {
        for good in ["correct horse", "ääääääääääää", &"x".repeat(1024)] {
            assert_eq!(flaw(good), None, "{good}");
        }
        for bad in ["", "elevenchars", &"x".repeat(1025)] {
            assert!(flaw(bad).is_some(), "{bad}");
        }
        assert!(flaw("").unwrap().contains(&CHARACTERS_MIN.to_string()));
        assert!(flaw(&"x".repeat(2000)).unwrap().contains(&BYTES_MAX.to_string()));
    }

    #[tokio::test]
    async fn only_the_password_that_was_hashed_matches() {
        let passwords = passwords();
        let hash = passwords.hash("correct horse".into()).await.ok().unwrap();
        assert!(hash.expose().starts_with("$argon2id$v=19$m=8,t=1,p=1$"), "{}", hash.expose());
        let again = passwords.hash("correct horse".into()).await.ok().unwrap();
        assert_ne!(hash.expose(), again.expose(), "each has a salt of its own");
        for (typed, matches) in [("correct horse", true), ("Correct horse", false), ("", false)] {
            assert_eq!(passwords.verify(typed.into(), Some(&hash)).await.ok(), Some(matches));
        }
        let broken = PasswordHash::new("$argon2id$".into());
        assert_eq!(passwords.verify("correct horse".into(), Some(&broken)).await.ok(), Some(false));
    }

    #[tokio::test]
    async fn somebody_unknown_costs_as_much_and_never_matches() {
        let passwords = passwords();
        let computed = || passwords.hashing.computed.load(Ordering::Relaxed);
        assert_eq!(passwords.verify("x".into(), None).await.ok(), Some(false));
        assert_eq!(computed(), 1);
        // What is computed for nobody is a hash like any other.
        let nobody = PasswordHash::new(passwords.of_nobody());
        assert!(argon2::password_hash::phc::PasswordHash::new(nobody.expose()).is_ok());
    }

    /// Whether it ends at once.
    async fn ends_at_once<T>(future: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(Duration::ZERO, future).await.ok()
    }

    #[tokio::test]
    async fn whoever_hangs_up_has_no_more_than_two_hashed_at_a_time() {
        let passwords = passwords();
        let computed = || passwords.hashing.computed.load(Ordering::Relaxed);
        let mut holds = Vec::new();
        for _ in 0..120 {
            let (hold, work) = mpsc::channel::<()>();
            let hash = passwords.compute(move || work.recv().is_err());
            assert!(ends_at_once(hash).await.is_none());
            holds.push(hold);
        }
        assert_eq!(computed(), 2, "those that were begun go on, and nothing else is begun");
        drop(holds);
        assert_eq!(passwords.verify("x".into(), None).await.ok(), Some(false));
        assert_eq!(computed(), 3);
    }

    #[tokio::test]
    async fn sixty_four_wait_and_more_are_sent_away() {
        let passwords = passwords();
        let (mut holds, mut waiting) = (Vec::new(), Vec::new());
        for _ in 0..AT_A_TIME + WAITING_MAX {
            let (hold, work) = mpsc::channel::<()>();
            let mut hash = Box::pin(passwords.compute(move || work.recv().is_err()));
            assert!(ends_at_once(&mut hash).await.is_none());
            holds.push(hold);
            waiting.push(hash);
        }
        let refused = ends_at_once(passwords.compute(|| true)).await.unwrap();
        let Err(Refusal::Problem(problem)) = refused else { panic!("{refused:?}") };
        assert_eq!(problem.code(), &ErrorCode::Unavailable);
        assert!(problem.retry_after().is_some());
        // Who waits and hangs up makes room.
        waiting.pop();
        assert!(ends_at_once(passwords.compute(|| true)).await.is_none());
        drop(holds);
        for hash in waiting {
            assert_eq!(hash.await.ok(), Some(true));
        }
    }

    #[test]
    fn the_usual_costs_are_those_of_owasp() {
        let usual = Passwords::new(Hashing::default());
        assert_eq!((usual.params.m_cost(), usual.params.t_cost()), (19_456, 2));
    }
}
