//! Debian's Chromium without a screen, driven through its WebDriver.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::rig::Folder;

/// A browser of a test's own, ended with it.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Its profile, empty at first.
    _profile: Folder,
}

/// How a page is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) width: u32,
    pub(crate) scheme: &'static str,
    pub(crate) media: &'static str,
}

impl Browser {
    const FLAGS: [&str; 9] = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
    ];

    pub(crate) fn start() -> Browser {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect(
                "chromedriver starts; scripts/test installs it (apt-get install chromium-driver)",
            );
        let mut said = BufReader::new(driver.stdout.take().unwrap());
        let mut port = None;
        while port.is_none() {
            let mut line = String::new();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "chromedriver ended at once");
            let told = line.split_once("successfully on port ").map(|(_, told)| told);
            port = told.and_then(|told| told.trim().trim_end_matches('.').parse().ok());
        }
        let profile = Folder::new();
        let mut flags = Browser::FLAGS.map(str::to_owned).to_vec();
        flags.push(format!("--user-data-dir={}", profile.path("").display()));
        let mut browser =
            Browser { driver, port: port.unwrap(), session: String::new(), _profile: profile };
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let session = browser.call("POST", "/session", &wanted);
        browser.session = format!("/session/{}", session["sessionId"].as_str().unwrap());
        browser
    }

    /// Shows a page.
    pub(crate) fn show(&self, address: &str, screen: Screen) {
        let Screen { width, scheme, media } = screen;
        let sizes = json!({
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500
        });
        self.devtools("Emulation.setDeviceMetricsOverride", sizes);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": media, "features": features });
        self.devtools("Emulation.setEmulatedMedia", media);
        self.on_session("POST", "/url", &json!({ "url": address }));
    }

    /// What a function's body returns on the page.
    pub(crate) fn ask(&self, script: &str) -> Value {
        self.on_session("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// What was logged since it was asked last: `browser` for complaints of pages, `performance` for what
    /// the network did.
    pub(crate) fn logged(&self, kind: &str) -> Vec<String> {
        let log = self.on_session("POST", "/se/log", &json!({ "type": kind }));
        let entries = log.as_array().unwrap().iter();
        entries.map(|entry| entry["message"].as_str().unwrap().to_owned()).collect()
    }

    fn devtools(&self, command: &str, of: Value) {
        self.on_session("POST", "/goog/cdp/execute", &json!({ "cmd": command, "params": of }));
    }

    fn on_session(&self, method: &str, path: &str, body: &Value) -> Value {
        self.call(method, &format!("{}{path}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.exchange(method, path, body).unwrap();
        let value = answer["value"].clone();
        assert_eq!(status, 200, "{method} {path}: {value}");
        value
    }

    fn exchange(&self, method: &str, path: &str, body: &Value) -> std::io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let body = body.to_string();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = BufReader::new(stream);
        let mut line = String::new();
        answer.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            line.clear();
            answer.read_line(&mut line)?;
            let head = line.trim().to_ascii_lowercase();
            if head.is_empty() {
                break;
            }
            if let Some(told) = head.strip_prefix("content-length:") {
                length = told.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body)?;
        Ok((status, serde_json::from_slice(&body)?))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its end ends the browser.
        let _ = self.exchange("DELETE", &self.session, &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
