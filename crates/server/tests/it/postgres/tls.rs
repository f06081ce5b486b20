//! TLS to the database, with certificates made here.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use formsvc_server::store::Store;
use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{OpenError, PostgresOptions, PostgresStore};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use secrecy::ExposeSecret;

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Opens a store, with all that an error tells.
async fn open(address: String) -> Result<PostgresStore, (OpenError, String)> {
    PostgresStore::open(&PostgresOptions::of(address.into())).await.map_err(|error| {
        let causes =
            std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let told = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        (error, told)
    })
}

fn percent(path: &Path) -> String {
    path.to_str().unwrap().replace('/', "%2F")
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_for_the_host() {
    let (ours, other) = (authority(), authority());
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &ours).unwrap();
    let cluster = Cluster::with_tls(&certificate.pem(), &key.serialize_pem());
    let Some((cluster, port)) = cluster else { return };
    let dir = tempfile::tempdir().unwrap();
    let [trusted, foreign, empty] =
        ["ours.pem", "other.pem", "empty.pem"].map(|name| dir.path().join(name));
    std::fs::write(&trusted, ours.pem()).unwrap();
    std::fs::write(&foreign, other.pem()).unwrap();
    std::fs::write(&empty, "").unwrap();
    let address =
        |host: &str, more: &str| format!("postgres://nobody@{host}:{port}/postgres?{more}");
    let (trusted, foreign) = (percent(&trusted), percent(&foreign));

    for mode in ["require", "verify-full"] {
        let more = format!("sslmode={mode}&sslrootcert={trusted}");
        let store = open(address("localhost", &more)).await.unwrap();
        store.probe().await.unwrap();
        let encrypted = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity USING (pid)
            WHERE application_name = 'formsvc-server' AND NOT s.ssl";
        assert_eq!(cluster.sql(encrypted), "0");
        store.close().await.unwrap();
    }
    for (host, more, told) in [
        ("localhost", format!("sslmode=require&sslrootcert={foreign}"), "invalid peer certificate"),
        // Nobody else trusts an authority that was made a moment ago.
        ("localhost", "sslmode=require".into(), "invalid peer certificate"),
        ("localhost", "sslmode=verify-full&sslrootcert=system".into(), "invalid peer certificate"),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={trusted}"), "not valid for name"),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={trusted}"), "not valid for name"),
    ] {
        let (error, all) = open(address(host, &more)).await.unwrap_err();
        assert!(matches!(error, OpenError::Certificate(_)), "{more}: {all}");
        assert!(all.contains("not trusted, or not for this host") && all.contains(told), "{all}");
    }
    let (error, all) = open(address("localhost", "sslmode=verify-ca")).await.unwrap_err();
    assert!(matches!(error, OpenError::VerifyCa), "{all}");
    for path in [empty, dir.path().join("none")] {
        let more = format!("sslrootcert={}", percent(&path));
        let (error, all) = open(address("localhost", &more)).await.unwrap_err();
        assert!(matches!(error, OpenError::RootCert { .. }), "{all}");
    }
}

#[tokio::test]
async fn a_certificate_that_signs_itself_is_told_in_plain_words() {
    let ours = authority();
    let Some((_cluster, port)) = Cluster::with_tls(&ours.pem(), &ours.key().serialize_pem()) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let trusted = dir.path().join("ours.pem");
    std::fs::write(&trusted, ours.pem()).unwrap();
    let more = format!("sslrootcert={}", percent(&trusted));
    let address = format!("postgres://nobody@localhost:{port}/postgres?{more}");
    let (error, all) = open(address).await.unwrap_err();
    assert!(matches!(error, OpenError::OfAuthority), "{all}");
    assert!(!all.contains("CaUsedAsEndEntity"), "{all}");
}

#[tokio::test]
async fn a_database_that_asks_for_a_password_is_told_from_one_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut len = [0; 4];
        stream.read_exact(&mut len).unwrap();
        let mut startup = vec![0; usize::try_from(u32::from_be_bytes(len)).unwrap() - 4];
        stream.read_exact(&mut startup).unwrap();
        // As a database asks for one in the clear.
        stream.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 3]).unwrap();
        let _ = stream.read_to_end(&mut startup);
    });
    let address = format!("postgres://me@127.0.0.1:{port}/d?sslmode=disable");
    let (error, all) = open(address).await.unwrap_err();
    assert!(matches!(error, OpenError::NoPassword), "{all}");
    asked.join().unwrap();
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_told() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let address = format!("{}_and_more", cluster.fresh_schema().expose_secret());
    let (error, all) = open(address).await.unwrap_err();
    assert!(matches!(error, OpenError::NoSchema), "{all}");
}

#[tokio::test]
async fn a_database_without_tls_is_refused_where_it_is_insisted_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let told = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 8];
        stream.read_exact(&mut asked).unwrap();
        // As a database says it.
        stream.write_all(b"N").unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        rest
    });
    let address = format!("postgres://me:hunter2@127.0.0.1:{port}/d?sslmode=require");
    let (_, all) = open(address).await.unwrap_err();
    assert!(all.contains("does not support TLS"), "{all}");
    assert!(!all.contains("hunter2"), "{all}");
    assert_eq!(told.join().unwrap(), b"", "nothing is said in the clear");
}
