//! The faults: one table, from which flags, the control endpoint and docs/FAULTS.md follow.

use super::value::Grammar;

/// What is affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultSide {
    /// Answers of the REST API.
    Api,
    /// Deliveries to webhook endpoints.
    Delivery,
}

impl FaultSide {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Delivery => "delivery",
        }
    }
}

/// What the table says about a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultRow {
    /// The fault.
    pub fault: Fault,
    /// Its name.
    pub name: &'static str,
    /// What is affected.
    pub side: FaultSide,
    /// What its value looks like.
    pub grammar: Grammar,
    /// The value it has when it is set without one; empty for a fault that takes none.
    pub default: &'static str,
    /// What it does.
    pub about: &'static str,
}

macro_rules! faults {
    ($( $fault:ident = $name:literal, $side:ident, $grammar:ident $default:literal, $about:literal; )+) => {
        /// A fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $( #[doc = $about] $fault, )+
        }

        /// Every fault, in the order of [`Fault`].
        pub const FAULTS: &[FaultRow] = &[$( FaultRow {
            fault: Fault::$fault,
            name: $name,
            side: FaultSide::$side,
            grammar: Grammar::$grammar,
            default: $default,
            about: $about,
        }, )+];
    };
}

faults! {
    Latency = "latency", Api, Duration "2s",
        "Delays every response by DURATION";
    Errors = "errors", Api, Percent "50%",
        "PERCENT of the requests are answered with 500 `internal_error`";
    RateLimited = "rate-limited", Api, Seconds "1",
        "Every request is answered with 429 `rate_limited`, and `Retry-After: SECONDS`";
    Truncated = "truncated", Api, Percent "50%",
        "PERCENT of the answers end halfway: the connection is closed before the bytes that `Content-Length` promised";
    Html = "html", Api, Percent "100%",
        "PERCENT of the requests are answered with a page of HTML and status 200, as by a captive portal";
    CursorMillis = "cursor-millis", Api, Nothing "",
        "`next_cursor` is cut to milliseconds: a client that passes it on unchanged loses the other rows of the millisecond in which a page ends (`randhie` has such rows)";
    StuckCursor = "stuck-cursor", Api, Nothing "",
        "From the second page on, `next_cursor` is the cursor that was sent, and `has_more` is true: the list never ends";
    EmptyPage = "empty-page", Api, Nothing "",
        "Before every page but the first comes an empty one, whose `has_more` is true";
    DuplicateRows = "duplicate-rows", Api, Nothing "",
        "The last row of a page comes again as the first of the next, unless `limit` is 1";
    DuplicateDeliveries = "duplicate-deliveries", Delivery, Nothing "",
        "Every attempt that is answered is sent a second time, the same to the byte";
    WrongSignature = "wrong-signature", Delivery, Percent "100%",
        "PERCENT of the attempts carry a signature that does not match";
    StaleTimestamp = "stale-timestamp", Delivery, Duration "6m",
        "The time of the signature is DURATION ago; receivers refuse signatures older than 5 minutes";
    OutOfOrder = "out-of-order", Delivery, Duration "1s",
        "Two attempts to an endpoint arrive in reverse order: the first waits for the second, at most DURATION";
}

impl Fault {
    /// Its row of the table.
    pub fn row(self) -> &'static FaultRow {
        &FAULTS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_faults_and_its_defaults_are_values() {
        for (at, row) in FAULTS.iter().enumerate() {
            assert_eq!(row.fault as usize, at);
            assert_eq!(row.fault.row(), row);
            let default = row.grammar.parse(row.default).unwrap();
            assert_eq!(default.to_string(), row.default, "{}", row.name);
            assert!(!row.about.ends_with('.') && row.about.is_ascii(), "{}", row.name);
            let plain = |b: u8| b.is_ascii_lowercase() || b == b'-';
            assert!(row.name.bytes().all(plain), "{}", row.name);
        }
    }
}
