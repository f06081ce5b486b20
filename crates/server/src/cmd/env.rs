//! The environment variables: one table, which the command line and docs/SERVER.md are held to.

/// A variable and the flag it stands for. A flag wins over its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvRow {
    /// Its name.
    pub name: &'static str,
    /// The flag.
    pub flag: &'static str,
    /// What it sets.
    pub meaning: &'static str,
}

/// Every variable the command reads.
pub const ENV: &[EnvRow] = &[
    row(
        "FORMSVC_SERVER_DATABASE",
        "--database",
        "path of the database file, or address of a PostgreSQL database",
    ),
    row("FORMSVC_SERVER_SECRET_KEY_FILE", "--secret-key-file", "file with the server's key"),
    row("FORMSVC_SERVER_PROFILE", "--profile", "`prod` or `dev`"),
    row(
        "FORMSVC_SERVER_EGRESS_ALLOW",
        "--egress-allow",
        "what else deliveries may reach, with commas",
    ),
    row("FORMSVC_SERVER_EGRESS_CA", "--egress-ca", "authorities that deliveries trust besides"),
    row("FORMSVC_SERVER_DELIVERY_SLOTS", "--delivery-slots", "attempts to deliver at a time"),
    row("FORMSVC_SERVER_ENDPOINT_SLOTS", "--endpoint-slots", "of these, to one endpoint"),
    row("FORMSVC_SERVER_RETRY_BASE", "--retry-base", "pause before the first retry"),
    row("FORMSVC_SERVER_RETRY_FACTOR", "--retry-factor", "what further pauses are multiplied by"),
    row("FORMSVC_SERVER_ATTEMPT_TIMEOUT", "--attempt-timeout", "time an attempt has"),
    row("FORMSVC_SERVER_LISTEN", "--listen", "IP address and port to listen on"),
    row("FORMSVC_SERVER_PORT", "--port", "port to listen on, in place of the one in `--listen`"),
    row("FORMSVC_SERVER_ALLOW_REMOTE", "--allow-remote", "`true` to listen beyond this machine"),
    row("FORMSVC_SERVER_READY_FILE", "--ready-file", "file to write once the server answers"),
    row("FORMSVC_SERVER_RATE_LIMIT", "--rate-limit", "requests per minute and key, or `off`"),
    row(
        "FORMSVC_SERVER_SENDER_LIMIT",
        "--sender-limit",
        "submissions per minute, address and form",
    ),
    row("FORMSVC_SERVER_FORM_LIMIT", "--form-limit", "submissions per minute and form"),
    row(
        "FORMSVC_SERVER_TRUSTED_PROXY",
        "--trusted-proxy",
        "proxies that say who sends, with commas",
    ),
    row("FORMSVC_SERVER_SHUTDOWN_DEADLINE", "--shutdown-deadline", "time to finish requests in"),
    row("FORMSVC_SERVER_CONNECTIONS_MAX", "--connections-max", "connections open at a time"),
    row(
        "FORMSVC_SERVER_CONNECTIONS_PER_PEER",
        "--connections-per-peer",
        "connections open at a time from one address",
    ),
    row("FORMSVC_SERVER_LOG_LEVEL", "--log-level", "least severe log lines to print"),
    row("FORMSVC_SERVER_LOG_FORMAT", "--log-format", "`text` or `json`"),
];

const fn row(name: &'static str, flag: &'static str, meaning: &'static str) -> EnvRow {
    EnvRow { name, flag, meaning }
}
