//! What a sandbox says when it answers.

use formsvc_client::types::PublicId;
use formsvc_server::faults::CONTROL;
use secrecy::ExposeSecret;

use super::{Facts, Key, Webhook};

/// The banner, as lines. What is to be copied is not indented: a secret fills a line of 80 columns, and
/// one column more would break it in two. The secrets of a sandbox open nothing but the sandbox, so
/// they may be shown.
pub(crate) fn banner(facts: &Facts) -> Vec<String> {
    let base_url = &facts.base_url;
    let mut lines = Vec::new();
    for public_id in &facts.kept {
        lines.push(format!("The form `{public_id}` was kept as it was in the database."));
    }
    lines.push(format!("The sandbox answers at {base_url}. In another shell:\n"));
    lines.push(format!("export FORMSVC_BASE_URL={base_url}"));
    match &facts.key {
        Key::New(key) => {
            lines.push(format!("export FORMSVC_API_KEY={}", key.expose_secret()));
            lines.push("formsvc forms list\n".to_owned());
        }
        Key::Kept(prefix) => {
            lines.push("formsvc forms list\n".to_owned());
            lines.push(format!("FORMSVC_API_KEY is the one shown before, {prefix}…"));
            lines.push("(`--new-key` makes another).\n".to_owned());
        }
    }
    facts.webhooks.iter().for_each(|webhook| endpoint(facts, webhook, &mut lines));
    if let Some((forms, every)) = &facts.visits {
        let names: Vec<_> = forms.iter().map(PublicId::as_str).collect();
        let turn = if names.len() > 1 { ", in turn" } else { "" };
        let every = jiff::SignedDuration::try_from(*every).unwrap_or_default();
        let names = names.join(", ");
        lines.push(format!("A submission is added every {every:#} to {names}{turn}.\n"));
    }
    if !facts.faults.is_empty() {
        let faults: Vec<_> = facts.faults.iter().map(ToString::to_string).collect();
        lines.push(format!("It fails on purpose: {}. To end that:\n", faults.join(", ")));
        lines.push(format!("curl -X DELETE {base_url}{CONTROL}\n"));
    }
    lines.push("Ctrl-C stops it.".to_owned());
    lines
}

fn endpoint(facts: &Facts, webhook: &Webhook, lines: &mut Vec<String>) {
    let Webhook { form, url, secret, is_enabled } = webhook;
    lines.push(format!("Submissions to {}/f/{form}", facts.base_url));
    let signed = match secret {
        _ if !is_enabled => "which is disabled.\n",
        Some(_) => "signed with\n",
        None => "signed with the secret shown before.\n",
    };
    lines.push(format!("are delivered to {url}, {signed}"));
    if let Some(secret) = secret {
        lines.push(format!("export FORMSVC_SIGNING_SECRET={}\n", secret.expose_secret()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use formsvc_server::secrets;

    use super::*;

    fn facts(key: Key) -> Facts {
        let name = |name| PublicId::new(name).unwrap();
        let webhook = |secret, is_enabled| Webhook {
            form: name("contact"),
            url: "http://localhost:9000/".to_owned(),
            secret,
            is_enabled,
        };
        Facts {
            base_url: "http://127.0.0.1:65535".to_owned(),
            key,
            forms: Vec::new(),
            kept: vec![name("big")],
            webhooks: vec![
                webhook(Some(secrets::generate().unwrap()), true),
                webhook(None, true),
                webhook(None, false),
            ],
            visits: Some((vec![name("contact"), name("penguins")], Duration::from_secs(2))),
            faults: vec!["errors=25%".parse().unwrap()],
        }
    }

    #[test]
    fn no_line_is_wider_than_80_columns() {
        let key = format!("fsk_{}", "x".repeat(43)).into();
        for facts in [facts(Key::New(key)), facts(Key::Kept("fsk_xxxx".into()))] {
            for line in banner(&facts) {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }

    #[test]
    fn what_was_shown_before_is_said_to_have_been() {
        let said = banner(&facts(Key::Kept("fsk_xxxx".into()))).join("\n");
        assert!(said.contains("shown before, fsk_xxxx…"), "{said}");
        assert!(said.contains("signed with the secret shown before"), "{said}");
        assert!(said.contains("is disabled"), "{said}");
        assert!(
            said.contains("A submission is added every 2s to contact, penguins, in turn"),
            "{said}"
        );
        assert!(!said.contains("FORMSVC_API_KEY=") && said.contains("--new-key"), "{said}");
    }
}
