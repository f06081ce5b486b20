//! How statements find their rows: what is asked often must not look at rows it does not want.

use super::super::{claims, deliveries, due, leases, queue, settle};
use super::*;
use crate::store::EndpointNo;

impl Bench {
    /// The steps of a statement.
    async fn plan(&self, sql: impl std::fmt::Display) -> Vec<String> {
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let plan = self.store.writer.run(move |db| {
            let mut statement = db.prepare(&sql)?;
            let any = std::iter::repeat_n(1, statement.parameter_count());
            let steps = statement.query_map(rusqlite::params_from_iter(any), |row| row.get(3))?;
            Ok(steps.collect::<rusqlite::Result<Vec<String>>>()?)
        });
        plan.await.unwrap()
    }
}

#[tokio::test]
async fn a_page_is_a_few_seeks_and_one_scan() {
    let bench = bench().await;
    assert_eq!(
        bench.plan(submissions::PAGE).await,
        [
            "SEARCH f USING INDEX sqlite_autoindex_forms_1 (id=?)",
            "SCALAR SUBQUERY 1",
            "SEARCH users USING COVERING INDEX sqlite_autoindex_users_1 (id=?)",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            "CORRELATED SCALAR SUBQUERY 2",
            "SEARCH p USING COVERING INDEX submissions_by_instant (form_no=? AND instant_us<?)",
        ]
    );
    assert_eq!(
        bench.plan(submissions::PAGE_OF_SMALL).await,
        [
            "SEARCH f USING INDEX sqlite_autoindex_forms_1 (id=?)",
            "SCALAR SUBQUERY 1",
            "SEARCH users USING COVERING INDEX sqlite_autoindex_users_1 (id=?)",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            "CORRELATED SCALAR SUBQUERY 3",
            "SEARCH p USING COVERING INDEX submissions_by_instant (form_no=? AND instant_us<?)",
            "CORRELATED SCALAR SUBQUERY 2",
            "SEARCH l USING INDEX large_submissions (form_no=? AND instant_us<?)",
        ]
    );
    assert_eq!(
        bench.plan(submissions::LARGE_BELOW).await,
        [
            "SEARCH f USING COVERING INDEX sqlite_autoindex_forms_1 (id=?)",
            "SEARCH l USING INDEX large_submissions (form_no=? AND instant_us<?)",
        ]
    );
    assert_eq!(
        bench.plan(submissions::OLDEST).await,
        [
            "SEARCH f USING COVERING INDEX sqlite_autoindex_forms_1 (id=?)",
            "SEARCH s USING COVERING INDEX submissions_by_instant (form_no=?)",
        ]
    );
}

const ONE_ROW: &str =
    "SEARCH queue USING PRIMARY KEY (endpoint_no=? AND lane=? AND at_us=? AND submission=?)";

#[tokio::test]
async fn the_front_of_each_lane_is_one_seek() {
    let bench = bench().await;
    assert_eq!(
        bench.plan(due::NEXT_ENDPOINT).await,
        ["SEARCH queue USING PRIMARY KEY (endpoint_no>?)"]
    );
    assert_eq!(
        bench.plan(due::FRONT).await,
        ["SEARCH queue USING PRIMARY KEY (endpoint_no=? AND lane=?)"]
    );
    assert_eq!(
        bench.plan(leases::NEXT_ENDPOINT).await,
        ["SEARCH leases USING PRIMARY KEY (endpoint_no>?)"]
    );
    assert_eq!(
        bench.plan(leases::FRONT).await,
        ["SEARCH leases USING PRIMARY KEY (endpoint_no=?)"]
    );
}

#[tokio::test]
async fn a_claim_is_neighbours_in_the_queue_and_two_seeks_for_each() {
    let bench = bench().await;
    assert_eq!(
        bench.plan(claims::TAKE).await,
        ["SEARCH queue USING PRIMARY KEY \
            (endpoint_no=? AND lane=? AND (at_us,submission)<(?,?))"]
    );
    assert_eq!(
        bench.plan(claims::CLAIMED).await,
        [
            "SEARCH d USING PRIMARY KEY (submission=? AND endpoint_no=?)",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
        ]
    );
    assert_eq!(
        bench.plan(claims::DUE).await,
        [
            "SEARCH q USING PRIMARY KEY (endpoint_no=? AND lane=? AND at_us<?)",
            "SEARCH d USING PRIMARY KEY (submission=? AND endpoint_no=?) LEFT-JOIN",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
        ]
    );
}

#[tokio::test]
async fn the_place_of_a_delivery_is_sought_in_each_lane() {
    let bench = bench().await;
    assert_eq!(
        bench.plan(queue::PLACE).await,
        [
            "COMPOUND QUERY",
            "LEFT-MOST SUBQUERY",
            ONE_ROW,
            "SCALAR SUBQUERY 1",
            "SEARCH submissions USING INTEGER PRIMARY KEY (rowid=?)",
            "UNION ALL",
            ONE_ROW,
            "SCALAR SUBQUERY 3",
            "SEARCH deliveries USING PRIMARY KEY (submission=? AND endpoint_no=?)",
        ]
    );
    assert_eq!(
        bench.plan(settle::ORIGIN).await,
        [
            "SEARCH d USING PRIMARY KEY (submission=? AND endpoint_no=?)",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
        ]
    );
}

