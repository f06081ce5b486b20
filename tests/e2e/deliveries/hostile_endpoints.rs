//! Hostile endpoints of every kind beside many healthy endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use formsvc_tests::hostile::{Authority, Hostile, Vice};
use formsvc_tests::scale::scaled;
use formsvc_tests::site::form_url;
use formsvc_tests::site::{ATTEMPTS, Site};
use formsvc_tests::visitor::Visitors;

use super::ledgers::{MEMORY_MAX_KIB, PROGRAM, Story, UNLIMITED, lag_max};

const FORMS: usize = 3;
/// Healthy endpoints of each form.
const WELL: usize = 17;
/// Submissions a second to each form: about 200 deliveries a second to the healthy endpoints.
const PER_SECOND: f64 = 4.0;
/// Deliveries that wait for each hostile endpoint at the start.
const WAITING: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_endpoints_delay_no_other_and_have_own_codes() {
    let mut story = Story::on(Site::new(PROGRAM).await, FORMS, WELL).await;
    let (authority, mut hostile) = (Authority::new(), Vec::new());
    let site_store = story.site.open_store();
    let form = site_store.add_form("Hostile").await;
    for (number, (vice, _)) in Vice::ALL.into_iter().enumerate() {
        // If the server followed a redirect, the receiver would report a request that is not a delivery.
        let endpoint = Hostile::start(vice, &authority, &story.forms[0].1[0].url()).await;
        site_store
            .register(&form, &format!("whe_hostile_{number}"), &endpoint.url, "whsec_x")
            .await;
        hostile.push(endpoint);
    }
    // Enough for each that the endpoints that never respond could use all slots.
    for (number, id) in site_store.fill(&form, WAITING).await {
        story.intake.note(number, Some(id));
    }
    site_store.close().await;
    story.forms.push((form, Vec::new()));
    std::fs::write(story.site.path("ca.pem"), authority.pem()).unwrap();
    let ca = story.site.path("ca.pem");
    let ca = ["--egress-ca", ca.to_str().unwrap(), "--delivery-slots", "32"];
    let timeout = ["--attempt-timeout", scaled("6s", "10s")];
    let server = story.site.serve(&[&UNLIMITED[..], &ca, &timeout].concat()).await;

    let urls = story.forms.iter().map(|(form, _)| form_url(&server.base_url, form));
    let visitors: Vec<_> =
        urls.map(|url| Visitors::paced(2, PER_SECOND, &url, &story.intake)).collect();
    story.intake.wait_for(scaled(36, 720)).await;
    for visitors in visitors {
        visitors.stop().await;
    }
    let shown = story.compare_shown(&server.base_url).await;
    story.until_arrived(&shown).await;
    until_each_has_an_attempt(&story).await;
    let memory = server.memory_peak_kib().unwrap_or_default();
    // Kills it, because a regular stop waits for the endpoints that never respond.
    server.kill().await;
    story.compare_arrived(&shown);

    let outcomes = outcomes(&story);
    for (number, (vice, code)) in Vice::ALL.into_iter().enumerate() {
        let found = &outcomes[&format!("whe_hostile_{number}")];
        let wanted = BTreeSet::from([code.unwrap_or("delivered").to_owned()]);
        assert_eq!(*found, wanted, "{vice:?}");
    }
    let figures = story
        .figures("hostile endpoints beside 51 healthy ones")
        .with("hostile", hostile.len())
        .with("peak memory of the server in KiB", memory);
    println!("{figures}");
    assert_eq!(figures.duplicates, 0);
    assert!(figures.lag(99) < lag_max(), "{figures}");
    assert!(memory < MEMORY_MAX_KIB, "{figures}");
}

/// Returns the error codes of the attempts at each hostile endpoint.
fn outcomes(story: &Story) -> BTreeMap<String, BTreeSet<String>> {
    story.site.look(|db| {
        let mut statement = db.prepare(&format!(
            "SELECT e.id, coalesce(a.error, 'delivered') FROM {ATTEMPTS} a
             JOIN endpoints e USING (endpoint_no) WHERE e.id LIKE 'whe_hostile%'",
        ))?;
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.entry(row.get(0)?).or_default().insert(row.get(1)?);
        }
        Ok(found)
    })
}

async fn until_each_has_an_attempt(story: &Story) {
    while outcomes(story).len() < Vice::ALL.len() {
        // Sleeps because the end of an attempt is visible only in the database.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
