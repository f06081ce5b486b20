//! Where the receiver is: an address as typed, and whether somebody must be asked before it is sent to.

use url::{Host, Url};

use crate::ask;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;

/// The address of the receiver.
pub(super) fn read(text: Option<&str>) -> Result<Url, CliError> {
    let hint = "an address is https://…, or http://… , such as http://127.0.0.1:9000/hook";
    let text = text.map(str::trim).ok_or_else(|| {
        CliError::coded(Code::MissingArgument, "no address of a receiver")
            .hint("`formsvc webhook check URL`; with `--demo` there is a receiver to try it on")
    })?;
    let wrong = |why: &str| CliError::coded(Code::InvalidValue, why).hint(hint);
    if !text.contains("://") {
        let error = wrong("the address of the receiver has no scheme");
        let bare = !text.is_empty() && !text.contains('@');
        return Err(if bare {
            error.hint(format!("did you mean `http://{text}`?"))
        } else {
            error
        });
    }
    let url = Url::parse(text)
        .map_err(|error| wrong("the address of the receiver cannot be read").because(&error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("the address of the receiver is neither http nor https"));
    }
    Ok(url)
}

/// Whether the receiver is on this machine.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.eq_ignore_ascii_case("localhost")
                || name.to_ascii_lowercase().ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
        }
        None => false,
    }
}

/// Asks before made-up submissions go to another machine.
pub(super) async fn ask(cx: &Context, url: &Url) -> Result<(), CliError> {
    if is_here(url) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    if !cx.settings.may_ask {
        let what = format!("{host} is not this machine, and would handle submissions made up here");
        return Err(CliError::usage(what).hint("`--yes` sends them; check a receiver that may"));
    }
    let question = format!("Send made-up submissions to {host}, which will handle them?");
    if ask::confirm(&question).await? {
        return Ok(());
    }
    Err(CliError::new(Exit::Usage, "nothing was sent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_or_https_and_what_is_close_to_one_is_told() {
        for good in ["http://127.0.0.1:9000/", " https://a.example/hook?x=1 ", "http://[::1]:80"] {
            assert!(read(Some(good)).is_ok(), "{good}");
        }
        for (bad, told) in [
            ("127.0.0.1:9000/hook", "did you mean `http://127.0.0.1:9000/hook`?"),
            ("", "no scheme"),
            ("ftp://a.example/", "neither http nor https"),
            ("http://", "cannot be read"),
            ("http://a:b", "cannot be read"),
        ] {
            let error = read(Some(bad)).unwrap_err().told();
            assert!(error.contains(told), "{bad}: {error}");
        }
        assert!(read(None).unwrap_err().told().contains("--demo"));
    }

    #[test]
    fn only_what_is_surely_this_machine_is_sent_to_without_a_word() {
        let here = |text: &str| is_here(&Url::parse(text).unwrap());
        for yes in [
            "http://localhost:1/",
            "http://LOCALHOST./",
            "http://app.localhost/",
            "http://127.8.9.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(here(yes), "{yes}");
        }
        for no in [
            "http://192.168.1.2/",
            "http://localhost.example/",
            "https://a.example/",
            "http://[::2]/",
            "http://0.0.0.0/",
        ] {
            assert!(!here(no), "{no}");
        }
    }
}
