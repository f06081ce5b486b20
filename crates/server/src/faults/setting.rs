//! A fault with its value, as it is written: `latency=500ms`, `empty-page`.

use std::fmt;
use std::str::FromStr;

use super::table::{FAULTS, Fault};
use super::value::FaultValue;
use crate::printable::Excerpt;

/// How alike a name must be to be meant.
const ALIKE: f64 = 0.7;

/// A fault that is to be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSetting {
    /// The fault.
    pub fault: Fault,
    /// Its value.
    pub value: FaultValue,
}

/// Text that is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// There is no fault of that name.
    #[error("there is no fault `{}`{}", Excerpt(name), known(*meant))]
    Unknown {
        /// The name.
        name: String,
        /// The one that may have been meant.
        meant: Option<Fault>,
    },
    /// The value breaks the rule of the fault.
    #[error(
        "the fault `{}` cannot be `{}`: it {}",
        fault.row().name, Excerpt(value), fault.row().grammar.rule()
    )]
    Value {
        /// The fault.
        fault: Fault,
        /// The value.
        value: String,
    },
}

impl FaultSetting {
    /// A fault by its name, with a value, or with the table's.
    pub fn new(name: &str, value: Option<&str>) -> Result<Self, FaultError> {
        let fault = fault_of(name)?;
        let row = fault.row();
        let text = value.unwrap_or(row.default);
        match row.grammar.parse(text) {
            Some(value) => Ok(Self { fault, value }),
            None => Err(FaultError::Value { fault, value: text.to_owned() }),
        }
    }
}

impl FromStr for FaultSetting {
    type Err = FaultError;

    /// Reads `NAME` or `NAME=VALUE`.
    fn from_str(text: &str) -> Result<Self, FaultError> {
        match text.split_once('=') {
            Some((name, value)) => Self::new(name, Some(value)),
            None => Self::new(text, None),
        }
    }
}

impl fmt::Display for FaultSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.fault.row().name)?;
        if self.value == FaultValue::On { Ok(()) } else { write!(f, "={}", self.value) }
    }
}

/// The fault with a name.
pub(super) fn fault_of(name: &str) -> Result<Fault, FaultError> {
    let named = FAULTS.iter().find(|row| row.name == name);
    named.map(|row| row.fault).ok_or_else(|| {
        let alike = |row: &super::FaultRow| strsim::jaro_winkler(row.name, name);
        let best = FAULTS.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)));
        let meant = best.filter(|row| alike(row) > ALIKE).map(|row| row.fault);
        FaultError::Unknown { name: name.to_owned(), meant }
    })
}

fn known(meant: Option<Fault>) -> String {
    if let Some(meant) = meant {
        return format!(": did you mean `{}`?", meant.row().name);
    }
    let names: Vec<_> = FAULTS.iter().map(|row| row.name).collect();
    format!(": there are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_fault_is_read_with_its_value_or_with_the_tables() {
        let read = |text: &str| text.parse::<FaultSetting>().unwrap();
        let half_a_second = FaultValue::Duration(Duration::from_millis(500));
        assert_eq!(
            read("latency=500ms"),
            FaultSetting { fault: Fault::Latency, value: half_a_second }
        );
        for (text, printed) in [
            ("latency", "latency=2s"),
            ("errors", "errors=50%"),
            ("errors=7", "errors=7%"),
            ("empty-page", "empty-page"),
            ("rate-limited=30", "rate-limited=30"),
        ] {
            assert_eq!(read(text).to_string(), printed);
        }
    }

    #[test]
    fn a_wrong_name_is_told_the_right_one_and_a_wrong_value_the_rule() {
        let told = |text: &str| text.parse::<FaultSetting>().unwrap_err().to_string();
        assert_eq!(told("latancy=1s"), "there is no fault `latancy`: did you mean `latency`?");
        assert_eq!(
            told("ERRORS"),
            FaultError::Unknown { name: "ERRORS".into(), meant: None }.to_string()
        );
        for row in FAULTS {
            assert!(told("").contains(row.name) && told("zzz\n").contains(row.name));
        }
        assert!(told("zzz\n").starts_with("there is no fault `zzz\\n`: there are latency, "));
        assert!(
            told("errors=0").contains("`errors` cannot be `0`: it takes a whole number from 1")
        );
        assert!(told("empty-page=1").contains("takes no value"));
        assert!(told("latency=").contains("cannot be ``"));
    }
}
