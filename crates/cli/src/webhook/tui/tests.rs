//! What keys do to the model, and what the screen then shows.

mod failures;
#[cfg(unix)]
mod panics;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_contract::send::Answer;
use http::{HeaderMap, StatusCode};
use jiff::tz::TimeZone;
use url::Url;

use super::detail::{Loaded, Tab};
use super::draw::draw;
use super::facts::Facts;
use super::keys::{Action, KEYS, Key};
use super::layout::Focus;
use super::look::Theme;
use super::model::{Effect, Found, Input, Model, Question};
use super::replay::Replayed;
use super::row::Row;
use super::samples::{AT, Sample};
use super::screen::blank;
use crate::webhook::capture::{AnsweredBy, Capture, Forward, Forwarded, Unanswered};
use crate::webhook::message::curl;
use crate::webhook::replay::{Signature, as_it_came};
use crate::webhook::store::{Listed, Query};
use crate::webhook::verdict::VerdictCode;

const TARGET: &str = "http://localhost:4242/hook";

fn facts() -> Facts {
    Facts {
        address: Some(Url::parse("http://127.0.0.1:9000/").unwrap()),
        targets: vec![Url::parse(TARGET).unwrap()],
        can_sign: true,
        reveal: false,
        within: Query::default(),
        narrowed: false,
        zone: TimeZone::UTC,
        theme: Theme { colors: true },
    }
}

/// A model of a listener with what keys are pressed in.
struct Pressed {
    model: Model,
    captures: Vec<Arc<Capture>>,
    effects: Vec<Effect>,
    /// The last read of the list that was asked for.
    asked: Option<u64>,
}

impl Pressed {
    fn with(facts: Facts, size: (u16, u16), captures: Vec<Arc<Capture>>) -> Self {
        let mut pressed = Self {
            model: Model::new(facts, size, AT.parse().unwrap()),
            captures,
            effects: vec![],
            asked: None,
        };
        pressed.model.counts.came = u64::try_from(pressed.captures.len()).unwrap();
        for capture in pressed.captures.clone() {
            pressed.happens(Input::Came(capture));
        }
        pressed
    }

    /// Captures of the numbers 1 to 30.
    fn usual() -> Self {
        let of = |number| Sample::of(&format!("sub_{number}")).numbered(number);
        Self::with(facts(), (100, 30), (1..=30).map(of).collect())
    }

    /// Takes what happens, and what is read because of it.
    fn happens(&mut self, input: Input) {
        let effects = self.model.update(input);
        for effect in &effects {
            let Effect::Load(number) = effect else { continue };
            let find = |capture: &&Arc<Capture>| capture.number == Some(*number);
            let Some(capture) = self.captures.iter().find(find).cloned() else { continue };
            let attempts = vec![(Listed::from(&*capture), None)];
            let loaded = Loaded { capture, attempts, attempts_cut: false, is_shared: true };
            self.model.update(Input::Loaded(Box::new(loaded)));
        }
        let reads = effects.iter().filter_map(|effect| match effect {
            Effect::List { read, .. } => Some(*read),
            _ => None,
        });
        self.asked = reads.last().or(self.asked);
        let effects = effects.into_iter().filter(|effect| !matches!(effect, Effect::Load(_)));
        self.effects.extend(effects);
    }

    fn key(&mut self, key: Key) -> Vec<Effect> {
        self.happens(Input::Key(key));
        std::mem::take(&mut self.effects)
    }

    /// Answers the last read of the list; says which it was.
    fn answer(&mut self, rows: Result<Vec<Row>, &str>) -> u64 {
        let read = self.asked.unwrap();
        let found = rows.map(|rows| Found { rows, has_more: false }).map_err(str::to_owned);
        self.happens(Input::Listed { read, found });
        read
    }

    fn types(&mut self, text: &str) {
        text.chars().for_each(|c| drop(self.key(Key::Char(c))));
    }

    fn chosen(&self) -> u64 {
        self.model.list.chosen().unwrap().number.unwrap()
    }

