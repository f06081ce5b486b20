//! `formsvc-server healthcheck`: what a container runtime calls, without a shell or curl.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use http::Uri;

use super::error::CommandError;
use super::exit::Exit;
use super::output;
use super::settings::{LISTEN_DEFAULT, bad, duration, listen_addr, port_of};
use crate::printable::Excerpt;
use crate::ready_file;

/// More than a health probe ever answers.
const RESPONSE_MAX: u64 = 64 * 1024;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Plain HTTP address of the server, or of one path of it; /readyz when it has no path
    /// [default: http://127.0.0.1:8080].
    url: Option<String>,
    /// Ask the server that wrote this file, wherever it listens; of no effect when a URL is given.
    #[arg(long, value_name = "PATH", env = "FORMSVC_SERVER_READY_FILE")]
    ready_file: Option<PathBuf>,
    /// Where the server was told to listen; one that listens everywhere is asked on this machine. Of no
    /// effect when a URL or a ready file is given [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR", env = "FORMSVC_SERVER_LISTEN")]
    listen: Option<String>,
    /// Port of the server, in place of the one in --listen; of no effect when a URL or a ready file is
    /// given.
    #[arg(long, value_name = "N", env = "FORMSVC_SERVER_PORT")]
    port: Option<String>,
    /// Time the server has to answer, and its name to be found.
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    timeout: String,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let url = match (&args.url, &args.ready_file) {
        (Some(url), _) => url.clone(),
        (None, Some(path)) => named_by(path)?,
        (None, None) => where_it_listens(args.listen.as_deref(), args.port.as_deref())?,
    };
    let url = url.as_str();
    let target = Target::parse(url).ok_or_else(|| {
        bad("URL", url, "must be a plain HTTP address such as http://127.0.0.1:8080")
    })?;
    let timeout =
        duration(&args.timeout).filter(|timeout| !timeout.is_zero()).ok_or_else(|| {
            bad("--timeout", &args.timeout, "must be a whole number above 0 with `ms`, `s` or `m`")
        })?;
    let response = target.get(timeout).map_err(|error| {
        let failed = CommandError::of(Exit::Failed, &error);
        failed.about(url)
    })?;
    let status = status_of(&response);
    let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body.trim_end());
    let body = Excerpt(body);
    match status {
        Some(200) => {
            output::note(&body.to_string());
            Ok(())
        }
        Some(status) => {
            Err(CommandError::new(Exit::Failed, format!("`{url}` answered {status}: {body}")))
        }
        None => Err(CommandError::new(
            Exit::Failed,
            format!("`{url}` answered no HTTP: `{}`", Excerpt(&response)),
        )),
    }
}

/// Where the server answers that wrote a ready file.
fn named_by(path: &Path) -> Result<String, CommandError> {
    ready_file::base_url(path).map_err(|error| {
        let told = CommandError::of(Exit::Failed, &error).about(&path.display().to_string());
        told.hint("a server writes it once it answers, and removes it when it stops")
    })
}

