//! A service made at random, and all that a store tells of one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use formsvc_protocol::{
    Answers, EndpointId, FormId, FormStatus, PublicId, SubmissionId, User, UserId,
};
use formsvc_server::admin::Admin;
use formsvc_server::secrets::{KeyFile, Missing, Vault};
use formsvc_server::store::{
    Attempt, ClaimRequest, Claimed, DeliveriesRequest, FormChange, Idempotency, Lane, NewEndpoint,
    NewForm, NewSpam, NewSubmission, PageRequest, SealedSecret, Settlement, SpamRequest, Store,
    UserRecord, Verdict, Want, system_clock,
};

/// Text that any of the layers between might take for something else.
const TEXTS: [&str; 6] =
    ["plain", "a\\tb\t\\N", "line\r\nline", "\\x00ff", "Zoë 🦀 \u{202e}", "'; DROP TABLE forms;--"];

fn bits(rng: &mut Rng) -> [u8; 16] {
    rng.u128(..).to_be_bytes()
}

fn answers(rng: &mut Rng) -> Answers {
    let text = serde_json::to_string(rng.choice(TEXTS).unwrap()).unwrap();
    let more = "x".repeat(rng.usize(0..2_000));
    Answers::parse(format!("{{\"q\":{text},\"n\":1.500,\"more\":\"{more}\"}}")).unwrap()
}

/// Fills an empty store.
pub(super) async fn fill(store: &Arc<dyn Store>, key: &Path, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let vault = Vault::new(&KeyFile::at(key).open(Missing::Create).unwrap());
    let admin = Admin::new(Arc::clone(store));
    for (n, name) in TEXTS.iter().enumerate().take(3) {
        let id = UserId::from_bits(bits(&mut rng));
        let email = format!("User{n}@Example.org");
        let user = store.add_user(UserRecord { id, email, name: (*name).into() }).await.unwrap();
        for _ in 0..rng.u8(0..3) {
            let made = admin.create_key(&user.id, "k").await.unwrap();
            if rng.bool() {
                store.revoke_key(&made.record.id).await.unwrap();
            }
        }
        for _ in 0..rng.u8(1..4) {
            let form = add_form(&**store, &user, &mut rng).await;
            fill_form(&**store, &form, &vault, &mut rng).await;
        }
    }
    // Of an import that was cut short.
    let user = store.users().await.unwrap().remove(0);
    let staged = store.stage_form(new_form(&user, &mut rng)).await.unwrap();
    let submission = formsvc_server::store::StagedSubmission {
        id: SubmissionId::from_bits(bits(&mut rng)),
        at: None,
        answers: answers(&mut rng),
    };
    store.stage_submissions(&staged, vec![submission]).await.unwrap();
    attempt(&**store, &mut rng).await;
}

fn new_form(user: &User, rng: &mut Rng) -> NewForm {
    NewForm {
        id: FormId::from_bits(bits(rng)),
        user: user.id.clone(),
        public_id: PublicId::from_bits(bits(rng)),
        title: (*rng.choice(TEXTS).unwrap()).into(),
        status: FormStatus::Published,
    }
}

