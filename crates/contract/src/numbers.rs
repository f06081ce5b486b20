//! Numbers that stand both in code and in the prose of its tables, each told once. Macros, since the tables
//! are constants, and text is put together at compile time of literals alone.

use formsvc_protocol::limits::{DELIVERY_RETRIES, DELIVERY_TIMEOUT, SIGNATURE_TOLERANCE};
use formsvc_receiver::DEFAULT_MAX_BODY;

/// Names macros of literals.
macro_rules! numbers {
    ($($(#[$about:meta])* $name:ident = $value:literal;)*) => {
        $($(#[$about])* macro_rules! $name { () => { $value }; } pub(crate) use $name;)*
    };
}

numbers! {
    /// Seconds that a signature may be off.
    tolerance = 300;
    /// The most that is within the tolerance for sure.
    within = 299;
    /// The least that is outside of it for sure.
    outside = 301;
    /// Within the tolerance, although two clocks differ by a little.
    well_within = 240;
    /// Outside of it, although two clocks differ by a little.
    well_outside = 360;
    /// Seconds that the service waits for an answer.
    answer_seconds = 10;
    /// How often the service tries.
    attempts = 4;
    /// KiB of a large delivery: above the limit of 100 kB that a popular framework has unless it is told
    /// otherwise, and well below what a form takes.
    large_kib = 200;
    /// MiB that our own receiver takes, unless told otherwise.
    cap_mib = 1;
    /// MiB of a delivery that is too large: twice the cap, and more than any form can make.
    oversize_mib = 2;
    /// How often one submission is sent at once.
    at_once = 4;
    /// Digits that are left of a signature that is cut.
    half_of_digits = 32;
}

const _: () = {
    assert!(tolerance!() == SIGNATURE_TOLERANCE.as_secs());
    assert!(within!() + 1 == tolerance!() && outside!() - 1 == tolerance!());
    assert!(well_within!() < within!() && well_outside!() > outside!());
    assert!(answer_seconds!() == DELIVERY_TIMEOUT.as_secs());
    assert!(attempts!() == 1 + DELIVERY_RETRIES);
    assert!(cap_mib!() << 20 == DEFAULT_MAX_BODY && oversize_mib!() > cap_mib!());
};
