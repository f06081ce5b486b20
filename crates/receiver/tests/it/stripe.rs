//! Cross-check with the official `stripe` packages of PyPI and npm. Their signature header has the same
//! format (SPEC §5). Bodies are text, because both packages read a body as UTF-8.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use formsvc_receiver::{Verifier, VerifyError};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde::{Deserialize, Serialize};

use crate::support::{OLD_SECRET, SECRET, at, signed_at};

/// If set to 1, missing packages fail the tests instead of skipping them.
const REQUIRE: &str = "FORMSVC_REQUIRE_STRIPE";
/// The directory of the packages, which `.ci/run` creates in the build directory.
const PACKAGES: &str = "ci-stripe";
const CASES: usize = 10_000;

/// Lengths around a block of the hash (64 bytes), and characters that need quoting.
const SECRETS: [&str; 6] = [
    SECRET,
    "the shortest: 16",
    "two words, t=1,v1=\"quoted\" \\ 100% {} $HOME `id` end",
    "schlüssel 鍵 🔑",
    "64 bytes 64 bytes 64 bytes 64 bytes 64 bytes 64 bytes 64 bytes 6",
    "65 bytes, one more than a block, which is the longest key that is not hashed first",
];

#[derive(Serialize)]
struct Case {
    body: String,
    secret: &'static str,
    time: u64,
    header: String,
    #[serde(skip)]
    is_old: bool,
}

/// The package's report about a case.
#[derive(Deserialize)]
struct PeerResult {
    takes: bool,
    takes_changed: bool,
    header: String,
}

/// The directory of the packages, if it contains a file. Otherwise prints a message.
fn find_package(file: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().map(|dir| dir.join(PACKAGES)).find(|dir| dir.join(file).exists());
    if found.is_none() {
        let is_required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
        assert!(!is_required, "{PACKAGES}/{file} does not exist, and {REQUIRE} is 1");
        let message = format!("skipped: {PACKAGES}/{file} does not exist; `.ci/run` creates it\n");
        // The harness does not capture writes to this handle.
        std::io::stderr().write_all(message.as_bytes()).unwrap();
    }
    found
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stripe").join(name)
}

fn bodies() -> impl Strategy<Value = String> {
    let text = prop::collection::vec(any::<char>(), 1..60).prop_map(String::from_iter);
    let json =
        prop::collection::btree_map(any::<String>(), any::<String>(), 0..6).prop_map(|data| {
            serde_json::json!({"event": "submission.created", "data": data}).to_string()
        });
    // The npm package removes a byte order mark before it verifies.
    prop_oneof![text, json].prop_filter("a byte order mark", |body| !body.starts_with('\u{feff}'))
}

/// Reproducible cases, except for the time: one package uses the system's clock.
fn cases(now: u64) -> Vec<Case> {
    let (mut runner, bodies) = (TestRunner::deterministic(), bodies());
    let case = |index: usize| {
        let body = bodies.new_tree(&mut runner).unwrap().current();
        let (secret, is_old) = (SECRETS[index % SECRETS.len()], index.is_multiple_of(10));
        let time = if is_old { now - 400 } else { now };
        let is_rotation = index.is_multiple_of(7);
        let secrets = if is_rotation { &[OLD_SECRET, secret][..] } else { &[secret] };
        let header = signed_at(secrets, time, body.as_bytes());
        Case { body, secret, time, header, is_old }
    };
    (0..CASES).map(case).collect()
}

fn assert_agrees(mut peer: Command) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let cases = cases(now);
    let mut child = peer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String =
        cases.iter().map(|case| serde_json::to_string(case).unwrap() + "\n").collect();
    let output = BufReader::new(child.stdout.take().unwrap());
    let results: Vec<PeerResult> = std::thread::scope(|scope| {
        // If the package fails, it prints the reason itself.
        scope.spawn(move || input.write_all(lines.as_bytes()).ok());
        output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
    });
    assert!(child.wait().unwrap().success());
    assert_eq!(results.len(), CASES);
    let verifiers = SECRETS
        .map(|secret| Verifier::builder().secret(secret).clock(move || at(now)).build().unwrap());
    for (index, (case, result)) in cases.iter().zip(results).enumerate() {
        let shown = (index, &case.body, case.secret);
        assert_eq!(result.takes, !case.is_old, "our signature: {shown:?}");
        assert!(!result.takes_changed, "a changed body: {shown:?}");
        let verifier = &verifiers[index % verifiers.len()];
        let verify = |body: &str| verifier.verify_signature(&result.header, body.as_bytes());
        let expected = if case.is_old { Err(VerifyError::TooOld) } else { Ok(()) };
        assert_eq!(verify(&case.body).map(drop), expected, "their signature: {shown:?}");
        assert_eq!(verify(&format!("{} ", case.body)), Err(VerifyError::NoMatch), "{shown:?}");
    }
}

#[test]
fn stripe_package_of_pypi_agrees() {
    let Some(packages) = find_package("python/stripe/__init__.py") else { return };
    let mut peer = Command::new("python3");
    peer.arg(script("peer.py")).env("PYTHONPATH", packages.join("python")).env("PYTHONUTF8", "1");
    assert_agrees(peer);
}

#[test]
fn stripe_package_of_npm_agrees() {
    let Some(packages) = find_package("node_modules/stripe/package.json") else { return };
    let mut peer = Command::new("node");
    peer.arg(script("peer.mjs")).arg(packages);
    assert_agrees(peer);
}
