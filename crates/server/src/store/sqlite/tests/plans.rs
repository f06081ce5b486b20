//! How statements find their rows: what is asked often must not look at rows it does not want.

use super::super::{claims, deliveries, due, queue, settle};
use super::*;
use crate::store::{DeliveryState, EndpointNo};

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
    assert_eq!(
        bench().await.plan(submissions::PAGE).await,
        [
            "SEARCH f USING INDEX sqlite_autoindex_forms_1 (id=?)",
            "SCALAR SUBQUERY 1",
            "SEARCH users USING COVERING INDEX sqlite_autoindex_users_1 (id=?)",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            "CORRELATED SCALAR SUBQUERY 2",
            "SEARCH p USING COVERING INDEX submissions_by_instant (form_no=? AND instant_us<?)",
        ]
    );
}

const ONE_ROW: &str =
    "SEARCH queue USING PRIMARY KEY (endpoint_no=? AND lane=? AND at_us=? AND submission=?)";

#[tokio::test]
async fn the_front_of_each_lane_is_one_seek() {
    let bench = bench().await;
    assert_eq!(
        bench.plan(due::NEXT_FRONT).await,
        ["SEARCH queue USING PRIMARY KEY ((endpoint_no,lane)>(?,?))"]
    );
    assert_eq!(
        bench.plan(due::FRONT).await,
        ["SEARCH queue USING PRIMARY KEY (endpoint_no=? AND lane=?)"]
    );
}

#[tokio::test]
async fn a_claim_is_neighbours_in_the_queue_and_two_seeks_for_each() {
    assert_eq!(
        bench().await.plan(claims::DUE).await,
        [
            "SEARCH q USING PRIMARY KEY (endpoint_no=? AND lane=? AND at_us<?)",
            "SEARCH d USING PRIMARY KEY (submission=? AND endpoint_no=?)",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
        ]
    );
}

#[tokio::test]
async fn the_place_of_a_delivery_is_sought_in_each_lane_and_searched_among_the_leased() {
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
            "UNION ALL",
            "SEARCH queue USING PRIMARY KEY (endpoint_no=? AND lane=?)",
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
        let usual = [users::AUTHENTICATE, submissions::PAGE, submissions::OWNED];
        for sql in usual.into_iter().chain([due::NEXT_FRONT, due::FRONT, claims::DUE]) {
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
