//! Proxy and TLS settings, through real proxies and TLS servers.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::PathBuf;

use formsvc_client::network::{
    CertificateOrigin, ConnectFailureKind, NetworkError, NetworkSettings,
};
use formsvc_client::{Client, Error, ErrorKind};

use crate::support::bodies::USER;
use crate::support::net::{Authority, HttpProxy, Identity, Server, SocksProxy};
use crate::support::{builder, quick};

const HTTPS: &str = "https://forms.example";
const HTTP: &str = "http://forms.example";
/// The service's own path.
const ME: &str = "/api/v1/me";

fn settings(vars: &[(&str, &str)]) -> Result<NetworkSettings, NetworkError> {
    NetworkSettings::from_vars(|name| {
        vars.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    })
}

fn origin() -> CertificateOrigin {
    CertificateOrigin { setting: "--cacert", path: PathBuf::from("ca.pem") }
}

/// Settings of variables that also trust an authority.
fn trusting(authority: &Authority, vars: &[(&str, &str)]) -> NetworkSettings {
    let mut settings = settings(vars).unwrap();
    settings.add_root_certificates(authority.pem.as_bytes(), origin()).unwrap();
    settings
}

fn client(base_url: &str, network: NetworkSettings) -> Client {
    let builder = builder().base_url(base_url).danger_allow_http(true).retry(quick());
    builder.network(network).build().unwrap()
}

async fn failure(base_url: &str, network: NetworkSettings) -> Error {
    let error = client(base_url, network).me().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect, "{error:?}");
    error
}

#[track_caller]
fn kind(error: &Error) -> ConnectFailureKind {
    error.connect_failure().unwrap_or_else(|| panic!("{error:?}")).kind()
}

