//! The profile's `api_key_command`: a program, such as a password manager, that prints the key.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use super::given;
use crate::base::child;
use crate::error::CliError;
use crate::exit::Exit;

/// Time limit of the program, which may ask for a pass phrase.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the program and returns the key that it prints. The program has standard input only if prompts are
/// possible.
pub(crate) async fn run(words: &[String], may_ask: bool) -> Result<SecretString, CliError> {
    run_within(LIMIT, words, may_ask).await
}

async fn run_within(
    limit: Duration,
    words: &[String],
    may_ask: bool,
) -> Result<SecretString, CliError> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(CliError::usage("`api_key_command` names no program"));
    };
    let mut command = Command::from(child::command(program));
    command.args(arguments).stdout(Stdio::piped()).kill_on_drop(true);
    command.stdin(if may_ask { Stdio::inherit() } else { Stdio::null() });
    let mut child = command.spawn().map_err(|error| {
        failed(program, "cannot be run").because(&error).hint("is it installed, and on the PATH?")
    })?;
    let text = match tokio::time::timeout(limit, output(&mut child)).await {
        Err(_) => return Err(failed(program, &format!("did not end within {limit:?}"))),
        Ok(Err(error)) => return Err(failed(program, "cannot be read from").because(&error)),
        Ok(Ok((_, None))) => {
            let what = format!("printed more than {} bytes, which no API key has", given::MAX);
            return Err(failed(program, &what));
        }
        Ok(Ok((_, Some(status)))) if !status.success() => {
            return Err(failed(program, "failed").cause(status.to_string()).hint(
                "run the command by itself to see why; it must print only the key on standard output",
            ));
        }
        Ok(Ok((text, Some(_)))) => text,
    };
    let text = std::str::from_utf8(&text).map_err(|_| failed(program, "printed no text"))?;
    given::only_one(&given::API_KEY, text, &format!("`{program}` (`api_key_command`)"))
}

/// Returns the output and the exit status; no status if the output is too long.
async fn output(child: &mut Child) -> std::io::Result<(Zeroizing<Vec<u8>>, Option<ExitStatus>)> {
    // The buffer has its full size from the start: a buffer that grows leaves copies in memory.
    let mut text =
        Zeroizing::new(Vec::with_capacity(2 * usize::try_from(given::MAX).unwrap_or(4096)));
    if let Some(stdout) = child.stdout.take() {
        stdout.take(given::MAX + 1).read_to_end(&mut text).await?;
    }
    let status = if text.len() as u64 > given::MAX { None } else { Some(child.wait().await?) };
    Ok((text, status))
}

fn failed(program: &str, what: &str) -> CliError {
    CliError::new(Exit::Auth, format!("no API key: `{program}` (`api_key_command`) {what}"))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    async fn shell(script: &str) -> Result<String, String> {
        let words = ["sh", "-c", script].map(str::to_owned);
        match run(&words, false).await {
            Ok(key) => Ok(key.expose_secret().to_owned()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    #[tokio::test]
    async fn output_of_the_command_is_the_key() {
        assert_eq!(shell("echo '  fsk_1 '; echo").await.unwrap(), "fsk_1");
        // Its standard input is empty, and no shell expands its arguments.
        assert_eq!(shell("cat; echo fsk_2").await.unwrap(), "fsk_2");
        let words = ["echo", "$HOME;`id`;"].map(str::to_owned);
        let key = run(&words, false).await.unwrap();
        assert_eq!(key.expose_secret(), "$HOME;`id`;");
    }

    #[tokio::test]
    async fn failure_is_reported_without_the_output() {
        for (script, reported) in [
            ("echo SECRET; exit 3", "exit status: 3"),
            ("echo SECRET; kill -9 $$", "signal: 9"),
            ("echo two SECRET", "more than one word"),
            ("echo SECRET; echo SECRET", "more than one word"),
            ("printf 'SECRET\\001'", "U+0001"),
            ("printf 'SECRET\\377'", "no text"),
            ("exit 0", "is empty"),
            ("yes SECRET", "more than 4096 bytes"),
        ] {
            let error = shell(script).await.unwrap_err();
            assert!(error.contains(reported), "{script}: {error}");
            assert!(!error.contains("SECRET"), "{script}: {error}");
        }
        let words = ["./no/such/program".to_owned()];
        let error = format!("{:?}", run(&words, false).await.unwrap_err());
        assert!(error.contains("no/such/program"), "{error}");
    }

    #[tokio::test]
    async fn command_is_ended_after_its_time_limit() {
        let words = ["sh", "-c", "read never < /dev/zero"].map(str::to_owned);
        let ended = run_within(Duration::from_millis(1), &words, false).await;
        let error = format!("{:?}", ended.unwrap_err());
        assert!(error.contains("did not end within 1ms"), "{error}");
    }
}
