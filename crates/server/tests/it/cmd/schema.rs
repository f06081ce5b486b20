//! Databases of an older release: `serve` and `migrate` upgrade them, other commands refuse them.

use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::system_clock;
use secrecy::ExposeSecret;

use super::Site;

/// Commands that open a database, with their arguments.
const COMMANDS: &[(&str, &[&str])] = &[
    ("backup", &["copy.db"]),
    ("copy", &["--to", "copy.db"]),
    ("deliveries list", &["contact"]),
    ("deliveries resend", &["dlv_1"]),
    ("deliveries show", &["dlv_1"]),
    ("form create", &["--user", "a@b.c", "--title", "T"]),
    ("form edit", &["contact", "--title", "T"]),
    ("form fields", &["contact"]),
    ("form import", &["rows.csv", "--user", "a@b.c", "--title", "T"]),
    ("form list", &["--user", "a@b.c"]),
    ("form show", &["contact"]),
    ("form spam", &["contact"]),
    ("key create", &["--user", "a@b.c", "--name", "K"]),
    ("key list", &["--user", "a@b.c"]),
    ("key revoke", &["key_1"]),
    ("prune", &["--attempts-older-than", "1d"]),
    ("seed", &["--user", "a@b.c", "--submissions", "1"]),
    ("user add", &["--email", "a@b.c", "--name", "A"]),
    ("user link", &["a@b.c"]),
    ("user list", &[]),
    ("webhook add", &["contact", "https://example.org"]),
    ("webhook disable", &["whe_1"]),
    ("webhook enable", &["whe_1"]),
    ("webhook list", &["contact"]),
    ("webhook remove", &["whe_1"]),
    ("webhook rotate", &["whe_1"]),
];
/// Commands that upgrade a database, or use none.
const OTHERS: [&str; 5] = ["config check", "config example", "healthcheck", "migrate", "serve"];

/// A site whose database file has the first schema.
fn older_file() -> Site {
    let site = Site::new();
    let db = rusqlite::Connection::open(site.path("db")).unwrap();
    db.execute_batch(include_str!("../../../src/store/sqlite/migrations/0001_initial.sql"))
        .unwrap();
    db.pragma_update(None, "application_id", 0x6673_7663).unwrap();
    db.pragma_update(None, "user_version", 1).unwrap();
    std::fs::write(site.path("rows.csv"), "a\n1\n").unwrap();
    site
}

/// The same in a schema of PostgreSQL, with its name.
fn older_schema(cluster: &Cluster) -> (Site, String) {
    let address = cluster.fresh_schema();
    let name = address.expose_secret().rsplit("%3D").next().unwrap().to_owned();
    let script = include_str!("../../../src/store/postgres/migrations/0001_initial.sql");
    cluster.sql(&format!(
        "SET search_path = {name};
         {script}
         CREATE TABLE formsvc_schema (version integer NOT NULL);
         INSERT INTO formsvc_schema VALUES (1)"
    ));
    let site = Site::on(address.expose_secret());
    std::fs::write(site.path("rows.csv"), "a\n1\n").unwrap();
    (site, name)
}

/// Runs a command in the site's directory, and asserts that it refuses the database.
fn assert_refused(site: &Site, command: &str, args: &[&str]) {
    let words: Vec<_> = command.split(' ').chain(args.iter().copied()).collect();
    let mut command = site.command(&words);
    command.current_dir(site.path(""));
    command.env("FORMSVC_SERVER_SECRET_KEY_FILE", site.path("server.key"));
    let run = super::Run::from(command.output().unwrap());
    let run = run.failed(10, "has schema version 1, and this release needs version 2");
    assert!(run.stderr.contains("`formsvc-server migrate`"), "{words:?}: {}", run.stderr);
}

