//! Values of flags and variables, judged: each bad one is named with the rule it breaks.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use tracing::level_filters::LevelFilter;

use super::error::CommandError;
use crate::printable::Excerpt;
use crate::rate_limit::RateLimit;
use crate::serve::ServeOptions;
use crate::telemetry::LogFormat;
pub(super) use crate::value_text::{duration, duration_of, whole};

/// Where a server listens unless told otherwise.
pub(super) const LISTEN_DEFAULT: &str = "127.0.0.1:8080";
const RATE_MAX: u32 = 1_000_000;
const CONNECTIONS_MAX: u32 = 1_000_000;
/// A TiB, in MiB.
const PAGE_CACHE_MAX: u32 = 1 << 20;

/// The settings of `serve` as text, from flags or the environment.
#[derive(Debug, Default)]
pub(super) struct ServeText<'a> {
    pub(super) listen: Option<&'a str>,
    pub(super) port: Option<&'a str>,
    pub(super) allow_remote: bool,
    pub(super) rate_limit: Option<&'a str>,
    pub(super) shutdown_deadline: Option<&'a str>,
    pub(super) connections_max: Option<&'a str>,
    pub(super) connections_per_peer: Option<&'a str>,
}

/// The settings of `serve`, or the first that breaks a rule.
pub(super) fn resolve(text: &ServeText<'_>) -> Result<ServeOptions, CommandError> {
    let mut options = ServeOptions::default();
    let listen = text.listen.unwrap_or(LISTEN_DEFAULT);
    options.addr = listen_addr(listen)?;
    if let Some(port) = text.port {
        let rule = "must be a whole number from 0 (any free port) to 65535";
        options.addr.set_port(port_of(port, 0).ok_or_else(|| bad("--port", port, rule))?);
    }
    if is_remote(options.addr) && !text.allow_remote {
        let rule = "can be reached from other machines, in the clear";
        return Err(bad("--listen", listen, rule)
            .hint("put a TLS proxy in front and add `--allow-remote`, or listen on 127.0.0.1"));
    }
    if let Some(limit) = text.rate_limit {
        options.rate_limit = rate_limit("--rate-limit", limit)?;
    }
    if let Some(deadline) = text.shutdown_deadline {
        options.shutdown_deadline = duration(deadline).ok_or_else(|| {
            let rule = "must be a whole number with `ms`, `s` or `m`, of at most 10m, such as 10s";
            bad("--shutdown-deadline", deadline, rule)
        })?;
    }
    let connections = |flag, text| {
        let rule = format!("must be a whole number from 1 to {CONNECTIONS_MAX}");
        whole(text, 1, CONNECTIONS_MAX).ok_or_else(|| bad(flag, text, &rule))
    };
    if let Some(text) = text.connections_max {
        options.connections_max = connections("--connections-max", text)?;
    }
    if let Some(text) = text.connections_per_peer {
        options.connections_per_peer = connections("--connections-per-peer", text)?;
    }
    Ok(options)
}

/// Where to listen.
pub(super) fn listen_addr(text: &str) -> Result<SocketAddr, CommandError> {
    let rule = "must be an IP address and a port, such as 127.0.0.1:8080";
    text.parse().map_err(|_| bad("--listen", text, rule))
}

/// A port, from the least one that has a meaning.
pub(super) fn port_of(text: &str, least: u32) -> Option<u16> {
    whole(text, least, u16::MAX.into()).and_then(|port| u16::try_from(port).ok())
}

/// Whether an address can be reached from another machine.
pub(super) fn is_remote(addr: SocketAddr) -> bool {
    !addr.ip().to_canonical().is_loopback()
}

/// `off`, or requests per minute.
pub(super) fn rate_limit(flag: &str, text: &str) -> Result<RateLimit, CommandError> {
    if text == "off" {
        return Ok(RateLimit::Off);
    }
    let requests = whole(text, 1, RATE_MAX).and_then(NonZeroU32::new);
    requests.map(RateLimit::per_minute).ok_or_else(|| {
        let rule = format!("must be `off`, or a whole number per minute from 1 to {RATE_MAX}");
        bad(flag, text, &rule)
    })
}

