use formsvc_protocol::RetrySchedule;
use http::HeaderMap;

use super::*;
use crate::webhook::listen::samples;
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
        intake.clone().take(incoming(), place).await;
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
async fn a_number_is_told_where_other_commands_find_it() {
    let (intake, mut told, _store) = intake(|_| {});
    let mut page = intake.bus().subscribe();
    let place = intake.place().await.unwrap();
    intake.take(incoming(), place).await;
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
