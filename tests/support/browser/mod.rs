//! A real browser: Chromium without a window, driven through its driver, and watched for what a page
//! must not do.

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

/// Set where a missing browser is a failure rather than a reason to skip.
pub const REQUIRE: &str = "FORMSVC_REQUIRE_BROWSER";
/// Longer than a page takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a page is looked at with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// 390 × 844.
    Phone,
    /// 1440 × 900.
    Desktop,
}

/// The theme that the visitor's system asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// A browser with one tab, and a profile of its own that is gone with it.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    // After the client: a browser without its driver ends.
    _driver: Driver,
}

impl Browser {
    /// A browser, for a test that ends without one: it says that it is skipped.
    ///
    /// # Panics
    ///
    /// When there is one and it does not start, or there is none and the variable [`REQUIRE`] is `1`.
    pub async fn or_skip() -> Option<Self> {
        let Some(programs) = driver::Programs::find() else {
            let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
            assert!(
                !required,
                "there is no Chromium with its driver, and {REQUIRE}=1 asks for one"
            );
            let _ = std::io::stderr()
                .write_all(b"skipped: there is no Chromium with its driver on this machine\n");
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

    /// Opens a page.
    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// The address of the page that is shown.
    pub async fn url(&self) -> String {
        self.client.current_url().await.expect("a page is shown").to_string()
    }

    /// The title of the page that is shown.
    pub async fn title(&self) -> String {
        self.client.title().await.expect("a page is shown")
    }

    /// The text of the page, as its reader sees it.
    pub async fn text(&self) -> String {
        self.client.find(Locator::Css("body")).await.expect("a body").text().await.expect("text")
    }

    /// The first element that a CSS selector finds, waited for.
    pub async fn find(&self, selector: &str) -> Element {
        let found = self.client.wait().at_most(PATIENCE).for_element(Locator::Css(selector)).await;
        match found {
            Ok(element) => element,
            Err(error) => {
                panic!("{selector}: {error}\n{}\n{}", self.url().await, self.text().await)
            }
        }
    }

    /// How many elements a CSS selector finds now.
    pub async fn count(&self, selector: &str) -> usize {
        self.client.find_all(Locator::Css(selector)).await.expect("a selector").len()
    }

    /// The control that a label names.
    pub async fn field(&self, label: &str) -> Element {
        let quoted = xpath_text(label);
        let path = format!(
            "//*[@id = //label[normalize-space() = {quoted}]/@for] \
             | //label[normalize-space() = {quoted}]//*[self::input or self::select or self::textarea] \
             | //*[@aria-label = {quoted}][self::input or self::select or self::textarea]"
        );
        self.at(&path, label).await
    }

    /// Types into the field with a label, in place of what it holds.
    pub async fn fill(&self, label: &str, text: &str) {
        let field = self.field(label).await;
        field.clear().await.expect("a field that can be emptied");
        field.send_keys(text).await.expect("a field that can be typed into");
    }

    /// Chooses an option of the field with a label.
    pub async fn choose(&self, label: &str, option: &str) {
        let field = self.field(label).await;
        field.select_by_label(option).await.unwrap_or_else(|error| panic!("{label}: {error}"));
    }

    /// Ticks the box with a label, or takes the tick away.
    pub async fn tick(&self, label: &str) {
        self.click(self.field(label).await).await;
    }

    /// Presses the button with a name, and waits for the page that comes of it.
    pub async fn press(&self, name: &str) {
        let quoted = xpath_text(name);
        let path = format!("//button[not(@aria-hidden)][normalize-space() = {quoted}]");
        self.leave(self.at(&path, name).await).await;
    }

    /// Presses the button with a name, on a page that a script changes.
    pub async fn touch(&self, name: &str) {
        let quoted = xpath_text(name);
        let path = format!("//button[not(@aria-hidden)][normalize-space() = {quoted}]");
        self.click(self.at(&path, name).await).await;
    }

    /// Presses keys one after the other, wherever the focus is. A line feed is the Enter key, and an
    /// escape character the Escape key.
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

    /// Lets the page write to the clipboard and read it, as somebody who is asked would.
    pub async fn allow_clipboard(&self) {
        let permissions =
            json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
        self.devtools("Browser.grantPermissions", permissions).await;
    }

    /// Waits until a text is on the page.
    pub async fn wait_for(&self, text: &str) {
        let text = serde_json::to_string(text).expect("text is JSON");
        self.until(&format!("return document.body.innerText.includes({text})")).await;
    }

    /// Follows the link with a text.
    pub async fn follow(&self, text: &str) {
        let quoted = xpath_text(text);
        let path = format!("//a[normalize-space() = {quoted}]");
        self.leave(self.at(&path, text).await).await;
    }

    /// Follows the link with a text to another part of the page.
    pub async fn follow_here(&self, text: &str) {
        let quoted = xpath_text(text);
        let path = format!("//a[normalize-space() = {quoted}]");
        self.click(self.at(&path, text).await).await;
    }

    /// Clicks, and waits until the page that was shown is gone and the next one is there.
    async fn leave(&self, element: Element) {
        self.run("window.formsvcLeft = false").await;
        self.click(element).await;
        self.until("return document.readyState === 'complete' && window.formsvcLeft === undefined")
            .await;
    }

    /// Clicks in the middle of the screen, where no bar stands over what is clicked.
    async fn click(&self, element: Element) {
        let this = serde_json::to_value(&element).expect("a reference is JSON");
        let script = "arguments[0].scrollIntoView({ block: 'center' })";
        self.client.execute(script, vec![this]).await.expect("it can be scrolled to");
        element.click().await.expect("something that can be clicked");
    }

    /// Reloads the page until it shows a text.
    pub async fn reload_until(&self, text: &str) {
        let reloaded = tokio::time::timeout(PATIENCE, async {
            while !self.text().await.contains(text) {
                self.client.refresh().await.expect("the page is loaded again");
            }
        });
        assert!(reloaded.await.is_ok(), "never shown: {text}\n{}", self.text().await);
    }

    /// Carries out a script in the page, past its policy, and gives what it returns.
    pub async fn run(&self, script: &str) -> Value {
        self.client
            .execute(script, vec![])
            .await
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a script returns true.
    pub async fn until(&self, script: &str) {
        let done = tokio::time::timeout(PATIENCE, async {
            // A script that is asked while pages change fails; the next asking meets the new page.
            while self.client.execute(script, vec![]).await.ok() != Some(Value::Bool(true)) {
                // Sleeps because polling without a pause takes the processor from what it waits for.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(done.await.is_ok(), "never true: {script}\n{}", self.url().await);
    }

    async fn at(&self, path: &str, name: &str) -> Element {
        match self.client.wait().at_most(PATIENCE).for_element(Locator::XPath(path)).await {
            Ok(element) => element,
            Err(error) => panic!("{name}: {error}\n{}\n{}", self.url().await, self.text().await),
        }
    }

    /// Looks at pages from now on with a screen, in a theme.
    pub async fn look_with(&self, screen: Screen, theme: Theme) {
        self.measure(screen, None).await;
        let value = if theme == Theme::Dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// A picture of the page from its top to its end, as PNG, into a file.
    pub async fn picture(&self, screen: Screen, file: &Path) {
        self.measure(screen, None).await;
        let height = self.run("return document.documentElement.scrollHeight").await;
        self.measure(screen, height.as_u64()).await;
        let picture = self.client.screenshot().await.expect("a picture");
        self.measure(screen, None).await;
        std::fs::write(file, picture).expect("the picture is written");
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

    /// What happened since this was asked for last, or since the browser started.
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

/// A text as XPath writes it, which knows no escapes.
fn xpath_text(text: &str) -> String {
    let parts: Vec<_> = text.split('\'').map(|part| format!("'{part}'")).collect();
    if parts.len() == 1 { parts.concat() } else { format!("concat({})", parts.join(", \"'\", ")) }
}
