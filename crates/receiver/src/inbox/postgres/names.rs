//! Names of the tables.

use crate::inbox::InboxError;

const DEFAULT_PREFIX: &str = "formsvc_inbox";
/// Longest name of a schema in PostgreSQL.
const SCHEMA_MAX: usize = 63;
/// Longest prefix. Leaves room for the suffix of each table.
const PREFIX_MAX: usize = 40;

/// A schema and a prefix that are safe in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableNames {
    schema: Option<String>,
    prefix: String,
}

impl Default for TableNames {
    fn default() -> Self {
        Self { schema: None, prefix: DEFAULT_PREFIX.into() }
    }
}

impl TableNames {
    pub(super) fn with_schema(self, schema: &str) -> Result<Self, InboxError> {
        check(schema, SCHEMA_MAX)?;
        Ok(Self { schema: Some(schema.into()), ..self })
    }

    pub(super) fn with_prefix(self, prefix: &str) -> Result<Self, InboxError> {
        check(prefix, PREFIX_MAX)?;
        Ok(Self { prefix: prefix.into(), ..self })
    }

    /// The quoted name of a table or sequence, with its schema if one is set.
    pub(super) fn table(&self, suffix: &str) -> String {
        let name = self.index(suffix);
        self.schema.as_ref().map_or(name.clone(), |schema| format!("\"{schema}\".{name}"))
    }

    /// The quoted name of an index, which PostgreSQL creates in the schema of its table.
    pub(super) fn index(&self, suffix: &str) -> String {
        format!("\"{}{suffix}\"", self.prefix)
    }
}

fn check(name: &str, max_len: usize) -> Result<(), InboxError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let has_start = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if has_start && name.len() <= max_len && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(InboxError::config(format!(
        "a schema or prefix has at most {max_len} lower-case letters, digits and `_`, and does not \
         start with a digit"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_name_is_quoted_with_its_schema() {
        let names = TableNames::default();
        assert_eq!(names.table("_queue"), r#""formsvc_inbox_queue""#);
        let names = names.with_schema("app").unwrap().with_prefix("order").unwrap();
        assert_eq!(names.table(""), r#""app"."order""#);
        assert_eq!(names.index("_ends"), r#""order_ends""#);
    }

    #[test]
    fn name_with_special_characters_is_refused() {
        let long = "a".repeat(PREFIX_MAX + 1);
        for name in ["", "A", "a b", "a\"", "a;", "1a", "é", "a.b", "a\0", "a-b", &long] {
            assert!(TableNames::default().with_prefix(name).is_err(), "{name:?}");
        }
        assert!(TableNames::default().with_schema(&"a".repeat(SCHEMA_MAX)).is_ok());
        assert!(TableNames::default().with_schema(&"a".repeat(SCHEMA_MAX + 1)).is_err());
        assert!(TableNames::default().with_schema("_a1").is_ok());
    }
}