    fn screen(&self) -> String {
        let mut buffer = blank(self.model.size);
        draw(&self.model, &mut buffer);
        let width = usize::from(self.model.size.0);
        let mut lines = String::new();
        for row in buffer.content().chunks(width) {
            // What is covered by a wide character has no cell of its own.
            let (mut line, mut covered) = (String::new(), 0);
            for cell in row {
                if covered == 0 {
                    line.push_str(cell.symbol());
                }
                let width = unicode_width::UnicodeWidthStr::width(cell.symbol());
                covered = if covered > 0 { covered - 1 } else { width.saturating_sub(1) };
            }
            lines.push_str(line.trim_end());
            lines.push('\n');
        }
        lines
    }
}

#[test]
fn every_key_of_the_table_does_what_it_says() {
    for row in KEYS {
        for key in row.keys {
            let mut pressed = Pressed::usual();
            (0..10).for_each(|_| drop(pressed.key(Key::Down)));
            let before = pressed.chosen();
            assert_eq!(before, 20);
            if row.action == Action::Back {
                pressed.types("/sub_1");
                pressed.key(Key::Enter);
            }
            let effects = pressed.key(*key);
            let model = &pressed.model;
            let does = match row.action {
                Action::Up => pressed.chosen() == 21,
                Action::Down => pressed.chosen() == 19,
                Action::PageUp => pressed.chosen() > 25,
                Action::PageDown => pressed.chosen() < 15,
                Action::First => pressed.chosen() == 30 && model.list.following,
                Action::Last => pressed.chosen() == 1,
                Action::Open => model.focus == Focus::Text,
                Action::Back => {
                    model.typed.is_empty() && matches!(effects[..], [Effect::List { .. }])
                }
                Action::NextTab => model.detail.tab == Tab::Answers,
                Action::PreviousTab => model.detail.tab == Tab::Verdict,
                Action::Body => pressed.screen().contains("as it came"),
                Action::Explain => matches!(effects[..], [Effect::Explain(20)]),
                Action::Replay => matches!(&effects[..], [Effect::Send(sending)]
                    if sending.number == 20 && sending.body.is_none()),
                Action::ReplayTo => {
                    matches!(&model.question, Some(Question::Where { capture, .. })
                        if capture.number == Some(20))
                }
                Action::Edit => {
                    matches!(&effects[..], [Effect::Edit(sending)] if sending.number == 20)
                }
                Action::Copy => matches!(effects[..], [Effect::Command(20)]),
                Action::Filter => matches!(model.question, Some(Question::Filter { .. })),
                Action::Help => pressed.screen().contains("Shift-Tab"),
                Action::Redraw => matches!(effects[..], [Effect::Redraw]),
                Action::Suspend => matches!(effects[..], [Effect::Suspend]),
                Action::Quit => matches!(effects[..], [Effect::Quit]),
            };
            assert!(does, "{key:?} {:?}: {effects:?}\n{}", row.action, pressed.screen());
        }
    }
}

