//! Marks a submission in a database of the program's own rusqlite.

use formsvc_export::SyncTarget;
use formsvc_receiver::inbox::SqliteMarks;
use rusqlite::Connection;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut db = Connection::open("orders.db")?;
    let marks = SqliteMarks::new();
    marks.create_table(&db)?;
    let transaction = db.transaction()?;
    println!("{:?}", marks.mark(&transaction, "sub_1")?);
    transaction.commit()?;
    println!("{}", SyncTarget::sqlite("rows.db"));
    Ok(())
}
