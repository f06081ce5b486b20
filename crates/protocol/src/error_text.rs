//! Errors that have a text and no cause.

/// Implements `Display`, by a function that returns the text, and `Error`.
macro_rules! error_text {
    ($error:ident, $text:expr) => {
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let text: fn(&Self) -> &str = $text;
                f.write_str(text(self))
            }
        }

        impl std::error::Error for $error {}
    };
}

pub(crate) use error_text;
