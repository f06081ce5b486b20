//! Places where a test has the process die, as a crash or `kill -9` would have it.
//!
//! They are there with the feature `fault-points` only, which is for the tests of the whole; without
//! it `fault_point!` is nothing at all.

/// Marks a place where the process dies when it is told to.
#[cfg(feature = "fault-points")]
macro_rules! fault_point {
    ($point:ident) => {
        crate::fault_point::FaultPoint::$point.pass()
    };
}

/// Marks nothing: the feature `fault-points` is off.
#[cfg(not(feature = "fault-points"))]
macro_rules! fault_point {
    ($point:ident) => {
        ()
    };
}

pub(crate) use fault_point;

#[cfg(feature = "fault-points")]
pub use armed::FaultPoint;

#[cfg(feature = "fault-points")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// What arms one point: its name, a colon, and at which time it is passed the process dies.
    const VARIABLE: &str = "FORMSVC_FAULT_POINT";

    macro_rules! fault_points {
        ($( $variant:ident = $name:literal, $meaning:literal; )+) => {
            /// A place where the process can be told to die.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum FaultPoint {
                $( #[doc = $meaning] $variant, )+
            }

            impl FaultPoint {
                /// Every point, in the order in which a submission meets them.
                pub const ALL: &[Self] = &[$( Self::$variant, )+];

                /// Its name.
                pub const fn name(self) -> &'static str {
                    match self { $( Self::$variant => $name, )+ }
                }

                /// What has happened by then, and what has not.
                pub const fn meaning(self) -> &'static str {
                    match self { $( Self::$variant => $meaning, )+ }
                }
            }
        };
    }

    fault_points! {
        InSubmit     = "in_submit",     "a submission is written, its deliveries are not";
        BeforeCommit = "before_commit", "writes are done, and not committed";
        AfterCommit  = "after_commit",  "writes are committed, and nobody was told";
        InClaim      = "in_claim",      "a delivery is out of its lane, and not among the claimed yet";
        AfterClaim   = "after_claim",   "deliveries are claimed, and not begun";
        BeforePost   = "before_post",   "a delivery is signed, and nothing of it is sent";
        MidRequest   = "mid_request",   "half of a request is sent";
        MidAnswer    = "mid_answer",    "the head of an answer is there, its body is not read";
        AfterAnswer  = "after_answer",  "an endpoint answered, and its outcome is with nobody else";
        BeforeSettle = "before_settle", "outcomes are about to be recorded";
        InSettle     = "in_settle",     "a delivery is out of the queue, and not recorded";
        AfterSettle  = "after_settle",  "outcomes are recorded";
        InRemoval    = "in_removal",    "an endpoint is removed, none of its deliveries is canceled";
        MidRemoval   = "mid_removal",   "some of the deliveries of a removed endpoint are canceled";
        BeforeClose  = "before_close",  "requests and attempts have ended, the store is open";
        InRecovery   = "in_recovery",   "one claim of an earlier run is given back, and not committed";
        MidRecovery  = "mid_recovery",  "claims are given back, removals are not finished";
    }

    impl FaultPoint {
        /// Ends the process when this point is armed and its time has come.
        pub(crate) fn pass(self) {
            if self.is_due() {
                std::process::abort();
            }
        }

        /// Counts; whether the process is to die here, for a place that has something to do before.
        pub(crate) fn is_due(self) -> bool {
            static ARMED: OnceLock<Option<(FaultPoint, AtomicU32)>> = OnceLock::new();
            let armed = ARMED.get_or_init(|| std::env::var(VARIABLE).ok().map(|text| parse(&text)));
            armed.as_ref().is_some_and(|(point, left)| {
                *point == self && left.fetch_sub(1, Ordering::SeqCst) == 1
            })
        }
    }

    fn parse(text: &str) -> (FaultPoint, AtomicU32) {
        let (name, count) = text.split_once(':').unwrap_or((text, "1"));
        let point = FaultPoint::ALL.iter().find(|point| point.name() == name);
        let point = point.expect("the variable names a fault point");
        (*point, AtomicU32::new(count.parse().expect("the variable has a number")))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_point_and_its_count_are_read_from_one_text() {
            for (text, name, count) in
                [("after_claim:3", "after_claim", 3), ("in_settle", "in_settle", 1)]
            {
                let (point, left) = parse(text);
                assert_eq!((point.name(), left.into_inner()), (name, count));
            }
        }
    }
}
