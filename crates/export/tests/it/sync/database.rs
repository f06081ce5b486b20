//! Databases of the tests.

use formsvc_export::{SyncStore, SyncTarget};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::postgres_schema::PostgresSchema;

/// A database that tests synchronize with.
pub(super) struct Database {
    pub(super) target: SyncTarget,
    kind: Kind,
}

enum Kind {
    Sqlite(tempfile::TempDir),
    Postgres(Box<PostgresSchema>),
}

/// A row of texts; `None` is null.
pub(super) type Texts = Vec<Option<String>>;

impl Database {
    pub(super) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let target = SyncTarget::sqlite(folder.path().join("rows.db"));
        Self { target, kind: Kind::Sqlite(folder) }
    }

    /// A new schema; `None` if PostgreSQL is not installed.
    pub(super) async fn postgres() -> Option<Self> {
        let schema = PostgresSchema::create().await?;
        Some(Self { target: schema.target(), kind: Kind::Postgres(Box::new(schema)) })
    }

    /// A database of each kind that this machine has.
    pub(super) async fn all() -> Vec<Self> {
        [Some(Self::sqlite()), Self::postgres().await].into_iter().flatten().collect()
    }

    /// The file of an SQLite database.
    pub(super) fn path(&self) -> std::path::PathBuf {
        match &self.kind {
            Kind::Sqlite(folder) => folder.path().join("rows.db"),
            Kind::Postgres(_) => panic!("the database has no file"),
        }
    }

    pub(super) fn schema(&self) -> &PostgresSchema {
        match &self.kind {
            Kind::Sqlite(_) => panic!("the database has no schema"),
            Kind::Postgres(schema) => schema,
        }
    }

    /// The address and the schema with which another process opens the database.
    pub(super) fn address(&self) -> (String, &str) {
        match &self.kind {
            Kind::Sqlite(_) => (self.target.to_string(), ""),
            Kind::Postgres(schema) => (schema.url(), &schema.name),
        }
    }

    pub(super) async fn open(&self) -> SyncStore {
        self.target.open().await.unwrap()
    }

    /// The SQL name of a table or view.
    pub(super) fn table(&self, name: &str) -> String {
        match &self.kind {
            Kind::Sqlite(_) => format!("\"{name}\""),
            Kind::Postgres(schema) => schema.table(name),
        }
    }

    pub(super) async fn query(&self, sql: &str) -> Vec<Texts> {
        match &self.kind {
            Kind::Sqlite(_) => query(&Connection::open(self.path()).unwrap(), sql),
            Kind::Postgres(schema) => schema.query(sql).await,
        }
    }

    pub(super) async fn execute(&self, sql: &str) {
        match &self.kind {
            Kind::Sqlite(_) => Connection::open(self.path()).unwrap().execute_batch(sql).unwrap(),
            Kind::Postgres(schema) => drop(schema.query(sql).await),
        }
    }

    /// Id, time and exact answers of the stored submissions, by id.
    pub(super) async fn rows(&self) -> Vec<Texts> {
        let table = self.table("submissions");
        self.query(&format!("SELECT id, created_at, data FROM {table} ORDER BY id")).await
    }

    /// The names of the view's columns.
    pub(super) async fn columns(&self, view: &str) -> Vec<String> {
        match &self.kind {
            Kind::Sqlite(_) => {
                let connection = Connection::open(self.path()).unwrap();
                let select = connection.prepare(&format!("SELECT * FROM {view}")).unwrap();
                select.column_names().map(str::to_owned).collect()
            }
            Kind::Postgres(schema) => schema.columns(view).await,
        }
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