#[tokio::test]
async fn proxy_variables_apply_in_both_cases() {
    let authority = Authority::new();
    let tls = Server::https(authority.valid_for("forms.example"), USER);
    let plain = Server::http(USER);
    let (connect, forward) =
        ("CONNECT forms.example:443 HTTP/1.1", format!("GET {HTTP}{ME} HTTP/1.1"));
    for (base_url, names) in [
        (HTTPS, ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
        (HTTP, ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
    ] {
        let is_tls = base_url == HTTPS;
        let server = if is_tls { &tls } else { &plain };
        let proxy = HttpProxy::to(server.address);
        let url = format!("http://{}", proxy.address);
        for (at, name) in names.iter().enumerate() {
            // Blank variables before it count as unset, and spaces around the value are trimmed.
            let mut vars: Vec<_> = names[..at].iter().map(|name| (*name, " ")).collect();
            let value = format!(" {url}\n");
            vars.push((name, &value));
            let network = trusting(&authority, &vars);
            assert_eq!(network.proxy_for(base_url).unwrap().variable(), *name);
            client(base_url, network).me().await.unwrap();
            let expected = if is_tls { connect } else { forward.as_str() };
            assert_eq!(proxy.log.take(), [expected], "{name}");
            let line = format!("GET {ME} HTTP/1.1");
            assert_eq!(server.log.take(), ["connection", &*line], "{name}");
        }
    }
}

#[tokio::test]
async fn upper_case_proxy_variable_takes_precedence() {
    let authority = Authority::new();
    let server = Server::https(authority.valid_for("forms.example"), USER);
    let (used, unused) = (HttpProxy::to(server.address), HttpProxy::to(server.address));
    let (used_url, unused_url) =
        (format!("http://{}", used.address), format!("http://{}", unused.address));
    let vars = [
        ("HTTPS_PROXY", &*used_url),
        ("https_proxy", &unused_url),
        ("ALL_PROXY", &unused_url),
        ("HTTP_PROXY", &unused_url),
    ];
    client(HTTPS, trusting(&authority, &vars)).me().await.unwrap();
    assert_eq!((used.log.take().len(), unused.log.take().len()), (1, 0));
}

#[tokio::test]
async fn proxy_credentials_are_sent_decoded_and_never_shown() {
    let authority = Authority::new();
    let server = Server::https(authority.valid_for("forms.example"), USER);
    let proxy = HttpProxy::to(server.address);
    let url = format!("http://user:p%23ss@{}", proxy.address);
    let network = trusting(&authority, &[("HTTPS_PROXY", &url)]);
    let debug = format!("{network:?}");
    let builder = builder().network(network.clone());
    assert!(!debug.contains("p%23ss") && debug.contains(&proxy.address.to_string()), "{debug}");
    assert!(!format!("{builder:?}").contains("p%23ss"));
    client(HTTPS, network).me().await.unwrap();
    // The base64 text of "user:p#ss".
    let expected = "CONNECT forms.example:443 HTTP/1.1 [Basic dXNlcjpwI3Nz]";
    assert_eq!(proxy.log.take(), [expected]);
}

#[tokio::test]
async fn unusable_proxy_value_is_config_error_without_password() {
    for value in [
        "http://user:s3cret#x@proxy.example:3128",
        "http://user:12#s3cret@proxy.example:3128",
        "http://user:12/s3cret@proxy.example:3128",
        "http://user:12?s3cret@proxy.example:3128",
        "http://user:s3cret@",
        "ftp://user:s3cret@proxy.example",
        "http://user:s3cret x@proxy.example",
        "http://user:s3cret@proxy.example:99999",
    ] {
        let network = settings(&[("HTTPS_PROXY", value)]).unwrap();
        let error = network.check_proxy(HTTPS).unwrap_err();
        let shown = format!("{error} {error:?} {:?}", error.hint());
        assert!(shown.contains("`HTTPS_PROXY` is not a proxy URL"), "{shown}");
        assert!(!shown.contains("s3cret") && !shown.contains("proxy.example"), "{shown}");
        assert!(error.hint().unwrap().contains("percent-encode"));
        let error = builder().base_url(HTTPS).network(network).build().unwrap_err();
        let shown = format!("{error} {error:?}");
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(shown.contains("`HTTPS_PROXY` is not a proxy URL"), "{shown}");
        assert!(!shown.contains("s3cret") && !shown.contains("proxy.example"), "{shown}");
    }
}

#[tokio::test]
async fn unusable_proxy_fails_only_requests_that_need_it() {
    let bad = "http://user:s3#cret@proxy.example";
    let vars = [("ALL_PROXY", bad), ("NO_PROXY", "intranet.example")];
    let network = settings(&vars).unwrap();
    let server = Server::http(USER);
    let base_url = format!("http://forms.localhost:{}", server.address.port());
    client(&base_url, network.clone()).me().await.unwrap();
    for target in [&*base_url, "https://[::1]", "https://a.intranet.example"] {
        assert!(network.check_proxy(target).is_ok(), "{target}");
    }
    // A request that was not checked before connects nowhere: 0.0.0.0 is this machine.
    let target = format!("http://0.0.0.0:{}", server.address.port());
    assert!(network.check_proxy(&target).is_err());
    let second = std::time::Duration::from_secs(1);
    let http = network.http_client(second, second).unwrap();
    let body = http_body_util::Empty::new();
    let sent = http.send(http::Method::GET, &target, http::HeaderMap::new(), body).await;
    let error = sent.unwrap_err();
    let failure = network.connect_failure(&target, &error).unwrap();
    assert_eq!(failure.kind(), ConnectFailureKind::ProxyUnreachable);
    assert!(failure.to_string().starts_with("`ALL_PROXY` is not a proxy URL"), "{failure}");
    assert_eq!(server.log.take(), ["connection", &format!("GET {ME} HTTP/1.1")]);
}

#[tokio::test]
async fn localhost_is_never_sent_to_a_proxy() {
    let server = Server::http(USER);
    let proxy = HttpProxy::refusing("502 Bad Gateway");
    let url = format!("http://{}", proxy.address);
    let port = server.address.port();
    for host in ["127.0.0.1", "localhost", "forms.localhost", "localhost.", "[::ffff:127.0.0.1]"] {
        let network = settings(&[("HTTP_PROXY", &url), ("ALL_PROXY", &url)]).unwrap();
        let client = client(&format!("http://{host}:{port}"), network);
        client.me().await.unwrap_or_else(|error| panic!("{host}: {error:?}"));
        assert_eq!(server.log.take().len(), 2, "{host}");
    }
    assert_eq!(proxy.log.take(), [""; 0]);
}

#[tokio::test]
async fn socks_proxy_connects_and_resolves_as_its_scheme() {
    let authority = Authority::new();
    let server = Server::https(authority.valid_for("forms.example"), USER);
    let open = SocksProxy::to(server.address, None);
    let closed = SocksProxy::to(server.address, Some(("ada", "p@ss")));
    for (proxy, credentials) in [(&open, ""), (&closed, "ada:p%40ss@")] {
        let url = format!("socks5h://{credentials}{}", proxy.address);
        client(HTTPS, trusting(&authority, &[("ALL_PROXY", &url)])).me().await.unwrap();
        assert_eq!(proxy.log.take(), ["domain forms.example:443"]);
    }
    let plain = Server::http(USER);
    let local = SocksProxy::to(plain.address, None);
    let url = format!("socks5://{}", local.address);
    client("http://0.0.0.0:81", settings(&[("ALL_PROXY", &url)]).unwrap()).me().await.unwrap();
    assert_eq!(local.log.take(), ["ip 0.0.0.0:81"]);
    let network = settings(&[("ALL_PROXY", &url)]).unwrap();
    assert_eq!(kind(&failure("https://forms.invalid", network).await), ConnectFailureKind::Dns);
    for credentials in ["", "ada:wrong@"] {
        let url = format!("socks5h://{credentials}{}", closed.address);
        let error = failure(HTTPS, settings(&[("ALL_PROXY", &url)]).unwrap()).await;
        assert_eq!((kind(&error), error.attempts()), (ConnectFailureKind::ProxyAuth, 1));
        let shown = format!("{error:?}");
        assert!(shown.contains("user name and") && !shown.contains("wrong"), "{shown}");
    }
}

#[tokio::test]
async fn proxy_407_names_the_proxy_and_is_not_retried() {
    let proxy = HttpProxy::refusing("407 Proxy Authentication Required");
    for base_url in [HTTPS, HTTP] {
        for (credentials, verb) in [("", "requires"), ("ada:s3cret@", "rejects")] {
            let url = format!("http://{credentials}{}", proxy.address);
            let error = failure(base_url, settings(&[("ALL_PROXY", &url)]).unwrap()).await;
            assert_eq!((kind(&error), error.attempts()), (ConnectFailureKind::ProxyAuth, 1));
            assert!(!error.is_retryable());
            let failure_text = error.connect_failure().unwrap().to_string();
            let expected = format!("the proxy http://{} (ALL_PROXY) {verb}", proxy.address);
            assert!(
                failure_text.starts_with(&expected) && failure_text.ends_with("(407)"),
                "{failure_text}"
            );
            assert!(!format!("{error:?}").contains("s3cret"));
            assert_eq!(proxy.log.take().len(), 1, "one request");
        }
    }
}

#[tokio::test]
async fn proxy_refusal_names_the_proxy_and_is_retried() {
    let proxy = HttpProxy::refusing("503 Service Unavailable");
    let url = format!("http://{}", proxy.address);
    let error = failure(HTTPS, settings(&[("HTTPS_PROXY", &url)]).unwrap()).await;
    assert_eq!(kind(&error), ConnectFailureKind::ProxyRefused);
    assert!(error.attempts() > 1 && error.is_retryable());
    assert_eq!(
        error.connect_failure().unwrap().to_string(),
        format!("the proxy {url} (HTTPS_PROXY) refused the connection to forms.example:443")
    );
}

/// Returns a socket whose port refuses connections: it is taken, and nothing listens on it.
fn closed_port() -> tokio::net::TcpSocket {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket
}

#[tokio::test]
async fn unreachable_proxy_is_named() {
    let closed = closed_port();
    let gone = closed.local_addr().unwrap();
    for scheme in ["http", "https", "socks5h"] {
        for base_url in [HTTPS, HTTP] {
            let url = format!("{scheme}://{gone}");
            let error = failure(base_url, settings(&[("ALL_PROXY", &url)]).unwrap()).await;
            assert_eq!(kind(&error), ConnectFailureKind::ProxyUnreachable, "{error:?}");
            let failure_text = error.connect_failure().unwrap().to_string();
            assert!(
                failure_text.starts_with(&format!("the proxy {url} (ALL_PROXY) cannot be")),
                "{failure_text}"
            );
        }
    }
}

#[tokio::test]
async fn certificate_problems_have_distinct_kinds() {
    let (authority, stranger) = (Authority::new(), Authority::named("another authority"));
    let cases = [
        (Authority::new().valid_for("forms.example"), ConnectFailureKind::UnknownIssuer),
        (stranger.valid_for("forms.example"), ConnectFailureKind::UnknownIssuer),
        (authority.expired_for("forms.example"), ConnectFailureKind::Expired),
        (authority.valid_for("other.example"), ConnectFailureKind::WrongHostName),
        (Identity::self_signed("forms.example", true), ConnectFailureKind::SelfSigned),
        (Identity::self_signed("forms.example", false), ConnectFailureKind::UnknownIssuer),
    ];
    for (identity, expected) in cases {
        let server = Server::https(identity, USER);
        let proxy = HttpProxy::to(server.address);
        let url = format!("http://{}", proxy.address);
        let error = failure(HTTPS, trusting(&authority, &[("HTTPS_PROXY", &url)])).await;
        assert_eq!((kind(&error), error.attempts()), (expected, 1), "{error:?}");
        let failure_text = error.connect_failure().unwrap().to_string();
        assert!(
            failure_text.starts_with("the certificate of forms.example:443 is")
                || failure_text.contains("has expired"),
            "{failure_text}"
        );
    }
}

#[tokio::test]
async fn proxy_certificate_problem_names_the_proxy() {
    let authority = Authority::new();
    let proxy = Server::https(authority.valid_for("127.0.0.1"), "");
    let url = format!("https://{}", proxy.address);
    let error = failure(HTTPS, settings(&[("HTTPS_PROXY", &url)]).unwrap()).await;
    assert_eq!(kind(&error), ConnectFailureKind::UnknownIssuer);
    let failure_text = error.connect_failure().unwrap().to_string();
    assert!(
        failure_text.starts_with(&format!("the certificate of the proxy {url} (HTTPS_PROXY)")),
        "{failure_text}"
    );
}

#[tokio::test]
async fn self_signed_certificate_is_accepted_where_it_is_named() {
    for is_ca in [true, false] {
        let identity = Identity::self_signed("forms.example", is_ca);
        let pem = identity.pem.clone();
        let server = Server::https(identity, USER);
        let proxy = HttpProxy::to(server.address);
        let url = format!("http://{}", proxy.address);
        let vars = [("HTTPS_PROXY", &*url)];
        let mut network = settings(&vars).unwrap();
        network.add_root_certificates(pem.as_bytes(), origin()).unwrap();
        client(HTTPS, network.clone()).me().await.unwrap();
        // The name is checked all the same.
        let error = failure("https://other.example", network).await;
        assert_eq!(kind(&error), ConnectFailureKind::WrongHostName, "{is_ca} {error:?}");
        let mut insecure = settings(&vars).unwrap();
        insecure.danger_accept_any_certificate(true);
        client("https://other.example", insecure).me().await.unwrap();
    }
}

#[tokio::test]
async fn ssl_cert_variables_replace_the_trust_store() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = Server::https(authority.valid_for("forms.example"), USER);
    let proxy = HttpProxy::to(server.address);
    let url = format!("http://{}", proxy.address);
    let folder = tempfile::tempdir().unwrap();
    let (ca, others) = (folder.path().join("ca.pem"), folder.path().join("others"));
    std::fs::write(&ca, &authority.pem).unwrap();
    std::fs::create_dir(&others).unwrap();
    std::fs::write(others.join("other.pem"), &other.pem).unwrap();
    std::fs::write(others.join("README"), "not a certificate").unwrap();
    let (ca, others) = (ca.to_str().unwrap(), others.to_str().unwrap());
    let with = |name, path| settings(&[("HTTPS_PROXY", &url), (name, path)]).unwrap();
    let network = with("SSL_CERT_FILE", ca);
    assert_eq!(network.trust_store(), format!("1 certificate of `{ca}` (SSL_CERT_FILE)"));
    client(HTTPS, network).me().await.unwrap();
    let dirs = format!("{}:{others}", folder.path().to_str().unwrap());
    client(HTTPS, with("SSL_CERT_DIR", &dirs)).me().await.unwrap();
    let error = failure(HTTPS, with("SSL_CERT_DIR", others)).await;
    assert_eq!(kind(&error), ConnectFailureKind::UnknownIssuer);
}

#[test]
fn unusable_ssl_cert_variable_is_named_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("empty.pem"), "").unwrap();
    std::fs::write(
        path("key.pem"),
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    )
    .unwrap();
    std::fs::create_dir(path("empty")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    for (name, path, rule) in [
        ("SSL_CERT_FILE", path("missing.pem"), "cannot be read"),
        ("SSL_CERT_FILE", path("empty.pem"), "contains no certificate"),
        ("SSL_CERT_FILE", path("key.pem"), "contains no certificate"),
        ("SSL_CERT_FILE", path("empty"), "cannot be read"),
        ("SSL_CERT_FILE", path("pipe"), "cannot be read"),
        ("SSL_CERT_DIR", path("missing"), "cannot be read"),
        ("SSL_CERT_DIR", path("empty"), "contains no certificate"),
    ] {
        let error = settings(&[(name, &path)]).unwrap_err().to_string();
        assert_eq!(error, format!("`{name}` names `{path}`, which {rule}"));
    }
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        let error = settings(&[(name, "")]).unwrap_err();
        assert_eq!(error.to_string(), format!("`{name}` is set but empty"));
    }
    let pipe = CertificateOrigin { setting: "--cacert", path: path("pipe").into() };
    let error = NetworkSettings::direct().add_root_certificate_file(pipe).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "not a regular file");
}

