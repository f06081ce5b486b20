//! Databases of the tests.

use formsvc_export::{SyncStore, SyncTarget};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// A database that tests synchronize with.
pub(super) struct Database {
    pub(super) target: SyncTarget,
    folder: tempfile::TempDir,
}

/// A row of texts; `None` is null.
pub(super) type Texts = Vec<Option<String>>;

impl Database {
    pub(super) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { target: SyncTarget::sqlite(folder.path().join("rows.db")), folder }
    }

    /// A database of each kind that this machine has.
    pub(super) async fn all() -> Vec<Self> {
        vec![Self::sqlite()]
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("rows.db")
    }

    /// The address with which another process opens the database.
    pub(super) fn address(&self) -> String {
        self.target.to_string()
    }

    pub(super) async fn open(&self) -> SyncStore {
        self.target.open().await.unwrap()
    }

    /// The SQL name of a table or view of the program.
    pub(super) fn table(&self, name: &str) -> String {
        format!("\"{name}\"")
    }

    pub(super) async fn query(&self, sql: &str) -> Vec<Texts> {
        query(&Connection::open(self.path()).unwrap(), sql)
    }

    pub(super) async fn execute(&self, sql: &str) {
        Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    /// Ids and exact answers of the form, by id.
    pub(super) async fn rows(&self) -> Vec<Texts> {
        let table = self.table("submissions");
        self.query(&format!("SELECT id, created_at, data FROM {table} ORDER BY id")).await
    }

    /// The names of the view's columns.
    pub(super) async fn columns(&self, view: &str) -> Vec<String> {
        let connection = Connection::open(self.path()).unwrap();
        let select = connection.prepare(&format!("SELECT * FROM {}", self.table(view))).unwrap();
        select.column_names().into_iter().map(str::to_owned).collect()
    }
}

pub(super) fn query(connection: &Connection, sql: &str) -> Vec<Texts> {
    let mut select = connection.prepare(sql).unwrap();
    let count = select.column_count();
    let rows = select.query_map([], |row| {
        (0..count)
            .map(|at| {
                Ok(match row.get_ref(at)? {
                    ValueRef::Null => None,
                    ValueRef::Integer(value) => Some(value.to_string()),
                    ValueRef::Real(value) => Some(value.to_string()),
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        Some(String::from_utf8(text.to_vec()).unwrap())
                    }
                })
            })
            .collect::<rusqlite::Result<Texts>>()
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// Texts as a row.
pub(super) fn texts(texts: &[&str]) -> Texts {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}
