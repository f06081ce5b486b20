//! Changes one value of a JSON text and keeps every other byte. Parsing and printing the text would
//! change its numbers and escapes, and with them its signature.

use std::borrow::Cow;
use std::ops::Range;

use formsvc_contract::members;
use formsvc_protocol::decode_string;
use serde_json::value::RawValue;

/// A change that cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// The path is empty, or has an empty name.
    #[error("a path is names separated by `.`, such as `data.Name`")]
    BadPath,
    /// The text is not JSON.
    #[error("the body is not JSON, so it has no paths")]
    NotJson(#[source] serde_json::Error),
    /// The path names a member of a value that is neither an object nor an array.
    #[error("`{path}` is {kind}, which has no member `{member}`")]
    NotContainer {
        /// The path to the value.
        path: String,
        /// Its type.
        kind: &'static str,
        /// The next name of the path.
        member: String,
    },
    /// The next name of the path is neither an index of the array nor the index after the last.
    #[error("`{path}` has {length} elements, counted from 0: there is no element `{member}`")]
    NoElement {
        /// The path to the array.
        path: String,
        /// Its number of elements.
        length: usize,
        /// The next name of the path.
        member: String,
    },
    /// The value to remove does not exist.
    #[error("there is no `{0}`")]
    Missing(String),
    /// The value starts like JSON but is malformed.
    #[error("`{0}` is malformed JSON; as a string it is {1}")]
    BadValue(String, String),
}

/// Interprets a value of the command line: as JSON if it is JSON, else as a string. Returns JSON.
pub(crate) fn parse_value(value: &str) -> Result<Cow<'_, str>, EditError> {
    if serde_json::from_str::<&RawValue>(value).is_ok() {
        return Ok(Cow::Borrowed(value.trim()));
    }
    let string = quoted(value);
    match value.trim_start().chars().next() {
        Some('{' | '[' | '"') => Err(EditError::BadValue(value.to_owned(), string)),
        _ => Ok(Cow::Owned(string)),
    }
}

/// Sets the value at a path, and creates missing objects. Returns the new text, and true if the path is
/// new.
///
/// A path is names separated by `.`; `\.` is a point within a name. If the whole rest of a path is an
/// existing name, points included, it means that name: `data.v1.2` finds the label `v1.2`. The names of
/// array elements are their indexes, from 0; the index after the last appends an element. Of several
/// members with the same name the last one is meant, as most JSON parsers do.
pub(crate) fn set(text: &str, path: &str, value: &str) -> Result<(String, bool), EditError> {
    set_below(text, "", path, value)
}

/// Removes the value at a path, with its comma. Removes all members of that name.
pub(crate) fn unset(text: &str, path: &str) -> Result<String, EditError> {
    unset_below(text, "", path)
}

/// Sets a value below `parent`, which is empty or the path to `text` with a point at its end.
fn set_below(
    text: &str,
    parent: &str,
    path: &str,
    value: &str,
) -> Result<(String, bool), EditError> {
    let node = Node::parse(text)?;
    let step = Step::parse(&node, path)?;
    let current = || format!("{parent}{}", step.name);
    if let Some(range) = node.find(&step.name) {
        let (new, is_new) = match step.rest {
            Some(rest) => set_below(&text[range.clone()], &format!("{}.", current()), rest, value)?,
            None => (value.to_owned(), false),
        };
        return Ok((replaced(text, range, &new), is_new));
    }
    let value = nested_objects(step.rest, value)?;
    let (end, is_first) = match &node {
        Node::Object(members) => {
            (members.last().map(|member| member.value.end), members.is_empty())
        }
        Node::Array(elements) if step.name == elements.len().to_string() => {
            (elements.last().map(|element| element.end), elements.is_empty())
        }
        node => return Err(node.missing(parent, &step.name)),
    };
    // After the last value, or directly after the opening bracket.
    let end = end.unwrap_or_else(|| text.len() - text.trim_start().len() + 1);
    let comma = if is_first { "" } else { "," };
    let new = match node {
        Node::Object(_) => format!("{comma}{}:{value}", quoted(&step.name)),
        _ => format!("{comma}{value}"),
    };
    Ok((replaced(text, end..end, &new), true))
}