#[test]
fn keys_move_the_text_while_it_is_read() {
    let mut pressed = Pressed::usual();
    let body = format!("[{}]", (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let long = Sample::of("sub_long").body(body.leak().as_bytes()).numbered(31);
    pressed.captures.push(Arc::clone(&long));
    pressed.happens(Input::Came(long));
    pressed.key(Key::Enter);
    for (key, top) in [(Key::Down, 1), (Key::Char('j'), 2), (Key::Up, 1), (Key::Home, 0)] {
        pressed.key(key);
        assert_eq!(pressed.model.detail.place().0, top, "{key:?}");
    }
    let (_, rows, height) = pressed.model.detail.place();
    pressed.key(Key::PageDown);
    assert_eq!(pressed.model.detail.place().0, height - 1);
    pressed.key(Key::End);
    assert_eq!(pressed.model.detail.place().0, rows - height);
    pressed.key(Key::Down);
    assert_eq!(pressed.model.detail.place().0, rows - height, "no further than the end");
    assert_eq!(pressed.chosen(), 31);
    pressed.key(Key::Esc);
    pressed.key(Key::Down);
    assert_eq!((pressed.chosen(), pressed.model.detail.place().0), (30, 0));
}

#[test]
fn a_filter_is_shown_as_it_is_typed_and_what_comes_goes_through_it() {
    let mut pressed = Pressed::usual();
    pressed.types("/verdict:inv");
    assert!(pressed.screen().contains("expected valid, unchecked"), "{}", pressed.screen());
    pressed.types("alid");
    assert!(pressed.model.list.rows().is_empty());
    let asked = pressed.answer(Ok(Vec::new()));
    assert!(pressed.screen().contains("Nothing like that"), "{}", pressed.screen());
    pressed.key(Key::Enter);
    pressed.happens(Input::Came(Sample::of("sub_x").numbered(31)));
    let forged = Sample::of("sub_y").verdict(VerdictCode::NoMatch, None).numbered(32);
    pressed.happens(Input::Came(forged));
    assert_eq!((pressed.chosen(), pressed.model.list.rows().len()), (32, 1));
    // An answer of the store to what was asked before is not shown.
    let rows = vec![Row::from(&Listed::from(&*pressed.captures[0]))];
    let found = Ok(Found { rows, has_more: false });
    pressed.happens(Input::Listed { read: asked, found });
    assert_eq!(pressed.model.list.rows().len(), 1);
    // `q` is a letter there.
    pressed.types("/q");
    assert!(pressed.screen().contains("/verdict:invalidq"), "{}", pressed.screen());
    pressed.key(Key::Esc);
    assert!(pressed.model.filter.is_empty() && pressed.model.question.is_none());
}

#[test]
fn what_was_answered_decides_whether_it_is_still_shown() {
    let mut pressed = Pressed::with(facts(), (100, 30), Vec::new());
    pressed.types("/status:failed");
    pressed.key(Key::Enter);
    let sample = Sample::of("sub_1");
    pressed.happens(Input::Came(sample.clone().unanswered().numbered(1)));
    assert_eq!(pressed.model.list.rows().len(), 1, "nothing was answered yet");
    pressed.happens(Input::Came(sample.numbered(1)));
    assert!(pressed.model.list.rows().is_empty());
}

#[test]
fn an_answer_is_shown_whether_it_is_heard_of_before_the_rest_is_read_or_not_at_all() {
    let sample = Sample::of("sub_1");
    let (open, answered) = (sample.clone().unanswered().numbered(1), sample.numbered(1));
    let read = |capture: &Arc<Capture>| {
        let (capture, attempts) = (Arc::clone(capture), Vec::new());
        Input::Loaded(Box::new(Loaded { capture, attempts, attempts_cut: false, is_shared: true }))
    };
    let model = || {
        let mut model = Model::new(facts(), (100, 30), AT.parse().unwrap());
        model.update(Input::Came(Arc::clone(&open)));
        model.update(Input::Key(Key::Tab));
        model
    };
    let mut heard = model();
    heard.update(Input::Came(Arc::clone(&answered)));
    heard.update(read(&open));
    assert!(heard.detail.capture().unwrap().outcome.is_some());
    let mut unheard = model();
    unheard.update(read(&open));
    assert!(unheard.detail.capture().unwrap().outcome.is_none());
    let rows = vec![Row::from(&Listed::from(&*answered))];
    let Some(Effect::List { read: asked, .. }) = unheard.read_newest() else {
        panic!("it is not read")
    };
    let found = Ok(Found { rows, has_more: false });
    let effects = unheard.update(Input::Listed { read: asked, found });
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Load(1))), "{effects:?}");
    unheard.update(read(&answered));
    assert!(unheard.detail.capture().unwrap().outcome.is_some());
}

#[test]
fn an_attempt_that_was_answered_is_nowhere_shown_as_open() {
    let sample = Sample::of("sub_1");
    let (open, answered) = (sample.clone().unanswered().numbered(1), sample.numbered(1));
    // What is kept of an answer may be a moment behind what is heard of it.
    let read = || {
        let (capture, attempts) = (Arc::clone(&open), vec![(Listed::from(&*open), None)]);
        Input::Loaded(Box::new(Loaded { capture, attempts, attempts_cut: false, is_shared: true }))
    };
    let came = |capture: &Arc<Capture>| Input::Came(Arc::clone(capture));
    for inputs in [[came(&open), came(&answered), read()], [came(&open), read(), came(&answered)]] {
        let mut pressed = Pressed::with(facts(), (100, 30), Vec::new());
        for input in inputs {
            pressed.happens(input);
        }
        pressed.key(Key::BackTab);
        let screen = pressed.screen();
        assert!(screen.contains("✓ signed  → 200 41ms"), "{screen}");
    }
}