#[test]
fn every_command_is_known_to_open_a_database_or_not() {
    let mut found = Vec::new();
    for command in formsvc_server::cmd::command().get_subcommands() {
        let name = command.get_name();
        found.extend(command.get_subcommands().map(|verb| format!("{name} {}", verb.get_name())));
        if !command.has_subcommands() {
            found.push(name.to_owned());
        }
    }
    found.sort_unstable();
    let mut known: Vec<_> = COMMANDS.iter().map(|(command, _)| *command).chain(OTHERS).collect();
    known.sort_unstable();
    assert_eq!(found, known);
}

#[test]
fn commands_refuse_file_of_older_schema_and_keep_it() {
    let site = older_file();
    let before = std::fs::read(site.path("db")).unwrap();
    for (command, args) in COMMANDS {
        assert_refused(&site, command, args);
        assert!(std::fs::read(site.path("db")).unwrap() == before, "{command} changed the file");
    }
    assert!(!site.path("copy.db").exists());
    let check = site.run(&["config", "check", "--connect"]).succeeded();
    assert!(check.stderr.contains("`serve` and `migrate` upgrade it"), "{}", check.stderr);
    assert!(std::fs::read(site.path("db")).unwrap() == before, "the check changed the file");
}

#[test]
fn commands_refuse_older_schema_of_postgresql_and_keep_it() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let (site, name) = older_schema(cluster);
    let tables = format!(
        "SELECT string_agg(relname || ' ' || relfilenode, ',' ORDER BY relname) FROM pg_class
         WHERE relnamespace = '{name}'::regnamespace"
    );
    let before = cluster.sql(&tables);
    // A backup is left to PostgreSQL's own tool.
    for (command, args) in COMMANDS.iter().filter(|(command, _)| *command != "backup") {
        assert_refused(&site, command, args);
    }
    let check = ["config", "check", "--connect", "--secret-key-file", "k"];
    let check = site.run(&check).succeeded();
    assert!(check.stderr.contains("`serve` and `migrate` upgrade it"), "{}", check.stderr);
    assert_eq!(cluster.sql(&tables), before);
    assert_eq!(cluster.sql(&format!("SELECT version FROM {name}.formsvc_schema")), "1");
}

#[test]
fn serve_and_migrate_upgrade_an_older_schema() {
    let mut sites = vec![older_file(), older_file()];
    if let Some(cluster) = Cluster::or_skip() {
        sites.extend([older_schema(cluster).0, older_schema(cluster).0]);
    }
    for (n, site) in sites.iter().enumerate() {
        if n < 2 {
            let db = rusqlite::Connection::open(site.path("db")).unwrap();
            db.prepare("SELECT own_fault_us FROM deliveries").unwrap_err();
        }
        if n % 2 == 0 {
            site.run(&["migrate"]).succeeded();
        } else {
            let key = site.path("server.key");
            drop(site.serve(&["--secret-key-file", key.to_str().unwrap()]));
        }
        site.run(&["user", "add", "--email", "a@b.c", "--name", "A"]).succeeded();
        if n < 2 {
            let db = rusqlite::Connection::open(site.path("db")).unwrap();
            db.prepare("SELECT own_fault_us FROM deliveries").unwrap();
        }
    }
}

#[test]
fn migrate_upgrades_no_file_under_a_server() {
    let site = Site::with_user();
    let server = SqliteStore::open_exclusive(&site.path("db"), system_clock()).unwrap();
    site.run(&["migrate"]).succeeded();
    let db = rusqlite::Connection::open(site.path("db")).unwrap();
    db.pragma_update(None, "user_version", 1).unwrap();
    site.run(&["migrate"]).failed(10, "another server uses this database");
    let version: i32 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
    drop(server);
}

#[test]
fn copy_refuses_destination_of_older_schema() {
    let (source, destination) = (Site::with_user(), older_file());
    let path = destination.path("db");
    let before = std::fs::read(&path).unwrap();
    let run = source.run(&["copy", "--to", path.to_str().unwrap()]);
    let run = run.failed(10, "has schema version 1, and this release needs version 2");
    assert!(run.stderr.contains("hint: name a database with nothing in it"), "{}", run.stderr);
    assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
}
