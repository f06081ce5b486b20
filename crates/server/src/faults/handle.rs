//! The faults that are set now.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::setting::FaultSetting;
use super::table::{FAULTS, Fault};
use super::value::FaultValue;

const COUNT: usize = FAULTS.len();

/// The faults of a service. Clones share them; all are off at first.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<State>);

#[derive(Debug, Default)]
struct State {
    any: AtomicBool,
    values: RwLock<[Option<FaultValue>; COUNT]>,
    /// How many requests or attempts a fault with a share has seen since it was set.
    seen: [AtomicU64; COUNT],
}

impl Faults {
    /// No faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a fault, in place of the value it had. What it counts begins anew.
    pub fn set(&self, setting: FaultSetting) {
        let at = setting.fault as usize;
        self.change(|values| {
            self.0.seen[at].store(0, Ordering::Relaxed);
            values[at] = Some(setting.value);
        });
    }

    /// Ends a fault.
    pub fn unset(&self, fault: Fault) {
        self.change(|values| values[fault as usize] = None);
    }

    /// Ends all of them.
    pub fn clear(&self) {
        self.change(|values| *values = [None; COUNT]);
    }

    /// Those that are set, in the order of the table.
    pub fn list(&self) -> Vec<FaultSetting> {
        let set = |row: &super::FaultRow| {
            let value = self.value(row.fault)?;
            Some(FaultSetting { fault: row.fault, value })
        };
        FAULTS.iter().filter_map(set).collect()
    }

    /// The value of a fault; `None` when it is not set.
    pub fn value(&self, fault: Fault) -> Option<FaultValue> {
        self.0.values.read().unwrap_or_else(PoisonError::into_inner)[fault as usize]
    }

    /// Whether any is set: one look, so that a sandbox without faults is as fast as a server.
    pub(super) fn any(&self) -> bool {
        self.0.any.load(Ordering::Relaxed)
    }

    pub(super) fn is_set(&self, fault: Fault) -> bool {
        self.value(fault).is_some()
    }

    pub(super) fn duration(&self, fault: Fault) -> Option<Duration> {
        match self.value(fault)? {
            FaultValue::Duration(duration) => Some(duration),
            _ => None,
        }
    }

    pub(super) fn seconds(&self, fault: Fault) -> Option<u32> {
        match self.value(fault)? {
            FaultValue::Seconds(seconds) => Some(seconds),
            _ => None,
        }
    }

    /// Whether a fault with a share meets the request or attempt that asks, which counts as one.
    pub(super) fn meets(&self, fault: Fault) -> bool {
        let Some(FaultValue::Percent(percent)) = self.value(fault) else { return false };
        is_met(self.0.seen[fault as usize].fetch_add(1, Ordering::Relaxed), percent)
    }

    fn change(&self, change: impl FnOnce(&mut [Option<FaultValue>; COUNT])) {
        // Whatever a panicking holder left is still a value for each fault.
        let mut values = self.0.values.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut values);
        self.0.any.store(values.iter().any(Option::is_some), Ordering::Relaxed);
    }
}

/// Whether the one after so many is met: they are spread evenly, and the first comes as late as it
/// can.
fn is_met(before: u64, percent: u32) -> bool {
    let met = |count: u64| u128::from(count) * u128::from(percent) / 100;
    met(before.saturating_add(1)) > met(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(faults: &Faults, text: &str) {
        faults.set(text.parse().unwrap());
    }

    #[test]
    fn a_share_is_exact_in_every_hundred_and_spread_evenly() {
        for percent in 1..=100 {
            for start in [0, 7, 100, 12_345] {
                let met = (start..start + 100).filter(|n| is_met(*n, percent)).count();
                assert_eq!(met, percent as usize, "from {start}");
            }
        }
        let pattern = |percent| (0..6).map(move |n| u8::from(is_met(n, percent)));
        assert_eq!(pattern(50).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
        assert_eq!(pattern(100).collect::<Vec<_>>(), [1; 6]);
    }

    #[test]
    fn clones_share_what_is_set() {
        let faults = Faults::new();
        let clone = faults.clone();
        set(&faults, "errors=100%");
        set(&faults, "latency=5ms");
        let listed: Vec<_> = clone.list().iter().map(ToString::to_string).collect();
        assert_eq!(listed, ["latency=5ms", "errors=100%"]);
        assert!(clone.meets(Fault::Errors) && !clone.meets(Fault::Html));
        clone.unset(Fault::Errors);
        assert!(!faults.meets(Fault::Errors) && faults.is_set(Fault::Latency));
        faults.clear();
        assert_eq!(clone.list(), []);
    }

    #[test]
    fn setting_a_fault_again_begins_its_pattern_anew() {
        let faults = Faults::new();
        for _ in 0..3 {
            set(&faults, "errors=50%");
            assert_eq!([(); 3].map(|()| faults.meets(Fault::Errors)), [false, true, false]);
        }
    }
}