#[test]
fn what_a_receiver_refuses_is_signed_after_a_question_alone() {
    let forged = Sample::of("sub_f").verdict(VerdictCode::NoMatch, None).numbered(1);
    for (key, signature) in [
        (Key::Char('y'), Some(Signature::Fresh)),
        (Key::Char('k'), Some(Signature::Kept)),
        (Key::Char('n'), None),
        (Key::Esc, None),
        (Key::Enter, None),
        (Key::Char('r'), None),
    ] {
        let mut pressed = Pressed::with(facts(), (100, 30), vec![Arc::clone(&forged)]);
        assert!(pressed.key(Key::Char('r')).is_empty());
        let screen = pressed.screen();
        assert!(screen.contains("✗ mismatch: no signature of the header was made"), "{screen}");
        let effects = pressed.key(key);
        let sent = match &effects[..] {
            [Effect::Send(sending)] => Some(sending.signature),
            [] => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(sent, signature, "{key:?}");
        assert!(pressed.model.question.is_none());
    }
    // Without a secret nothing is signed, and nothing asked.
    let facts = Facts { can_sign: false, ..facts() };
    let mut pressed = Pressed::with(facts, (100, 30), vec![forged]);
    let effects = pressed.key(Key::Char('r'));
    assert!(matches!(&effects[..], [Effect::Send(s)] if s.signature == Signature::Kept));
}

#[test]
fn a_replay_goes_to_where_it_was_forwarded_or_to_the_listener_or_where_somebody_says() {
    let forward = |url: &str| Forward {
        url: url.to_owned(),
        answer: Err(Unanswered {
            timed_out: false,
            garbled: false,
            why: "nothing listens there".to_owned(),
        }),
        took: Duration::ZERO,
    };
    let forwarded = Sample::of("a").forwarded(forward(TARGET)).forwarded(forward(TARGET));
    let forwarded = forwarded.forwarded(forward("http://localhost:1/")).numbered(1);
    let own = Sample::of("b").numbered(2);
    let sent = |pressed: &mut Pressed, key| match &pressed.key(key)[..] {
        [Effect::Send(sending)] => sending.to.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let mut pressed = Pressed::with(facts(), (100, 30), vec![forwarded, Arc::clone(&own)]);
    assert_eq!(sent(&mut pressed, Key::Char('r')), ["http://127.0.0.1:9000/"]);
    pressed.key(Key::Down);
    assert_eq!(sent(&mut pressed, Key::Char('r')), [TARGET, "http://localhost:1/"]);
    pressed.key(Key::Char('R'));
    assert!(pressed.screen().contains(&format!("send #1 to: {TARGET}")), "{}", pressed.screen());
    pressed.key(Key::Ctrl('u'));
    pressed.types("nonsense here");
    assert!(pressed.key(Key::Enter).is_empty());
    assert!(pressed.screen().contains("expected a URL"), "{}", pressed.screen());
    pressed.key(Key::Ctrl('u'));
    pressed.happens(Input::Paste("7000/x\n".to_owned()));
    assert_eq!(sent(&mut pressed, Key::Enter), ["http://localhost:7000/x"]);
    let open = Sample::of("c").unanswered().numbered(3);
    let mut on_its_way = Pressed::with(facts(), (100, 30), vec![open]);
    assert_eq!(sent(&mut on_its_way, Key::Char('r')), [TARGET]);
    // What was kept of a listener that forwarded nothing: somebody has to say where.
    let facts = Facts { address: None, targets: Vec::new(), ..facts() };
    let mut pressed = Pressed::with(facts, (100, 30), vec![own]);
    assert!(pressed.key(Key::Char('r')).is_empty());
    assert!(matches!(
        &pressed.model.question,
        Some(Question::Where { capture, edits: false, .. }) if capture.number == Some(2)
    ));
}

#[test]
fn what_was_asked_about_is_sent_also_when_another_is_chosen_by_then() {
    let mut pressed = Pressed::usual();
    pressed.key(Key::Char('R'));
    let asked = pressed.chosen();
    pressed.model.list.remove(super::row::RowKey::Number(asked));
    assert_ne!(pressed.chosen(), asked);
    pressed.key(Key::Ctrl('u'));
    pressed.types("7000/x");
    let sent = pressed.key(Key::Enter);
    assert!(matches!(&sent[..], [Effect::Send(sending)] if sending.number == asked));
}

#[test]
fn the_answer_to_a_replay_is_told_and_stands_among_the_answers() {
    let mut pressed = Pressed::usual();
    let answer = Answer {
        status: StatusCode::IM_A_TEAPOT,
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"short and stout\x1b[2J"),
        truncated: false,
        took: Duration::from_millis(7),
    };
    let (at, to) = (AT.parse().unwrap(), TARGET.to_owned());
    let replayed = Replayed {
        number: 30,
        at,
        to,
        signature: Signature::Fresh,
        edited: false,
        answer: Ok(answer),
    };
    pressed.happens(Input::Replayed(Box::new(replayed)));
    let screen = pressed.screen();
    assert!(
        screen.contains("#30 replayed to http://localhost:4242/hook: 418 in 7.0ms"),
        "{screen}"
    );
    assert!(screen.contains("Replay of 09:30:05 to http://localhost:4242/hook"), "{screen}");
    assert!(screen.contains("418 after 7.0ms, with its body to the byte, signed now"), "{screen}");
    assert!(screen.contains("short and stout[2J") && !screen.contains('\u{1b}'), "{screen}");
    pressed.key(Key::Down);
    assert!(!pressed.screen().contains("418"), "it is the answer of that one alone");
}

#[test]
fn an_edited_body_is_sent_and_one_that_is_as_it_was_is_not() {
    let mut pressed = Pressed::usual();
    let Ok([Effect::Edit(sending)]) = <[Effect; 1]>::try_from(pressed.key(Key::Char('e'))) else {
        panic!("nothing to edit")
    };
    pressed.happens(Input::Edited { sending: sending.clone(), body: Ok(None) });
    assert!(pressed.effects.is_empty() && pressed.screen().contains("was not sent"));
    pressed.happens(Input::Edited { sending: sending.clone(), body: Err("no editor".to_owned()) });
    assert!(pressed.effects.is_empty() && pressed.screen().contains("no editor"));
    let body = Bytes::from_static(b"{}");
    pressed.happens(Input::Edited { sending, body: Ok(Some(body.clone())) });
    assert!(matches!(&pressed.effects[..], [Effect::Send(sent)] if sent.body == Some(body)));
}

#[test]
fn what_is_pasted_is_no_key() {
    let mut pressed = Pressed::usual();
    pressed.happens(Input::Paste("rrrq\n".to_owned()));
    assert!(pressed.effects.is_empty() && pressed.model.question.is_none());
    pressed.types("/");
    pressed.happens(Input::Paste("sub_7\n".to_owned()));
    assert_eq!(pressed.model.typed, "sub_7");
}

#[test]
fn what_comes_too_fast_is_told_and_read_again() {
    let mut pressed = Pressed::usual();
    pressed.happens(Input::Lost(3));
    pressed.happens(Input::Lost(4));
    assert!(pressed.screen().contains("4 came too fast to show; they are kept"));
    let tick = || Input::Tick(AT.parse().unwrap());
    for expected in [1, 1, 0] {
        pressed.happens(tick());
        // The next begins after the last has ended.
        pressed.happens(tick());
        assert_eq!(std::mem::take(&mut pressed.effects).len(), expected);
        if expected > 0 {
            pressed.answer(Ok(Vec::new()));
        }
    }
    // A command goes where it can be pasted, and is shown.
    let (received, to) = (&Sample::of("a").received, Url::parse(TARGET).unwrap());
    let command = || curl(&as_it_came(received, to.clone()), false);
    pressed.happens(Input::Command { number: 30, command: command(), masked: true });
    let line = command().on_a_line();
    assert!(!line.contains(&b'\n'), "it waits for whoever pastes it");
    assert!(matches!(&pressed.effects[..], [Effect::Clipboard(text)] if *text == line));
    let screen = pressed.screen();
    assert!(screen.contains("path-as-is http://localhost:4242/hook \\"), "{screen}");
    assert!(screen.contains("--reveal"), "{screen}");
}

#[test]
fn the_last_key_ends_it_and_a_sheet_is_left_first() {
    let mut pressed = Pressed::usual();
    pressed.key(Key::Char('?'));
    assert!(pressed.key(Key::Char('q')).is_empty() && pressed.model.sheet.is_none());
    pressed.types("/x");
    assert!(matches!(pressed.key(Key::Ctrl('c'))[..], [Effect::Quit]));
}

/// Deliveries with all that a list has to show.
fn varied() -> Vec<Arc<Capture>> {
    let took = Duration::from_millis(8);
    let answer = |status, body: &'static str| Forward {
        url: TARGET.to_owned(),
        answer: Ok(Forwarded {
            status,
            headers: HeaderMap::new(),
            body: body.into(),
            truncated: false,
        }),
        took,
    };
    let long = "sub_01k0000000000000000000000000abcdef";
    let samples = [
        Sample::of(long),
        Sample::of("sub_größe_漢字").answered(Some(503), AnsweredBy::Target).forwarded(answer(503, "locked")),
        Sample::of("sub_größe_漢字").attempt(2, 11, false),
        Sample::of("sub_a\u{1b}[31m\u{202e}b").verdict(VerdictCode::NoMatch, Some(5)).answered(Some(401), AnsweredBy::Listener),
        Sample::of(long).attempt(2, 300, true),
        Sample::of("sub_old").verdict(VerdictCode::TooOld, Some(412)).answered(Some(401), AnsweredBy::Listener),
        Sample::of("sub_dropped").answered(None, AnsweredBy::Fault),
        Sample::of("sub_open").unanswered(),
        Sample::of("sub_last")
            .header("x-service-signature", &format!("t=1769851800,v1={}", "0a".repeat(32)))
            .header("content-type", "application/json")
            .body("{\"event\":\"submission.created\",\"data\":{\"Name\":\"Zoë 漢字 👩‍👧\",\"Text\":\"a\\u001b[2Jb\\n\u{202e}c\"}}".as_bytes()),
    ];
    (1..).zip(samples).map(|(number, sample)| sample.numbered(number)).collect()
}

