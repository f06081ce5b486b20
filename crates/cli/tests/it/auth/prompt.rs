//! Login on a terminal: prompts, echo, and the restored terminal settings.

use super::{Home, OWNER, me, refusal};
use crate::support::{Canned, SECRET, Sandbox, signal};
use crate::terminal::{CTRL_C, CTRL_D, Terminal};

/// Starts a login on a terminal and waits for the hidden prompt for the key.
fn at_the_prompt(home: &Home, base_url: &str, more: &[&str]) -> Terminal {
    let login = ["auth", "login", "--base-url", base_url];
    let command = home.formsvc(&[&login[..], more].concat());
    let mut terminal = Terminal::start(command, (80, 24));
    terminal.wait_for("API key");
    // The prompt appears shortly before the echo is disabled.
    terminal.wait_until_hidden();
    terminal
}

/// Asserts that the screen shows neither a part of the key nor its length.
#[track_caller]
fn assert_hidden(terminal: &Terminal, key: &str) {
    let raw = String::from_utf8_lossy(terminal.raw());
    let part = &key[4..12];
    assert!(!raw.contains(part) && !raw.contains("***"), "{raw}");
}

#[test]
fn terminal_login_hides_the_key_and_stores_it() {
    let (sandbox, home) = (Sandbox::start(&[]), Home::new());
    let key = &*sandbox.api_key;
    let mut terminal = at_the_prompt(&home, &sandbox.base_url, &[]);
    terminal.send(&format!("{key}\n"));
    // Without a keyring, login asks for consent to use the key file.
    terminal.wait_for("[y/N]");
    terminal.send("y\n");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.screen());
    terminal.assert_restored();
    assert_hidden(&terminal, key);
    let screen = terminal.screen();
    assert!(screen.contains(OWNER) && screen.contains("credentials.toml"), "{screen}");
    // The stored key is sufficient for later commands.
    assert!(home.succeed(&["auth", "status"]).contains(OWNER));
    assert_eq!(home.succeed(&["auth", "token"]), format!("{key}\n"));
    assert!(home.succeed(&["me"]).contains(OWNER));
}

#[test]
fn pasted_key_is_one_trimmed_line() {
    let service = Canned::start(vec![me()]);
    let home = Home::new();
    for paste in [format!("{SECRET}\r"), format!("  {SECRET} \n"), format!("{SECRET}\nls -la\n")] {
        let mut terminal = at_the_prompt(&home, &service.base_url, &["--store", "file"]);
        terminal.send(&paste);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.screen());
        assert_hidden(&terminal, SECRET);
        assert!(!terminal.screen().contains("ls -la"), "{}", terminal.screen());
        assert_eq!(home.succeed(&["auth", "token"]), format!("{SECRET}\n"));
        assert!(service.request().contains(SECRET));
    }
}

