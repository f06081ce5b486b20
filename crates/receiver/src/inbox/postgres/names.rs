//! What the tables are called.

use crate::inbox::{InboxError, InboxErrorKind};

/// What the names of all tables begin with, unless told otherwise.
const DEFAULT_PREFIX: &str = "formsvc_inbox";
/// Longest name of a schema, which is PostgreSQL's.
const SCHEMA_MAX: usize = 63;
/// Longest prefix, which leaves room for what follows.
const PREFIX_MAX: usize = 40;

/// A schema and a prefix that can stand in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    schema: Option<String>,
    prefix: String,
}

impl Default for Names {
    fn default() -> Self {
        Self { schema: None, prefix: DEFAULT_PREFIX.into() }
    }
}

impl Names {
    pub(super) fn in_schema(self, schema: &str) -> Result<Self, InboxError> {
        check(schema, SCHEMA_MAX)?;
        Ok(Self { schema: Some(schema.into()), ..self })
    }

    pub(super) fn with_prefix(self, prefix: &str) -> Result<Self, InboxError> {
        check(prefix, PREFIX_MAX)?;
        Ok(Self { prefix: prefix.into(), ..self })
    }

    /// The name of a table or sequence, as it stands in SQL. Without a schema it is found, and made, along
    /// the connection's search path.
    pub(super) fn of(&self, rest: &str) -> String {
        let name = self.bare(rest);
        self.schema.as_ref().map_or(name.clone(), |schema| format!("\"{schema}\".{name}"))
    }

    /// The name of an index, which is made where its table is.
    pub(super) fn bare(&self, rest: &str) -> String {
        format!("\"{}{rest}\"", self.prefix)
    }
}

/// Names are plain, so that whoever sets them sets nothing else.
fn check(name: &str, len_max: usize) -> Result<(), InboxError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if begins && name.len() <= len_max && name.bytes().all(is_plain) {
        return Ok(());
    }
    let why = format!(
        "a schema or prefix has at most {len_max} lower-case letters, digits and `_`, \
         and begins with no digit"
    );
    Err(InboxError::with_source(InboxErrorKind::Setup, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_stand_in_their_schema() {
        let names = Names::default();
        assert_eq!(names.of("_queue"), r#""formsvc_inbox_queue""#);
        let names = names.in_schema("app").unwrap().with_prefix("order").unwrap();
        assert_eq!(names.of(""), r#""app"."order""#);
        assert_eq!(names.bare("_end"), r#""order_end""#);
    }

    #[test]
    fn only_plain_names_are_taken() {
        let long = "a".repeat(PREFIX_MAX + 1);
        for name in ["", "A", "a b", "a\"", "a;", "1a", "é", "a.b", "a\0", "a-b", &long] {
            assert!(Names::default().with_prefix(name).is_err(), "{name:?}");
        }
        assert!(Names::default().in_schema(&"a".repeat(SCHEMA_MAX)).is_ok());
        assert!(Names::default().in_schema(&"a".repeat(SCHEMA_MAX + 1)).is_err());
        assert!(Names::default().in_schema("_a1").is_ok());
    }
}
