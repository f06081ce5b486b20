//! The address of a service. What can be one is the client's to say, so that what a file, a flag and a
//! store take for one is what requests go to.

use formsvc_client::BaseUrl;

use crate::error::CliError;

/// Reads an address. The error does not repeat one that may hold a password.
pub(crate) fn read(text: &str) -> Result<BaseUrl, CliError> {
    match BaseUrl::parse(text) {
        Ok(address) => Ok(address),
        Err(_) if !text.contains("://") => Err(without_scheme(text.trim())),
        Err(error) => {
            // Here as in flags and settings it is the address of a service.
            let rule = error.to_string().replace("the base URL", "the service address");
            Err(CliError::usage(rule).hint(FORM))
        }
    }
}

/// What an address looks like.
const FORM: &str = "an address is https://…, or http://… on this machine, without /api/v1";

/// A scheme is most often the only thing that it lacks.
fn without_scheme(bare: &str) -> CliError {
    let error = CliError::usage("the service address has no scheme");
    let whole = ["http", "https"].map(|scheme| format!("{scheme}://{bare}"));
    // With a password in it there is none that could be meant.
    match whole.iter().find(|whole| BaseUrl::parse(whole).is_ok()) {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error.hint(FORM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_for_names_and_numbers_of_this_machine_alone() {
        for here in ["forms.localhost", "localhost:8080", "127.0.0.1:1", "127.1", "[::1]/x"] {
            assert!(read(&format!("http://{here}")).unwrap().is_loopback(), "{here}");
        }
        for elsewhere in
            ["127.evil.example", "localhost.evil.example", "[::1].evil.example", "10.1"]
        {
            assert!(read(&format!("http://{elsewhere}")).is_err(), "{elsewhere}");
        }
    }

    #[test]
    fn the_scheme_that_is_missing_is_the_one_that_would_do() {
        for (bare, meant) in [
            ("forms.example", "https://forms.example"),
            ("127.evil.example", "https://127.evil.example"),
            ("forms.localhost:8080", "http://forms.localhost:8080"),
            ("127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
            ("[::1]:1", "http://[::1]:1"),
        ] {
            let error = read(bare).unwrap_err();
            assert_eq!(error.advice(), Some(format!("did you mean `{meant}`?").as_str()));
        }
        for nothing in ["", " ", "user:p4ss@forms.example", "a b"] {
            let error = read(nothing).unwrap_err();
            assert_eq!(error.advice(), Some(FORM), "{nothing}");
            assert!(!error.told().contains("p4ss"));
        }
    }
}
