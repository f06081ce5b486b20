//! The official `stripe` packages of PyPI and npm verify what we sign, and we verify what they sign:
//! their header has the same form over the same text (SPEC §5).
//!
//! Bodies are text here, since both packages read a body as UTF-8; one that is none they cannot verify.

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

/// Set where missing packages are a failure rather than a reason to skip.
const REQUIRE: &str = "FORMSVC_REQUIRE_STRIPE";
const BODIES: usize = 10_000;

/// Keys are text of any kind, and of lengths around a block of the hash.
const SECRETS: [&str; 6] = [
    SECRET,
    "the shortest: 16",
    "two words, t=1,v1=\"quoted\" \\ 100% {} $HOME `id`\u{0}\u{7f} end",
    "schlüssel 鍵 \u{202e}\u{2028}🔑",
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

#[derive(Deserialize)]
struct Found {
    takes: bool,
    takes_changed: bool,
    header: String,
}

/// Where `.ci/run` puts the packages: below the directory of the build.
const PLACE: &str = "ci-stripe";

/// The directory of the packages that has this file; without one it is told, and there is no test.
fn installed(file: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().map(|dir| dir.join(PLACE)).find(|dir| dir.join(file).exists());
    if found.is_none() {
        let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
        assert!(!required, "there is no {PLACE}/{file}, and {REQUIRE}=1 asks for one");
        // Past the test's captured output.
        let skipped = format!("skipped: no {PLACE}/{file} in the build, where `.ci/run` puts it\n");
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
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
    // npm's drops a byte order mark before it verifies.
    prop_oneof![text, json].prop_filter("a byte order mark", |body| !body.starts_with('\u{feff}'))
}

/// The same every time but for the time, since one of the packages asks the system's clock.
fn cases(now: u64) -> Vec<Case> {
    let (mut runner, bodies) = (TestRunner::deterministic(), bodies());
    let case = |at: usize| {
        let body = bodies.new_tree(&mut runner).unwrap().current();
        let (secret, is_old) = (SECRETS[at % SECRETS.len()], at.is_multiple_of(10));
        let time = if is_old { now - 400 } else { now };
        // A rotation, too.
        let secrets = if at.is_multiple_of(7) { &[OLD_SECRET, secret][..] } else { &[secret] };
        let header = signed_at(secrets, time, body.as_bytes());
        Case { body, secret, time, header, is_old }
    };
    (0..BODIES).map(case).collect()
}

fn agree(mut peer: Command) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let cases = cases(now);
    let mut child = peer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String =
        cases.iter().map(|case| serde_json::to_string(case).unwrap() + "\n").collect();
    let output = BufReader::new(child.stdout.take().unwrap());
    let found: Vec<Found> = std::thread::scope(|scope| {
        // It may end early, and then says why itself.
        scope.spawn(move || input.write_all(lines.as_bytes()).ok());
        output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
    });
    assert!(child.wait().unwrap().success());
    assert_eq!(found.len(), BODIES);
    let verifiers = SECRETS.map(|secret| {
        Verifier::builder().secret(secret.into()).clock(move || at(now)).build().unwrap()
    });
    for (at, (case, found)) in cases.iter().zip(found).enumerate() {
        let shown = (at, &case.body, case.secret);
        assert_eq!(found.takes, !case.is_old, "what we signed: {shown:?}");
        assert!(!found.takes_changed, "what we did not sign: {shown:?}");
        let verifier = &verifiers[at % verifiers.len()];
        let verify = |body: &str| verifier.verify(found.header.as_bytes(), body.as_bytes());
        match verify(&case.body) {
            Ok(_) => assert!(!case.is_old, "{shown:?}"),
            Err(error) => {
                assert!(case.is_old && error == VerifyError::TooOld, "{shown:?}: {error}");
            }
        }
        assert_eq!(verify(&format!("{} ", case.body)), Err(VerifyError::NoMatch), "{shown:?}");
    }
}

#[test]
fn the_stripe_package_of_pypi_and_we_verify_each_other() {
    let Some(place) = installed("python/stripe/__init__.py") else { return };
    let mut peer = Command::new("python3");
    peer.arg(script("peer.py")).env("PYTHONPATH", place.join("python")).env("PYTHONUTF8", "1");
    agree(peer);
}

#[test]
fn the_stripe_package_of_npm_and_we_verify_each_other() {
    let Some(place) = installed("node_modules/stripe/package.json") else { return };
    let mut peer = Command::new("node");
    peer.arg(script("peer.mjs")).arg(place);
    agree(peer);
}
