//! What a service manager such as systemd is told: that the server answers, and that it stops.
//!
//! The protocol is one datagram to the socket that `NOTIFY_SOCKET` names, `sd_notify(3)`.

/// The server answers.
pub(super) fn ready() {
    tell("READY=1");
}

/// The server is shutting down.
pub(super) fn stopping() {
    tell("STOPPING=1");
}

/// A service manager that cannot be told ends the service by itself if it waits for that.
#[cfg(unix)]
fn tell(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else {
        return;
    };
    if let Err(error) = send(&socket, state) {
        let cause = error.to_string();
        tracing::warn!(state, cause, "the service manager could not be told");
    }
}

#[cfg(not(unix))]
fn tell(_: &str) {}

#[cfg(unix)]
fn send(socket: &std::ffi::OsStr, state: &str) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let address = match socket.as_bytes() {
        #[cfg(target_os = "linux")]
        [b'@', name @ ..] => {
            use std::os::linux::net::SocketAddrExt;
            SocketAddr::from_abstract_name(name)?
        }
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use super::*;

    #[test]
    fn a_socket_is_a_path_or_a_name_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let name = format!("formsvc-test-{}", std::process::id());
        let hidden = SocketAddr::from_abstract_name(&name).unwrap();
        for (listening, socket) in [
            (UnixDatagram::bind(&path).unwrap(), path.as_os_str().to_owned()),
            (UnixDatagram::bind_addr(&hidden).unwrap(), format!("@{name}").into()),
        ] {
            send(&socket, "READY=1").unwrap();
            let mut told = [0; 32];
            let len = listening.recv(&mut told).unwrap();
            assert_eq!(&told[..len], b"READY=1");
        }
        assert!(send(dir.path().join("nobody").as_os_str(), "READY=1").is_err());
    }
}
