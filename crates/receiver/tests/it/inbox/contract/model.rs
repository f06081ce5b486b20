//! Operations in any order, beside a model that is plain to see through.

use std::collections::HashMap;
use std::time::Duration;

use formsvc_receiver::inbox::{Claim, ClaimToken, Inbox, InboxErrorKind};

use super::world::World;

/// What is known of a key, and of which claim it is.
#[derive(Clone, Copy)]
enum Known {
    Claimed { by: usize, until: Duration },
    Handled { by: usize },
}

#[derive(Default)]
struct Model {
    now: Duration,
    keys: HashMap<String, Known>,
}

impl Model {
    fn claim(&mut self, key: &str, lease: Duration, by: usize) -> &'static str {
        match self.keys.get(key) {
            Some(Known::Handled { .. }) => "duplicate",
            Some(Known::Claimed { until, .. }) if *until > self.now => "in flight",
            _ => {
                self.keys.insert(key.into(), Known::Claimed { by, until: self.now + lease });
                "acquired"
            }
        }
    }

    /// Changes what a claim holds; `false` when it holds nothing.
    fn change(&mut self, key: &str, claim: usize, to: Option<Known>) -> bool {
        let holds = matches!(self.keys.get(key), Some(Known::Claimed { by, .. }) if *by == claim);
        match to {
            _ if !holds => {}
            Some(known) => drop(self.keys.insert(key.into(), known)),
            None => drop(self.keys.remove(key)),
        }
        holds
    }

    fn complete(&mut self, key: &str, claim: usize) -> bool {
        let again = matches!(self.keys.get(key), Some(Known::Handled { by }) if *by == claim);
        again || self.change(key, claim, Some(Known::Handled { by: claim }))
    }
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("it has 31 bits") % end
    }
}

pub(crate) async fn any_operations_in_any_order_do_as_the_model_says(world: World) {
    let (mut numbers, mut model) = (Numbers(1), Model::default());
    let mut tokens: Vec<ClaimToken> = Vec::new();
    for step in 0..600 {
        // Few keys at a time, and the claims of late, so that operations meet.
        let key = format!("sub_{}", step / 60 * 3 + numbers.below(3));
        let lease = Duration::from_secs([30, 60][numbers.below(2)]);
        let inbox: &dyn Inbox =
            if numbers.below(2) == 0 { &*world.inbox } else { &*world.elsewhere };
        let of_late = tokens.len() - numbers.below(tokens.len().clamp(1, 5)).min(tokens.len());
        let token = tokens.get(of_late.saturating_sub(1)).cloned();
        let (claim, token) = match (numbers.below(6), token) {
            (0, _) => {
                let time = Duration::from_secs(15 * (1 + numbers.below(3) as u64));
                model.now += time;
                world.pass(time).await;
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
                assert_eq!(found, expected, "step {step}, claiming {key}");
                continue;
            }
            (what, Some(token)) => (what, token),
        };
        let at = tokens.iter().position(|known| *known == token).expect("it is one of them");
        let (held, answer) = match claim {
            3 => (model.complete(token.key(), at), inbox.complete(&token).await),
            4 => (model.change(token.key(), at, None), inbox.release(&token).await),
            _ => {
                let to = Known::Claimed { by: at, until: model.now + lease };
                (model.change(token.key(), at, Some(to)), inbox.extend(&token, lease).await)
            }
        };
        let lost = answer.err().map(|error| error.kind());
        let expected = (!held).then_some(InboxErrorKind::ClaimLost);
        assert_eq!(lost, expected, "step {step}, operation {claim} on {token:?}");
    }
    assert!(tokens.len() > 50, "{} claims", tokens.len());
}
