//! One place of a JSON text changed, and every other byte left as it is: a body whose numbers were
//! printed anew would be another body.

use std::borrow::Cow;
use std::ops::Range;

use formsvc_protocol::decode_string;
use serde_json::value::RawValue;

use crate::members;

/// A text cannot be changed so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// There is no path.
    #[error("a path is names with a point between them, such as data.Name")]
    NoPath,
    /// The text is not JSON.
    #[error("the body is not JSON, so nothing in it has a path")]
    NotJson(#[source] serde_json::Error),
    /// The path leads through what has no members.
    #[error("`{place}` is {what}, which has no member `{member}`")]
    NoMembers {
        /// As far as the path leads.
        place: String,
        /// What is there.
        what: &'static str,
        /// What the path wants of it.
        member: String,
    },
    /// An element of an array is a number, at most that after the last.
    #[error("`{place}` has {length} elements, counted from 0: there is no element `{member}`")]
    NoElement {
        /// Where the array is.
        place: String,
        /// How many it has.
        length: usize,
        /// What the path wants of it.
        member: String,
    },
    /// There is nothing to take away.
    #[error("there is no `{0}`")]
    Missing(String),
    /// A value begins like JSON, and is none.
    #[error("`{0}` begins like JSON, and is none; as text it is {1}")]
    BadValue(String, String),
}

/// What a value on a command line is: JSON where it can be read as that, else a text.
///
/// ```
/// use formsvc_contract::edit::literal;
/// assert_eq!(literal("12.50")?, "12.50");
/// assert_eq!(literal("Zoë")?, "\"Zoë\"");
/// assert_eq!(literal("\"12.50\"")?, "\"12.50\"");
/// # Ok::<(), formsvc_contract::edit::EditError>(())
/// ```
pub fn literal(value: &str) -> Result<Cow<'_, str>, EditError> {
    if serde_json::from_str::<&RawValue>(value).is_ok() {
        return Ok(Cow::Borrowed(value.trim()));
    }
    let text = quoted(value);
    match value.trim_start().chars().next() {
        Some('{' | '[' | '"') => Err(EditError::BadValue(value.to_owned(), text)),
        _ => Ok(Cow::Owned(text)),
    }
}

/// The text with the value at a path, which is made where it is missing. True where it was.
///
/// A path is names with a point between them; `\.` is a point within a name. A name with points in it
/// is also found as it is, where it is all that is left of the path: `data.v1.2` is the label `v1.2` if
/// there is one. Of an array, the name is a number from 0; the one after the last adds an element. Where
/// a name stands twice, the last one counts, as it does for nearly every reader.
pub fn set(text: &str, path: &str, value: &str) -> Result<(String, bool), EditError> {
    set_in(text, "", path, value)
}

/// The text without what is at a path; every member of that name, where there are several.
pub fn unset(text: &str, path: &str) -> Result<String, EditError> {
    unset_in(text, "", path)
}

fn set_in(text: &str, so_far: &str, path: &str, value: &str) -> Result<(String, bool), EditError> {
    let node = Node::of(text)?;
    let step = Step::of(&node, path)?;
    let here = || format!("{so_far}{}", step.name);
    if let Some(range) = node.at(&step.name) {
        let (new, is_new) = match step.rest {
            Some(rest) => set_in(&text[range.clone()], &format!("{}.", here()), rest, value)?,
            None => (value.to_owned(), false),
        };
        return Ok((spliced(text, range, &new), is_new));
    }
    let value = nested(step.rest, value)?;
    let (end, is_first) = match &node {
        Node::Object(members) => {
            (members.last().map(|member| member.value.end), members.is_empty())
        }
        Node::Array(elements) if step.name == elements.len().to_string() => {
            (elements.last().map(|element| element.end), elements.is_empty())
        }
        node => return Err(node.has_no(so_far, &step.name)),
    };
    // After the last one, or right after the bracket.
    let end = end.unwrap_or_else(|| text.len() - text.trim_start().len() + 1);
    let comma = if is_first { "" } else { "," };
    let new = match node {
        Node::Object(_) => format!("{comma}{}:{value}", quoted(&step.name)),
        _ => format!("{comma}{value}"),
    };
    Ok((spliced(text, end..end, &new), true))
}

fn unset_in(text: &str, so_far: &str, path: &str) -> Result<String, EditError> {
    let node = Node::of(text)?;
    let step = Step::of(&node, path)?;
    let here = format!("{so_far}{}", step.name);
    let Some(range) = node.at(&step.name) else {
        return Err(match node {
            Node::Object(_) => EditError::Missing(here),
            node => node.has_no(so_far, &step.name),
        });
    };
    if let Some(rest) = step.rest {
        let new = unset_in(&text[range.clone()], &format!("{here}."), rest)?;
        return Ok(spliced(text, range, &new));
    }
    let (all, gone): (Vec<Range<usize>>, Vec<bool>) = match &node {
        Node::Object(members) => members
            .iter()
            .map(|member| (member.key.start..member.value.end, member.name == step.name))
            .unzip(),
        Node::Array(elements) => {
            elements.iter().map(|element| (element.clone(), *element == range)).unzip()
        }
        Node::Other(_) => return Err(EditError::Missing(here)),
    };
    let (first, last) = (all[0].start, all[all.len() - 1].end);
    let mut left = text[..first].to_owned();
    let mut kept = all.iter().enumerate().filter(|(at, _)| !gone[*at]);
    if let Some((_, part)) = kept.next() {
        left.push_str(&text[part.clone()]);
    }
    for (at, part) in kept {
        // With the comma before it.
        left.push_str(&text[all[at - 1].end..part.end]);
    }
    left.push_str(&text[last..]);
    Ok(left)
}

