//! Proxy and TLS settings of the commands, through real proxies and TLS servers.

use std::path::Path;

use serde_json::Value;

use crate::net::{Authority, HttpProxy, Identity, Server, SocksProxy};
use crate::support::{SECRET, Said, formsvc};

const USER: &str = r#"{"id":"usr_1","email":"ada@example.org","name":"Ada"}"#;
const SERVICE: &str = "https://forms.example";

/// Runs a command for a service, with additional variables.
#[expect(clippy::print_stdout, reason = "a run with --nocapture documents the output")]
fn run(base_url: &str, vars: &[(&str, &str)], args: &[&str]) -> Said {
    let mut command = formsvc(args);
    command.env("FORMSVC_BASE_URL", base_url).env("FORMSVC_API_KEY", SECRET);
    command.envs(vars.iter().copied());
    let said = Said::from(command.output().unwrap());
    let vars: Vec<_> = vars.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    println!("$ {} formsvc {}", vars.join(" "), args.join(" "));
    println!("{}{}exit {}\n", said.stdout, said.stderr, said.code.unwrap());
    assert!(!said.stderr.contains(SECRET) && !said.stdout.contains(SECRET), "{said:?}");
    said
}

fn me(vars: &[(&str, &str)]) -> Said {
    run(SERVICE, vars, &["me", "--max-wait", "1ms"])
}

/// Checks the exit code and parts of the error.
#[track_caller]
fn assert_fails(said: &Said, exit: i32, parts: &[&str]) {
    assert_eq!(said.code, Some(exit), "{}", said.stderr);
    for part in parts {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
}

#[track_caller]
fn assert_works(said: &Said) {
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("ada@example.org"), "{said:?}");
}

/// A service behind a proxy, and a file with the certificate of its authority.
struct Network {
    server: Server,
    proxy: HttpProxy,
    proxy_url: String,
    folder: tempfile::TempDir,
    ca: String,
}

impl Network {
    fn start() -> Self {
        let authority = Authority::new();
        let identity = authority.valid_for("forms.example");
        Self::with(identity, &authority.pem)
    }

    /// Creates the network with `pem` as the content of the certificate file.
    fn with(identity: Identity, pem: &str) -> Self {
        let server = Server::https(identity, USER);
        let proxy = HttpProxy::to(server.address);
        let folder = tempfile::tempdir().unwrap();
        let ca = write(folder.path(), "ca.pem", pem);
        let proxy_url = format!("http://{}", proxy.address);
        Self { server, proxy, proxy_url, folder, ca }
    }