#[test]
fn the_screen_at_forty_by_ten() {
    let mut pressed = Pressed::with(facts(), (40, 10), varied());
    let list = pressed.screen();
    pressed.key(Key::Enter);
    insta::assert_snapshot!(format!("{list}----\n{}", pressed.screen()));
}

#[test]
fn the_screen_at_eighty_by_twenty_four() {
    let pressed = Pressed::with(facts(), (80, 24), varied());
    insta::assert_snapshot!(pressed.screen());
}

#[test]
fn the_screen_at_two_hundred_by_fifty() {
    let mut pressed = Pressed::with(facts(), (200, 50), varied());
    pressed.key(Key::BackTab);
    insta::assert_snapshot!(pressed.screen());
}

#[test]
fn every_size_is_drawn_and_nothing_of_a_stranger_acts_on_it() {
    for width in [20, 40, 41, 61, 99, 149, 150, 300] {
        for height in [3, 10, 11, 17, 18, 24, 100] {
            let mut pressed = Pressed::with(facts(), (width, height), varied());
            for key in ["", "\t", "\t", "?", "?", "/status:zzz"] {
                for c in key.chars() {
                    pressed.key(if c == '\t' { Key::Tab } else { Key::Char(c) });
                }
                let screen = pressed.screen();
                let acts = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
                assert!(!screen.contains(acts), "{width}x{height}: {screen:?}");
                assert_eq!(screen.lines().count(), usize::from(height));
            }
        }
    }
}