async fn add_form(store: &dyn Store, user: &User, rng: &mut Rng) -> FormId {
    let form = store.add_form(new_form(user, rng)).await.unwrap().id;
    let fields = rng.bool().then(|| Some(r#"[{"label":"A\n\\B"}]"#.to_owned()));
    let origins = rng.bool().then(|| Some(vec!["https://a.example".to_owned()]));
    store
        .change_form(&form, FormChange { fields, origins, ..FormChange::default() })
        .await
        .unwrap();
    form
}

async fn fill_form(store: &dyn Store, form: &FormId, vault: &Vault, rng: &mut Rng) {
    let mut endpoints = Vec::new();
    for n in 0..rng.u8(0..3) {
        let id = EndpointId::from_bits(bits(rng));
        let sealed = seal(vault, &id);
        let url = format!("https://{n}.example/");
        let new = NewEndpoint { id: id.clone(), form: form.clone(), url, secret: sealed };
        store.add_endpoint(new).await.unwrap();
        endpoints.push(id);
    }
    for n in 0..rng.usize(0..30) {
        // Of ids, some are of another service's making.
        let id = if rng.u8(0..5) == 0 {
            SubmissionId::new(&format!("sub_{n}_{}", rng.u64(..))).unwrap()
        } else {
            SubmissionId::from_bits(bits(rng))
        };
        let mut digest = || std::array::from_fn(|_| rng.u8(..));
        let idempotency = Some(Idempotency { key: digest(), fingerprint: digest() });
        let new = NewSubmission {
            id,
            form: form.clone(),
            idempotency: idempotency.filter(|_| rng.bool()),
            answers: answers(rng),
            revision: None,
        };
        store.submit(new).await.unwrap();
    }
    for _ in 0..rng.u8(0..4) {
        let id = SubmissionId::from_bits(bits(rng));
        let spam = NewSpam { id, form: form.clone(), answers: answers(rng) };
        store.keep_spam(spam).await.unwrap();
    }
    attempt(store, rng).await;
    for id in endpoints {
        match rng.u8(0..4) {
            0 => drop(store.set_endpoint_enabled(&id, false).await.unwrap()),
            1 => drop(store.remove_endpoint(&id).await.unwrap()),
            2 => {
                let secret = seal(vault, &id);
                store.rotate_secret(&id, secret, Duration::from_secs(3_600)).await.unwrap();
            }
            _ => {}
        }
    }
    if rng.bool() {
        store.set_form_status(form, FormStatus::Closed).await.unwrap();
    }
}

fn seal(vault: &Vault, id: &EndpointId) -> SealedSecret {
    let secret = format!("whsec_{}", "a".repeat(43)).into();
    SealedSecret(vault.seal(id.as_str().as_bytes(), &secret).unwrap())
}

/// Claims some of what is due; of what was claimed some is left to a worker that died.
async fn attempt(store: &dyn Store, rng: &mut Rng) {
    for _ in 0..3 {
        for due in store.due().await.unwrap() {
            let want = Want { endpoint: due.endpoint, lane: due.lane, count: rng.u32(1..6) };
            let claimed = claim(store, want).await;
            let settlements = claimed.iter().filter_map(|claimed| settlement(claimed, rng));
            let settlements: Vec<_> = settlements.collect();
            store.settle(settlements).await.unwrap();
        }
    }
}

async fn claim(store: &dyn Store, want: Want) -> Vec<Claimed> {
    let lease = Duration::from_secs(60);
    let request = ClaimRequest { wants: vec![want], lease, bytes_max: usize::MAX };
    store.claim(request).await.unwrap().deliveries
}

fn settlement(claimed: &Claimed, rng: &mut Rng) -> Option<Settlement> {
    let after = Duration::from_millis(rng.u64(0..50));
    let verdict = match rng.u8(0..5) {
        0 => Verdict::Delivered,
        1 | 2 => Verdict::Retry { after, retries: claimed.retries + 1 },
        3 => Verdict::Failed,
        _ => return None,
    };
    let attempt = Attempt {
        started_at: system_clock()(),
        duration: Duration::from_micros(rng.u64(0..1_000_000)),
        status: rng.bool().then_some(500),
        error: rng.bool().then(|| "timeout".into()),
        detail: rng.bool().then(|| (*rng.choice(TEXTS).unwrap()).into()),
        address: rng.bool().then(|| "192.0.2.1:443".into()),
        snippet: vec![0, b'\\', 0xff].into(),
        resend: claimed.resend,
    };
    Some(Settlement {
        key: claimed.key,
        lease: claimed.lease,
        verdict,
        attempt: Some(attempt),
        own_fault: false,
    })
}

/// All that a store tells but times that pass, in an order of its own.
pub(super) async fn picture(store: &dyn Store) -> Vec<String> {
    let mut lines = Vec::new();
    for user in store.users().await.unwrap() {
        lines.push(format!("{user:?}"));
        lines.extend(store.keys(&user.id).await.unwrap().iter().map(|key| format!("{key:?}")));
        for form in store.forms(&user.id).await.unwrap() {
            let public = store.public_form(&form.public_id).await.unwrap();
            lines.push(format!("{public:?}"));
            let (mut before, form) = (None, form.id);
            loop {
                let (user, form) = (user.id.clone(), form.clone());
                let request = PageRequest { user, form, before, limit: 10 };
                let page = store.page(request).await.unwrap().unwrap();
                lines.push(format!("{:?} {:?}", page.last, page.items));
                before = page.last;
                if !page.has_more {
                    break;
                }
            }
            let spam = SpamRequest { form: form.clone(), after: None, limit: 100 };
            lines.extend(store.spam(spam).await.unwrap().iter().map(|one| format!("{one:?}")));
            let endpoints = store.endpoints(&form).await.unwrap();
            lines.extend(endpoints.iter().map(|one| format!("{one:?}")));
            let (endpoint, state, after) = (None, None, None);
            let all =
                DeliveriesRequest { form, endpoint, state, submission: None, after, limit: 1_000 };
            for one in store.deliveries(all).await.unwrap() {
                let detail = store.delivery(&one.key.id()).await.unwrap();
                lines.push(format!("{detail:?}"));
            }
        }
    }
    lines.push(format!("{:?}", store.backlog().await.unwrap()));
    let due = store.due().await.unwrap();
    let mut fronts: Vec<_> = due.iter().map(|due| (due.endpoint, due.lane as u8)).collect();
    fronts.sort_unstable();
    lines.push(format!("{fronts:?}"));
    for due in due.iter().filter(|due| due.lane == Lane::Fresh) {
        // With a lease that is over before anybody looks again, and given back at once.
        let claimed =
            claim(store, Want { endpoint: due.endpoint, lane: due.lane, count: 1_000 }).await;
        let release = claimed.iter().map(|one| Settlement {
            key: one.key,
            lease: one.lease,
            verdict: Verdict::Release,
            attempt: None,
            own_fault: false,
        });
        store.settle(release.collect()).await.unwrap();
        lines.extend(claimed.iter().map(|one| {
            let (secret, previous) = (&one.endpoint.secret.0, &one.endpoint.previous_secret);
            let previous = previous.as_ref().map(|secret| &secret.0);
            let counts = (one.state, one.attempts, one.retries, one.resend, one.claims);
            format!("{:?} {counts:?} {:?} {secret:?} {previous:?}", one.key, one.data)
        }));
    }
    lines
}
