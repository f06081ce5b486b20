//! Endpoints on a machine without IPv6, where each connection to an IPv6 address fails with
//! EADDRNOTAVAIL. The test starts itself again in a network namespace without any address.

use std::ffi::OsStr;
use std::process::{Command, Output};

use formsvc_server::egress::FailureCode;

use super::receiver::{client, post, url};

/// Set for the process in the namespace.
const INSIDE: &str = "FORMSVC_TEST_WITHOUT_ADDRESSES";

#[tokio::test]
async fn connect_without_ipv6_is_the_endpoints_fault() {
    if std::env::var_os(INSIDE).is_none() {
        let test = "egress::without_ipv6::connect_without_ipv6_is_the_endpoints_fault";
        let Some(output) = run_in_namespace(test) else {
            println!("skipped: this machine permits no network namespace");
            return;
        };
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
        return;
    }
    // `localhost` is tried at 127.0.0.1 first, and `[::1]` is the only address of its URL.
    for (host, peer) in [("localhost", "127.0.0.1:9"), ("[::1]", "[::1]:9")] {
        let failure = post(&client(), &url(&format!("http://{host}:9/"))).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::ConnectFailed, "{failure:?}");
        assert_eq!(failure.peer.map(|peer| peer.to_string()).as_deref(), Some(peer));
    }
}

/// Runs one test of this binary in a network namespace of its own; `None` if the machine does not
/// permit that.
fn run_in_namespace(test: &str) -> Option<Output> {
    let unshare = |program: &OsStr| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--map-root-user", "--"]).arg(program);
        command
    };
    unshare("true".as_ref()).output().ok().filter(|output| output.status.success())?;
    let exe = std::env::current_exe().unwrap();
    Some(unshare(exe.as_os_str()).args(["--exact", test]).env(INSIDE, "1").output().unwrap())
}