/// Plans do not tell how many rows a seek steps over. Steps do.
#[tokio::test]
async fn what_a_worker_asks_costs_the_same_however_long_the_queue_is() {
    let [short, long] = [steps_of_a_queue_of(20).await, steps_of_a_queue_of(4_000).await];
    assert_eq!(short, long);
}

/// Steps of each statement on a queue with so many deliveries in the lanes of fresh and late ones.
async fn steps_of_a_queue_of(deliveries: i64) -> Vec<(String, i32)> {
    let bench = bench().await;
    let first = 1 << 40;
    let counted = bench.store.writer.run(move |db| {
        db.execute_batch(&format!(
            "CREATE TEMP TABLE n AS
                WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {deliveries})
                SELECT i FROM c;
            INSERT INTO endpoints (endpoint_no, id, form_no, url, status, secret, created_us)
                SELECT i, 'e' || i, 1, 'u', 'enabled', x'', 0 FROM n WHERE i < 4;
            INSERT INTO submissions SELECT {first} + i, 1, i, 's' || i, '{{}}' FROM n;
            INSERT INTO deliveries (submission, endpoint_no, state, attempts, form_title, next_us)
                SELECT {first} + n.i, e.i, n.i % 5, 0, 'T', iif(n.i % 2, n.i, NULL)
                FROM n JOIN n e ON e.i < 4;
            INSERT INTO queue SELECT endpoint_no, iif(next_us, 1, 0), submission - {first}, submission,
                0, 0, 0 FROM deliveries WHERE submission <> {first} + 3;
            INSERT INTO leases SELECT i, 1, 1, zeroblob(17) FROM n WHERE i < 4"
        ))?;
        let steps = |sql: &str, values: &[i64]| {
            let mut statement = db.prepare(sql)?;
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            let mut found = 0;
            while rows.next()?.is_some() {
                found += 1;
            }
            drop(rows);
            assert!(found > 0, "{sql}");
            let steps = statement.get_status(rusqlite::StatementStatus::VmStep);
            Ok::<_, StoreError>((format!("{sql} {found}"), steps))
        };
        let list = |state| deliveries::list_sql(None, state);
        let page = [first, first + 15, 0, 3];
        Ok(vec![
            steps(due::NEXT_ENDPOINT, &[1])?,
            steps(due::FRONT, &[2, 0])?,
            steps(claims::DUE, &[2, 0, i64::MAX, 4])?,
            steps(claims::DUE, &[2, 1, i64::MAX, 4])?,
            steps(queue::PLACE, &[2, first + 12])?,
            steps(queue::PLACE, &[2, first + 13])?,
            steps(leases::NEXT_ENDPOINT, &[1])?,
            steps(leases::FRONT, &[2])?,
            steps(claims::CLAIMED, &[first + 3, 2])?,
            steps(settle::ORIGIN, &[first + 3, 2])?,
            steps(&list(None), &page)?,
            steps(&list(Some(DeliveryState::Failed)), &page)?,
        ])
    });
    counted.await.unwrap()
}

#[tokio::test]
async fn deliveries_are_listed_in_the_order_they_are_kept_in() {
    let bench = bench().await;
    let after = "submission>? AND (submission,endpoint_no)<(?,?)";
    for (state, text) in DeliveryState::ALL {
        let found = match state {
            DeliveryState::Pending | DeliveryState::Delivered => {
                format!("SEARCH d USING PRIMARY KEY ({after})")
            }
            _ => format!("SEARCH d USING INDEX deliveries_by_rare_state (state=? AND {after})"),
        };
        let each = ["s", "e"].map(|t| format!("SEARCH {t} USING INTEGER PRIMARY KEY (rowid=?)"));
        let [submission, endpoint] = each;
        for given in [None, Some(EndpointNo(1))] {
            let plan = bench.plan(deliveries::list_sql(given, Some(state))).await;
            let steps = [found.clone(), submission.clone()];
            let endpoint = [endpoint.clone()];
            // An endpoint that is given is looked up before, not for each row.
            let expected =
                if given.is_some() { [&endpoint[..], &steps] } else { [&steps[..], &endpoint] };
            assert_eq!(plan, expected.concat(), "{text}");
        }
    }
    let all = bench.plan(deliveries::list_sql(None, None)).await;
    assert_eq!(all[0], format!("SEARCH d USING PRIMARY KEY ({after})"));
}

#[tokio::test]
async fn a_statement_is_prepared_once() {
    let bench = bench().await;
    let again = bench.store.readers.read(|db| {
        let mut again = 0;
        let usual = [users::AUTHENTICATE, submissions::PAGE_OF_SMALL, submissions::OWNED];
        let others = [submissions::OLDEST, due::NEXT_ENDPOINT, due::FRONT, claims::DUE];
        for sql in usual.into_iter().chain(others) {
            let mut statement = db.prepare(sql)?;
            for value in 0..3 {
                let any = std::iter::repeat_n(value, statement.parameter_count());
                statement.exists(rusqlite::params_from_iter(any))?;
            }
            again += statement.get_status(rusqlite::StatementStatus::RePrepare);
        }
        Ok(again)
    });
    assert_eq!(again.unwrap(), 0);
}
