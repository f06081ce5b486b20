//! A model: rows are committed late and deleted, requests fail, and the follow is canceled and killed at any
//! time.

use proptest::prelude::*;

use super::*;

/// One step of the model.
#[derive(Clone, Debug)]
enum Step {
    Commit {
        late_secs: i64,
    },
    Delete(usize),
    Advance {
        secs: i64,
    },
    /// Reads this many rows, and cancels a call that takes longer.
    Read {
        rows: usize,
        millis: u64,
    },
    /// Stops the follow and keeps only the text of its point.
    Kill,
    /// The next request fails with a 503.
    Fail,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Commit { late_secs: 0 }),
        4 => (0_i64..=300).prop_map(|late_secs| Step::Commit { late_secs }),
        1 => Just(Step::Commit { late_secs: -100_000 }),
        1 => (0_usize..8).prop_map(Step::Delete),
        3 => (0_i64..120).prop_map(|secs| Step::Advance { secs }),
        1 => (300_i64..4_000).prop_map(|secs| Step::Advance { secs }),
        8 => (1_usize..12, 1_u64..25_000).prop_map(|(rows, millis)| Step::Read { rows, millis }),
        2 => Just(Step::Kill),
        1 => Just(Step::Fail),
    ];
    prop::collection::vec(step, 1..120)
}

/// Longer than in use, so that a test makes fewer requests.
const INTERVAL: Duration = Duration::from_secs(20);

async fn run_model(unit: i64, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let form = Form::new(unit);
    let fake = Form::serve(&form);
    let client = no_retry().transport(Slow(fake.wire())).build().unwrap();
    let start = |point: &SyncPoint| {
        client.form("frm_1").follow().interval(INTERVAL).sync_from(point).items()
    };
    let (mut rows, mut follow) = (Vec::new(), start(&SyncPoint::new()));
    for step in steps {
        match step {
            Step::Commit { late_secs } => form.lock().unwrap().commit(late_secs * SECOND),
            // With cursors of a unit, deleted rows make ties unproven; exact cursors lose nothing.
            Step::Delete(row) if unit == 1 => form.lock().unwrap().delete(row),
            Step::Delete(_) => {}
            Step::Advance { secs } => form.lock().unwrap().now += secs * SECOND,
            Step::Fail => form.lock().unwrap().is_busy = true,
            Step::Kill => follow = start(&carried(&follow.sync_point())),
            Step::Read { rows: count, millis } => {
                for _ in 0..count {
                    rows.extend(next_within(&mut follow, millis).await);
                }
            }
        }
    }
    // Longer than the time between two passes over the whole overlap.
    while let Some(row) = next_within(&mut follow, 90_000).await {
        rows.push(row);
    }
    let once: BTreeSet<u32> = rows.iter().copied().collect();
    prop_assert_eq!(once.len(), rows.len(), "a row is repeated: {:?}", rows);
    let point = carried(&follow.sync_point());
    for row in form.lock().unwrap().rows.values() {
        prop_assert!(once.contains(row), "{} is missing: {:?}", row, rows);
    }
    let again = next_within(&mut start(&point), 25_000).await;
    prop_assert_eq!(again, None, "the point repeats a row");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn each_row_is_followed_once_over_all_kills(
        unit in prop::sample::select(vec![1, 1_000, SECOND]),
        steps in steps(),
    ) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run_model(unit, steps))?;
    }
}
