//! Random operations, compared with a simple model.

use std::collections::HashMap;
use std::time::Duration;

use formsvc_receiver::inbox::{Claim, ClaimToken, Inbox, InboxErrorKind};

use super::test_store::TestStore;

/// State of a key. `by` is the index of the claim.
#[derive(Clone, Copy)]
enum ModelKey {
    Claimed { by: usize, until: Duration },
    Handled { by: usize },
}

#[derive(Default)]
struct Model {
    now: Duration,
    keys: HashMap<String, ModelKey>,
}

impl Model {
    fn claim(&mut self, key: &str, lease: Duration, by: usize) -> &'static str {
        match self.keys.get(key) {
            Some(ModelKey::Handled { .. }) => "duplicate",
            Some(ModelKey::Claimed { until, .. }) if *until > self.now => "in flight",
            _ => {
                self.keys.insert(key.into(), ModelKey::Claimed { by, until: self.now + lease });
                "acquired"
            }
        }
    }

    /// Changes the state of a claimed key. Returns false if the claim is lost.
    fn update(&mut self, key: &str, claim: usize, to: Option<ModelKey>) -> bool {
        let holds =
            matches!(self.keys.get(key), Some(ModelKey::Claimed { by, .. }) if *by == claim);
        match to {
            _ if !holds => {}
            Some(state) => drop(self.keys.insert(key.into(), state)),
            None => drop(self.keys.remove(key)),
        }
        holds
    }

    fn complete(&mut self, key: &str, claim: usize) -> bool {
        let is_repeated =
            matches!(self.keys.get(key), Some(ModelKey::Handled { by }) if *by == claim);
        is_repeated || self.update(key, claim, Some(ModelKey::Handled { by: claim }))
    }
}

/// A generator of reproducible pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

pub(crate) async fn random_operations_agree_with_model(store: TestStore) {
    let (mut random, mut model) = (Random(1), Model::default());
    let mut tokens: Vec<ClaimToken> = Vec::new();
    for step in 0..600 {
        // Few keys and recent claims, so that operations conflict.
        let key = format!("sub_{}", step / 60 * 3 + random.below(3));
        let lease = Duration::from_secs([30, 60][random.below(2)]);
        let inbox: &dyn Inbox = if random.below(2) == 0 { &*store.inbox } else { &*store.second };
        let recent = tokens.len().saturating_sub(1 + random.below(tokens.len().clamp(1, 5)));
        let token = tokens.get(recent).cloned();
        let (operation, token) = match (random.below(6), token) {
            (0, _) => {
                let time = Duration::from_secs(15 * (1 + random.below(3) as u64));
                model.now += time;
                store.advance(time).await;
                continue;
            }
            (1 | 2, _) | (_, None) => {
                let expected = model.claim(&key, lease, tokens.len());
                let found = match inbox.claim(&key, lease).await.unwrap() {
                    Claim::Acquired(token) => {
                        tokens.push(token);
                        "acquired"
                    }
                    Claim::Duplicate => "duplicate",
                    Claim::InFlight { .. } => "in flight",
                };
                assert_eq!(found, expected, "step {step}, claim of {key}");
                continue;
            }
            (operation, Some(token)) => (operation, token),
        };
        let (holds, result) = match operation {
            3 => (model.complete(token.key(), recent), inbox.complete(&token).await),
            4 => (model.update(token.key(), recent, None), inbox.release(&token).await),
            _ => {
                let to = ModelKey::Claimed { by: recent, until: model.now + lease };
                let holds = model.update(token.key(), recent, Some(to));
                (holds, inbox.extend(&token, lease).await)
            }
        };
        let error = result.err().map(|error| error.kind());
        let expected = (!holds).then_some(InboxErrorKind::ClaimLost);
        assert_eq!(error, expected, "step {step}, operation {operation} on {token:?}");
    }
    assert!(tokens.len() > 50, "{} claims", tokens.len());
}
