//! The text that `formsvc sandbox` prints at its start.

use std::time::Duration;

use formsvc_client::types::PublicId;
use formsvc_server::faults::{CONTROL, FaultSetting};
use secrecy::ExposeSecret;

use super::{SandboxInfo, Webhook};

/// Returns the lines. Lines to copy are not indented: a secret fills a line of 80 columns. The secrets open only
/// the sandbox, so they may be shown.
pub(crate) fn banner(
    info: &SandboxInfo,
    every: Option<Duration>,
    faults: &[FaultSetting],
) -> String {
    let SandboxInfo { base_url, api_key, .. } = info;
    let api_key = api_key.expose_secret();
    let mut text = format!(
        "The sandbox answers at {base_url}. In another shell:\n\n\
         export FORMSVC_BASE_URL={base_url}\n\
         export FORMSVC_API_KEY={api_key}\n\
         formsvc forms list\n\n"
    );
    text.extend(info.webhooks.iter().map(|webhook| describe_webhook(base_url, webhook)));
    if let Some(every) = every {
        let names: Vec<_> = info.visited.iter().map(PublicId::as_str).collect();
        let turn = if names.len() > 1 { ", in turn" } else { "" };
        let every = jiff::SignedDuration::try_from(every).unwrap_or_default();
        let names = names.join(", ");
        text.extend([format!("A submission is added every {every:#} to {names}{turn}.\n\n")]);
    }
    if !faults.is_empty() {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        let faults = faults.join(", ");
        text.extend([format!(
            "Injected faults: {faults}. To end them:\n\ncurl -X DELETE {base_url}{CONTROL}\n\n"
        )]);
    }
    text + "Ctrl-C stops it."
}

fn describe_webhook(base_url: &str, webhook: &Webhook) -> String {
    let Webhook { form, url, secret, is_enabled } = webhook;
    let state = if *is_enabled { "" } else { " (disabled)" };
    let secret = secret.expose_secret();
    format!(
        "Submissions to {base_url}/f/{form}\nare delivered to {url}{state},\nsigned with the secret of this line:\n\n\
         export FORMSVC_SIGNING_SECRET={secret}\n\n"
    )
}

#[cfg(test)]
mod tests {
    use formsvc_server::secrets;

    use super::*;

    #[test]
    fn banner_fits_80_columns_and_names_all_settings() {
        let name = |name| PublicId::new(name).unwrap();
        let webhook = |is_enabled| Webhook {
            form: name("contact"),
            url: "http://localhost:9000/".to_owned(),
            secret: secrets::generate().unwrap(),
            is_enabled,
        };
        let info = SandboxInfo {
            pid: 1,
            base_url: "http://127.0.0.1:65535".to_owned(),
            api_key: format!("fsk_{}", "x".repeat(43)).into(),
            forms: Vec::new(),
            webhooks: vec![webhook(true), webhook(false)],
            visited: vec![name("contact"), name("penguins")],
        };
        let faults = ["errors=25%".parse().unwrap()];
        let text = banner(&info, Some(Duration::from_secs(2)), &faults);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for part in ["9000/ (disabled)", "errors=25%", "every 2s to contact, penguins, in turn"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
