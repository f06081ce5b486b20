//! The tables of a service, as both backends have them, and how their rows are told apart.

use sha2::{Digest, Sha256};

use super::error::CopyError;

/// A value, as any backend can keep it; what is true or false is 1 or 0.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// The values of a row, in the order of its table's columns.
pub(crate) type Row = Vec<Value>;

/// A table that is copied. A backend that keeps it in another shape reads and writes this one.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [&'static str],
    /// The columns that tell its rows apart, and in whose order they are read: numbers and bytes, which
    /// every backend orders alike, and has an index of.
    pub(crate) key: &'static [&'static str],
    /// A column that may be long.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a file is read row by row"))]
    pub(crate) long: Option<&'static str>,
}

/// In an order in which no row names one that comes later.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "users",
        columns: &["user_no", "id", "email", "email_key", "name", "password", "created_us"],
        key: &["user_no"],
        long: None,
    },
    Table {
        name: "api_keys",
        columns: &[
            "key_no",
            "id",
            "user_no",
            "name",
            "prefix",
            "hash",
            "created_us",
            "revoked_us",
            "used_us",
        ],
        key: &["key_no"],
        long: None,
    },
    Table {
        name: "forms",
        columns: &[
            "form_no",
            "id",
            "user_no",
            "public_id",
            "title",
            "status",
            "ready",
            "created_us",
            "updated_us",
            "revision",
            "last_seq",
            "pruned",
            "last_instant_us",
            "fields",
            "origins",
        ],
        key: &["form_no"],
        long: Some("fields"),
    },
    Table {
        name: "submissions",
        columns: &["key", "form_no", "instant_us", "id", "item"],
        key: &["key"],
        long: Some("item"),
    },
    Table {
        name: "idempotency",
        columns: &["form_no", "key", "fingerprint", "submission", "created_us"],
        key: &["form_no", "key"],
        long: None,
    },
    Table {
        name: "spam",
        columns: &["spam_no", "form_no", "start", "id", "data", "received_us"],
        key: &["spam_no"],
        long: Some("data"),
    },
    Table {
        name: "endpoints",
        columns: &[
            "endpoint_no",
            "id",
            "form_no",
            "url",
            "status",
            "secret",
            "previous_secret",
            "previous_until_us",
            "created_us",
        ],
        key: &["endpoint_no"],
        long: None,
    },
    Table {
        name: "deliveries",
        columns: &[
            "submission",
            "endpoint_no",
            "state",
            "attempts",
            "form_title",
            "next_us",
            "finished_us",
            "own_fault_us",
        ],
        key: &["submission", "endpoint_no"],
        long: None,
    },
    Table {
        name: "queue",
        columns: &["endpoint_no", "lane", "at_us", "submission", "retries", "claims", "resend"],
        key: &["endpoint_no", "lane", "at_us", "submission"],
        long: None,
    },
    Table {
        name: "attempts",
        columns: &[
            "submission",
            "endpoint_no",
            "number",
            "started_us",
            "duration_us",
            "status",
            "error",
            "detail",
            "address",
            "snippet",
            "resend",
        ],
        key: &["submission", "endpoint_no", "number"],
        long: Some("snippet"),
    },
];

/// Tables that stay behind. What they hold is made anew: people sign in again, and ask for another link.
/// They are emptied, so that no link that a server gave out opens the copy.
pub(crate) const EMPTIED: &[&str] = &["sessions", "links"];
/// The others that stay behind, which hold nothing of the service.
#[cfg(test)]
pub(crate) const LEFT: &[&str] = &["probe", "rate_windows", "leases", "formsvc_schema"];

impl Table {
    /// Its columns with commas.
    pub(crate) fn listed(&self) -> String {
        self.columns.join(", ")
    }

    /// The key of a row.
    pub(crate) fn key_of(&self, row: &Row) -> Row {
        let place = |name| self.columns.iter().position(|column| column == name);
        let values = self.key.iter().filter_map(|name| row.get(place(name)?));
        values.cloned().collect()
    }

