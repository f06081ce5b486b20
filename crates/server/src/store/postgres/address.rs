//! What an address says of TLS, beyond what the client library reads of it: whom to trust.

use std::path::PathBuf;

use crate::percent::{Plus, decode};

/// What `sslrootcert` names when it means whom the system trusts.
const SYSTEM: &str = "system";

/// An address, as the client library reads it.
pub(super) struct Address {
    pub(super) text: String,
    /// PEM file with the only authorities to trust; none: those of the system.
    pub(super) roots: Option<PathBuf>,
}

/// The address asks for something that is not done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It cannot be read.
    Unreadable,
    /// The name of a host is always checked, so that less is not to be had.
    VerifyCa,
}

impl Address {
    /// Takes `sslrootcert` out, and makes `sslmode=verify-full` what is the same here: TLS that is insisted
    /// on is always checked in full. Whoever says whom to trust insists on it, unless they say otherwise.
    pub(super) fn read(text: &str) -> Result<Self, Refused> {
        let Some((place, parameters)) = text.split_once('?') else {
            return Ok(Self { text: text.to_owned(), roots: None });
        };
        let (mut kept, mut roots) = (Vec::new(), None);
        let names = || parameters.split('&').filter_map(|parameter| parameter.split_once('='));
        if names().any(|(name, _)| name == "sslrootcert")
            && names().all(|(name, _)| name != "sslmode")
        {
            kept.push("sslmode=require");
        }
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslrootcert", value)) => {
                    let path = decode(value, Plus::IsItself).ok_or(Refused::Unreadable)?;
                    roots = (path != SYSTEM).then(|| PathBuf::from(path.into_owned()));
                }
                Some(("sslmode", "verify-full")) => kept.push("sslmode=require"),
                Some(("sslmode", "verify-ca")) => return Err(Refused::VerifyCa),
                _ => kept.push(parameter),
            }
        }
        Ok(Self { text: format!("{place}?{}", kept.join("&")), roots })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_to_trust_is_taken_out_of_an_address() {
        for (text, left, roots) in [
            ("postgres://u@h/d", "postgres://u@h/d", None),
            ("postgres://h/d?sslmode=require", "postgres://h/d?sslmode=require", None),
            ("postgres://h?sslmode=verify-full&a=b", "postgres://h?sslmode=require&a=b", None),
            (
                "postgres://h?a=b&sslrootcert=%2Fx+y%20z",
                "postgres://h?sslmode=require&a=b",
                Some("/x+y z"),
            ),
            ("postgres://h?sslrootcert=system", "postgres://h?sslmode=require", None),
            (
                "postgres://h?sslrootcert=/x&sslmode=prefer",
                "postgres://h?sslmode=prefer",
                Some("/x"),
            ),
        ] {
            let Ok(address) = Address::read(text) else { panic!("{text}") };
            assert_eq!((address.text.as_str(), address.roots), (left, roots.map(PathBuf::from)));
        }
        for (text, refused) in [
            ("postgres://h?sslmode=verify-ca", Refused::VerifyCa),
            ("postgres://h?sslrootcert=%x", Refused::Unreadable),
        ] {
            assert_eq!(Address::read(text).err(), Some(refused), "{text}");
        }
    }
}