fn unset_below(text: &str, parent: &str, path: &str) -> Result<String, EditError> {
    let node = Node::parse(text)?;
    let step = Step::parse(&node, path)?;
    let current = format!("{parent}{}", step.name);
    let Some(range) = node.find(&step.name) else {
        return Err(match node {
            Node::Object(_) => EditError::Missing(current),
            node => node.missing(parent, &step.name),
        });
    };
    if let Some(rest) = step.rest {
        let new = unset_below(&text[range.clone()], &format!("{current}."), rest)?;
        return Ok(replaced(text, range, &new));
    }
    let (items, is_removed): (Vec<Range<usize>>, Vec<bool>) = match &node {
        Node::Object(members) => members
            .iter()
            .map(|member| (member.key.start..member.value.end, member.name == step.name))
            .unzip(),
        Node::Array(elements) => {
            elements.iter().map(|element| (element.clone(), *element == range)).unzip()
        }
        Node::Scalar(_) => return Err(EditError::Missing(current)),
    };
    let (start, end) = (items[0].start, items[items.len() - 1].end);
    let mut remaining = text[..start].to_owned();
    let mut kept = items.iter().enumerate().filter(|(at, _)| !is_removed[*at]);
    if let Some((_, item)) = kept.next() {
        remaining.push_str(&text[item.clone()]);
    }
    for (at, item) in kept {
        // With the comma before it.
        remaining.push_str(&text[items[at - 1].end..item.end]);
    }
    remaining.push_str(&text[end..]);
    Ok(remaining)
}

fn replaced(text: &str, range: Range<usize>, new: &str) -> String {
    [&text[..range.start], new, &text[range.end..]].concat()
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string serializes")
}

/// Wraps a value in an object for each remaining name of a path.
fn nested_objects(rest: Option<&str>, value: &str) -> Result<String, EditError> {
    let Some(rest) = rest else { return Ok(value.to_owned()) };
    let (name, rest) = split_path(rest)?;
    Ok(format!("{{{}:{}}}", quoted(&name), nested_objects(rest, value)?))
}

/// A JSON value and its direct children. Ranges are byte positions in its text.
enum Node {
    Object(Vec<Member>),
    Array(Vec<Range<usize>>),
    /// Any other value, with the name of its type.
    Scalar(&'static str),
}

struct Member {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

impl Node {
    fn parse(text: &str) -> Result<Self, EditError> {
        let value: &RawValue = serde_json::from_str(text).map_err(EditError::NotJson)?;
        let range = |part: &RawValue| {
            let start = part.get().as_ptr().addr() - text.as_ptr().addr();
            start..start + part.get().len()
        };
        // The text was parsed above, so the errors below do not occur.
        Ok(match value.get().as_bytes().first() {
            Some(b'{') => {
                let members = members::of_object(value.get()).map_err(EditError::NotJson)?;
                let member = |(key, value): (&RawValue, &RawValue)| Member {
                    name: decode_string(key.get()).into_owned(),
                    key: range(key),
                    value: range(value),
                };
                Self::Object(members.into_iter().map(member).collect())
            }
            Some(b'[') => {
                let elements = members::of_array(value.get()).map_err(EditError::NotJson)?;
                Self::Array(elements.into_iter().map(range).collect())
            }
            Some(b'"') => Self::Scalar("a string"),
            Some(b't' | b'f') => Self::Scalar("a boolean"),
            Some(b'n') => Self::Scalar("null"),
            _ => Self::Scalar("a number"),
        })
    }

    /// Returns the position of a child's value; of the last one if several have this name.
    fn find(&self, name: &str) -> Option<Range<usize>> {
        match self {
            Self::Object(members) => {
                let mut named = members.iter().rev();
                named.find(|member| member.name == name).map(|member| member.value.clone())
            }
            Self::Array(elements) => {
                let index = name.parse::<usize>().ok().filter(|index| index.to_string() == name)?;
                elements.get(index).cloned()
            }
            Self::Scalar(_) => None,
        }
    }