#[tokio::test]
async fn proxy_setting_applies_to_every_scheme() {
    let authority = Authority::new();
    let tls = Server::https(authority.valid_for("forms.example"), USER);
    let plain = Server::http(USER);
    for (base_url, server) in [(HTTPS, &tls), (HTTP, &plain)] {
        let proxy = HttpProxy::to(server.address);
        let builder = builder().base_url(base_url).danger_allow_http(true).retry(quick());
        let builder = builder.proxy(format!("http://ada:s3cret@{}", proxy.address));
        assert!(!format!("{builder:?}").contains("s3cret"));
        let client = builder.add_root_certificate(&*authority.pem).build().unwrap();
        client.me().await.unwrap();
        assert_eq!(proxy.log.take().len(), 1, "{base_url}");
    }
    let closed = closed_port();
    let gone = closed.local_addr().unwrap();
    let client = builder().retry(quick()).proxy(format!("http://{gone}")).build().unwrap();
    let failure = client.me().await.unwrap_err().connect_failure().unwrap().to_string();
    assert!(
        failure.starts_with(&format!("the proxy http://{gone} (proxy) cannot be")),
        "{failure}"
    );
}

#[tokio::test]
async fn client_identity_is_sent_to_the_server() {
    let authority = Authority::new();
    let (identity, other) = (authority.valid_for("client"), Authority::new().valid_for("client"));
    let server = Server::mutual_tls(authority.valid_for("localhost"), &authority, USER);
    let url = format!("https://localhost:{}", server.address.port());
    let builder = || {
        let builder = builder().base_url(&url).retry(quick()).no_proxy();
        builder.add_root_certificate(&*authority.pem)
    };
    let me = builder().client_identity(identity.pem_with_key()).build().unwrap().me().await;
    assert_eq!(me.unwrap().name, "Ada");
    for builder in [builder(), builder().client_identity(other.pem_with_key())] {
        let error = builder.build().unwrap().me().await.unwrap_err();
        assert!(error.status().is_none(), "{error:?}");
    }
    let without_key = builder().client_identity(&*identity.pem).build().unwrap_err().to_string();
    assert!(without_key.contains("`client_identity` contains no usable private key"));
    let key = identity.pem_with_key();
    assert!(!format!("{:?}", builder().client_identity(&*key)).contains("PRIVATE"));
    let mut network = NetworkSettings::direct();
    network.set_client_identity(key.as_bytes()).unwrap();
    let shown = format!("{network:?}");
    assert!(shown.contains("ClientIdentity { certificates: 1, .. }"), "{shown}");
}

