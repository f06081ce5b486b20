//! Schemas in a real PostgreSQL server.

use formsvc_export::SyncTarget;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::database::Texts;
use crate::postgres_cluster::Cluster;

/// The database user of the shared server.
const USER: &str = "nobody";

/// A schema of its own in the shared server.
pub(super) struct PostgresSchema {
    pub(super) name: String,
    config: Config,
}

impl PostgresSchema {
    /// Creates a schema; `None` if PostgreSQL is not installed.
    pub(super) async fn create() -> Option<Self> {
        let cluster = Cluster::shared()?;
        let name = cluster.create_schema().await;
        let config = cluster.url("public").parse().unwrap();
        Some(Self { name, config })
    }

    /// The folder of the server's socket.
    pub(super) fn socket_folder(&self) -> String {
        let [tokio_postgres::config::Host::Unix(path)] = self.config.get_hosts() else {
            panic!("the server has one socket")
        };
        path.to_str().unwrap().to_owned()
    }

    pub(super) fn url(&self) -> String {
        self.url_of(USER)
    }

    pub(super) fn url_of(&self, user: &str) -> String {
        let host = self.socket_folder().replace('/', "%2F");
        let name = &self.name;
        format!("postgres:///postgres?host={host}&user={user}&application_name={name}")
    }

    pub(super) fn target(&self) -> SyncTarget {
        self.target_of(USER)
    }

    pub(super) fn target_of(&self, user: &str) -> SyncTarget {
        self.url_of(user).parse::<SyncTarget>().unwrap().schema(&self.name)
    }

    /// The SQL name of a table of the program, a view or any other table.
    pub(super) fn table(&self, name: &str) -> String {
        let is_ours = matches!(name, "submissions" | "coverage" | "left_out");
        let prefix = if is_ours { "formsvc_" } else { "" };
        format!("\"{}\".\"{prefix}{name}\"", self.name)
    }

    pub(super) async fn connect(&self) -> Client {
        let (client, connection) = self.config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    pub(super) async fn query(&self, sql: &str) -> Vec<Texts> {
        let messages = self.connect().await.simple_query(sql).await.unwrap();
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        });
        rows.collect()
    }

    pub(super) async fn columns(&self, view: &str) -> Vec<String> {
        let sql = format!("SELECT * FROM {} LIMIT 0", self.table(view));
        let messages = self.connect().await.simple_query(&sql).await.unwrap();
        let columns = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::RowDescription(columns) => Some(columns),
            _ => None,
        });
        columns.unwrap().iter().map(|column| column.name().to_owned()).collect()
    }
}
