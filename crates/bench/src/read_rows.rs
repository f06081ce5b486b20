//! The client SDK, as a user would call it: the hidden subcommand `read-rows`.

use formsvc_client::{Client, RateLimit};
use serde_json::{Map, Value};

use crate::error::{BenchError, Context};
use crate::{load, sandbox};

/// Reads every submission of a form and decodes its answers. Fails unless there are `expected` of them.
pub(crate) fn run(form: &str, expected: u64) -> Result<(), BenchError> {
    let variable = |name| std::env::var(name).context(format_args!("cannot read `{name}`"));
    let (base_url, key) = (variable(sandbox::BASE_URL)?, variable(sandbox::API_KEY)?);
    let client = Client::builder().base_url(&base_url).api_key(key);
    let client = client.rate_limit(RateLimit::off()).build().context("cannot make a client")?;
    let read = load::runtime()?.block_on(async {
        let mut submissions = client.form(form).submissions().items();
        let mut read = 0;
        while let Some(submission) = submissions.try_next().await.context("cannot read the form")? {
            std::hint::black_box(
                submission.data.to::<Map<String, Value>>().context("cannot decode a submission")?,
            );
            read += 1;
        }
        Ok(read)
    })?;
    if read == expected {
        return Ok(());
    }
    Err(BenchError::new(format!("read {read} of {expected} rows")))
}
