//! PostgreSQL: tables, triggers and views of other roles.

use formsvc_client::test_util::MockService;
use formsvc_export::{ExportError, PullOptions, PullProgress, RowRange, RowSource, SpoolFolder};

use super::database::{Database, texts};
use super::postgres_schema::PostgresSchema;
use super::{form_id, service, service_with, sync};

/// A schema in which two roles may create objects: that of a user, and that of a stranger, who has a
/// function that records its callers.
struct Roles {
    database: Database,
    user: String,
    stranger: String,
}

impl Roles {
    async fn create() -> Option<Self> {
        let database = Database::postgres().await?;
        let schema = &database.schema().name;
        let [user, stranger] = ["user", "stranger"].map(|role| format!("{role}_{schema}"));
        for role in [&user, &stranger] {
            database
                .execute(&format!(
                    "CREATE ROLE {role} LOGIN; GRANT USAGE, CREATE ON SCHEMA {schema} TO {role}"
                ))
                .await;
        }
        let roles = Self { database, user, stranger };
        // A sequence also counts calls of transactions that are rolled back.
        roles
            .as_stranger(
                "CREATE SEQUENCE calls; GRANT USAGE ON calls TO PUBLIC;
                 CREATE FUNCTION spy() RETURNS bigint LANGUAGE plpgsql AS $$BEGIN
                 PERFORM nextval('{s}.calls'); RETURN 2; END$$;
                 CREATE FUNCTION spy(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$BEGIN
                 PERFORM nextval('{s}.calls'); RETURN true; END$$;
                 CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
                 PERFORM nextval('{s}.calls'); RETURN NEW; END$$",
            )
            .await;
        Some(roles)
    }

    fn schema(&self) -> &PostgresSchema {
        self.database.schema()
    }

    /// Runs statements as a role; `{s}` is the schema, which is also the search path.
    async fn run_as(&self, role: &str, sql: &str) {
        let sql = sql.replace("{s}", &self.schema().name);
        let sql = format!("SET search_path TO {}; SET ROLE {role}; {sql}", self.schema().name);
        self.database.execute(&sql).await;
    }

    async fn as_stranger(&self, sql: &str) {
        self.run_as(&self.stranger, sql).await;
    }

    async fn sync_as(&self, role: &str, service: &MockService) -> Result<String, ExportError> {
        let store = self.schema().target_of(role).open().await?;
        Ok(sync(&store, service).await?.view)
    }

    /// Creates the tables by a sync of the stranger, and grants the user and others all rights on them.
    async fn create_foreign_tables(&self) {
        self.sync_as(&self.stranger, &service(3)).await.unwrap();
        self.as_stranger("GRANT ALL ON ALL TABLES IN SCHEMA {s} TO PUBLIC").await;
    }

    /// Asserts that a role cannot sync, that the error contains the texts and the stranger, and that no
    /// code of the stranger runs.
    async fn assert_sync_refused(&self, role: &str, expected: &[&str]) {
        self.database
            .execute(&format!("ALTER SEQUENCE {}.calls RESTART", self.schema().name))
            .await;
        let service = service(3);
        let error = self.sync_as(role, &service).await.unwrap_err().to_string();
        let has_all = expected.iter().all(|text| error.contains(text));
        assert!(has_all && error.contains(&format!("role `{}`", self.stranger)), "{error}");
        assert_eq!(service.requests().len(), 0);
        self.assert_no_call().await;
    }

    async fn assert_no_call(&self) {
        let calls = format!("SELECT is_called FROM {}.calls", self.schema().name);
        assert_eq!(self.database.query(&calls).await, [texts(&["f"])]);
    }

    /// Reads the forms and their rows as the user; returns the number of rows.
    async fn read(&self) -> Result<usize, ExportError> {
        let store = self.schema().target_of(&self.user).open().await?;
        let form = store.status().await?.pop().unwrap();
        let spools = SpoolFolder::temporary()?;
        let (rows, mut count) = (store.rows(&form, RowRange::default(), &spools).await?, 0);
        rows.for_each(&mut |_| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }
}

#[tokio::test]
async fn sync_into_tables_of_a_stranger_is_refused() {
    let Some(roles) = Roles::create().await else { return };
    roles.create_foreign_tables().await;
    let trigger = "CREATE TRIGGER t BEFORE INSERT OR UPDATE ON formsvc_sources \
                   FOR EACH ROW EXECUTE FUNCTION watch()";
    roles.as_stranger(trigger).await;
    // A superuser has the rights of the stranger, and trusts it no more for that.
    for role in [&*roles.user, "nobody"] {
        roles.assert_sync_refused(role, &["the table ", "formsvc_"]).await;
    }
}

#[tokio::test]
async fn view_in_place_of_a_table_is_refused() {
    let Some(roles) = Roles::create().await else { return };
    roles.create_foreign_tables().await;
    let view = "DROP TABLE formsvc_meta; CREATE VIEW formsvc_meta AS SELECT spy() AS version; \
                GRANT ALL ON formsvc_meta TO PUBLIC";
    roles.as_stranger(view).await;
    for role in [&*roles.user, "nobody"] {
        roles.assert_sync_refused(role, &["`formsvc_meta`", "ordinary table"]).await;
    }
    let error = roles.read().await.unwrap_err().to_string();
    assert!(error.contains("`formsvc_meta`") && error.contains(&roles.stranger), "{error}");
    roles.assert_no_call().await;
}

#[tokio::test]
async fn trigger_of_a_stranger_on_own_tables_is_refused() {
    let Some(roles) = Roles::create().await else { return };
    roles.sync_as(&roles.user, &service(3)).await.unwrap();
    let grant = format!("GRANT TRIGGER ON formsvc_sources TO {}", roles.stranger);
    roles.run_as(&roles.user, &grant).await;
    for trigger in [
        "FOR EACH ROW EXECUTE FUNCTION watch()",
        // The function is that of the server, the condition is not.
        "FOR EACH ROW WHEN (spy(NEW.origin)) \
         EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    ] {
        let create =
            format!("CREATE TRIGGER \"my trigger\" BEFORE UPDATE ON formsvc_sources {trigger}");
        roles.as_stranger(&create).await;
        roles.assert_sync_refused(&roles.user, &["trigger `my trigger`", "formsvc_sources"]).await;
        // Reading runs no trigger.
        assert_eq!(roles.read().await.unwrap(), 3);
        roles.run_as(&roles.user, "DROP TRIGGER \"my trigger\" ON formsvc_sources").await;
    }
    roles.sync_as(&roles.user, &service(5)).await.unwrap();
}

#[tokio::test]
async fn code_of_a_stranger_within_own_tables_is_refused() {
    let Some(roles) = Roles::create().await else { return };
    roles.sync_as(&roles.user, &service(3)).await.unwrap();
    roles
        .as_stranger(
            "GRANT ALL ON SCHEMA {s} TO PUBLIC;
             CREATE DOMAIN checked AS text CHECK (spy(VALUE));
             CREATE OPERATOR ~~~ (RIGHTARG = text, FUNCTION = spy)",
        )
        .await;
    // As if the administrator had made the user the owner of tables that the stranger prepared.
    for (create, drop) in [
        ("ALTER TABLE formsvc_meta ADD x bigint DEFAULT spy()", "ALTER TABLE formsvc_meta DROP x"),
        (
            "ALTER TABLE formsvc_meta ADD CONSTRAINT x CHECK (~~~ version::text) NOT VALID",
            "ALTER TABLE formsvc_meta DROP CONSTRAINT x",
        ),
        ("CREATE INDEX x ON formsvc_labels ((spy(label || 'x')))", "DROP INDEX x"),
        ("ALTER TABLE formsvc_labels ADD x checked", "ALTER TABLE formsvc_labels DROP x"),
        ("CREATE POLICY x ON formsvc_meta USING (spy('x'))", "DROP POLICY x ON formsvc_meta"),
    ] {
        roles.run_as(&roles.user, create).await;
        roles.assert_sync_refused(&roles.user, &["formsvc_"]).await;
        roles.run_as(&roles.user, drop).await;
    }
    roles.run_as(&roles.user, "CREATE RULE x AS ON DELETE TO formsvc_meta DO ALSO NOTHING").await;
    let error = roles.sync_as(&roles.user, &service(3)).await.unwrap_err().to_string();
    assert!(error.contains("rule `x`"), "{error}");
}

#[tokio::test]
async fn own_trigger_runs_during_a_sync() {
    let Some(roles) = Roles::create().await else { return };
    roles.sync_as(&roles.user, &service(3)).await.unwrap();
    let create = "CREATE TABLE news (id text);
         CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql SET search_path TO {s} AS
         $$BEGIN INSERT INTO news VALUES (NEW.id); RETURN NULL; END$$;
         CREATE TRIGGER announce AFTER INSERT ON formsvc_submissions \
         FOR EACH ROW EXECUTE FUNCTION announce()";
    roles.run_as(&roles.user, create).await;
    roles.sync_as(&roles.user, &service(5)).await.unwrap();
    let count = format!("SELECT count(*) FROM {}.news", roles.schema().name);
    assert_eq!(roles.database.query(&count).await, [texts(&["2"])]);
}

#[tokio::test]
async fn tables_of_a_stranger_are_not_read() {
    let Some(roles) = Roles::create().await else { return };
    roles.create_foreign_tables().await;
    roles
        .as_stranger(
            "CREATE TABLE child () INHERITS (formsvc_meta); GRANT SELECT ON child TO PUBLIC; \
             CREATE INDEX ON child ((spy('x'))); ALTER SEQUENCE calls RESTART",
        )
        .await;
    let error = roles.read().await.unwrap_err().to_string();
    assert!(error.contains("the table ") && error.contains(&roles.stranger), "{error}");
    roles.assert_no_call().await;
}

#[tokio::test]
async fn trigger_cannot_be_added_during_a_run() {
    let Some(roles) = Roles::create().await else { return };
    roles.sync_as(&roles.user, &service(3)).await.unwrap();
    let grant = format!("GRANT TRIGGER ON formsvc_coverage TO {}", roles.stranger);
    roles.run_as(&roles.user, &grant).await;
    let store = roles.schema().target_of(&roles.user).open().await.unwrap();
    let create = "SET lock_timeout = '20ms'; DO $do$BEGIN \
         CREATE TRIGGER \"added trigger\" BEFORE INSERT ON formsvc_coverage \
         FOR EACH ROW EXECUTE FUNCTION watch(); \
         EXCEPTION WHEN lock_not_available THEN NULL; END$do$";
    let mut pages = 0;
    let on_page = |_: PullProgress<'_>| {
        pages += 1;
        // On another thread, because this one runs the synchronization.
        let attempt = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(roles.as_stranger(create));
        };
        std::thread::scope(|scope| scope.spawn(attempt).join().unwrap());
    };
    let (client, options) = (service(205).client(), PullOptions::default());
    store.sync(&client, &form_id(), None, &options, on_page).await.unwrap();
    assert!(pages > 0);
    let triggers = "SELECT count(*) FROM pg_trigger WHERE tgname = 'added trigger'";
    assert_eq!(roles.database.query(triggers).await, [texts(&["0"])]);
    roles.assert_no_call().await;
    // The lock ends with the run.
    roles.as_stranger(create).await;
    assert_eq!(roles.database.query(triggers).await, [texts(&["1"])]);
}