    fn me(&self, more: &[(&str, &str)]) -> Said {
        me(&[&[("HTTPS_PROXY", &*self.proxy_url)], more].concat())
    }
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn proxy_variables_apply_in_both_cases() {
    let net = Network::start();
    for (name, value) in [
        ("HTTPS_PROXY", net.proxy_url.clone()),
        ("https_proxy", net.proxy_url.clone()),
        ("ALL_PROXY", net.proxy_url.clone()),
        ("all_proxy", format!("  {}  ", net.proxy_url)),
    ] {
        let blank = if name == "HTTPS_PROXY" { "NO_PROXY" } else { "HTTPS_PROXY" };
        assert_works(&me(&[(name, &value), (blank, " "), ("FORMSVC_CACERT", &net.ca)]));
        assert_eq!(net.proxy.log.take(), ["CONNECT forms.example:443 HTTP/1.1"], "{name}");
    }
    assert_eq!(net.server.log.take().len(), 8);
}

#[test]
fn unusable_proxy_value_exits_2_and_connects_nowhere() {
    let authority = Authority::new();
    // 0.0.0.0 is this machine, so a request without the proxy could reach it.
    let server = Server::https(authority.valid_for("0.0.0.0"), USER);
    let base_url = format!("https://0.0.0.0:{}", server.address.port());
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        for value in ["http://user:s3#cret@proxy.example:3128", "http://user:12#s3cret@proxy:1"] {
            let said = run(&base_url, &[(name, value)], &["me"]);
            let named = format!("`{name}` is not a proxy URL");
            assert_fails(&said, 2, &[&named, "hint: ", "percent-encode"]);
            assert!(!said.stderr.contains("cret"), "{}", said.stderr);
        }
    }
    let said = run(&base_url, &[("ALL_PROXY", "ftp://u:s3cret@p")], &["doctor"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains("`ALL_PROXY` is not a proxy URL"), "{}", said.stdout);
    assert!(!said.stdout.contains("s3cret"), "{}", said.stdout);
    assert_eq!(server.log.take(), [""; 0]);
}

#[test]
fn no_proxy_entries_bypass_the_proxy() {
    let net = Network::start();
    for list in ["*", ".forms.invalid", "*.invalid", "a.example invalid", "a, forms.invalid:443"] {
        let vars = [("ALL_PROXY", &*net.proxy_url), ("NO_PROXY", list)];
        let said = run("https://forms.invalid", &vars, &["me"]);
        assert_fails(&said, 6, &["no address found for `forms.invalid`"]);
    }
    assert_eq!(net.proxy.log.take(), [""; 0]);
    // 0.0.0.0 is this machine, but not an address in 127.0.0.0/8.
    let authority = Authority::new();
    let direct = Server::https(authority.valid_for("0.0.0.0"), USER);
    let base_url = format!("https://0.0.0.0:{}", direct.address.port());
    let ca = write(net.folder.path(), "direct.pem", &authority.pem);
    for list in ["0.0.0.0", "10.0.0.0/8,0.0.0.0/8", &base_url["https://".len()..]] {
        let vars = [("ALL_PROXY", &*net.proxy_url), ("NO_PROXY", list), ("FORMSVC_CACERT", &ca)];
        assert_works(&run(&base_url, &vars, &["me"]));
    }
    assert_eq!(net.proxy.log.take(), [""; 0]);
}

#[test]
fn localhost_is_never_sent_to_a_proxy() {
    let server = Server::http(USER);
    let proxy = HttpProxy::refusing("502 Bad Gateway");
    let url = format!("http://{}", proxy.address);
    for host in ["localhost", "forms.localhost", "127.0.0.1"] {
        let base_url = format!("http://{host}:{}", server.address.port());
        assert_works(&run(&base_url, &[("HTTP_PROXY", &url), ("ALL_PROXY", &url)], &["me"]));
    }
    assert_eq!((server.log.take().len(), proxy.log.take().len()), (6, 0));
}

#[test]
fn unknown_no_proxy_entry_is_reported_once() {
    let net = Network::start();
    let list = "for*.example, 10.0.0.0/33 http://x";
    let said = net.me(&[("NO_PROXY", list), ("FORMSVC_CACERT", &net.ca)]);
    assert_works(&said);
    for entry in ["for*.example", "10.0.0.0/33", "http://x"] {
        let warning = format!("the entry `{entry}` of NO_PROXY is ignored");
        assert_eq!(said.stderr.matches(&warning).count(), 1, "{}", said.stderr);
    }
    assert_eq!(net.proxy.log.take().len(), 1);
}

#[test]
fn socks_proxy_is_used() {
    let authority = Authority::new();
    let server = Server::https(
        authority.issue("forms.example", |params| {
            let address = std::net::IpAddr::from([0, 0, 0, 0]);
            params.subject_alt_names.push(rcgen::SanType::IpAddress(address));
        }),
        USER,
    );
    let folder = tempfile::tempdir().unwrap();
    let ca = write(folder.path(), "ca.pem", &authority.pem);
    let proxy = SocksProxy::to(server.address, None);
    for (scheme, base_url, requested) in [
        ("socks5h", SERVICE, "domain forms.example:443"),
        ("socks5", "https://0.0.0.0:444", "ip 0.0.0.0:444"),
    ] {
        let url = format!("{scheme}://{}", proxy.address);
        let vars = [("ALL_PROXY", &*url), ("FORMSVC_CACERT", &ca)];
        assert_works(&run(base_url, &vars, &["me"]));
        assert_eq!(proxy.log.take(), [requested]);
    }
    let closed = SocksProxy::to(server.address, Some(("ada", "s3cret")));
    let url = format!("socks5h://ada:wr0ng@{}", closed.address);
    let said = me(&[("HTTPS_PROXY", &url)]);
    assert_fails(&said, 6, &["(HTTPS_PROXY) rejects its user name and password", "hint: "]);
    assert!(!said.stderr.contains("wr0ng"), "{}", said.stderr);
}

#[test]
fn proxy_refusal_names_the_proxy() {
    let proxy = HttpProxy::refusing("407 Proxy Authentication Required");
    let (host, url) = (proxy.address, format!("http://ada:s3cret@{}", proxy.address));
    let said = me(&[("HTTPS_PROXY", &url)]);
    let named =
        format!("the proxy http://{host} (HTTPS_PROXY) rejects its user name and password (407)");
    assert_fails(&said, 6, &[&named, "hint: set user name and password"]);
    assert!(!said.stderr.contains("s3cret"), "{}", said.stderr);
    assert_eq!(proxy.log.take().len(), 1, "it is not retried");
    let forbidding = HttpProxy::refusing("403 Forbidden");
    let url = format!("http://{}", forbidding.address);
    let named = format!("the proxy {url} (all_proxy) refused the connection to forms.example:443");
    assert_fails(&me(&[("all_proxy", &url)]), 6, &[&named, "hint: `formsvc doctor` shows"]);
}

/// Returns the message of a check of `doctor`.
#[track_caller]
fn check(said: &Said, name: &str) -> (String, String) {
    let checks: Vec<Value> = serde_json::from_str(&said.stdout).unwrap();
    let found = checks.iter().find(|check| check["check"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {}", said.stdout));
    let text = |field: &str| found[field].as_str().unwrap().to_owned();
    (text("outcome"), text("found"))
}

#[test]
fn doctor_shows_proxy_its_refusal_and_trust_store() {
    let doctor = ["doctor", "--output", "json"];
    let net = Network::start();
    let url = format!("http://ada:s3cret@{}", net.proxy.address);
    let said = run(SERVICE, &[("https_proxy", &url), ("FORMSVC_CACERT", &net.ca)], &doctor);
    let found = format!("{} (https_proxy)", net.proxy_url);
    assert_eq!(check(&said, "proxy"), ("passed".to_owned(), found));
    let ca = &net.ca;
    let trusted =
        format!("the system's certificates, and 1 certificate of `{ca}` (FORMSVC_CACERT)");
    assert_eq!(check(&said, "trust store"), ("passed".to_owned(), trusted));
    assert!(!said.stdout.contains("s3cret"), "{}", said.stdout);
    let connects = net.proxy.log.take();
    assert!(connects.iter().all(|line| line.ends_with("[Basic YWRhOnMzY3JldA==]")), "{connects:?}");
    for (status, why) in [
        ("407 Proxy Authentication Required", "requires a user name and a password (407)"),
        ("502 Bad Gateway", "refused the connection to forms.example:443"),
    ] {
        let proxy = HttpProxy::refusing(status);
        let url = format!("http://{}", proxy.address);
        let said = run(SERVICE, &[("ALL_PROXY", &url), ("SSL_CERT_FILE", &net.ca)], &doctor);
        assert_eq!(check(&said, "proxy"), ("passed".to_owned(), format!("{url} (ALL_PROXY)")));
        let (outcome, found) = check(&said, "connection");
        assert!(outcome == "failed" && found.contains(why), "{found}");
        let trusted = format!("1 certificate of `{}` (SSL_CERT_FILE)", net.ca);
        assert_eq!(check(&said, "trust store").1, trusted);
        assert!(said.code == Some(1), "{}", said.stdout);
    }
    for (base_url, vars, found) in [
        (SERVICE, [("NO_PROXY", "")], "none: neither HTTPS_PROXY nor ALL_PROXY is set"),
        ("http://localhost:1", [("HTTP_PROXY", &*url)], "none: localhost is reached directly"),
    ] {
        let said = run(base_url, &vars, &[&doctor[..], &["--timeout", "1s"]].concat());
        assert_eq!(check(&said, "proxy").1, found);
    }
    let excluded = [("HTTPS_PROXY", &*url), ("NO_PROXY", ".invalid")];
    let said = run("https://forms.invalid", &excluded, &doctor);
    assert_eq!(check(&said, "proxy").1, "none: `.invalid` of NO_PROXY matches the service");
}

#[test]
fn unusable_proxy_stops_only_requests_to_other_machines() {
    let value = "http://u:p#w3cret@proxy:1";
    let vars = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].map(|name| (name, value));
    let server = Server::http(USER);
    let local = format!("http://{}", server.address);
    assert_works(&run(&local, &vars, &["me"]));
    let mut demo = formsvc(&["--demo", "forms", "list"]);
    let said = Said::from(demo.envs(vars).output().unwrap());
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
    let folder = tempfile::tempdir().unwrap();
    let secret = write(folder.path(), "secret", "whsec_0123456789abcdef0123456789");
    let far = "https://shop.test/hook";
    for (args, url, is_local) in [
        (&["webhook", "trigger", "--secret-file", &*secret][..], &*local, true),
        (&["webhook", "trigger", "--secret-file", &*secret], far, false),
        (&["webhook", "check", "--secret-file", &*secret], far, false),
        (&["webhook", "listen", "--no-store", "--port", "0", "--forward-to"], far, false),
        (&["--demo", "webhook", "replay", "1", "--to"], far, false),
    ] {
        let said = Said::from(formsvc(args).arg(url).envs(vars).output().unwrap());
        if is_local {
            assert!(!said.stderr.contains("HTTPS_PROXY"), "{args:?}: {}", said.stderr);
            continue;
        }
        assert_fails(&said, 2, &["error: `HTTPS_PROXY` is not a proxy URL", "hint: "]);
        assert!(!said.stderr.contains("w3cret"), "{}", said.stderr);
    }
}

#[test]
fn doctor_shows_network_without_base_url_and_in_demo() {
    let home = tempfile::tempdir().unwrap();
    let doctor = |args: &[&str], vars: &[(&str, &str)]| {
        let mut command = formsvc(args);
        command.env("HOME", home.path()).envs(vars.iter().copied());
        Said::from(command.output().unwrap())
    };
    let alone = ["doctor", "--output", "json"];
    let ca = write(home.path(), "ca.pem", &Authority::new().pem);
    let vars = [("all_proxy", "http://u:s3cret@proxy.example:3128"), ("FORMSVC_CACERT", &*ca)];
    let said = doctor(&alone, &vars);
    let proxy = "http://proxy.example:3128 (all_proxy)";
    assert_eq!(check(&said, "proxy"), ("passed".to_owned(), proxy.to_owned()));
    let store = format!("the system's certificates, and 1 certificate of `{ca}` (FORMSVC_CACERT)");
    assert_eq!(check(&said, "trust store").1, store);
    assert!(!said.stdout.contains("s3cret"), "{}", said.stdout);
    let said = doctor(&alone, &[]);
    assert_eq!(check(&said, "proxy").1, "none: neither HTTPS_PROXY nor ALL_PROXY is set");
    let said = doctor(&["--demo", "doctor", "--output", "json"], &vars);
    assert_eq!(check(&said, "proxy").1, "none: localhost is reached directly");
    assert_eq!(check(&said, "trust store").1, store);
}

#[test]
fn network_error_comes_before_the_missing_key() {
    let home = tempfile::tempdir().unwrap();
    for (name, value, message) in [
        ("HTTPS_PROXY", "http://u:p#w@proxy:1", "`HTTPS_PROXY` is not a proxy URL"),
        ("SSL_CERT_FILE", "/none.pem", "`SSL_CERT_FILE` names `/none.pem`, which cannot be read"),
    ] {
        for args in [&["me"][..], &["auth", "status"], &["auth", "login"]] {
            let mut command = formsvc(args);
            command.env("HOME", home.path()).env("FORMSVC_BASE_URL", SERVICE).env(name, value);
            let said = Said::from(command.output().unwrap());
            assert_fails(&said, 2, &[message]);
            assert!(!said.stderr.contains("API key"), "{args:?}: {}", said.stderr);
        }
    }
}

#[test]
fn cacert_adds_to_the_trust_store() {
    let net = Network::start();
    assert_works(&net.me(&[("FORMSVC_CACERT", &net.ca)]));
    let vars = [("HTTPS_PROXY", &*net.proxy_url)];
    assert_works(&run(SERVICE, &vars, &["me", "--cacert", &net.ca]));
    let api = run(SERVICE, &vars, &["--cacert", &net.ca, "api", "/api/v1/me"]);
    assert_works(&api);
    for (file, rule) in
        [("missing.pem", "cannot be read"), ("empty.pem", "contains no certificate")]
    {
        write(net.folder.path(), "empty.pem", "");
        let path = net.folder.path().join(file);
        let path = path.to_str().unwrap();
        let named = format!("`--cacert` names `{path}`, which {rule}");
        assert_fails(&run(SERVICE, &vars, &["me", "--cacert", path]), 2, &[&named]);
        let named = format!("`FORMSVC_CACERT` names `{path}`, which {rule}");
        assert_fails(&net.me(&[("FORMSVC_CACERT", path)]), 2, &[&named]);
    }
}

#[test]
fn ssl_cert_variables_replace_the_trust_store() {
    let net = Network::start();
    assert_works(&net.me(&[("SSL_CERT_FILE", &net.ca)]));
    assert_works(&net.me(&[("SSL_CERT_DIR", net.folder.path().to_str().unwrap())]));
    let path = |name: &str| net.folder.path().join(name).to_str().unwrap().to_owned();
    write(net.folder.path(), "empty.pem", "");
    std::fs::create_dir(path("folder")).unwrap();
    for (name, path, rule) in [
        ("SSL_CERT_FILE", path("missing.pem"), "cannot be read"),
        ("SSL_CERT_FILE", path("empty.pem"), "contains no certificate"),
        ("SSL_CERT_FILE", path("folder"), "cannot be read"),
        ("SSL_CERT_DIR", path("missing"), "cannot be read"),
        ("SSL_CERT_DIR", path("folder"), "contains no certificate"),
    ] {
        let named = format!("`{name}` names `{path}`, which {rule}");
        assert_fails(&net.me(&[(name, &path)]), 2, &[&named]);
    }
    assert_eq!(net.proxy.log.take().len(), 2);
}

#[test]
fn self_signed_certificate_works_if_named_else_gets_commands() {
    let identity = Identity::self_signed("forms.example", true);
    let pem = identity.pem.clone();
    let net = Network::with(identity, &pem);
    for name in ["FORMSVC_CACERT", "SSL_CERT_FILE"] {
        assert_works(&net.me(&[(name, &net.ca)]));
    }
    let said = net.me(&[]);
    let parts =
        ["is self-signed or an authority's own", "the authority that signs", "--cacert FILE"];
    assert_fails(&said, 6, &parts);
}

#[test]
fn certificate_problems_have_messages_and_hints_of_their_own() {
    let (authority, stranger) = (Authority::new(), Authority::named("another authority"));
    let certificate = "the certificate of forms.example:443";
    for (identity, message, hint) in [
        (
            stranger.valid_for("forms.example"),
            "is not issued by a trusted authority",
            "--cacert FILE",
        ),
        (authority.expired_for("forms.example"), "has expired", "renew the certificate"),
        (authority.valid_for("other.example"), "is for another host name", "use a host name"),
    ] {
        let net = Network::with(identity, &authority.pem);
        let said = net.me(&[("FORMSVC_CACERT", &net.ca)]);
        assert_fails(&said, 6, &[&format!("cause: {certificate} {message}\n"), hint]);
        assert_eq!(net.proxy.log.take().len(), 1, "it is not retried");
    }
}