/// MiB of a database file to keep in memory.
pub(super) fn page_cache(text: &str) -> Result<u32, CommandError> {
    whole(text, 8, PAGE_CACHE_MAX).ok_or_else(|| {
        let rule = format!("must be a whole number of MiB from 8 to {PAGE_CACHE_MAX}");
        bad("--page-cache", text, &rule)
    })
}

/// The least severe level to log.
pub(super) fn log_level(text: &str) -> Result<LevelFilter, CommandError> {
    Ok(match text {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => {
            let rule = "must be off, error, warn, info, debug or trace";
            return Err(bad("--log-level", text, rule));
        }
    })
}

/// The shape of log lines.
pub(super) fn log_format(text: &str) -> Result<LogFormat, CommandError> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(bad("--log-format", text, "must be text or json")),
    }
}

pub(super) fn bad(flag: &str, value: &str, rule: &str) -> CommandError {
    let told = format!("`{flag}` cannot be `{}`: it {rule}", Excerpt(value));
    CommandError::usage(told).of_flag(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_one_rule() {
        type Set = for<'a> fn(&mut ServeText<'a>, &'a str);
        let table: [(Set, &[&str], &[&str]); 6] = [
            (
                |text, value| text.listen = Some(value),
                &["127.0.0.1:0", "127.9.9.9:80", "[::1]:80", "[::ffff:127.0.0.1]:80"],
                &["", "localhost:80", "127.0.0.1", ":80", "0.0.0.0:80", "[::]:80", "10.0.0.1:80"],
            ),
            (
                |text, value| text.port = Some(value),
                &["0", "80", "65535"],
                &["", "65536", "-1", "+80", "http"],
            ),
            (
                |text, value| text.rate_limit = Some(value),
                &["off", "1", "300", "1000000"],
                &["", "0", "OFF", "-1", "1.5", "1000001", "300/min"],
            ),
            (
                |text, value| text.shutdown_deadline = Some(value),
                &["0s", "250ms", "10s", "10m"],
                &["", "10", "s", "1h", "11m", "-1s", "1.5s", "99999999999999999999s"],
            ),
            (
                |text, value| text.connections_max = Some(value),
                &["1", "1000000"],
                &["", "0", "1000001", "many"],
            ),
            (
                |text, value| text.connections_per_peer = Some(value),
                &["1", "1000000"],
                &["", "0", "1000001", "many"],
            ),
        ];
        for (set, good, bad) in table {
            let judged = |value| {
                let mut text = ServeText::default();
                set(&mut text, value);
                resolve(&text).is_ok()
            };
            assert!(good.iter().all(|value| judged(value)), "{good:?}");
            assert!(bad.iter().all(|value| !judged(value)), "{bad:?}");
        }
    }

    #[test]
    fn a_page_cache_is_from_8_mib_to_a_tib() {
        assert_eq!(
            ["8", "128", "1048576"].map(|text| page_cache(text).unwrap()),
            [8, 128, 1 << 20]
        );
        for text in ["", "7", "1048577", "-8", "64MiB"] {
            assert!(page_cache(text).is_err(), "{text}");
        }
    }

    #[test]
    fn remote_addresses_need_consent() {
        for listen in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80"] {
            let text = ServeText { listen: Some(listen), allow_remote: true, ..Default::default() };
            assert!(is_remote(resolve(&text).unwrap().addr), "{listen}");
        }
    }

    #[test]
    fn the_port_replaces_the_one_of_the_address() {
        let text = ServeText { listen: Some("[::1]:1"), port: Some("2"), ..Default::default() };
        assert_eq!(resolve(&text).unwrap().addr.to_string(), "[::1]:2");
        assert_eq!(resolve(&ServeText::default()).unwrap().addr.to_string(), LISTEN_DEFAULT);
    }
}
