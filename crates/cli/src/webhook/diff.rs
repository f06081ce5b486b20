//! What is different between two bodies: places of JSON, or lines of text.

mod lines;
mod tree;

pub(crate) use lines::{Line, lines};

use self::tree::{Node, compare};

/// What is different at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Names with a point between them; empty for the whole.
    pub(crate) path: String,
    /// What was there, as it is spelled; none where it was added.
    pub(crate) old: Option<String>,
    /// What is there; none where it was removed.
    pub(crate) new: Option<String>,
}

/// What is different between two bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Nothing: they are the same bytes.
    None,
    /// The same JSON: only space, escapes, or the order of members are not the same.
    Spelling,
    /// Places of JSON.
    Json(Vec<Change>),
    /// Lines of text.
    Text(Vec<Line>),
    /// They are not both text; from this byte on they differ.
    Bytes(usize),
}

/// Compares two bodies.
pub(crate) fn bodies(old: &[u8], new: &[u8]) -> Difference {
    if old == new {
        return Difference::None;
    }
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return Difference::Bytes(first_difference(old, new));
    };
    if let (Some(old), Some(new)) = (Node::of(old), Node::of(new)) {
        let mut changes = Vec::new();
        compare("", &old, &new, &mut changes);
        return if changes.is_empty() { Difference::Spelling } else { Difference::Json(changes) };
    }
    Difference::Text(lines(old, new))
}

fn first_difference(old: &[u8], new: &[u8]) -> usize {
    old.iter().zip(new).take_while(|(old, new)| old == new).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(old: &str, new: &str) -> Vec<String> {
        let Difference::Json(changes) = bodies(old.as_bytes(), new.as_bytes()) else {
            panic!("{old} and {new} differ as JSON")
        };
        let part = |part: &Option<String>| part.clone().unwrap_or("-".to_owned());
        let line = |c: &Change| format!("{} {} {}", c.path, part(&c.old), part(&c.new));
        changes.iter().map(line).collect()
    }

    #[test]
    fn places_of_json_are_named_with_what_was_there_and_what_is() {
        let old = r#"{"a":1.50,"b":{"x y":[1,2,3],"n":null},"gone":{"deep":1},"same":"é"}"#;
        let new = r#"{"b":{"x y":[1,9,3,4],"n":{}},"same":"\u00e9","a":1.5,"new.er":true}"#;
        assert_eq!(
            shown(old, new),
            [
                "a 1.50 1.5",
                "b.x y.1 2 9",
                "b.x y.3 - 4",
                "b.n null {}",
                r#"gone {"deep":1} -"#,
                r"new\.er - true"
            ]
        );
        assert_eq!(shown("1", "[1]"), [" 1 [1]"]);
    }

    #[test]
    fn elements_that_came_between_do_not_change_those_behind_them() {
        assert_eq!(shown("[1,2,3]", "[1,3]"), ["1 2 -"]);
        assert_eq!(shown("[1,3]", "[1,2,3]"), ["1 - 2"]);
    }

    #[test]
    fn of_a_name_that_stands_twice_the_last_counts() {
        assert_eq!(shown(r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"a":4,"b":2}"#), ["a 3 4"]);
    }

    /// As many as 1 MiB holds: where each is looked for among all the others, this does not end.
    #[test]
    fn members_are_found_however_many_there_are() {
        let object = |names: &mut dyn Iterator<Item = u32>| {
            let members: Vec<_> = names.map(|name| format!(r#""m{name}":{name}"#)).collect();
            format!("{{{}}}", members.join(","))
        };
        let old = object(&mut (0..70_000));
        let new = object(&mut (1..70_001).rev());
        assert!(old.len() < 1_048_576);
        assert_eq!(shown(&old, &new), ["m0 0 -", "m70000 - 70000"]);
        let turned = object(&mut (0..70_000).rev());
        assert_eq!(bodies(old.as_bytes(), turned.as_bytes()), Difference::Spelling);
        let (old, turned) = (format!("[{old}]"), format!("[{turned}]"));
        assert_eq!(bodies(old.as_bytes(), turned.as_bytes()), Difference::Spelling);
    }

    #[test]
    fn the_same_in_other_words_is_told_apart_from_the_same() {
        assert_eq!(bodies(b"{}", b"{}"), Difference::None);
        assert_eq!(bodies(br#"{"a":1,"b":"/"}"#, br#"{ "b":"\/", "a":1}"#), Difference::Spelling);
        assert_eq!(bodies(b"ab\xff", b"ab\xfe"), Difference::Bytes(2));
        assert!(matches!(bodies(b"{", b"["), Difference::Text(_)));
    }

    proptest! {
        #[test]
        fn what_changed_is_found_whatever_it_is(
            old in r#"(\{("a":1,)?"b":[0-3]\}|\[([0-2],){0,3}[0-2]\]|[a-c\n]{0,9})"#,
            new in r#"(\{("a":1,)?"b":[0-3]\}|\[([0-2],){0,3}[0-2]\]|[a-c\n]{0,9})"#,
        ) {
            let found = bodies(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(found == Difference::None, old == new);
            if let Difference::Text(lines) = found {
                let side = |skip: Line| -> String {
                    let is_other = |line: &&Line| {
                        std::mem::discriminant(*line) != std::mem::discriminant(&skip)
                    };
                    lines.iter().filter(is_other).map(Line::text).collect()
                };
                prop_assert_eq!(side(Line::New(String::new())), old);
                prop_assert_eq!(side(Line::Old(String::new())), new);
            }
        }
    }
}
