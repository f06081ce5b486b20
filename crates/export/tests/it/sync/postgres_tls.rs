//! PostgreSQL over TLS and with passwords, as libpq connects.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use formsvc_export::SyncTarget;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

const HBA: &str = "local all all trust\n\
    hostssl all only_tls 127.0.0.1/32 trust\nhostnossl all only_plain 127.0.0.1/32 trust\n\
    host all with_password 127.0.0.1/32 scram-sha-256\nhost all nobody 127.0.0.1/32 trust\n";

/// A server with TLS on a port of this machine.
struct TlsServer {
    process: Child,
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

impl TlsServer {
    /// Starts a server; `None` if PostgreSQL is not installed.
    fn start(certificate: &str, key: &KeyPair) -> Option<Self> {
        let programs = crate::postgres_cluster::find_programs()?;
        let folder = tempfile::Builder::new().prefix("formsvc-tls-").tempdir().unwrap();
        let data = folder.path().join("data");
        chown(folder.path());
        let mut init = unprivileged(&programs.join("initdb"));
        init.args([
            "--no-sync",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale",
            "C",
            "-U",
            "nobody",
            "-D",
        ]);
        assert!(init.arg(&data).output().unwrap().status.success());
        let key = key.serialize_pem();
        for (name, text) in
            [("server.crt", certificate), ("server.key", &key), ("pg_hba.conf", HBA)]
        {
            let path = data.join(name);
            std::fs::write(&path, text).unwrap();
            let private = Command::new("chmod").arg("600").arg(&path).status().unwrap();
            assert!(private.success());
            chown(&path);
        }
        // The port was free a moment before the server takes it.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let mut serve = unprivileged(&programs.join("postgres"));
        serve.arg("-D").arg(&data).arg("-k").arg(folder.path());
        for setting in
            ["ssl=on", "listen_addresses=127.0.0.1", &format!("port={port}"), "fsync=off"]
        {
            serve.args(["-c", setting]);
        }
        let process = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self { process, folder, programs, port };
        let start = Instant::now();
        while !server.psql("SELECT 1").is_ok_and(|out| out == "1\n") {
            assert!(start.elapsed() < Duration::from_secs(30), "the server does not start");
            // Sleeps because PostgreSQL does not signal that it is ready.
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    fn psql(&self, sql: &str) -> Result<String, String> {
        let output = Command::new(self.programs.join("psql"))
            .args([
                "-XAtq",
                "-U",
                "nobody",
                "-d",
                "postgres",
                "-p",
                &self.port.to_string(),
                "-c",
                sql,
            ])
            .arg("-h")
            .arg(self.folder.path())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// Connects; returns whether the connection has TLS.
    async fn connect(&self, user: &str, host: &str, query: &str) -> Result<bool, String> {
        let port = self.port;
        let name = format!("app_{}", query.len());
        let text =
            format!("postgres://{user}@{host}:{port}/postgres?application_name={name}&{query}");
        let target: SyncTarget = text.parse().map_err(|error| format!("{error}"))?;
        let _store = target.open().await.map_err(|error| {
            let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
                error.source()
            });
            causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
        })?;
        let select = format!(
            "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
             WHERE application_name = '{name}' AND usename = '{}' LIMIT 1",
            user.split(':').next().unwrap()
        );
        Ok(self.psql(&select).unwrap() == "t\n")
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let pid = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid")).unwrap();
        let _ = Command::new("kill").args(["-s", "INT", pid.lines().next().unwrap()]).status();
        let _ = self.process.wait();
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

fn chown(path: &Path) {
    if is_root() {
        assert!(Command::new("chown").arg("nobody:nogroup").arg(path).status().unwrap().success());
    }
}

/// A command without the rights of root, which PostgreSQL requires.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--"]).arg(program);
    command
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[tokio::test]
async fn tls_modes_and_passwords_work_as_in_libpq() {
    let (ours, other, key) = (authority(), authority(), KeyPair::generate().unwrap());
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &ours).unwrap();
    let Some(server) = TlsServer::start(&certificate.pem(), &key) else { return };
    for user in ["only_tls", "only_plain", "with_password"] {
        server.psql(&format!("CREATE ROLE {user} LOGIN PASSWORD 'p@ss:w/d'")).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let [ours_path, other_path] = ["ours.pem", "other.pem"].map(|name| folder.path().join(name));
    std::fs::write(&ours_path, ours.pem()).unwrap();
    std::fs::write(&other_path, other.pem()).unwrap();
    let [trusted, foreign] = [&ours_path, &other_path].map(|path| path.to_str().unwrap());

    for (user, host, query, has_tls) in [
        ("nobody", "127.0.0.1", "sslmode=disable", false),
        ("nobody", "127.0.0.1", "sslmode=allow", false),
        ("only_tls", "127.0.0.1", "sslmode=allow", true),
        ("nobody", "127.0.0.1", "sslmode=prefer", true),
        ("only_plain", "127.0.0.1", "", false),
        ("nobody", "127.0.0.1", "sslmode=require", true),
        ("nobody", "127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={trusted}"), true),
        ("nobody", "127.0.0.1", &format!("sslmode=require&sslrootcert={trusted}"), true),
        ("nobody", "localhost", &format!("sslmode=verify-full&sslrootcert={trusted}"), true),
        ("with_password:p%40ss%3Aw%2Fd", "localhost", "sslmode=require", true),
    ] {
        assert_eq!(server.connect(user, host, query).await, Ok(has_tls), "{user} {query}");
    }
    for (user, host, query, reason) in [
        ("only_plain", "127.0.0.1", "sslmode=require".to_owned(), "does not accept"),
        ("only_tls", "127.0.0.1", "sslmode=disable".into(), "does not accept"),
        (
            "nobody",
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={trusted}"),
            "not valid for name",
        ),
        (
            "nobody",
            "localhost",
            format!("sslmode=require&sslrootcert={foreign}"),
            "invalid peer certificate",
        ),
        ("nobody", "localhost", "sslmode=verify-full".into(), "invalid peer certificate"),
        ("nobody", "localhost", "sslrootcert=/no/such.pem".into(), "`/no/such.pem`"),
        ("with_password:hunter2", "localhost", String::new(), "does not accept"),
        ("with_password", "localhost", "passfile=/no/such".into(), "PGPASSWORD"),
    ] {
        let error = server.connect(user, host, &query).await.unwrap_err();
        assert!(error.contains(reason) && !error.contains("hunter2"), "{query}: {error}");
    }

    let pass_file = folder.path().join("pgpass");
    std::fs::write(&pass_file, "localhost:*:postgres:with_password:p@ss\\:w/d\n").unwrap();
    let query = format!("sslmode=require&passfile={}", pass_file.display());
    set_mode(&pass_file, 0o600);
    assert_eq!(server.connect("with_password", "localhost", &query).await, Ok(true));
    set_mode(&pass_file, 0o644);
    let error = server.connect("with_password", "localhost", &query).await.unwrap_err();
    assert!(error.contains("PGPASSWORD"), "{error}");
    let warned = format!("postgres://nobody@localhost:{}/postgres?{query}", server.port);
    let store = warned.parse::<SyncTarget>().unwrap().open().await.unwrap();
    assert!(store.warnings()[0].contains("chmod 600"), "{:?}", store.warnings());
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn self_signed_certificate_is_accepted_as_its_own_authority() {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let Some(server) = TlsServer::start(&certificate.pem(), &key) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("root.pem");
    std::fs::write(&path, certificate.pem()).unwrap();
    let query = format!("sslmode=verify-full&sslrootcert={}", path.display());
    assert_eq!(server.connect("nobody", "localhost", &query).await, Ok(true));
    let error = server.connect("nobody", "127.0.0.1", &query).await.unwrap_err();
    assert!(error.contains("not valid for name"), "{error}");
}

#[tokio::test]
async fn expired_certificate_in_the_file_is_refused() {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let Some(server) = TlsServer::start(&certificate.pem(), &key) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("root.pem");
    std::fs::write(&path, certificate.pem()).unwrap();
    for mode in ["verify-full", "verify-ca"] {
        let query = format!("sslmode={mode}&sslrootcert={}", path.display());
        let error = server.connect("nobody", "localhost", &query).await.unwrap_err();
        assert!(error.contains("expired"), "{error}");
    }
}
