//! The texts that may have been signed instead of `<t>.<body>`.

use sha2::{Digest, Sha256, Sha384, Sha512};

use hmac::{Hmac, KeyInit, Mac};

use super::hypothesis::Hypothesis;
use super::secret::Key;

/// A piece of what was signed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    /// The header's `t`.
    T,
    /// A thousand times that.
    Millis,
    /// A thousandth of that.
    Seconds,
    /// The body.
    Body,
    /// The `submission_id` of the body.
    Id,
    /// The key itself.
    Key,
    /// This.
    Text(&'static str),
}

/// How a MAC was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    HmacSha256,
    HmacSha384,
    HmacSha512,
    /// A hash, and no MAC.
    Sha256,
}

/// What was signed, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recipe {
    pub(super) hypothesis: Hypothesis,
    /// What it is, for people.
    pub(super) what: &'static str,
    pieces: &'static [Piece],
    algorithm: Algorithm,
}

const fn of(hypothesis: Hypothesis, what: &'static str, pieces: &'static [Piece]) -> Recipe {
    Recipe { hypothesis, what, pieces, algorithm: Algorithm::HmacSha256 }
}

const fn by(algorithm: Algorithm, what: &'static str, pieces: &'static [Piece]) -> Recipe {
    Recipe { hypothesis: Hypothesis::SignedAlgorithm, what, pieces, algorithm }
}

use Algorithm::{HmacSha384, HmacSha512};
use Hypothesis as H;
use Piece::{Body, Id, Key as K, Millis, Seconds, T, Text};

/// What is tried, the likeliest first.
pub(super) const RECIPES: &[Recipe] = &[
    of(H::SignedBodyOnly, "<body>", &[Body]),
    of(H::SignedUnit, "<t in milliseconds>.<body>", &[Millis, Text("."), Body]),
    of(H::SignedUnit, "<t in seconds>.<body>", &[Seconds, Text("."), Body]),
    of(H::SignedSeparator, "<t><body>", &[T, Body]),
    of(H::SignedSeparator, "<t>:<body>", &[T, Text(":"), Body]),
    of(H::SignedSeparator, "<t>,<body>", &[T, Text(","), Body]),
    of(H::SignedSeparator, "<t>;<body>", &[T, Text(";"), Body]),
    of(H::SignedSeparator, "<t>|<body>", &[T, Text("|"), Body]),
    of(H::SignedSeparator, "<t>-<body>", &[T, Text("-"), Body]),
    of(H::SignedSeparator, "<t>_<body>", &[T, Text("_"), Body]),
    of(H::SignedSeparator, "<t> <body>", &[T, Text(" "), Body]),
    of(H::SignedSeparator, "<t>, a line feed, <body>", &[T, Text("\n"), Body]),
    of(H::SignedOrder, "<body>.<t>", &[Body, Text("."), T]),
    of(H::SignedOrder, "<body><t>", &[Body, T]),
    of(H::SignedWords, "t=<t>.<body>", &[Text("t="), T, Text("."), Body]),
    of(H::SignedWords, "t=<t>,<body>", &[Text("t="), T, Text(","), Body]),
    of(H::SignedWords, "v1:<t>:<body>", &[Text("v1:"), T, Text(":"), Body]),
    of(H::SignedWords, "v1.<t>.<body>", &[Text("v1."), T, Text("."), Body]),
    of(H::SignedWords, "v0:<t>:<body>", &[Text("v0:"), T, Text(":"), Body]),
    of(H::SignedWords, "<submission_id>.<t>.<body>", &[Id, Text("."), T, Text("."), Body]),
    by(HmacSha512, "HMAC-SHA512", &[T, Text("."), Body]),
    by(HmacSha384, "HMAC-SHA384", &[T, Text("."), Body]),
    by(Algorithm::Sha256, "SHA-256 of <secret><t>.<body>", &[K, T, Text("."), Body]),
    by(Algorithm::Sha256, "SHA-256 of <secret>.<t>.<body>", &[K, Text("."), T, Text("."), Body]),
    by(Algorithm::Sha256, "SHA-256 of <t>.<body><secret>", &[T, Text("."), Body, K]),
    by(Algorithm::Sha256, "SHA-256 of <t>.<body>", &[T, Text("."), Body]),
    by(Algorithm::Sha256, "SHA-256 of <secret><body>", &[K, Body]),
];

/// What the pieces stand for.
pub(super) struct Parts<'a> {
    pub(super) t: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) body: &'a [u8],
}

impl Recipe {
    /// Whether the key plays a part in it.
    pub(super) fn has_key(&self) -> bool {
        self.algorithm != Algorithm::Sha256 || self.pieces.iter().any(|piece| matches!(piece, K))
    }

    /// Its result; none where it needs what is not there.
    pub(super) fn digest(&self, key: &Key, parts: &Parts<'_>) -> Option<Vec<u8>> {
        let number = parts.t.and_then(|t| t.parse::<u64>().ok());
        let millis = number.and_then(|t| t.checked_mul(1000)).map(|t| t.to_string());
        let seconds = number.filter(|t| *t >= 1000).map(|t| (t / 1000).to_string());
        let mut slices = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            slices.push(match piece {
                T => parts.t?.as_bytes(),
                Millis => millis.as_ref()?.as_bytes(),
                Seconds => seconds.as_ref()?.as_bytes(),
                Body => parts.body,
                Id => parts.id?.as_bytes(),
                K => &key.bytes,
                Text(text) => text.as_bytes(),
            });
        }
        Some(match self.algorithm {
            Algorithm::HmacSha256 => key.keyed.mac(&slices).to_vec(),
            HmacSha384 => hmac::<Hmac<Sha384>>(&key.bytes, &slices),
            HmacSha512 => hmac::<Hmac<Sha512>>(&key.bytes, &slices),
            Algorithm::Sha256 => {
                let mut hash = Sha256::new();
                for slice in slices {
                    hash.update(slice);
                }
                hash.finalize().to_vec()
            }
        })
    }
}

fn hmac<M: Mac + KeyInit>(key: &[u8], slices: &[&[u8]]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes a key of any length");
    for slice in slices {
        mac.update(slice);
    }
    mac.finalize().into_bytes().to_vec()
}
