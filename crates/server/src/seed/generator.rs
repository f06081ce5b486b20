//! The submissions of a seeded form.

use std::fmt::Write;

use formsvc_protocol::{Answers, FormInstant, SubmissionId};

use super::rng::Rng;
use super::words::{AWKWARD, CHANNELS, COUNTRIES, FAMILY, GIVEN, SENTENCES, STREETS};
use crate::json_text::json_text;
use crate::store::StagedSubmission;

/// The oldest submission is made at 2020-01-01T00:00:00Z.
const START_MICROS: i64 = 1_577_836_800_000_000;
/// Every so many submissions, one has a 1 MiB answer.
const LARGE_EVERY: u64 = 10_000;
const LARGE_BYTES: usize = 1 << 20;
/// One in so many of the oldest submissions has the label the others lack.
const LEGACY_PART: u64 = 1_000;

/// Makes submissions, oldest first; the same parameters give the same bytes.
#[derive(Clone, Debug)]
pub struct Generator {
    rng: Rng,
    micros: i64,
    made: u64,
    total: u64,
    large_answers: bool,
}

impl Generator {
    /// A generator of `total` submissions.
    pub fn new(seed: u64, total: u64, large_answers: bool) -> Self {
        Self { rng: Rng::new(seed), micros: START_MICROS, made: 0, total, large_answers }
    }

    /// The next instant: mostly seconds after the last, one in eight within the same millisecond.
    fn advance(&mut self) -> FormInstant {
        let gap = if self.rng.one_in(8) {
            1
        } else {
            let to_next_ms = 1_000 - self.micros.rem_euclid(1_000);
            let ms = self.rng.below(20_000);
            to_next_ms + 1_000 * i64::try_from(ms).expect("below 20 000")
        };
        self.micros += gap;
        FormInstant::from_micros(self.micros)
    }

    fn id(&mut self) -> SubmissionId {
        // The layout of a UUID of version 7, with the time of the submission.
        let ms = u64::try_from(self.micros / 1_000).expect("after 1970");
        let high = ms << 16 | 0x7000 | (self.rng.next() >> 52);
        let low = 1 << 63 | (self.rng.next() >> 2);
        let mut bits = [0; 16];
        bits[..8].copy_from_slice(&high.to_be_bytes());
        bits[8..].copy_from_slice(&low.to_be_bytes());
        SubmissionId::from_bits(bits)
    }

    fn answers(&mut self) -> Answers {
        let mut object = Object::new();
        self.person(&mut object);
        self.numbers(&mut object);
        self.choices(&mut object);
        self.texts(&mut object);
        if self.made <= (self.total / LEGACY_PART).max(1) {
            object.text("Legacy code", &format!("L-{:06}", self.made));
        }
        object.finish()
    }

    fn person(&mut self, object: &mut Object) {
        let (given, family) = (self.rng.pick(GIVEN), self.rng.pick(FAMILY));
        object.text("Name", &format!("{given} {family}"));
        object.text("E-mail", &format!("user{}@example.org", self.rng.below(1_000_000)));
        if self.rng.one_in(4) {
            let (year, month, day) =
                (1940 + self.rng.below(70), 1 + self.rng.below(12), 1 + self.rng.below(28));
            object.text("Date of birth", &format!("{year}-{month:02}-{day:02}"));
        }
        object.text("Country", self.rng.pick(COUNTRIES));
        match self.rng.below(16) {
            0 => object.raw("Address", "null"),
            1 | 2 => {
                let mut address = Object::new();
                let street = self.rng.pick(STREETS);
                address.text("street", &format!("{street} {}", 1 + self.rng.below(200)));
                address.text("postcode", &format!("{:05}", self.rng.below(100_000)));
                object.raw("Address", address.finish().as_json());
            }
            _ => {}
        }
    }

    fn numbers(&mut self, object: &mut Object) {
        object.raw("Rating", &(1 + self.rng.below(5)).to_string());
        let mut amount = String::new();
        if self.rng.one_in(10) {
            amount.push('-');
        }
        let len = 1 + self.rng.below(5);
        self.rng.digits(len, &mut amount);
        let cents = self.rng.below(100);
        write!(amount, ".{cents:02}").expect("a string takes any text");
        object.raw("Amount", &amount);
        // Beyond 2^53: a reader that goes through a float changes it.
        let mut order = String::new();
        let len = 17 + self.rng.below(6);
        self.rng.digits(len, &mut order);
        object.raw("Order number", &order);
        if self.rng.one_in(8) {
            let mut measure = String::from("0.");
            let len = 18 + self.rng.below(15);
            self.rng.digits(len, &mut measure);
            if self.rng.one_in(8) {
                measure.push_str("00e-7");
            }
            object.raw("Exact measure", &measure);
        }
    }

    fn choices(&mut self, object: &mut Object) {
        let mut chosen = String::from("[");
        for _ in 0..self.rng.below(4) {
            if chosen.len() > 1 {
                chosen.push(',');
            }
            chosen.push_str(&json_text(self.rng.pick(CHANNELS)));
        }
        chosen.push(']');
        object.raw("How did you hear about us?", &chosen);
        if self.rng.one_in(2) {
            object.raw("I agree to the terms", if self.rng.one_in(20) { "false" } else { "true" });
        }
    }

    fn texts(&mut self, object: &mut Object) {
        if self.rng.one_in(6) {
            let text = self.rng.pick(AWKWARD);
            object.text("Reference, \"yours\"", text);
        }
        if self.large_answers && self.made.is_multiple_of(LARGE_EVERY) {
            let sentence = self.rng.pick(SENTENCES);
            let mut text = sentence.repeat(LARGE_BYTES / sentence.len());
            text.extend(std::iter::repeat_n('.', LARGE_BYTES - text.len()));
            object.text("Comment", &text);
        } else if self.rng.one_in(2) {
            let mut text = String::new();
            for _ in 0..=self.rng.below(3) {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(self.rng.pick(SENTENCES));
            }
            object.text("Comment", &text);
        }
    }
}

impl Iterator for Generator {
    type Item = StagedSubmission;

    fn next(&mut self) -> Option<StagedSubmission> {
        if self.made == self.total {
            return None;
        }
        self.made += 1;
        let at = self.advance();
        Some(StagedSubmission { id: self.id(), at: Some(at), answers: self.answers() })
    }
}

/// A JSON object being written.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self(String::from("{"))
    }

    fn raw(&mut self, label: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&json_text(label));
        self.0.push(':');
        self.0.push_str(value);
    }

    fn text(&mut self, label: &str, value: &str) {
        self.raw(label, &json_text(value));
    }

    fn finish(mut self) -> Answers {
        self.0.push('}');
        Answers::parse(self.0).expect("every part is JSON")
    }
}
