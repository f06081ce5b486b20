//! Receivers as others write them, where they are installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::args::Bench;
use crate::error::BenchError;
use crate::signed::SECRET;
use crate::{child, pin};

const EXPRESS: &str = include_str!("../../peers/express_stripe.mjs");
const FASTAPI: &str = include_str!("../../peers/fastapi_stripe.py");

/// A receiver that is no part of this workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// Node.js, Express, and npm's `stripe`.
    Express,
    /// Python, FastAPI on uvicorn, and PyPI's `stripe`.
    FastApi,
}

impl Peer {
    /// Whether it was told where it is, and what it needs is there.
    pub(super) fn is_installed(self, bench: &Bench) -> bool {
        let Some((mut command, _)) = self.interpreter(bench) else { return false };
        let check = match self {
            Self::Express => ["-e", "require('express'); require('stripe')"],
            Self::FastApi => ["-c", "import fastapi, stripe, uvicorn"],
        };
        let silent = command.args(check).stdin(Stdio::null()).stdout(Stdio::null());
        silent.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// What starts it, on the core of servers.
    pub(super) fn command(self, bench: &Bench, dir: &Path) -> Result<Command, BenchError> {
        let (interpreter, text) =
            self.interpreter(bench).ok_or_else(|| BenchError::new("a peer is not installed"))?;
        let script = dir.join(match self {
            Self::Express => "express_stripe.mjs",
            Self::FastApi => "fastapi_stripe.py",
        });
        std::fs::write(&script, text).map_err(BenchError::at(&script))?;
        let mut command = child::this_program()?;
        command.args(["pinned", "--core", &pin::SERVER.to_string(), "--"]);
        command.arg(interpreter.get_program()).arg(&script);
        if let Some(dir) = interpreter.get_current_dir() {
            command.current_dir(dir);
        }
        command.env("WEBHOOK_SECRET", SECRET).env("NODE_ENV", "production");
        Ok(command)
    }

    /// The interpreter, where it finds its packages, and the script.
    fn interpreter(self, bench: &Bench) -> Option<(Command, &'static str)> {
        match self {
            Self::Express => {
                let dir: &PathBuf = bench.node.as_ref()?;
                let mut command = Command::new("node");
                command.current_dir(dir);
                Some((command, EXPRESS))
            }
            Self::FastApi => Some((Command::new(bench.python.as_ref()?), FASTAPI)),
        }
    }
}
