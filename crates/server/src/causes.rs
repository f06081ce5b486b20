//! An error and what caused it.

use std::error::Error;

/// The error's message, then those of its causes, outermost first.
pub(crate) fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = String> + 'a {
    std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string)
}

/// All of them on one line.
pub(crate) fn on_one_line(error: &(dyn Error + 'static)) -> String {
    causes(error).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn the_chain_is_told_from_the_outside_in() {
        let error = Outer("x".parse::<u8>().unwrap_err());
        assert_eq!(on_one_line(&error), "outer: invalid digit found in string");
        assert_eq!(causes(&error).count(), 2);
    }
}
