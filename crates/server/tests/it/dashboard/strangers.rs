//! What is somebody else's, and what strangers wrote.

use formsvc_protocol::{FormId, PublicId};
use formsvc_server::admin::Registrar;
use formsvc_server::dashboard::{Access, ROUTES, Verb};
use formsvc_server::egress::EgressPolicy;
use formsvc_server::store::{NewForm, NewKey, UserRecord};

use super::service::{EMAIL, PASSWORD, Service, sign_in};
use super::things::Things;

#[tokio::test]
async fn what_is_another_users_is_not_found_on_any_route() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let mine = Things::of(&service, &user, "mine").await;
    let other = service.admin.create_user("other@example.org", "Other").await.unwrap();
    let theirs = Things::of(&service, &other, "theirs").await;
    // Each alone, in an address where all the rest is one's own.
    let mixed = |change: fn(&mut Things, &Things)| {
        let mut things = mine.clone();
        change(&mut things, &theirs);
        things
    };
    let cases: [(&str, Things); 6] = [
        ("{form}", mixed(|mine, theirs| theirs.form.clone_into(&mut mine.form))),
        ("{endpoint}", mixed(|mine, theirs| theirs.endpoint.clone_into(&mut mine.endpoint))),
        ("{key}", mixed(|mine, theirs| theirs.key.clone_into(&mut mine.key))),
        ("{delivery}", mixed(|mine, theirs| theirs.delivery.clone_into(&mut mine.delivery))),
        ("{submission}", mixed(|mine, theirs| theirs.submission.clone_into(&mut mine.submission))),
        ("{form}", theirs.clone()),
    ];
    let mut tried = 0;
    for route in ROUTES.iter().filter(|route| route.access == Access::Members) {
        for (parameter, things) in &cases {
            if !route.path.contains(parameter) {
                continue;
            }
            let path = things.path(route.path);
            browser.get("/dashboard").await.is(200);
            let pairs = [("status", "closed"), ("grace", "none"), ("do", "save"), ("title", "x")];
            let answer = match route.verb {
                Verb::Get => browser.get(&path).await,
                _ => browser.post(&path, &pairs).await,
            };
            assert_eq!(answer.status.as_u16(), 404, "{route:?} {parameter}: {}", answer.body);
            answer.does_not_say("theirs").does_not_say("hello");
            tried += 1;
        }
    }
    assert!(tried > 50, "{tried}");
    // What is no id at all is answered alike.
    for nothing in ["frm_none", "x", "%ff", "%00", "..", "é"] {
        browser.get(&format!("/dashboard/forms/{nothing}")).await.is(404);
    }
    // A filter by somebody else's endpoint tells nothing of it.
    let path = mine.path("/dashboard/forms/{form}/deliveries?endpoint=");
    browser.get(&format!("{path}{}", theirs.endpoint)).await.is(200).does_not_say("theirs");
}

fn naughty() -> Vec<String> {
    let text = include_str!("../../../../../fixtures/forms/naughty.json");
    let strings: Vec<String> = serde_json::from_str(text).unwrap();
    strings
}

/// What pages are made of. Nothing else comes of what strangers write.
const TAGS: &[&str] = &[
    "!doctype", "a", "body", "br", "button", "code", "dd", "details", "div", "dl", "dt",
    "fieldset", "form", "h1", "h2", "h3", "head", "header", "html", "input", "label", "legend",
    "li", "link", "main", "meta", "nav", "ol", "option", "p", "pre", "section", "select", "span",
    "strong", "summary", "table", "tbody", "td", "textarea", "th", "thead", "time", "title", "tr",
    "ul",
];

#[track_caller]
fn assert_inert(page: &str) {
    for tag in page.split('<').skip(1) {
        let name = tag.trim_start_matches('/').split([' ', '>', '\n']).next().unwrap();
        assert!(TAGS.contains(&name), "<{name}> in {page}");
        let inside = tag.split('>').next().unwrap();
        // Outside of the quotation marks stand names of attributes, and all of them are ours.
        let names: String = inside.split('"').step_by(2).collect();
        assert!(!names.contains(" on") && !names.contains(" style"), "{inside}");
        if let Some(link) = inside.split("href=\"").nth(1) {
            let is_ours = ["/dashboard", "#main", "http://127.0.0.1:"];
            assert!(is_ours.iter().any(|ours| link.starts_with(ours)), "{link}");
        }
    }
}

