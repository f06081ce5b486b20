//! A form filled with generated submissions, for trying things out and for tests: the same options
//! give the same bytes, in every release.
//!
//! What is in them: about 12 answers and 300–500 bytes a submission; text in many scripts; lists;
//! nested objects; numbers that no float holds; missing and null answers; texts that spreadsheets
//! take for formulas, with control and bidi characters; submissions of one millisecond; answers of
//! 1 MiB; and a label that only the oldest submissions have, so that a reader who pages newest first
//! meets it last.

mod generator;
mod rng;
mod visitor;
mod words;

use formsvc_protocol::{Form, FormStatus, PublicId, UserId};

pub use generator::Generator;
pub use visitor::Visitor;

use crate::admin::{Admin, AdminError, FormOptions, new_form};
use crate::staging::{LoadError, Stopped, load};
use crate::store::StoreError;

/// What to generate.
#[derive(Clone, Debug)]
pub struct SeedOptions {
    /// How many submissions.
    pub submissions: u64,
    /// Which; two forms seeded with one number in one store would have the same submission ids, so
    /// the public id is mixed in.
    pub seed: u64,
    /// Public id of the form.
    pub public_id: PublicId,
    /// Title of the form.
    pub title: String,
    /// Whether every 10 000th submission has an answer of 1 MiB.
    pub large_answers: bool,
}

impl SeedOptions {
    /// A form of so many submissions, with seed 1 and large answers.
    pub fn new(public_id: PublicId, submissions: u64) -> Self {
        let title = format!("Seeded form {public_id}");
        Self { submissions, seed: 1, public_id, title, large_answers: true }
    }

    /// What will be generated, oldest first.
    pub fn generator(&self) -> Generator {
        // FNV-1a, spelled out because it must stay the same.
        let mixed = self.public_id.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Generator::new(self.seed ^ mixed, self.submissions, self.large_answers)
    }
}

/// Makes a published form and fills it, whole or not at all.
pub async fn seed_form(
    admin: &Admin,
    user: &UserId,
    options: &SeedOptions,
) -> Result<Form, AdminError> {
    let form = FormOptions {
        public_id: Some(options.public_id.clone()),
        title: options.title.clone(),
        status: FormStatus::Published,
    };
    let generator = options.generator();
    let produce = move |sink: &mut crate::staging::Sink| -> Result<(), Stopped> {
        for submission in generator {
            sink.push(submission)?;
        }
        Ok(())
    };
    match load(admin.store(), new_form(user, form)?, produce).await {
        Ok((form, _)) => Ok(form),
        Err(LoadError::Store(error)) => Err(error.into()),
        // It stops only when the store has failed, and then the store's error is the outcome.
        Err(LoadError::Producer(Stopped)) => Err(StoreError::Unavailable(None).into()),
    }
}

#[cfg(test)]
mod tests;
