//! Where the delivery is that is judged: its body, and its headers.

use std::path::Path;

use bytes::Bytes;
use formsvc_protocol::signature::HEADER;

use super::{dump, record};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::webhook::capture::CaptureNumber;
use crate::webhook::payload::Place;
use crate::webhook::{kept, mask};

/// What is judged.
pub(super) struct Delivery {
    /// Its number, where it has one.
    pub(super) capture: Option<CaptureNumber>,
    pub(super) headers: Headers,
    pub(super) body: Bytes,
    /// When it came, in Unix seconds, where that is known.
    pub(super) came: Option<u64>,
}

/// Headers in their order: names in lower case, values as they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Headers(pub(super) Vec<(String, Vec<u8>)>);

/// Where it is.
pub(super) enum Source {
    /// A body.
    Body(Place),
    /// A whole request.
    Dump(Place),
    /// Lines that `webhook listen` wrote.
    Records(Place),
    /// What `webhook listen` received.
    Capture(CaptureNumber),
}

impl Headers {
    /// Those that were given: values of the signature header, or any header with its name.
    pub(super) async fn read(given: &[String], file: Option<&Path>) -> Result<Self, CliError> {
        let mut headers = Self(given.iter().map(|text| named(text)).collect());
        if let Some(path) = file {
            let bytes = Place::File(path.to_owned()).read().await?;
            let text = bytes.trim_ascii_end();
            headers.0.push(match std::str::from_utf8(text) {
                Ok(text) => named(text),
                Err(_) => (HEADER.to_owned(), text.to_vec()),
            });
        }
        Ok(headers)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values of the signature header.
    pub(super) fn signatures(&self) -> impl Iterator<Item = &[u8]> {
        self.all(HEADER)
    }

    /// The value of a header.
    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| &**value)
    }
}

/// `Name: value`, or the value of the signature header alone.
fn named(text: &str) -> (String, Vec<u8>) {
    let is_name = |name: &&str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    match text.split_once(':').filter(|(name, _)| is_name(name)) {
        Some((name, value)) => (name.to_ascii_lowercase(), value.trim().as_bytes().to_vec()),
        None => (HEADER.to_owned(), text.as_bytes().to_vec()),
    }
}

impl Source {
    /// A body, whose signature must have been given beside it.
    pub(super) fn body(place: Place, has_headers: bool) -> Result<Self, CliError> {
        if !has_headers {
            return Err(CliError::coded(Code::MissingArgument, "no signature to verify").hint(
                "give the value of X-Service-Signature with `--header` or `--signature-file`, or the \
                 whole request with `--http-dump`",
            ));
        }
        Ok(Self::Body(place))
    }

    /// Reads it: one delivery at least. What was given of headers stands in place of what came.
    pub(super) async fn read(
        &self,
        cx: &Context,
        given: Headers,
    ) -> Result<Vec<Delivery>, CliError> {
        let alone = |headers, body| Delivery { capture: None, headers, body, came: None };
        let mut deliveries = match self {
            Self::Body(place) => vec![alone(Headers::default(), place.read().await?)],
            Self::Dump(place) => {
                let (headers, body) = dump::read(&place.read().await?).map_err(|why| {
                    CliError::usage("this is no HTTP request")
                        .cause(why)
                        .hint("without `--http-dump` the file is the body alone")
                })?;
                vec![alone(headers, body)]
            }
            Self::Records(place) => record::read(&place.read().await?)?,
            Self::Capture(number) => vec![captured(cx, *number).await?],
        };
        for delivery in &mut deliveries {
            let came = &mut delivery.headers.0;
            came.retain(|(name, _)| given.0.iter().all(|(other, _)| other != name));
            came.extend(given.0.iter().cloned());
        }
        if deliveries.iter().any(|delivery| delivery.headers.signatures().any(mask::is_masked)) {
            return Err(CliError::usage("the signature is masked, and no longer one").hint(
                "`--reveal` of the command that wrote it shows it whole; or judge what was kept, with \
                 `--capture`",
            ));
        }
        Ok(deliveries)
    }
}

async fn captured(cx: &Context, number: CaptureNumber) -> Result<Delivery, CliError> {
    let captures = kept::captures(cx).await?.ok_or_else(|| kept::missing(number))?;
    let received = &kept::get(&captures, number).await?.received;
    let headers = received.headers.iter();
    Ok(Delivery {
        capture: Some(number),
        headers: Headers(
            headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect(),
        ),
        body: received.body.clone(),
        came: u64::try_from(received.at.as_second()).ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_given_with_its_name_or_is_the_signature() {
        for (text, name, value) in [
            ("t=1,v1=ab", HEADER, "t=1,v1=ab"),
            ("X-Service-Signature: t=1,v1=ab", HEADER, "t=1,v1=ab"),
            ("Content-Length:12", "content-length", "12"),
            ("t=2026-01-01T00:00:00Z,v1=ab", HEADER, "t=2026-01-01T00:00:00Z,v1=ab"),
            (" t=1", HEADER, " t=1"),
        ] {
            assert_eq!(named(text), (name.to_owned(), value.as_bytes().to_vec()));
        }
    }
}