#[tokio::test]
async fn foreign_key_of_a_stranger_is_refused() {
    let Some(roles) = Roles::create().await else { return };
    roles.sync_as(&roles.user, &service(3)).await.unwrap();
    let grant = format!("GRANT REFERENCES ON formsvc_coverage TO {}", roles.stranger);
    roles.run_as(&roles.user, &grant).await;
    roles
        .as_stranger(
            "CREATE TABLE reference (source bigint, newest bigint, CONSTRAINT \"my key\" FOREIGN KEY \
             (source, newest) REFERENCES formsvc_coverage (source, newest) ON DELETE CASCADE)",
        )
        .await;
    roles.assert_sync_refused(&roles.user, &["foreign key `my key`", "formsvc_coverage"]).await;
    // Reading runs no trigger.
    assert_eq!(roles.read().await.unwrap(), 3);
}

#[tokio::test]
async fn tables_of_administrator_or_own_group_work() {
    let Some(roles) = Roles::create().await else { return };
    let (schema, user) = (&roles.schema().name, &roles.user);
    // The stranger is an administrator: the owner of the schema.
    roles.create_foreign_tables().await;
    roles.database.execute(&format!("ALTER SCHEMA {schema} OWNER TO {}", roles.stranger)).await;
    roles.as_stranger(&format!("GRANT USAGE ON SCHEMA {schema} TO {user}")).await;
    roles.sync_as(user, &service(5)).await.unwrap();
    // A group of the user owns the tables.
    roles.database.execute(&format!("ALTER SCHEMA {schema} OWNER TO nobody")).await;
    roles.sync_as(user, &service(5)).await.unwrap_err();
    roles.database.execute(&format!("GRANT {} TO {user}", roles.stranger)).await;
    roles.sync_as(user, &service(7)).await.unwrap();
    assert_eq!(roles.read().await.unwrap(), 7);
}

