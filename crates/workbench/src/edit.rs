//! Changes values of a JSON text and keeps every other byte. Parsing and printing the text instead would also change
//! numbers and escapes at other paths.

use std::ops::Range;

use bytes::Bytes;
use formsvc_contract::members;
use formsvc_contract::nesting::DEPTH_MAX;
use formsvc_protocol::decode_string;
use serde_json::value::RawValue;

/// A change of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets the value at a path to this JSON text.
    Set { path: String, value: String },
    /// Removes the value at a path.
    Unset { path: String },
}

/// A change that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("expected PATH=VALUE, such as data.Name=Ada")]
    NotAssignment,
    #[error("`{value}` is malformed JSON; for a string, write {quoted}")]
    BadValue { value: String, quoted: String },
    #[error("a path is at most {DEPTH_MAX} names separated by `.`, such as `data.Name`")]
    BadPath,
    #[error("the body is not UTF-8, so it has no paths")]
    NotUtf8,
    #[error("the body is not JSON, so it has no paths")]
    NotJson(#[from] serde_json::Error),
    /// The path names a member of a value that is neither an object nor an array.
    #[error("{parent} is {kind}, which has no member `{member}`")]
    NotContainer { parent: String, kind: &'static str, member: String },
    /// The path leads to an array, and the next name is neither the index of an element nor the number of elements.
    #[error("{parent} has {length} elements, counted from 0: there is no element `{member}`")]
    NoElement { parent: String, length: usize, member: String },
    /// The value to remove does not exist.
    #[error("there is no `{0}`")]
    Missing(String),
}

impl Change {
    /// Parses `PATH=VALUE`. A value that is not JSON becomes a string.
    ///
    /// A path consists of names separated by `.`; `\.` is a dot within a name. If the rest of a path equals the name of
    /// an existing member, the path refers to that member: `data.v1.2` finds the member `v1.2` of `data`. The name of
    /// an array element is its index, which starts at 0; the index after the last element appends an element. If
    /// several members have the same name, a path refers to the last of them, as in most JSON parsers.
    pub fn parse_set(text: &str) -> Result<Self, EditError> {
        let assignment = text.split_once('=').filter(|(path, _)| !path.is_empty());
        let (path, value) = assignment.ok_or(EditError::NotAssignment)?;
        let value = if serde_json::from_str::<&RawValue>(value).is_ok() {
            value.trim().to_owned()
        } else if value.trim_start().starts_with(['{', '[', '"']) {
            return Err(EditError::BadValue { value: value.to_owned(), quoted: quote(value) });
        } else {
            quote(value)
        };
        Ok(Self::Set { path: path.to_owned(), value })
    }
}

/// Applies changes to a body, in order. Returns the new body.
pub fn apply(body: &[u8], changes: &[Change]) -> Result<Bytes, EditError> {
    if changes.is_empty() {
        // Without changes, the body need not be JSON.
        return Ok(Bytes::copy_from_slice(body));
    }
    let mut text = std::str::from_utf8(body).map_err(|_| EditError::NotUtf8)?.to_owned();
    for change in changes {
        text = match change {
            Change::Set { path, value } => set(&text, path, value)?,
            Change::Unset { path } => unset(&text, path)?,
        };
    }
    Ok(text.into())
}

/// Sets the value at a path, and creates missing objects.
fn set(text: &str, path: &str, value: &str) -> Result<String, EditError> {
    let Position { node, name, missing, child, .. } = Position::find(text, path)?;
    if let Some(range) = child {
        return Ok(replace(text, range, value));
    }
    // Create an object around the value for each missing name.
    let mut value = value.to_owned();
    for name in missing.iter().rev() {
        value = format!("{{{}:{value}}}", quote(name));
    }
    let comma = if node.children.is_empty() { "" } else { "," };
    let key = if node.opening == b'{' { quote(&name) + ":" } else { String::new() };
    // Insert after the last child, or directly after the opening bracket.
    let end = node.children.last().map_or(node.start + 1, |child| child.value.end);
    Ok(replace(text, end..end, &format!("{comma}{key}{value}")))
}

/// Removes the value at a path, with its comma. Removes all members of that name.
fn unset(text: &str, path: &str) -> Result<String, EditError> {
    let Position { node, name, path, child, .. } = Position::find(text, path)?;
    child.ok_or(EditError::Missing(path))?;
    let (mut remaining, mut end) = (text[..node.children[0].start].to_owned(), None);
    for child in &node.children {
        if child.name != name {
            // Keep the comma before this child, unless this child is the first of the remaining children.
            let is_first = remaining.len() == node.children[0].start;
            let start = end.filter(|_| !is_first).unwrap_or(child.start);
            remaining.push_str(&text[start..child.value.end]);
        }
        end = Some(child.value.end);
    }
    Ok(remaining + &text[end.unwrap_or_default()..])
}

fn replace(text: &str, range: Range<usize>, new: &str) -> String {
    [&text[..range.start], new, &text[range.end..]].concat()
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a string serializes")
}

/// The position in a text to which a path leads, or at which the missing part of the path can be added.
struct Position {
    /// The object or array that contains the child `name`, or to which it can be added.
    node: Node,
    name: String,
    /// The path to the child `name`.
    path: String,
    child: Option<Range<usize>>,
    /// The names of the path after the child `name`, if that child is missing.
    missing: Vec<String>,
}

impl Position {
    fn find(text: &str, path: &str) -> Result<Self, EditError> {
        let names = split(path);
        let (mut node, mut parent) = (Node::parse(text, 0..text.len())?, String::new());
        for (at, (name, suffix)) in names.iter().enumerate().take(DEPTH_MAX) {
            let is_whole_suffix = node.find(suffix).is_some();
            let name = if is_whole_suffix { (*suffix).to_owned() } else { name.clone() };
            let rest = if is_whole_suffix { &[] } else { &names[at + 1..] };
            let (path, child) = (format!("{parent}{name}"), node.find(&name));
            if let Some(range) = child.clone().filter(|_| !rest.is_empty()) {
                (node, parent) = (Node::parse(text, range)?, path + ".");
                continue;
            }
            let missing: Vec<String> = rest.iter().map(|(name, _)| name.clone()).collect();
            if child.is_none() {
                if names.len() > DEPTH_MAX || name.is_empty() || missing.contains(&String::new()) {
                    break;
                }
                node.check_new_child(&parent, &name)?;
            }
            return Ok(Self { node, name, path, child, missing });
        }
        Err(EditError::BadPath)
    }
}

/// Splits a path into its names. Returns each name with the part of the path that begins at this name.
fn split(path: &str) -> Vec<(String, &str)> {
    let mut names = vec![(String::new(), path)];
    let mut chars = path.char_indices();
    while let Some((at, c)) = chars.next() {
        let name = &mut names.last_mut().expect("one from the start").0;
        match (c, chars.clone().next()) {
            ('.', _) => names.push((String::new(), &path[at + 1..])),
            ('\\', Some((_, escaped @ ('.' | '\\')))) => {
                name.push(escaped);
                chars.next();
            }
            (c, _) => name.push(c),
        }
    }
    names
}

/// A JSON value and its direct children. All positions are byte offsets in the whole text.
struct Node {
    start: usize,
    /// The first byte of the value. Only values that begin with `{` or `[` have children.
    opening: u8,
    children: Vec<Child>,
}

/// A member of an object or an element of an array.
struct Child {
    /// The key of a member, or the index of an element.
    name: String,
    /// Start of the member's key, or of the element.
    start: usize,
    value: Range<usize>,
}

impl Node {
    fn parse(text: &str, range: Range<usize>) -> Result<Self, EditError> {
        let value: &RawValue = serde_json::from_str(&text[range])?;
        let start_of = |part: &RawValue| part.get().as_ptr().addr() - text.as_ptr().addr();
        let child = |name: String, key: &RawValue, value: &RawValue| Child {
            name,
            start: start_of(key),
            value: start_of(value)..start_of(value) + value.get().len(),
        };
        let opening = value.get().as_bytes()[0];
        let children = match opening {
            b'{' => {
                let members = members::of_object(value.get())?.into_iter();
                let name = |key: &RawValue| decode_string(key.get()).into_owned();
                members.map(|(key, value)| child(name(key), key, value)).collect()
            }
            b'[' => {
                let elements = members::of_array(value.get())?.into_iter().enumerate();
                elements.map(|(index, value)| child(index.to_string(), value, value)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self { start: start_of(value), opening, children })
    }

    /// Returns the position of the value of the last child with this name.
    fn find(&self, name: &str) -> Option<Range<usize>> {
        self.children.iter().rev().find(|child| child.name == name).map(|child| child.value.clone())
    }

    /// Returns an error if no child of this name can be added.
    fn check_new_child(&self, parent: &str, member: &str) -> Result<(), EditError> {
        let (length, member) = (self.children.len(), member.to_owned());
        let path = parent.strip_suffix('.').map(|parent| format!("`{parent}`"));
        let parent = path.unwrap_or_else(|| "the body".to_owned());
        let kind = match self.opening {
            b'{' => return Ok(()),
            b'[' if member == length.to_string() => return Ok(()),
            b'[' => return Err(EditError::NoElement { parent, length, member }),
            b'"' => "a string",
            b't' | b'f' => "a boolean",
            b'n' => "null",
            _ => "a number",
        };
        Err(EditError::NotContainer { parent, kind, member })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    const BODY: &str =
        r#" { "a" : 1.50, "data": {"v1.2":"x","n":1e400,"l":[ 1, 2 ,3 ],"e":{},"n":7},"z":null } "#;

    fn find<'a>(value: &'a Value, names: &[String]) -> Option<&'a Value> {
        names.iter().try_fold(value, |value, name| value.get(name))
    }

    fn error(text: &str, path: &str) -> String {
        set(text, path, "0").unwrap_err().to_string()
    }

    fn value_of(assignment: &str) -> Result<String, EditError> {
        Change::parse_set(assignment).map(|change| match change {
            Change::Set { value, .. } => value,
            Change::Unset { path } => panic!("{path}"),
        })
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
            assert_eq!(set(BODY, path, value).unwrap(), expected, "{path}");
        }
        assert_eq!(set("{}", "a", "1").unwrap(), r#"{"a":1}"#);
        assert_eq!(set(" [ ] ", "0", "1").unwrap(), " [1 ] ");
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
        assert_eq!(error("1", "a"), "the body is a number, which has no member `a`");
        assert!(error("no", "a").contains("is not JSON"));
        for path in ["", ".", ".a", "a..b", "data."] {
            assert!(error(BODY, path).starts_with("a path is at most 128 names"), "{path}");
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
            assert_eq!(value_of(&format!("a.b={value}")).unwrap(), json);
        }
        for bad in ["{a:1}", "[1", "\"x"] {
            let error = value_of(&format!("a={bad}")).unwrap_err().to_string();
            assert!(error.contains("is malformed JSON"), "{bad}: {error}");
        }
    }

    #[test]
    fn assignment_needs_path_and_value() {
        let change = Change::parse_set("data.a=b=c").unwrap();
        assert_eq!(change, Change::Set { path: "data.a".to_owned(), value: r#""b=c""#.to_owned() });
        for bad in ["", "data.a", "=1"] {
            assert!(matches!(Change::parse_set(bad), Err(EditError::NotAssignment)), "{bad}");
        }
    }

    #[test]
    fn changes_apply_in_order() {
        let change = |text: &str| Change::parse_set(text).unwrap();
        let changes = [change("a=1"), change("b=2"), Change::Unset { path: "a".to_owned() }];
        assert_eq!(apply(b"{}", &changes).unwrap(), Bytes::from_static(br#"{"b":2}"#));
        let changes = [change("a=1"), change("a.b=2")];
        assert!(matches!(apply(b"{}", &changes), Err(EditError::NotContainer { .. })));
        assert!(matches!(apply(b"\xff", &changes), Err(EditError::NotUtf8)));
    }

    #[test]
    fn path_over_128_names_is_an_error() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let path = |names: usize| vec!["0"; names].join(".");
        assert!(set(&deep(200), &path(128), "1").is_ok());
        for (text, path) in [(deep(200), path(129)), ("{}".to_owned(), path(200_000))] {
            assert!(matches!(set(&text, &path, "1"), Err(EditError::BadPath)));
            assert!(matches!(unset(&text, &path), Err(EditError::BadPath)));
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
            // The existing name `b.c` takes precedence over the members `b` and `c`.
            let names = if path == "b.c" { vec![path.clone()] } else { names };
            let old: Value = serde_json::from_str(text).unwrap();
            let mut parents = (0..names.len()).filter_map(|len| find(&old, &names[..len]));
            let is_possible = parents.all(Value::is_object);
            let result = set(text, &path, &number.to_string());
            prop_assert_eq!(result.is_ok(), is_possible, "{:?}", result);
            if let Ok(changed) = result {
                let new: Value = serde_json::from_str(&changed).unwrap();
                prop_assert_eq!(find(&new, &names).and_then(Value::as_i64), Some(number));
                prop_assert!(changed.contains("2.50") || path == "b.c" || path == r"b\.c");
            }
        }
    }
}