/// Set in the child processes of the next tests.
const CHILD: &str = "FORMSVC_TEST_CHILD";

#[test]
fn client_build_reads_the_environment() {
    if std::env::var_os(CHILD).is_some() {
        let error = builder().build().unwrap_err();
        println!("{:?}: {error}", error.kind());
        return;
    }
    for (name, value, expected) in [
        ("https_proxy", "http://user:s3#cret@p", "`https_proxy` is not a proxy URL"),
        ("SSL_CERT_FILE", "/missing.pem", "`SSL_CERT_FILE` names `/missing.pem`, which cannot be"),
    ] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "--nocapture", "network::client_build_reads_the_environment"]);
        let output = child.env(CHILD, "1").env(name, value).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shown}");
        assert!(shown.contains(&format!("Config: client.build: {expected}")), "{shown}");
        assert!(!shown.contains("cret"), "{shown}");
    }
}

#[test]
fn from_env_reads_base_url_and_key_of_the_process() {
    if std::env::var_os(CHILD).is_some() {
        let client = Client::from_env().map(|client| client.base_url().to_owned());
        let blocking = formsvc_client::blocking::Client::from_env().map(|_| ());
        println!("{client:?} {blocking:?}");
        return;
    }
    for (key, expected) in [
        (Some("fsk_1"), "Ok(\"http://localhost:1/base\") Ok(())"),
        (
            Some("'fsk_s3cret'"),
            "`FORMSVC_API_KEY`: the API key begins or ends with a quotation mark",
        ),
        (None, "the environment variable `FORMSVC_API_KEY` is not set"),
    ] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let test = "network::from_env_reads_base_url_and_key_of_the_process";
        child.args(["--exact", "--nocapture", test]).env(CHILD, "1");
        child.env("FORMSVC_BASE_URL", "http://localhost:1/base").env_remove("FORMSVC_API_KEY");
        child.envs(key.map(|key| ("FORMSVC_API_KEY", key)));
        let output = child.output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && shown.contains(expected), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
