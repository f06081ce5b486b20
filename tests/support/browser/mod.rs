//! A real browser: headless Chromium, controlled through its driver. It records requests, console messages
//! and dialogs of pages.

mod command;
mod driver;
mod payloads;
mod watch;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};

use command::Command;
use driver::Driver;
pub use payloads::{MARK, payloads};
pub use watch::Seen;

/// Environment variable that makes a missing browser a failure instead of a skipped test.
pub const REQUIRE: &str = "FORMSVC_REQUIRE_BROWSER";
/// Time limit of waits for a page on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The screen of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// 390 × 844.
    Phone,
    /// 1440 × 900.
    Desktop,
}

/// The color scheme that the system of the visitor prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// A browser with one tab and a temporary profile.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    // Dropped after the client: the browser ends with its driver.
    _driver: Driver,
}

impl Browser {
    /// Starts a browser; `None` if there is none. In that case it prints that the test is skipped.
    ///
    /// # Panics
    ///
    /// Panics if the browser does not start, or if there is none and the variable [`REQUIRE`] is `1`.
    pub async fn or_skip() -> Option<Self> {
        let Some(programs) = driver::Programs::find() else {
            let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
            assert!(
                !required,
                "Chromium and its driver are missing, and {REQUIRE}=1 requires them"
            );
            let _ = std::io::stderr()
                .write_all(b"skipped: Chromium and its driver are not installed\n");
            return None;
        };
        let driver = Driver::start(&programs).await;
        let mut builder =
            ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        let wanted = driver::capabilities(&programs);
        builder.capabilities(wanted.as_object().expect("an object").clone().into_iter().collect());
        let client = builder.connect(&driver.url()).await.expect("the browser starts");
        Some(Self { client, _driver: driver })
    }

    /// Closes the browser.
    pub async fn close(self) {
        self.client.close().await.expect("the browser closes");
    }

    /// Opens a URL.
    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// Returns the URL of the current page.
    pub async fn url(&self) -> String {
        self.client.current_url().await.expect("a page is open").to_string()
    }

    /// Returns the title of the current page.
    pub async fn title(&self) -> String {
        self.client.title().await.expect("a page is open")
    }

    /// Returns the visible text of the page.
    pub async fn text(&self) -> String {
        self.client.find(Locator::Css("body")).await.expect("a body").text().await.expect("text")
    }

    /// Waits for the first element that matches a CSS selector.
    pub async fn find(&self, selector: &str) -> Element {
        let found = self.client.wait().at_most(PATIENCE).for_element(Locator::Css(selector)).await;
        match found {
            Ok(element) => element,
            Err(error) => {
                panic!("{selector}: {error}\n{}\n{}", self.url().await, self.text().await)
            }
        }
    }

    /// Counts the elements that match a CSS selector now.
    pub async fn count(&self, selector: &str) -> usize {
        self.client.find_all(Locator::Css(selector)).await.expect("a selector").len()
    }

    /// Returns the control with this label.
    pub async fn field(&self, label: &str) -> Element {
        let quoted = xpath_text(label);
        let path = format!(
            "//*[@id = //label[normalize-space() = {quoted}]/@for] \
             | //label[normalize-space() = {quoted}]//*[self::input or self::select or self::textarea] \
             | //*[@aria-label = {quoted}][self::input or self::select or self::textarea]"
        );
        self.at(&path, label).await
    }

    /// Replaces the content of the field with this label.
    pub async fn fill(&self, label: &str, text: &str) {
        let field = self.field(label).await;
        field.clear().await.expect("the field can be cleared");
        field.send_keys(text).await.expect("the field accepts text");
    }

    /// Chooses an option of the field with this label.
    pub async fn choose(&self, label: &str, option: &str) {
        let field = self.field(label).await;
        field.select_by_label(option).await.unwrap_or_else(|error| panic!("{label}: {error}"));
    }

    /// Toggles the checkbox with this label.
    pub async fn tick(&self, label: &str) {
        self.click(self.field(label).await).await;
    }

    /// Presses the button with this name, and waits for the next page.
    pub async fn press(&self, name: &str) {
        let quoted = xpath_text(name);
        let path = format!("//button[not(@aria-hidden)][normalize-space() = {quoted}]");
        self.leave(self.at(&path, name).await).await;
    }

    /// Presses the button with this name, on a page that a script changes.
    pub async fn touch(&self, name: &str) {
        let quoted = xpath_text(name);
        let path = format!("//button[not(@aria-hidden)][normalize-space() = {quoted}]");
        self.click(self.at(&path, name).await).await;
    }

    /// Presses keys one after the other in the focused element. A line feed is the Enter key, and an escape
    /// character the Escape key.
    pub async fn keys(&self, keys: &str) {
        for key in keys.chars() {
            let (name, text, code) = match key {
                '\n' => ("Enter".to_owned(), "\r".to_owned(), 13),
                '\u{1b}' => ("Escape".to_owned(), String::new(), 27),
                key => (key.to_string(), key.to_string(), 0),
            };
            for kind in ["keyDown", "keyUp"] {
                let text = if kind == "keyDown" { text.as_str() } else { "" };
                let event = json!({
                    "type": kind, "key": name, "text": text, "windowsVirtualKeyCode": code,
                });
                self.devtools("Input.dispatchKeyEvent", event).await;
            }
        }
    }