fn spliced(text: &str, range: Range<usize>, new: &str) -> String {
    [&text[..range.start], new, &text[range.end..]].concat()
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is written as JSON")
}

/// Objects for names that nothing has yet.
fn nested(rest: Option<&str>, value: &str) -> Result<String, EditError> {
    let Some(rest) = rest else { return Ok(value.to_owned()) };
    let (name, rest) = first_name(rest)?;
    Ok(format!("{{{}:{}}}", quoted(&name), nested(rest, value)?))
}

/// A JSON value as far as one step goes; places are counted from the beginning of its text.
enum Node {
    Object(Vec<Member>),
    Array(Vec<Range<usize>>),
    Other(&'static str),
}

struct Member {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

impl Node {
    fn of(text: &str) -> Result<Self, EditError> {
        let value: &RawValue = serde_json::from_str(text).map_err(EditError::NotJson)?;
        let place = |part: &RawValue| {
            let start = part.get().as_ptr().addr() - text.as_ptr().addr();
            start..start + part.get().len()
        };
        // Checked above, so that neither can fail.
        Ok(match value.get().as_bytes().first() {
            Some(b'{') => {
                let members = members::of_object(value.get()).map_err(EditError::NotJson)?;
                let member = |(key, value): (&RawValue, &RawValue)| Member {
                    name: decode_string(key.get()).into_owned(),
                    key: place(key),
                    value: place(value),
                };
                Self::Object(members.into_iter().map(member).collect())
            }
            Some(b'[') => {
                let elements = members::of_array(value.get()).map_err(EditError::NotJson)?;
                Self::Array(elements.into_iter().map(place).collect())
            }
            Some(b'"') => Self::Other("a text"),
            Some(b't' | b'f') => Self::Other("a boolean"),
            Some(b'n') => Self::Other("null"),
            _ => Self::Other("a number"),
        })
    }

    /// Where the value of this name is; of several, the last.
    fn at(&self, name: &str) -> Option<Range<usize>> {
        match self {
            Self::Object(members) => {
                let mut named = members.iter().rev();
                named.find(|member| member.name == name).map(|member| member.value.clone())
            }
            Self::Array(elements) => {
                let index = name.parse::<usize>().ok().filter(|index| index.to_string() == name)?;
                elements.get(index).cloned()
            }
            Self::Other(_) => None,
        }
    }

