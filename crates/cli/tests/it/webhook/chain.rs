//! Sends deliveries to a listener, which forwards and stores them, and replays them to a second
//! listener. Every byte must arrive.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::kept::{Home, Listener};
use super::recorder::Recorder;

/// The number of cases. Each uses five connections and runs two processes.
const CASES: u32 = 12;

/// Returns the value of a header in an exported message.
fn value<'m>(head: &'m [u8], name: &str) -> Option<&'m [u8]> {
    let prefix = format!("{name}: ");
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .find_map(|line| line.strip_prefix(prefix.as_bytes()))
}

#[test]
fn delivery_bytes_survive_listener_target_store_and_replay() {
    let (first, second) = (Home::new(), Home::new());
    let target = Recorder::of(&[200]);
    let listener = Listener::start(
        &first,
        &["--on-invalid", "forward", "--forward-to", &target.url("/in?a=%20b")],
    );
    let again = Listener::start(&second, &[]);
    let to = format!("http://{}/again", again.address);
    let header = prop::collection::vec(prop_oneof![Just(9_u8), 32..=126_u8, 128..=255_u8], 0..60);
    let header = header.prop_map(|value| value.trim_ascii().to_vec());
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..600),
        // JSON that a parser and a serializer would change.
        r#"\{ "n":[0-9]\.[0-9]0, "s":"[a-z/é\u{2028}]{0,9}\\u00e9\\/" \}\n?"#
            .prop_map(String::into_bytes),
    ];
    let number = std::cell::Cell::new(0_u32);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(CASES));
    let every = runner.run(&(header, body), |(any, body)| {
        prop_assert_eq!(listener.send("/hook", &[("x-any", &any)], &body), 200);
        number.set(number.get() + 1);
        let capture = number.get().to_string();
        let forwarded = target.got();
        prop_assert_eq!((&forwarded.body, forwarded.header("x-any")), (&body, Some(&any[..])));
        let replay = ["webhook", "replay", &capture, "--to", &to, "--keep-signature"];
        let said = first.run(&replay);
        prop_assert_eq!(said.code, Some(0), "{}", said.stderr);
        // The capture has the same number in both stores.
        let export = ["webhook", "events", "export", &capture, "--as", "http", "--reveal"];
        let message = second.formsvc(&export).output().unwrap().stdout;
        let end = message.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
        let (head, rest) = (&message[..end], &message[end + 4..]);
        prop_assert_eq!(rest, &body[..]);
        prop_assert_eq!(value(head, "x-any"), Some(&any[..]));
        let signature = forwarded.header("x-service-signature");
        prop_assert_eq!(value(head, "x-service-signature"), signature);
        Ok(())
    });
    every.unwrap();
}