    /// Grants the page permission to read and write the clipboard.
    pub async fn allow_clipboard(&self) {
        let permissions =
            json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
        self.devtools("Browser.grantPermissions", permissions).await;
    }

    /// Waits until the page contains a text.
    pub async fn wait_for(&self, text: &str) {
        let text = serde_json::to_string(text).expect("text serializes");
        self.until(&format!("return document.body.innerText.includes({text})")).await;
    }

    /// Follows the link with this text.
    pub async fn follow(&self, text: &str) {
        let quoted = xpath_text(text);
        let path = format!("//a[normalize-space() = {quoted}]");
        self.leave(self.at(&path, text).await).await;
    }

    /// Follows the link with this text to another part of the page.
    pub async fn follow_here(&self, text: &str) {
        let quoted = xpath_text(text);
        let path = format!("//a[normalize-space() = {quoted}]");
        self.click(self.at(&path, text).await).await;
    }

    /// Clicks, and waits until the next page is loaded.
    async fn leave(&self, element: Element) {
        self.run("window.formsvcLeft = false").await;
        self.click(element).await;
        self.until("return document.readyState === 'complete' && window.formsvcLeft === undefined")
            .await;
    }

    /// Clicks after scrolling the element to the middle of the screen, where no bar covers it.
    async fn click(&self, element: Element) {
        let this = serde_json::to_value(&element).expect("a reference serializes");
        let script = "arguments[0].scrollIntoView({ block: 'center' })";
        self.client.execute(script, vec![this]).await.expect("it can be scrolled to");
        element.click().await.expect("the element can be clicked");
    }

    /// Reloads the page until it contains a text.
    pub async fn reload_until(&self, text: &str) {
        let reloaded = tokio::time::timeout(PATIENCE, async {
            while !self.text().await.contains(text) {
                self.client.refresh().await.expect("the page reloads");
            }
        });
        assert!(reloaded.await.is_ok(), "the page does not show: {text}\n{}", self.text().await);
    }

    /// Runs a script in the page, regardless of its content security policy. Returns its result.
    pub async fn run(&self, script: &str) -> Value {
        self.client
            .execute(script, vec![])
            .await
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a script returns true.
    pub async fn until(&self, script: &str) {
        let done = tokio::time::timeout(PATIENCE, async {
            // A script can fail while the page changes; the next attempt runs in the new page.
            while self.client.execute(script, vec![]).await.ok() != Some(Value::Bool(true)) {
                // Sleeps because polling without a pause slows down the service on a busy machine.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(
            done.await.is_ok(),
            "the script did not return true: {script}\n{}",
            self.url().await
        );
    }

    async fn at(&self, path: &str, name: &str) -> Element {
        match self.client.wait().at_most(PATIENCE).for_element(Locator::XPath(path)).await {
            Ok(element) => element,
            Err(error) => panic!("{name}: {error}\n{}\n{}", self.url().await, self.text().await),
        }
    }

    /// Sets the screen size and the theme.
    pub async fn look_with(&self, screen: Screen, theme: Theme) {
        self.measure(screen, None).await;
        let value = if theme == Theme::Dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Writes a screenshot of the whole page to a PNG file.
    pub async fn picture(&self, screen: Screen, file: &Path) {
        self.measure(screen, None).await;
        let height = self.run("return document.documentElement.scrollHeight").await;
        self.measure(screen, height.as_u64()).await;
        let picture = self.client.screenshot().await.expect("a picture");
        self.measure(screen, None).await;
        std::fs::write(file, picture).expect("the file can be written");
    }

    async fn measure(&self, screen: Screen, height: Option<u64>) {
        let (width, usual, mobile) = match screen {
            Screen::Phone => (390, 844, true),
            Screen::Desktop => (1440, 900, false),
        };
        let height = height.unwrap_or(usual).max(usual);
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile }),
        )
        .await;
    }

    /// Returns the events since the last call, or since the browser started.
    pub async fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        seen.read_requests(&self.log("performance").await);
        seen.read_console(&self.log("browser").await);
        seen.dialog = self.client.get_alert_text().await.ok();
        seen
    }

    async fn log(&self, kind: &'static str) -> Value {
        self.issue(Command::Log(kind)).await
    }

    async fn devtools(&self, method: &'static str, parameters: Value) -> Value {
        self.issue(Command::DevTools(method, parameters)).await
    }

    async fn issue(&self, command: Command) -> Value {
        let what = format!("{command:?}");
        self.client.issue_cmd(command).await.unwrap_or_else(|error| panic!("{what}: {error}"))
    }
}

/// Quotes a text for XPath, which has no escape sequences.
fn xpath_text(text: &str) -> String {
    let parts: Vec<_> = text.split('\'').map(|part| format!("'{part}'")).collect();
    if parts.len() == 1 { parts.concat() } else { format!("concat({})", parts.join(", \"'\", ")) }
}
