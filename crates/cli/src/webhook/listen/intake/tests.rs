use formsvc_contract::send::SIGNATURE;
use formsvc_protocol::RetrySchedule;
use formsvc_protocol::signature::{SigningSecret, sign};
use http::HeaderMap;

use super::*;
use crate::webhook::listen::samples;
use crate::webhook::replay::now;
use crate::webhook::store::Caps;

fn intake(change: impl FnOnce(&mut Rules)) -> (Intake, mpsc::Receiver<Happened>, Store) {
    let mut rules = samples::rules();
    change(&mut rules);
    let store = Store::in_memory(Caps::default()).unwrap();
    let history = History::new(8, RetrySchedule::default());
    let (intake, told) = Intake::new(rules, history, store.clone());
    (intake, told, store)
}

fn incoming() -> Incoming {
    Incoming {
        source: Source::Poll,
        method: Method::POST,
        request_target: "/".to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::from_static(samples::BODY.as_bytes()),
    }
}

const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";

/// The same delivery with a valid signature.
fn signed() -> Incoming {
    let (secret, incoming) = (SigningSecret::new(SECRET).unwrap(), incoming());
    let signature = sign([&secret], now(), &incoming.body);
    let headers = HeaderMap::from_iter([(SIGNATURE, signature.parse().unwrap())]);
    Incoming { headers, ..incoming }
}

#[tokio::test]
async fn a_warning_that_is_told_once_has_a_place_where_there_is_room_for_nothing_else() {
    let (intake, mut told, store) = intake(|rules| rules.limits.in_flight = 2);
    store.close().await;
    // In the end there is room for what is told of these two, and for nothing more.
    let places = [intake.place().await.unwrap(), intake.place().await.unwrap()];
    for _ in 0..=UNTOLD {
        intake.refused(Method::GET, "/".to_owned(), Refusal::MethodNotAllowed);
    }
    let mut warnings = Vec::new();
    for place in places {
        intake.clone().take(incoming(), place).await.unwrap();
        while let Ok(happened) = told.try_recv() {
            if let Happened::Delivered(delivered) = happened {
                warnings.push(delivered.warnings);
            }
        }
    }
    let codes: Vec<_> = warnings[0].iter().map(|warning| warning.code).collect();
    assert_eq!(codes, [WarningCode::NotStored]);
    assert_eq!(warnings[1], [], "it is told once");
}

#[tokio::test]
async fn refused_delivery_takes_no_slot_of_the_limit() {
    let (intake, _told, _store) = intake(|rules| {
        (rules.limits.deliveries, rules.limits.in_flight) = (Some(1), 3);
        rules.verifier = Some(Verifier::new(SECRET).unwrap());
    });
    // All are in flight at the same time.
    let places = [intake.place().await, intake.place().await, intake.place().await];
    let [unsigned, valid, late] = places.map(Result::unwrap);
    let take = async |incoming, place| {
        let (_, capture) = intake.clone().take(incoming, place).await?;
        Ok(capture.outcome.as_ref().unwrap().status)
    };
    assert_eq!(take(incoming(), unsigned).await, Ok(Some(401)));
    assert_eq!(take(signed(), valid).await, Ok(Some(200)));
    assert_eq!(take(signed(), late).await, Err(Refusal::Stopping));
    assert_eq!(intake.place().await.err(), Some(Refusal::Stopping));
}

#[tokio::test]
async fn a_number_is_told_where_other_commands_find_it() {
    let (intake, mut told, _store) = intake(|_| {});
    let mut page = intake.bus().subscribe();
    let place = intake.place().await.unwrap();
    intake.take(incoming(), place).await.unwrap();
    let Some(Happened::Delivered(delivered)) = told.recv().await else { panic!() };
    assert_eq!(delivered.capture.number, None, "it is kept in memory");
    assert_eq!(page.recv().await.unwrap().number, Some(1), "the page finds it there");
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_gives_way_to_others_and_a_quick_one_does_not() {
    let (intake, _told, _store) = intake(|rules| rules.limits.in_flight = 1);
    let slow = intake.reading().await.unwrap();
    assert!(intake.reading().await.is_none(), "there is room for one");
    tokio::time::advance(SLOW_BODY).await;
    let gives_way = async {
        slow.gives_way.notified().await;
        drop(slow);
    };
    let (quick, ()) = tokio::join!(intake.reading(), gives_way);
    assert!(quick.is_some() && intake.reading().await.is_none());
}