/// Where a server answers that goes by the same settings.
fn where_it_listens(listen: Option<&str>, port: Option<&str>) -> Result<String, CommandError> {
    let listen = listen.unwrap_or(LISTEN_DEFAULT);
    let mut addr = listen_addr(listen)?;
    // A server told to take any free port can be found by its ready file only.
    if let Some(port) = port {
        let number = port_of(port, 1);
        let rule = "must be a whole number from 1 to 65535";
        addr.set_port(number.ok_or_else(|| bad("--port", port, rule))?);
    } else if addr.port() == 0 {
        let rule = "must have a port, since any free one is found by `--ready-file` only";
        return Err(bad("--listen", listen, rule));
    }
    if addr.ip().is_unspecified() {
        addr.set_ip(match addr {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    Ok(format!("http://{addr}"))
}

/// What to ask, and where.
#[derive(Debug, PartialEq)]
struct Target {
    /// Host and port, for connecting.
    address: String,
    /// As it stands in the URL, for the `Host` header.
    authority: String,
    path: String,
}

impl Target {
    fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let authority = uri.authority()?;
        if uri.scheme_str() != Some("http") || authority.as_str().contains('@') {
            return None;
        }
        let path = match uri.path_and_query().map_or("/", |path| path.as_str()) {
            "/" | "" => "/readyz",
            path => path,
        };
        let port = uri.port_u16().unwrap_or(80);
        Some(Self {
            address: format!("{}:{port}", authority.host()),
            authority: authority.to_string(),
            path: path.to_owned(),
        })
    }

    /// The whole response, read until the server closes.
    fn get(&self, timeout: Duration) -> io::Result<String> {
        let deadline = Instant::now() + timeout;
        let left = || {
            let left = deadline.saturating_duration_since(Instant::now());
            // A zero timeout would mean none.
            left.max(Duration::from_millis(1))
        };
        let mut stream = self.connect(left)?;
        stream.set_write_timeout(Some(left()))?;
        write!(
            stream,
            "GET {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            self.path, self.authority
        )?;
        let (mut response, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(left()))?;
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => response.extend_from_slice(&chunk[..read]),
                // What a read timeout is called on Unix.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(error) => return Err(error),
            }
            if response.len() as u64 > RESPONSE_MAX {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&response).into_owned())
    }

    fn connect(&self, left: impl Fn() -> Duration) -> io::Result<TcpStream> {
        let mut refused = io::Error::from(io::ErrorKind::NotFound);
        let lookup = |address: &str| Ok(address.to_socket_addrs()?.collect());
        for addr in resolve(self.address.clone(), lookup, left())? {
            match TcpStream::connect_timeout(&addr, left()) {
                Ok(stream) => return Ok(stream),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }
}

/// Finds a name, within a time: the system's own lookup has none, and is left to itself beyond.
fn resolve(
    address: String,
    lookup: impl FnOnce(&str) -> io::Result<Vec<SocketAddr>> + Send + 'static,
    within: Duration,
) -> io::Result<Vec<SocketAddr>> {
    let (send, found) = channel();
    thread::Builder::new().name("resolve".to_owned()).spawn(move || {
        // Nobody may be waiting any more.
        let _ = send.send(lookup(&address));
    })?;
    found.recv_timeout(within).map_err(|_| io::ErrorKind::TimedOut)?
}

fn status_of(response: &str) -> Option<u16> {
    response.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_a_path_ask_for_readiness() {
        let parsed = |url| Target::parse(url).map(|t| (t.address, t.path));
        let target = |address: &str, path: &str| Some((address.to_owned(), path.to_owned()));
        assert_eq!(parsed("http://127.0.0.1:8080"), target("127.0.0.1:8080", "/readyz"));
        assert_eq!(parsed("http://[::1]:80/"), target("[::1]:80", "/readyz"));
        assert_eq!(parsed("http://localhost/livez"), target("localhost:80", "/livez"));
        for bad in ["", "127.0.0.1:8080", "https://localhost", "http://", "http://u:p@host/", "/x"]
        {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_server_is_asked_where_its_settings_have_it_listen() {
        for (listen, port, url) in [
            (None, None, "http://127.0.0.1:8080"),
            (None, Some("90"), "http://127.0.0.1:90"),
            (Some("0.0.0.0:81"), None, "http://127.0.0.1:81"),
            (Some("0.0.0.0:0"), Some("90"), "http://127.0.0.1:90"),
            (Some("[::]:81"), None, "http://[::1]:81"),
            (Some("192.0.2.1:81"), Some("90"), "http://192.0.2.1:90"),
        ] {
            assert_eq!(where_it_listens(listen, port).unwrap(), url);
        }
        for (listen, port) in
            [(Some("127.0.0.1:0"), None), (Some("localhost:1"), None), (None, Some("0"))]
        {
            assert_eq!(where_it_listens(listen, port).unwrap_err().exit(), Exit::Usage);
        }
    }

    #[test]
    fn a_name_is_waited_for_as_long_as_the_server() {
        let (end, wait) = channel::<()>();
        let silent = move |_: &str| {
            let _ = wait.recv();
            Ok(vec![])
        };
        let refused = resolve("h:1".into(), silent, Duration::from_millis(10)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
        drop(end);
        let lookup = |address: &str| Ok(vec![address.parse().unwrap()]);
        let found = resolve("[::1]:80".into(), lookup, Duration::from_secs(60)).unwrap();
        assert_eq!(found, ["[::1]:80".parse().unwrap()]);
    }

    #[test]
    fn the_status_is_read_from_the_first_line_only() {
        assert_eq!(status_of("HTTP/1.1 200 OK\r\n\r\n"), Some(200));
        assert_eq!(status_of("HTTP/1.0 503 \r\n\r\n"), Some(503));
        for bad in ["", "HTTP/2 200", "SSH-2.0-x", "HTTP/1.1 2", "HTTP/1.1 ABC"] {
            assert_eq!(status_of(bad), None, "{bad}");
        }
    }
}