#[test]
fn ctrl_c_at_the_key_prompt_restores_the_terminal() {
    let home = Home::new();
    let mut terminal = at_the_prompt(&home, "http://127.0.0.1:9", &[]);
    assert!(!terminal.echoes());
    terminal.send("fsk_half");
    terminal.send(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
    terminal.assert_restored();
    assert!(!terminal.screen().contains("half"), "{}", terminal.screen());
    assert!(terminal.screen().ends_with("\nerror: interrupted"), "{}", terminal.screen());
    home.assert_untouched();
}

#[test]
fn sigterm_at_the_key_prompt_restores_the_terminal() {
    let home = Home::new();
    let mut terminal = at_the_prompt(&home, "http://127.0.0.1:9", &[]);
    signal(terminal.child(), "TERM");
    assert_eq!(terminal.finish(), Some(143));
    terminal.assert_restored();
}

#[test]
fn ctrl_c_at_a_confirmation_restores_the_terminal() {
    let service = Canned::start(vec![me()]);
    let home = Home::new();
    let mut terminal = at_the_prompt(&home, &service.base_url, &[]);
    terminal.send(&format!("{SECRET}\n"));
    terminal.wait_for("[y/N]");
    terminal.send(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
    terminal.assert_restored();
    home.assert_untouched();
}

#[test]
fn empty_key_at_the_prompt_is_exit_4() {
    let home = Home::new();
    for nothing in [CTRL_D, "\n"] {
        let mut terminal = at_the_prompt(&home, "http://127.0.0.1:9", &[]);
        terminal.send(nothing);
        assert_eq!(terminal.finish(), Some(4));
        terminal.assert_restored();
        assert!(
            terminal.screen().contains("the API key from the terminal is empty"),
            "{}",
            terminal.screen()
        );
    }
    home.assert_untouched();
}

#[test]
fn declined_key_file_names_the_other_ways() {
    let service = Canned::start(vec![me()]);
    let home = Home::new();
    for no in ["\n", "n\n", CTRL_D, "perhaps\n"] {
        let mut terminal = at_the_prompt(&home, &service.base_url, &[]);
        terminal.send(&format!("{SECRET}\n"));
        terminal.wait_for("[y/N]");
        terminal.send(no);
        assert_eq!(terminal.finish(), Some(4), "{}", terminal.screen());
        let said = terminal.screen().replace('\n', "");
        assert!(said.contains("FORMSVC_API_KEY"), "{said}");
        terminal.assert_restored();
    }
    home.assert_untouched();
}

#[test]
fn login_without_base_url_prompts_for_it() {
    let service = Canned::start(vec![me()]);
    let home = Home::new();
    let login = home.formsvc(&["auth", "login", "--store", "file"]);
    let mut terminal = Terminal::start(login, (80, 24));
    terminal.wait_for("Address of the service:");
    terminal.send(&format!("{}\n", service.base_url));
    terminal.wait_for("API key");
    terminal.wait_until_hidden();
    terminal.send(&format!("{SECRET}\n"));
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.screen());
    assert!(home.config().contains(&service.base_url), "{}", home.config());
    assert_hidden(&terminal, SECRET);
}

#[test]
fn refused_key_at_the_prompt_is_not_stored() {
    let service = Canned::start(vec![refusal()]);
    let home = Home::new();
    let mut terminal = at_the_prompt(&home, &service.base_url, &["--store", "file"]);
    terminal.send(&format!("{SECRET}\n"));
    assert_eq!(terminal.finish(), Some(4));
    assert_hidden(&terminal, SECRET);
    home.assert_untouched();
}

#[test]
fn no_input_disables_the_prompt() {
    let home = Home::new();
    let login = ["auth", "login", "--no-input", "--base-url", "http://127.0.0.1:9"];
    let mut terminal = Terminal::start(home.formsvc(&login), (80, 24));
    assert_eq!(terminal.finish(), Some(4));
    let said = terminal.screen().replace('\n', "");
    assert!(said.contains("--api-key-stdin"), "{said}");
    home.assert_untouched();
}

#[test]
fn login_to_another_service_asks_for_consent() {
    let (one, other) = (Canned::start(vec![me()]), Canned::start(vec![me()]));
    let home = Home::new();
    home.log_in("default", &one.base_url, SECRET, &[]);
    let before = home.config();
    let login = ["auth", "login", "--store", "file", "--base-url", &other.base_url];
    for (answer, code) in [("n\n", 2), ("y\n", 0)] {
        let mut terminal = Terminal::start(home.formsvc(&login), (100, 24));
        terminal.wait_for("[y/N]");
        assert_eq!(home.config(), before);
        terminal.send(answer);
        if code == 0 {
            terminal.wait_for("API key");
            terminal.wait_until_hidden();
            terminal.send("fsk_of_the_other_service_and_long_enough_to_be_one\n");
        }
        assert_eq!(terminal.finish(), Some(code), "{}", terminal.screen());
    }
    assert!(home.config().contains(&other.base_url), "{}", home.config());
    // The key of the previous service is removed.
    assert!(!home.kept().contains(SECRET), "{}", home.kept());
}

#[test]
fn token_on_a_terminal_needs_reveal() {
    let service = Canned::start(vec![me()]);
    let home = Home::new();
    home.log_in("default", &service.base_url, SECRET, &[]);
    let mut terminal = Terminal::start(home.formsvc(&["auth", "token"]), (80, 24));
    assert_eq!(terminal.finish(), Some(2));
    assert!(terminal.screen().contains("--reveal"), "{}", terminal.screen());
    assert_hidden(&terminal, SECRET);
    let mut terminal = Terminal::start(home.formsvc(&["auth", "token", "--reveal"]), (80, 24));
    assert_eq!(terminal.finish(), Some(0));
    assert_eq!(terminal.screen(), SECRET);
}

#[test]
fn api_key_stdin_on_a_terminal_is_hidden() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let args = ["me", "--api-key-stdin", "--base-url", &service.base_url];
    let mut terminal = Terminal::start(home.formsvc(&args), (80, 24));
    terminal.wait_for("API key");
    terminal.wait_until_hidden();
    terminal.send(&format!("{SECRET}\n"));
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.screen());
    assert_hidden(&terminal, SECRET);
    assert!(service.request().contains(SECRET));
}
