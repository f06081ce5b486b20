//! Webhooks through the typed admin API.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use formsvc_protocol::{FormId, PublicId};
use formsvc_server::admin::{Admin, AdminError, FormOptions, GRACE_MAX, Registrar};
use formsvc_server::egress::{EgressPolicy, Resolve, Resolved};
use formsvc_server::secrets::Vault;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{ClaimRequest, ClaimedEndpoint, Lane, StoreError, Want, system_clock};
use secrecy::ExposeSecret;

/// Knows no name, and counts who asks.
#[derive(Default)]
struct Nowhere(AtomicUsize);

impl Resolve for Nowhere {
    fn resolve(&self, _: &str) -> Resolved {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Err(io::Error::other("no such name")) })
    }
}

struct World {
    admin: Admin,
    form: FormId,
    vault: Vault,
    resolver: Arc<Nowhere>,
    registrar: Registrar,
}

impl World {
    async fn new() -> Self {
        let admin = Admin::new(Arc::new(SqliteStore::in_memory(system_clock()).unwrap()));
        let user = admin.create_user("a@example.org", "A").await.unwrap().id;
        let form = admin.create_form(&user, FormOptions::titled("T")).await.unwrap().id;
        let (vault, resolver) = (Vault::ephemeral().unwrap(), Arc::<Nowhere>::default());
        let (policy, asks) = (EgressPolicy::production(), Arc::clone(&resolver));
        let registrar = Registrar::with_resolver(vault.clone(), policy, asks);
        Self { admin, form, vault, resolver, registrar }
    }

    /// The endpoint as a delivery made now would have it.
    async fn claimed(&self) -> Arc<ClaimedEndpoint> {
        self.admin.submit(&self.form, "{}").await.unwrap();
        let store = self.admin.store();
        let (endpoint, lane) = store.work().take().pop_last().unwrap();
        assert_eq!(lane, Lane::Fresh);
        let wants = vec![Want { endpoint, lane, count: 1 }];
        let lease = Duration::from_secs(30);
        let request = ClaimRequest { wants, lease, bytes_max: usize::MAX };
        Arc::clone(&store.claim(request).await.unwrap().deliveries[0].endpoint)
    }
}