    /// The values of one of its keys as a statement has them, bytes as a backend writes their hexadecimal
    /// digits. Another kind of value would compare as nothing does, and end the reading unseen.
    pub(crate) fn literals(
        &self,
        key: &Row,
        bytes: impl Fn(&str) -> String,
    ) -> Result<String, CopyError> {
        let mut all = Vec::with_capacity(key.len());
        for value in key {
            all.push(match value {
                Value::Int(number) => number.to_string(),
                Value::Bytes(value) => bytes(&hex::encode(value)),
                Value::Null | Value::Text(_) => return Err(CopyError::Key { table: self.name }),
            });
        }
        if all.len() != self.key.len() {
            return Err(CopyError::Key { table: self.name });
        }
        Ok(all.join(", "))
    }

    /// A statement that reads rows in the order of the key, from another than the table itself when the
    /// backend keeps it differently: those after a key, when `after` writes its values.
    pub(crate) fn select(&self, from: &str, after: Option<&str>) -> String {
        let (columns, key) = (self.listed(), self.key.join(", "));
        let after = after.map(|values| format!(" WHERE ({key}) > ({values})")).unwrap_or_default();
        format!("SELECT {columns} FROM {from}{after} ORDER BY {key}")
    }
}

/// How many rows a table has, and a digest of all of them in their order.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Census {
    pub(crate) table: String,
    pub(crate) rows: u64,
    pub(crate) sha256: String,
}

/// Counts and digests rows as they are read.
pub(crate) struct Counting {
    rows: u64,
    digest: Sha256,
}

impl Counting {
    pub(crate) fn new() -> Self {
        Self { rows: 0, digest: Sha256::new() }
    }

    pub(crate) fn add(&mut self, row: &Row) {
        self.rows += 1;
        for value in row {
            let (kind, bytes): (u8, &[u8]) = match value {
                Value::Null => (0, &[]),
                Value::Int(number) => (1, &number.to_be_bytes()),
                Value::Text(text) => (2, text.as_bytes()),
                Value::Bytes(bytes) => (3, bytes),
            };
            self.digest.update([kind]);
            self.digest.update((bytes.len() as u64).to_be_bytes());
            self.digest.update(bytes);
        }
    }

    pub(crate) fn done(self, table: &Table) -> Census {
        let sha256 = hex::encode(self.digest.finalize());
        Census { table: table.name.into(), rows: self.rows, sha256 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census(rows: &[Row]) -> Census {
        let mut counting = Counting::new();
        for row in rows {
            counting.add(row);
        }
        counting.done(&TABLES[0])
    }

    #[test]
    fn no_two_tables_have_one_census() {
        let (text, bytes) = (Value::Text("ab".into()), Value::Bytes(b"ab".to_vec()));
        let split = vec![Value::Text("a".into()), Value::Text("b".into())];
        let all: Vec<Vec<Row>> = vec![
            vec![],
            vec![vec![text.clone()]],
            vec![vec![bytes]],
            vec![split.clone()],
            split.into_iter().map(|value| vec![value]).collect(),
            vec![vec![Value::Null]],
            vec![vec![Value::Int(0)]],
            vec![vec![Value::Int(0)], vec![text.clone()]],
            vec![vec![text], vec![Value::Int(0)]],
        ];
        for (one, rows) in all.iter().enumerate() {
            for (other, others) in all.iter().enumerate() {
                assert_eq!(census(rows) == census(others), one == other, "{rows:?} {others:?}");
            }
        }
    }

    #[test]
    fn the_key_of_a_row_is_found_by_its_columns() {
        for table in TABLES {
            assert!(table.key.iter().chain(&table.long).all(|name| table.columns.contains(name)));
        }
        let row = (0..7).map(Value::Int).collect();
        let queue = TABLES.iter().find(|table| table.name == "queue").unwrap();
        assert_eq!(queue.key_of(&row), [0, 1, 2, 3].map(Value::Int));
    }

    #[test]
    fn a_key_that_is_not_of_numbers_and_bytes_is_refused() {
        let remembered = TABLES.iter().find(|table| table.name == "idempotency").unwrap();
        let literals = |key: Row| remembered.literals(&key, |hex| format!("X'{hex}'"));
        let written = literals(vec![Value::Int(-3), Value::Bytes(vec![0, 0xff])]);
        assert_eq!(written.unwrap(), "-3, X'00ff'");
        let (int, text) = (Value::Int(1), Value::Text("a".into()));
        for key in [vec![int.clone(), text], vec![Value::Null, int.clone()], vec![int], vec![]] {
            let refused = literals(key).unwrap_err();
            assert!(matches!(refused, CopyError::Key { table: "idempotency" }), "{refused:?}");
        }
    }
}