#[tokio::test]
async fn what_strangers_wrote_is_text_on_every_page() {
    let service = Service::new().await;
    let strings = naughty();
    let (browser, user) = service.member().await;
    let hostile: Vec<&String> = strings
        .iter()
        .filter(|text| text.contains(['<', '"', '\'', '&', '`', '{']) && text.len() < 150)
        .filter(|text| !text.trim().is_empty() && !text.chars().any(char::is_control))
        .step_by(7)
        .take(40)
        .collect();
    assert!(hostile.len() > 30, "{}", hostile.len());
    let all: serde_json::Map<String, serde_json::Value> =
        strings.iter().take(400).map(|text| (text.clone(), text.as_str().into())).collect();
    let all = serde_json::Value::Object(all).to_string();
    for (n, text) in hostile.into_iter().enumerate() {
        let things = Things::of(&service, &user, &format!("form-{n}")).await;
        let form = service.admin.find_form(&things.form).await.unwrap();
        let edit =
            formsvc_server::admin::FormEdit { title: Some(text.clone()), ..Default::default() };
        service.admin.edit_form(&form.id, edit).await.unwrap();
        service.admin.create_key(&user.id, text).await.unwrap();
        let answers = serde_json::json!({ text.as_str(): text, "a": [text, { "b": text }] });
        service.admin.submit(&form.id, &answers.to_string()).await.unwrap();
        if n == 0 {
            service.admin.submit(&form.id, &all).await.unwrap();
        }
        let query = form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let mut paths = vec!["/dashboard".to_owned(), "/dashboard/keys".to_owned()];
        let of_form = ROUTES.iter().filter(|route| route.verb == Verb::Get);
        paths.extend(
            of_form.filter(|route| route.path.contains('{')).map(|route| things.path(route.path)),
        );
        let base = things.path("/dashboard/forms/{form}");
        paths.push(format!("{base}?q={query}&before={query}&said={query}"));
        paths.push(format!("{base}/deliveries?state={query}&endpoint={query}&after={query}"));
        paths.push(format!("/dashboard/sign-in?next={query}"));
        for path in paths {
            let page = browser.get(&path).await;
            if !path.contains("assets") && !page.body.is_empty() {
                assert_inert(&page.body);
            }
        }
        // What somebody typed, right or wrong, comes back as text.
        let fields = [("f0.label", text.as_str()), ("f0.type", "choice"), ("f0.choices", text)];
        for button in ["preview", "save", "add"] {
            let pairs = [&fields[..], &[("f0.help", text), ("f0.min", text), ("do", button)]];
            assert_inert(&browser.post(&format!("{base}/fields"), &pairs.concat()).await.body);
        }
        for (path, pairs) in [
            (format!("{base}/channels/new"), [("url", text.as_str()), ("x", "")]),
            (format!("{base}/settings"), [("title", text.as_str()), ("origins", text)]),
            ("/dashboard/new".to_owned(), [("title", ""), ("x", text)]),
        ] {
            assert_inert(&browser.post(&path, &pairs).await.body);
        }
    }
}

#[tokio::test]
async fn names_addresses_and_ids_of_any_kind_are_text() {
    let service = Service::new().await;
    let hostile = "\"><script>alert(1)</script>'&";
    let user = formsvc_protocol::UserId::new("usr_1").unwrap();
    let record =
        UserRecord { id: user.clone(), email: format!("{hostile}@x.y"), name: hostile.into() };
    let user = service.store.add_user(record).await.unwrap();
    let link = service.admin.create_link(Some(&user.id)).await.unwrap();
    let browser = service.browser();
    let path = secrecy::ExposeSecret::expose_secret(&link.path()).to_owned();
    assert_inert(&browser.get(&path).await.is(200).body);
    browser.post(&path, &[("password", PASSWORD), ("again", PASSWORD)]).await.leads();
    let form = NewForm {
        id: FormId::new("frm_1").unwrap(),
        user: user.id.clone(),
        public_id: PublicId::new("<b>\"é").unwrap(),
        title: hostile.into(),
        status: formsvc_protocol::FormStatus::Published,
    };
    service.store.add_form(form).await.unwrap();
    let key = NewKey {
        id: formsvc_protocol::KeyId::new("key_1").unwrap(),
        user: user.id.clone(),
        name: hostile.into(),
        prefix: hostile.into(),
        hash: formsvc_server::store::KeyHash([7; 32]),
    };
    service.store.add_key(key).await.unwrap();
    let registrar = Registrar::new(service.vault.clone(), EgressPolicy::dev());
    let url = "http://127.0.0.1:9/?<script>\"'&javascript:alert(1)";
    let form = FormId::new("frm_1").unwrap();
    service.admin.add_endpoint(&form, url, &registrar).await.unwrap();
    for path in [
        "/dashboard",
        "/dashboard/account",
        "/dashboard/keys",
        "/dashboard/keys/key_1/revoke",
        "/dashboard/forms/frm_1",
        "/dashboard/forms/frm_1/settings",
        "/dashboard/forms/frm_1/channels",
        "/dashboard/forms/frm_1/deliveries",
    ] {
        assert_inert(&browser.get(path).await.is(200).body);
    }
    assert_inert(&sign_in(&service.browser(), &format!("{hostile}{EMAIL}"), "x").await.body);
}

#[tokio::test]
async fn host_is_quoted_in_commands_to_copy() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let port = service.base.rsplit(':').next().unwrap();
    let host = format!("$(id).localhost:{port}");
    let get = async |path: &str| {
        let request = browser.request(http::Method::GET, path).header("host", &host);
        let page = browser.send(request, "").await.is(200);
        let commands = page.body.split("<pre class=\"command\"").skip(1);
        let commands = commands.map(|rest| rest.split("</pre>").next().unwrap());
        let commands = commands.map(|rest| rest.split_once('>').unwrap().1.replace("&#39;", "'"));
        commands.collect::<Vec<_>>()
    };
    let mut commands = get("/dashboard").await;
    let form = service.form(&user, "a-1", None).await;
    let path = format!("/dashboard/forms/{}", form.id);
    let registrar = Registrar::new(service.vault.clone(), EgressPolicy::dev());
    let url = "http://localhost:9/hook";
    service.admin.add_endpoint(&form.id, url, &registrar).await.unwrap();
    for path in [path.clone(), format!("{path}/deliveries"), "/dashboard/keys".into()] {
        commands.extend(get(&path).await);
    }
    assert_eq!(commands.len(), 6, "{commands:?}");
    let quoted = [format!("'http://{host}'"), format!("'http://{host}/f/a-1'")];
    let with_host = commands.iter().filter(|command| command.contains("$(id)"));
    for command in with_host.clone() {
        assert!(quoted.iter().any(|word| command.contains(word)), "{command}");
    }
    assert_eq!(with_host.count(), 4);
}