#[tokio::test]
async fn submission_with_number_out_of_bounds_is_refused() {
    let world = World::new().await;
    let refused = world.admin.submit(&world.form, r#"{"b":1.0,"a":[1e309]}"#).await.unwrap_err();
    let rule = "must contain only numbers within the range of a 64-bit float (about ±1.8e308)";
    assert_eq!(refused.to_string(), format!("field `a` {rule}"));
}

#[tokio::test]
async fn a_secret_is_shown_once_and_kept_sealed_for_its_endpoint() {
    let world = World::new().await;
    let url = "https://example.org/hook";
    let added = world.admin.add_endpoint(&world.form, url, &world.registrar).await.unwrap();
    let id = &added.record.id;
    let claimed = world.claimed().await;
    assert_eq!((&claimed.id, &claimed.url[..]), (id, url));
    let open = |sealed: &[u8]| {
        let opened = world.vault.open(id.as_str().as_bytes(), sealed).unwrap();
        opened.expose_secret().to_owned()
    };
    assert_eq!(open(&claimed.secret.0), added.secret.expose_secret());
    let hidden = format!("{added:?} {:?} {claimed:?}", world.registrar);
    assert!(!hidden.contains(added.secret.expose_secret()), "{hidden}");

    let grace = Duration::from_secs(60);
    let rotated = world.admin.rotate_secret(id, grace, &world.vault).await.unwrap();
    assert_ne!(rotated.secret.expose_secret(), added.secret.expose_secret());
    let claimed = world.claimed().await;
    assert_eq!(open(&claimed.secret.0), rotated.secret.expose_secret());
    let previous = claimed.previous_secret.as_ref().unwrap();
    assert_eq!(open(&previous.0), added.secret.expose_secret());
    assert!(!format!("{rotated:?}").contains(rotated.secret.expose_secret()));
}

#[tokio::test]
async fn a_grace_has_at_most_seven_days() {
    let world = World::new().await;
    let url = "https://example.org/";
    let id = world.admin.add_endpoint(&world.form, url, &world.registrar).await.unwrap().record.id;
    world.admin.rotate_secret(&id, GRACE_MAX, &world.vault).await.unwrap();
    let longer = GRACE_MAX + Duration::from_secs(1);
    let refused = world.admin.rotate_secret(&id, longer, &world.vault).await.unwrap_err();
    assert_eq!(refused.to_string(), "grace `604801 s` has at most 7 days");
}

#[tokio::test]
async fn a_host_that_is_not_found_is_told_and_no_reason_to_refuse() {
    let world = World::new().await;
    let url = "https://new.example.org/";
    let added = world.admin.add_endpoint(&world.form, url, &world.registrar).await.unwrap();
    assert_eq!(added.unresolved.unwrap().to_string(), "no such name");
    assert_eq!(world.admin.list_endpoints(&world.form).await.unwrap(), [added.record]);
}

#[tokio::test]
async fn an_url_is_the_same_in_any_spelling() {
    let world = World::new().await;
    let add = |url| world.admin.add_endpoint(&world.form, url, &world.registrar);
    assert_eq!(
        add("https://EXAMPLE.org:443/a/../b?t=1").await.unwrap().record.url,
        "https://example.org/b?t=1"
    );
    let refused = add("https://example.org/b?t=1").await.unwrap_err();
    assert!(matches!(refused, AdminError::Store(StoreError::Exists { .. })), "{refused:?}");
    assert!(!refused.to_string().contains("t=1"), "{refused}");
    add("https://example.org/b?t=2").await.unwrap();
}

#[tokio::test]
async fn nobody_is_asked_about_what_is_refused_anyway() {
    let world = World::new().await;
    let missing = FormId::new("frm_missing").unwrap();
    for (form, url) in [
        (&missing, "https://example.org/"),
        (&world.form, "http://example.org/"),
        (&world.form, "https://10.0.0.1/"),
        (&world.form, "https://localhost/"),
    ] {
        assert!(world.admin.add_endpoint(form, url, &world.registrar).await.is_err(), "{url}");
    }
    assert_eq!(world.resolver.0.load(Ordering::SeqCst), 0);
    assert!(world.admin.list_endpoints(&world.form).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_form_is_found_by_its_id_before_another_s_public_id() {
    let World { admin, form, .. } = World::new().await;
    let user = admin.user("a@example.org").await.unwrap().id;
    let public_id = Some(PublicId::new(form.as_str()).unwrap());
    let imitation = FormOptions { public_id, ..FormOptions::titled("Imitation") };
    let imitation = admin.create_form(&user, imitation).await.unwrap();
    assert_eq!(admin.find_form(form.as_str()).await.unwrap().id, form);
    assert_eq!(admin.find_form(imitation.id.as_str()).await.unwrap(), imitation);
    let public_id = admin.find_form(form.as_str()).await.unwrap().public_id;
    assert_eq!(admin.find_form(public_id.as_str()).await.unwrap().id, form);
    for named in ["missing", "", "a/b"] {
        let refused = admin.find_form(named).await.unwrap_err();
        assert!(matches!(refused, AdminError::Store(StoreError::NotFound { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn public_id_that_needs_encoding_is_refused() {
    let World { admin, .. } = World::new().await;
    let user = admin.user("a@example.org").await.unwrap().id;
    for (id, rule) in [
        ("q7/3=", "must have no spaces, control characters, or any of / \\ ? # %"),
        ("..", "cannot be a path step"),
        (&*"x".repeat(129), "must have at most 128 bytes"),
    ] {
        let public_id = Some(PublicId::new(id).unwrap());
        let form = FormOptions { public_id, ..FormOptions::titled("T") };
        let refused = admin.create_form(&user, form).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("public id `{id}` {rule}"));
    }
}
