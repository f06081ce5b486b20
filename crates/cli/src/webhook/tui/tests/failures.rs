//! What is slow or fails: the list, a delivery, a search.

use super::*;

fn number(effects: &[Effect]) -> Vec<u64> {
    let reads = effects.iter().filter_map(|effect| match effect {
        Effect::List { read, .. } => Some(*read),
        _ => None,
    });
    reads.collect()
}

fn tick() -> Input {
    Input::Tick(AT.parse().unwrap())
}

/// What was kept, looked at.
fn kept() -> Facts {
    Facts { address: None, targets: Vec::new(), ..facts() }
}

#[test]
fn a_slow_read_is_waited_for_and_one_of_another_filter_takes_its_place() {
    let mut pressed = Pressed::with(kept(), (100, 30), Vec::new());
    let Effect::List { read: first, .. } = pressed.model.begin() else { panic!("no read") };
    for _ in 0..5 {
        pressed.happens(tick());
    }
    assert!(pressed.effects.is_empty(), "{:?}", pressed.effects);
    assert!(pressed.screen().contains('…'), "nothing is known yet: {}", pressed.screen());
    let effects = pressed.key(Key::Char('/'));
    assert!(effects.is_empty());
    let second = number(&pressed.key(Key::Char('x')));
    assert_eq!(second, [first + 1]);
    let rows = vec![Row::from(&Listed::from(&*Sample::of("sub_1").numbered(1)))];
    let found = Ok(Found { rows, has_more: false });
    pressed.happens(Input::Listed { read: first, found });
    assert!(pressed.model.list.rows().is_empty(), "it is of the filter before");
    pressed.happens(tick());
    assert!(pressed.effects.is_empty(), "the second is under way");
    pressed.answer(Ok(Vec::new()));
    assert!(pressed.screen().contains("Nothing like that"), "{}", pressed.screen());
    pressed.happens(tick());
    assert_eq!(number(&pressed.effects), [first + 2]);
}

#[test]
fn a_list_that_cannot_be_read_says_so_and_is_tried_again() {
    let mut pressed = Pressed::with(kept(), (100, 30), Vec::new());
    let Effect::List { read, .. } = pressed.model.begin() else { panic!("no read") };
    pressed.asked = Some(read);
    pressed.answer(Err("the disk is gone"));
    let failed = "The list could not be read: the disk is gone. Ctrl-L tries again.";
    assert!(pressed.screen().contains(failed), "{}", pressed.screen());
    pressed.key(Key::Down);
    pressed.happens(tick());
    pressed.answer(Err("the disk is gone"));
    assert!(pressed.model.said.is_none(), "it is said once");
    pressed.effects.clear();
    let effects = pressed.key(Key::Ctrl('l'));
    assert!(matches!(effects[..], [Effect::Redraw, Effect::List { .. }]), "{effects:?}");
    pressed.answer(Ok(Vec::new()));
    assert!(pressed.screen().contains("Nothing is kept"), "{}", pressed.screen());
}

#[test]
fn a_delivery_that_cannot_be_read_says_so_and_is_tried_again() {
    let mut pressed = Pressed::with(facts(), (100, 30), Vec::new());
    pressed.happens(Input::Came(Sample::of("sub_1").numbered(1)));
    pressed.happens(Input::Unread { number: 1, why: "the disk is gone".to_owned() });
    let screen = pressed.screen();
    assert!(screen.contains("It could not be read: the disk is gone. Ctrl-L"), "{screen}");
    pressed.captures.push(Sample::of("sub_1").numbered(1));
    pressed.key(Key::Ctrl('l'));
    let screen = pressed.screen();
    assert!(screen.contains("submission: sub_1"), "{screen}");
    assert!(matches!(pressed.key(Key::Ctrl('l'))[..], [Effect::Redraw]), "nothing failed");
}

#[test]
fn nothing_that_flags_leave_is_told_from_nothing_that_is_kept() {
    for (narrowed, told) in [(true, "as the flags say"), (false, "Nothing is kept")] {
        let mut pressed = Pressed::with(Facts { narrowed, ..kept() }, (100, 30), Vec::new());
        pressed.model.begin();
        pressed.asked = Some(1);
        pressed.answer(Ok(Vec::new()));
        assert!(pressed.screen().contains(told), "{}", pressed.screen());
    }
}

#[test]
fn a_signature_is_explained_once_at_a_time_whatever_is_looked_at_meanwhile() {
    let forged = |number| {
        let sample = Sample::of(&format!("sub_{number}")).verdict(VerdictCode::NoMatch, None);
        sample.numbered(number)
    };
    let mut pressed = Pressed::with(facts(), (100, 30), vec![forged(1), forged(2)]);
    assert!(matches!(pressed.key(Key::Char('x'))[..], [Effect::Explain(2)]));
    assert!(pressed.screen().contains("It is being searched for"), "{}", pressed.screen());
    assert!(pressed.key(Key::Char('x')).is_empty());
    pressed.key(Key::Down);
    assert!(matches!(pressed.key(Key::Char('x'))[..], [Effect::Explain(1)]));
    pressed.key(Key::Up);
    assert!(pressed.key(Key::Char('x')).is_empty(), "the search of this one runs");
    pressed.key(Key::Down);
    let mut doc = crate::webhook::tui::doc::Doc::default();
    doc.line(&[(crate::output::Look::Plain, "because of this")]);
    pressed.happens(Input::Explained { number: 2, doc: Some(doc) });
    pressed.key(Key::Up);
    assert!(pressed.screen().contains("because of this"), "{}", pressed.screen());
    pressed.happens(Input::Explained { number: 1, doc: None });
    pressed.key(Key::Down);
    assert!(matches!(pressed.key(Key::Char('x'))[..], [Effect::Explain(1)]), "it failed");
}

#[test]
fn the_keys_at_the_bottom_are_those_that_do_something() {
    let forged = Sample::of("sub_2").verdict(VerdictCode::NoMatch, None).numbered(2);
    let valid = Sample::of("sub_1").numbered(1);
    let mut pressed = Pressed::with(facts(), (100, 30), vec![valid, forged]);
    let foot = |pressed: &Pressed| pressed.screen().lines().last().unwrap().to_owned();
    assert!(foot(&pressed).contains("x why") && foot(&pressed).contains("⏎ read"));
    pressed.key(Key::Enter);
    assert!(foot(&pressed).contains("⏎ list"), "{}", foot(&pressed));
    pressed.key(Key::Enter);
    pressed.key(Key::Down);
    assert!(!foot(&pressed).contains("x why"), "{}", foot(&pressed));
    assert!(pressed.screen().contains("1/4"), "the first attempt is one: {}", pressed.screen());
}