    /// Returns the error for a child that does not exist.
    fn missing(&self, parent: &str, member: &str) -> EditError {
        let path = parent.strip_suffix('.').unwrap_or("the body").to_owned();
        let member = member.to_owned();
        match self {
            Self::Array(elements) => EditError::NoElement { path, length: elements.len(), member },
            Self::Scalar(kind) => EditError::NotContainer { path, kind, member },
            Self::Object(_) => EditError::Missing(format!("{parent}{member}")),
        }
    }
}

/// The first name of a path, and the rest of the path.
struct Step<'a> {
    name: String,
    rest: Option<&'a str>,
}

impl<'a> Step<'a> {
    fn parse(node: &Node, path: &'a str) -> Result<Self, EditError> {
        if node.find(path).is_some() {
            return Ok(Self { name: path.to_owned(), rest: None });
        }
        let (name, rest) = split_path(path)?;
        Ok(Self { name, rest })
    }
}

/// Splits a path at its first point that is not escaped.
fn split_path(path: &str) -> Result<(String, Option<&str>), EditError> {
    let (mut name, mut chars) = (String::new(), path.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '.' if name.is_empty() => return Err(EditError::BadPath),
            '.' => return Ok((name, Some(&path[at + 1..]))),
            '\\' => match chars.next() {
                Some((_, escaped @ ('.' | '\\'))) => name.push(escaped),
                other => name.extend(['\\'].into_iter().chain(other.map(|(_, c)| c))),
            },
            c => name.push(c),
        }
    }
    if name.is_empty() { Err(EditError::BadPath) } else { Ok((name, None)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BODY: &str =
        r#" { "a" : 1.50, "data": {"v1.2":"x","n":1e400,"l":[ 1, 2 ,3 ],"e":{},"n":7},"z":null } "#;

    fn error(text: &str, path: &str) -> String {
        set(text, path, "0").unwrap_err().to_string()
    }

    #[test]
    fn set_keeps_every_other_byte() {
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
    fn unset_removes_one_comma() {
        for (text, path, remaining) in [
            (r#"{"a":1,"b":2,"c":3}"#, "a", r#"{"b":2,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, "b", r#"{"a":1,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, "c", r#"{"a":1,"b":2}"#),
            (r#"{ "a": 1 }"#, "a", "{  }"),
            (r#"{"a":1,"b":2,"a":3,"a":4}"#, "a", r#"{"b":2}"#),
            (r#"{"a":1,"b":2,"a":3,"c":4}"#, "a", r#"{"b":2,"c":4}"#),
            (r#"{"d":{"x":[1, 2, 3]}}"#, "d.x.1", r#"{"d":{"x":[1, 3]}}"#),
            ("[1,1,1]", "0", "[1,1]"),
        ] {
            assert_eq!(unset(text, path).unwrap(), remaining, "{text} {path}");
        }
        assert_eq!(unset(BODY, "data.q").unwrap_err().to_string(), "there is no `data.q`");
    }

    #[test]
    fn unknown_path_error_names_its_last_existing_value() {
        assert_eq!(error(BODY, "a.b"), "`a` is a number, which has no member `b`");
        assert_eq!(
            error(BODY, "data.v1\\.2.b"),
            "`data.v1.2` is a string, which has no member `b`"
        );
        assert!(error(BODY, "data.l.5").contains("has 3 elements, counted from 0"));
        assert!(error(BODY, "data.l.x").contains("there is no element `x`"));
        assert_eq!(error("1", "a"), "`the body` is a number, which has no member `a`");
        assert!(error("no", "a").contains("is not JSON"));
        for path in ["", ".", ".a", "a..b", "data."] {
            assert!(error(BODY, path).starts_with("a path is names separated by"), "{path}");
        }
    }

    #[test]
    fn value_is_json_or_string_but_not_malformed_json() {
        for (value, json) in [
            (" 1.50 ", "1.50"),
            ("\"12.50\"", "\"12.50\""),
            ("", "\"\""),
            ("Zoë \"x\"", "\"Zoë \\\"x\\\"\""),
            ("null", "null"),
            ("01", "\"01\""),
        ] {
            assert_eq!(parse_value(value).unwrap(), json);
        }
        for bad in ["{a:1}", "[1", "\"x"] {
            let error = parse_value(bad).unwrap_err().to_string();
            assert!(error.contains("is malformed JSON"), "{bad}: {error}");
        }
    }

    proptest! {
        #[test]
        fn set_value_is_found_at_its_path(
            names in prop::collection::vec("[a-c.\\\\ é]{1,4}", 1..4), number in any::<i64>(),
        ) {
            let text = r#"{"a":{"b":[1],"c":"x"},"b.c":2.50}"#;
            let path: Vec<String> =
                names.iter().map(|name| name.replace('\\', r"\\").replace('.', r"\.")).collect();
            let path = path.join(".");
            if let Ok((changed, is_new)) = set(text, &path, &number.to_string()) {
                let value: serde_json::Value = serde_json::from_str(&changed).unwrap();
                let found = names.iter().try_fold(&value, |value, name| value.get(name));
                // An existing name with points takes precedence.
                prop_assert!(found.and_then(serde_json::Value::as_i64) == Some(number) || text.contains(&path));
                prop_assert!(!is_new || changed.contains("2.50"));
            }
        }
    }
}
