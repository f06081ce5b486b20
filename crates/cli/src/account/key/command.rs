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

/// Longest time a program may take; somebody may be typing a pass phrase.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the program and takes what it prints. Whether it may ask somebody decides whether it has standard
/// input.
pub(super) async fn run(words: &[String], may_ask: bool) -> Result<SecretString, CliError> {
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
    // A group of its own is ended whole; but on a terminal, only the group of this program may ask.
    command.stdin(if may_ask { Stdio::inherit() } else { Stdio::null() });
    #[cfg(unix)]
    if !may_ask {
        command.process_group(0);
    }
    let mut child = command.spawn().map_err(|error| {
        failed(program, "cannot be run").because(&error).hint("is it installed, and on the PATH?")
    })?;
    let mut group = Group::of(&child, may_ask);
    let ended = tokio::time::timeout(limit, output(&mut child)).await;
    let (text, status) = match ended {
        Err(_) => {
            let what = format!("did not end within {limit:?}");
            return Err(failed(program, &what));
        }
        Ok(Err(error)) => return Err(failed(program, "cannot be read from").because(&error)),
        Ok(Ok((_, None))) => {
            let what = format!("printed more than {} bytes, which no API key has", given::MAX);
            return Err(failed(program, &what));
        }
        Ok(Ok((text, Some(status)))) => {
            group.has_ended();
            (text, status)
        }
    };
    if !status.success() {
        return Err(failed(program, "failed").cause(told(status)).hint(
            "run the command by itself to see why; it must print the key alone on standard output",
        ));
    }
    let text = std::str::from_utf8(&text).map_err(|_| failed(program, "printed no text"))?;
    given::only_one(&given::API_KEY, text, &format!("`{program}` (`api_key_command`)"))
}

/// Everything it prints, and how it ended; no end when it prints too much.
async fn output(child: &mut Child) -> std::io::Result<(Zeroizing<Vec<u8>>, Option<ExitStatus>)> {
    // Room for all of it: what grows leaves copies behind.
    let mut text =
        Zeroizing::new(Vec::with_capacity(2 * usize::try_from(given::MAX).unwrap_or(4096)));
    if let Some(stdout) = child.stdout.take() {
        stdout.take(given::MAX + 1).read_to_end(&mut text).await?;
    }
    let status = if text.len() as u64 > given::MAX { None } else { Some(child.wait().await?) };
    Ok((text, status))
}

/// The processes that the program started. Those that still run when this is dropped, before the program
/// itself has ended, end with it.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    fn of(child: &Child, shared: bool) -> Self {
        let id = child.id().filter(|_| !shared).and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    #[cfg(not(unix))]
    fn of(_: &Child, _: bool) -> Self {
        Self {}
    }

    /// What the program left running, it meant to.
    fn has_ended(&mut self) {
        #[cfg(unix)]
        {
            self.leader = None;
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // Gone already is as good.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

fn failed(program: &str, what: &str) -> CliError {
    CliError::new(Exit::Auth, format!("no API key: `{program}` (`api_key_command`) {what}"))
}

fn told(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("it was ended by signal {signal}");
    }
    status.code().map_or_else(|| "it failed".to_owned(), |code| format!("its exit code was {code}"))
}

#[cfg(all(test, unix))]
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
    async fn how_it_failed_is_told_and_nothing_it_printed_is() {
        for (script, told) in [
            ("echo SECRET; exit 3", "exit code was 3"),
            ("echo SECRET; kill -9 $$", "signal 9"),
            ("echo two SECRET", "more than one word"),
            ("echo SECRET; echo SECRET", "more than one word"),
            ("printf 'SECRET\\001'", "U+0001"),
            ("printf 'SECRET\\377'", "no text"),
            ("exit 0", "is empty"),
            ("yes SECRET", "more than 4096 bytes"),
        ] {
            let error = shell(script).await.unwrap_err();
            assert!(error.contains(told), "{script}: {error}");
            assert!(!error.contains("SECRET"), "{script}: {error}");
        }
        let words = ["./no/such/program".to_owned()];
        let error = format!("{:?}", run(&words, false).await.unwrap_err());
        assert!(error.contains("no/such/program"), "{error}");
    }

    #[tokio::test]
    async fn one_that_does_not_end_is_not_waited_for() {
        let words = ["sh", "-c", "read never < /dev/zero"].map(str::to_owned);
        let ended = run_within(Duration::from_millis(1), &words, false).await;
        let error = format!("{:?}", ended.unwrap_err());
        assert!(error.contains("did not end within 1ms"), "{error}");
    }

    #[tokio::test]
    async fn one_that_is_not_waited_for_any_more_ends_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let (pid, pipe) = (folder.path().join("pid"), folder.path().join("pipe"));
        // What it starts holds its output open, and has nothing to read as long as it lives.
        let script = format!(
            "mkfifo {1}; (read never <> {1}) & echo $! > {0}.new; mv {0}.new {0}; wait",
            pid.display(),
            pipe.display()
        );
        let words = ["sh".to_owned(), "-c".to_owned(), script];
        let running = tokio::spawn(async move { run(&words, false).await });
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while !pid.exists() {
            assert!(std::time::Instant::now() < deadline, "the program did not start");
            tokio::task::yield_now().await;
        }
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        let stat = format!("/proc/{}/stat", std::fs::read_to_string(&pid).unwrap().trim());
        // Killed, and perhaps not yet collected by whoever inherits it.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(std::time::Instant::now() < deadline, "what it started lives on");
            std::thread::yield_now();
        }
    }
}