    fn has_no(&self, so_far: &str, member: &str) -> EditError {
        let place = match so_far.strip_suffix('.') {
            Some(place) => place.to_owned(),
            None => "the body".to_owned(),
        };
        let member = member.to_owned();
        match self {
            Self::Array(elements) => EditError::NoElement { place, length: elements.len(), member },
            Self::Other(what) => EditError::NoMembers { place, what, member },
            Self::Object(_) => EditError::Missing(format!("{so_far}{member}")),
        }
    }
}

/// The first name of a path, and what is left of it.
struct Step<'a> {
    name: String,
    rest: Option<&'a str>,
}

impl<'a> Step<'a> {
    fn of(node: &Node, path: &'a str) -> Result<Self, EditError> {
        if node.at(path).is_some() {
            return Ok(Self { name: path.to_owned(), rest: None });
        }
        let (name, rest) = first_name(path)?;
        Ok(Self { name, rest })
    }
}

/// A path parted at its first point that is none of a name.
fn first_name(path: &str) -> Result<(String, Option<&str>), EditError> {
    let (mut name, mut chars) = (String::new(), path.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '.' if name.is_empty() => return Err(EditError::NoPath),
            '.' => return Ok((name, Some(&path[at + 1..]))),
            '\\' => match chars.next() {
                Some((_, escaped @ ('.' | '\\'))) => name.push(escaped),
                other => name.extend(['\\'].into_iter().chain(other.map(|(_, c)| c))),
            },
            c => name.push(c),
        }
    }
    if name.is_empty() { Err(EditError::NoPath) } else { Ok((name, None)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BODY: &str =
        r#" { "a" : 1.50, "data": {"v1.2":"x","n":1e400,"l":[ 1, 2 ,3 ],"e":{},"n":7},"z":null } "#;

    fn told(text: &str, path: &str) -> String {
        set(text, path, "0").unwrap_err().to_string()
    }

    #[test]
    fn one_place_changes_and_every_other_byte_stays() {
        for (path, old, new) in [
            ("a", "1.50", "true"),
            ("data.v1.2", r#""x""#, r#""y""#),
            (r"data.v1\.2", r#""x""#, r#""y""#),
            ("data.l.1", " 2 ", " [] "),
            ("data.n", r#""n":7"#, r#""n":8"#),
            ("z", "null", "{}"),
            ("data.l.3", "3 ]", "3,4 ]"),
            ("data.e.deep.er", "{}", r#"{"deep":{"er":0}}"#),
            ("new", "null }", r#"null,"new":"\u0000" }"#),
            (r"data.a\\b\.c", r#""n":7"#, r#""n":7,"a\\b.c":1"#),
        ] {
            let expected = BODY.replacen(old, new, 1);
            let value = match new.trim() {
                "3,4 ]" => "4",
                r#"{"deep":{"er":0}}"# => "0",
                r#"null,"new":"\u0000" }"# => r#""\u0000""#,
                r#""n":8"# => "8",
                r#""n":7,"a\\b.c":1"# => "1",
                new => new,
            };
            let (changed, is_new) = set(BODY, path, value).unwrap();
            assert_eq!(changed, expected, "{path}");
            assert_eq!(
                is_new,
                new.contains("new")
                    || new.contains("3,4")
                    || new.contains("deep")
                    || new.contains("b.c"),
                "{path}"
            );
        }
        assert_eq!(set("{}", "a", "1").unwrap().0, r#"{"a":1}"#);
        assert_eq!(set(" [ ] ", "0", "1").unwrap().0, " [1 ] ");
    }

    #[test]
    fn what_is_taken_away_goes_with_one_comma() {
        for (text, path, left) in [
            (r#"{"a":1,"b":2,"c":3}"#, "a", r#"{"b":2,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, "b", r#"{"a":1,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, "c", r#"{"a":1,"b":2}"#),
            (r#"{ "a": 1 }"#, "a", "{  }"),
            (r#"{"a":1,"b":2,"a":3,"a":4}"#, "a", r#"{"b":2}"#),
            (r#"{"a":1,"b":2,"a":3,"c":4}"#, "a", r#"{"b":2,"c":4}"#),
            (r#"{"d":{"x":[1, 2, 3]}}"#, "d.x.1", r#"{"d":{"x":[1, 3]}}"#),
            ("[1,1,1]", "0", "[1,1]"),
        ] {
            assert_eq!(unset(text, path).unwrap(), left, "{text} {path}");
        }
        assert_eq!(unset(BODY, "data.q").unwrap_err().to_string(), "there is no `data.q`");
    }

    #[test]
    fn paths_that_lead_nowhere_say_where_they_end() {
        assert_eq!(told(BODY, "a.b"), "`a` is a number, which has no member `b`");
        assert_eq!(told(BODY, "data.v1\\.2.b"), "`data.v1.2` is a text, which has no member `b`");
        assert!(told(BODY, "data.l.5").contains("has 3 elements, counted from 0"));
        assert!(told(BODY, "data.l.x").contains("there is no element `x`"));
        assert_eq!(told("1", "a"), "`the body` is a number, which has no member `a`");
        assert!(told("no", "a").contains("is not JSON"));
        for path in ["", ".", ".a", "a..b", "data."] {
            assert!(told(BODY, path).starts_with("a path is names"), "{path}");
        }
    }

    #[test]
    fn values_are_json_or_text_and_nothing_between() {
        for (value, meant) in [
            (" 1.50 ", "1.50"),
            ("", "\"\""),
            ("Zoë \"x\"", "\"Zoë \\\"x\\\"\""),
            ("null", "null"),
            ("01", "\"01\""),
        ] {
            assert_eq!(literal(value).unwrap(), meant);
        }
        for bad in ["{a:1}", "[1", "\"x"] {
            let told = literal(bad).unwrap_err().to_string();
            assert!(told.contains("begins like JSON"), "{bad}: {told}");
        }
    }

    proptest! {
        #[test]
        fn what_was_set_is_found_and_the_rest_is_unchanged(
            names in prop::collection::vec("[a-c.\\\\ é]{1,4}", 1..4), number in any::<i64>(),
        ) {
            let text = r#"{"a":{"b":[1],"c":"x"},"b.c":2.50}"#;
            let path: Vec<String> =
                names.iter().map(|name| name.replace('\\', r"\\").replace('.', r"\.")).collect();
            let path = path.join(".");
            if let Ok((changed, is_new)) = set(text, &path, &number.to_string()) {
                let value: serde_json::Value = serde_json::from_str(&changed).unwrap();
                let found = names.iter().try_fold(&value, |value, name| value.get(name));
                // Where a name of several points is there as it is, it is taken as that.
                prop_assert!(found.and_then(serde_json::Value::as_i64) == Some(number) || text.contains(&path));
                prop_assert!(!is_new || changed.contains("2.50"));
            }
        }
    }
}
