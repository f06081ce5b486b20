//! Damaged rows, and files that are not a store.

use super::*;

#[tokio::test]
async fn damaged_row_is_an_error_with_number_and_column() {
    for (table, column, value) in [
        ("captures", "verdict", "'signature_revoked'"),
        ("captures", "peer", "'nowhere'"),
        ("captures", "method", "'A B'"),
        ("captures", "attempt", "-1"),
        ("captures", "gap_us", "-1"),
        ("outcomes", "status", "70000"),
        ("outcomes", "answered_by", "'oracle'"),
        ("outcomes", "took_us", "-1"),
    ] {
        let home = Home::new();
        let store = home.open();
        insert(&store, &delivery(""), 3).await;
        store.set_outcome(2, answered(delivery(""), 2, 200).into()).await.unwrap();
        store.close().await;
        home.change(&format!("UPDATE {table} SET {column} = {value} WHERE number = 2")).await;
        let store = home.open();
        let is_expected = |error: &StoreError| matches!(error, StoreError::DamagedRow { number: 2, column: at } if *at == column);
        let error = store.list(CaptureQuery::default()).await.unwrap_err();
        assert!(is_expected(&error), "{error}");
        let error = store.get(2).await.unwrap_err();
        assert!(is_expected(&error), "{error}");
        assert!(store.get(1).await.unwrap().is_some());
        assert_eq!(store.prune(None, false).await.unwrap().removed, 3);
    }
}

#[tokio::test]
async fn damaged_headers_and_forwards_are_errors() {
    for (sql, column) in [
        ("UPDATE captures SET headers = x'61'", "headers"),
        ("UPDATE outcomes SET relayed_forward = -1", "relayed_forward"),
        ("INSERT INTO forwards VALUES (1, 0, '', 0, 'x', '', 1, 0, x'', x'')", "error_kind"),
        ("INSERT INTO forwards VALUES (1, 0, '', 0, NULL, NULL, NULL, 0, x'', x'')", "status"),
    ] {
        let home = Home::new();
        let store = home.open();
        insert(&store, &delivery(""), 1).await;
        store.set_outcome(1, answered(delivery(""), 1, 200).into()).await.unwrap();
        store.close().await;
        home.change(sql).await;
        let store = home.open();
        let error = store.get(1).await.unwrap_err();
        assert!(
            matches!(error, StoreError::DamagedRow { number: 1, column: at } if at == column),
            "{error}"
        );
        assert_eq!(all_numbers(&store).await, [1]);
    }
}

#[tokio::test]
async fn damaged_database_is_an_error() {
    let home = Home::new();
    let store = home.open();
    insert(&store, &delivery(vec![b'x'; 20_000]), 20).await;
    store.close().await;
    let mut bytes = fs::read(home.path()).unwrap();
    bytes[3 * 4_096..].fill(0xff);
    fs::write(home.path(), bytes).unwrap();
    let store = home.open();
    let error = store.list(CaptureQuery::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged), "{error:?}");
}

#[tokio::test]
async fn foreign_file_is_an_error_and_not_changed() {
    for sql in [
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 1",
        "PRAGMA user_version = 0; PRAGMA application_id = 0",
    ] {
        let home = Home::new();
        home.change(sql).await;
        let before = fs::read(home.path()).unwrap();
        let error = home.open_error();
        let sentence =
            format!("`{}` is not a capture store of this version", home.path().display());
        assert_eq!(error.to_string(), sentence);
        assert_eq!(fs::read(home.path()).unwrap(), before);
    }
    let home = Home::new();
    home.open().close().await;
    let diary = "my diary, which is longer than the header of a database: ".repeat(3);
    fs::write(home.path(), &diary).unwrap();
    let error = home.open_error();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(home.path()).unwrap(), diary);
}