#[tokio::test]
async fn form_view_of_a_stranger_is_refused() {
    let Some(roles) = Roles::create().await else { return };
    let view = roles.sync_as(&roles.user, &service_with(&[r#"{"a":"x"}"#])).await.unwrap();
    roles.run_as(&roles.user, &format!("DROP VIEW {view}")).await;
    roles
        .as_stranger(&format!(
            "CREATE VIEW {view} AS SELECT ''::text AS id, ''::text AS created_at, \
             ''::text AS other_answers, 'forged'::text AS a"
        ))
        .await;
    let error = roles.sync_as(&roles.user, &service_with(&[r#"{"a":"x"}"#])).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains(&view) && error.contains(&roles.stranger), "{error}");
}

#[tokio::test]
async fn functions_of_the_search_path_are_not_used() {
    let Some(roles) = Roles::create().await else { return };
    let (schema, user) = (&roles.schema().name, &roles.user);
    roles
        .database
        .execute(&format!("ALTER ROLE {user} SET search_path TO {schema}, pg_catalog"))
        .await;
    let spy = "LANGUAGE plpgsql AS $$BEGIN PERFORM nextval('{s}.calls'); RETURN NULL; END$$";
    roles
        .as_stranger(&format!(
            "CREATE FUNCTION has_schema_privilege(oid, text) RETURNS boolean {spy};
             CREATE FUNCTION has_table_privilege(oid, text) RETURNS boolean {spy};
             CREATE FUNCTION current_setting(text) RETURNS text {spy};
             CREATE FUNCTION pg_try_advisory_xact_lock(bigint) RETURNS boolean {spy};
             CREATE FUNCTION json_to_recordset(json) RETURNS record {spy};
             CREATE FUNCTION same(text, text) RETURNS boolean {spy};
             CREATE FUNCTION same(bigint, bigint) RETURNS boolean {spy};
             CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = same);
             CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = same);
             CREATE OPERATOR >= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = same)"
        ))
        .await;
    roles.sync_as(user, &service(3)).await.unwrap();
    assert_eq!(roles.read().await.unwrap(), 3);
    roles.assert_no_call().await;
}
