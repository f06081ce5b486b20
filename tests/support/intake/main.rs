//! Accepts submissions as fast as possible until it is killed, and prints what it acknowledged. Only for
//! tests.
//!
//! `intake DATABASE ROUND` opens the database and creates a form `round-ROUND`. Eight tasks submit to it one
//! by one, two tasks import whole forms of [`IMPORTED`] submissions. After each acknowledgement it prints
//! `submitted ID MICROS` or `imported PUBLIC_ID`. The first line is `ready FORM`.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use formsvc_protocol::PublicId;
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::import::{self, ImportFormat, ImportOptions};
use formsvc_server::serve::{ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};

/// Submissions of each imported form.
const IMPORTED: usize = 50;
const OWNER: &str = "owner@example.org";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (database, round) = (args.next().ok_or("no database")?, args.next().ok_or("no round")?);
    let store = SqliteStore::open_exclusive(Path::new(&database), system_clock())?;
    let store: Arc<dyn Store> = Arc::new(store);
    let admin = Admin::new(Arc::clone(&store));
    let owner = match store.user_by_email(OWNER).await? {
        Some(owner) => owner,
        None => admin.create_user(OWNER, "Owner").await?,
    };
    let _serving = Server::bind(ServeOptions::default(), Arc::clone(&store)).await?;
    let form = admin.create_form(&owner.id, FormOptions::titled(format!("round {round}"))).await?;
    say(&format!("ready {}", form.id))?;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8 {
        let (admin, form) = (admin.clone(), form.id.clone());
        tasks.spawn(async move {
            for number in 0.. {
                let answers = format!(r#"{{"task":{task},"number":{number}}}"#);
                let accepted = admin.submit(&form, &answers).await.map_err(|e| e.to_string())?;
                say(&format!("submitted {} {}", accepted.id, accepted.instant.micros()))?;
            }
            Ok::<(), String>(())
        });
    }
    for task in 0..2 {
        let (admin, owner, round) = (admin.clone(), owner.id.clone(), round.clone());
        tasks.spawn(async move {
            for number in 0.. {
                let name = format!("import-{round}-{task}-{number}");
                let mut options = ImportOptions::new(owner.clone(), &name, ImportFormat::Ndjson);
                options.public_id = Some(PublicId::new(&name).map_err(|e| e.to_string())?);
                let lines: Vec<String> =
                    (0..IMPORTED).map(|line| format!("{{\"line\":{line}}}")).collect();
                let imported = import::form_from_bytes(&admin, options, lines.join("\n"));
                imported.await.map_err(|e| e.to_string())?;
                say(&format!("imported {name}"))?;
            }
            Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

/// Prints a line in one write. A pipe does not split writes of up to 4096 bytes.
fn say(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}
