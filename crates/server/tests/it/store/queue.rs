//! Random sequences of calls on the queue of deliveries, by a store and by a model of it.

mod model;
mod run;

use formsvc_server::store::contract::Factory;
use proptest::prelude::*;

use run::Run;

const ENDPOINTS: usize = 3;

#[derive(Clone, Debug)]
enum Call {
    Submit,
    Retitle,
    Pass {
        micros: i64,
    },
    Claim {
        endpoint: usize,
        lane: usize,
        count: u32,
    },
    /// Of the newest claims mostly, whose leases may hold.
    Settle {
        newest: usize,
        verdict: u8,
        after: i64,
    },
    Resend {
        delivery: usize,
    },
    SetEnabled {
        endpoint: usize,
        enabled: bool,
    },
    Remove {
        endpoint: usize,
    },
    Recover,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let endpoint = 0..ENDPOINTS;
    let micros = prop_oneof![0..5_000_000_i64, 0..60_000_000_i64];
    let newest = prop_oneof![4 => 0..3_usize, 1 => 0..40_usize];
    let after = prop_oneof![Just(0), 0..60_000_000_i64];
    let call = prop_oneof![
        8 => Just(Call::Submit),
        1 => Just(Call::Retitle),
        6 => micros.prop_map(|micros| Call::Pass { micros }),
        12 => (endpoint.clone(), 0..3_usize, 0..4_u32)
            .prop_map(|(endpoint, lane, count)| Call::Claim { endpoint, lane, count }),
        12 => (newest, any::<u8>(), after)
            .prop_map(|(newest, verdict, after)| Call::Settle { newest, verdict, after }),
        4 => (0..60_usize).prop_map(|delivery| Call::Resend { delivery }),
        2 => (endpoint, any::<bool>())
            .prop_map(|(endpoint, enabled)| Call::SetEnabled { endpoint, enabled }),
        // The first one stays, so that there is something to do.
        1 => (1..ENDPOINTS).prop_map(|endpoint| Call::Remove { endpoint }),
        1 => Just(Call::Recover),
    ];
    prop::collection::vec(call, 1..150)
}

fn runs_like_the_model(factory: Factory, calls: Vec<Call>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut run, _keep) = Run::new(factory).await;
        for call in calls {
            run.call(call).await;
            run.check().await;
        }
        run.check_every_delivery().await;
        run.close().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_in_memory_does_what_the_model_does(calls in calls()) {
        runs_like_the_model(super::in_memory, calls);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_on_a_file_does_what_the_model_does(calls in calls()) {
        runs_like_the_model(super::on_a_file, calls);
    }
}
