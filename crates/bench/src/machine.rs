//! What the numbers were measured on.

use std::fs;

/// Processor, cores, memory and kernel, in a line.
pub(crate) fn describe() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpus, "model name").unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let gib = field(&memory, "MemTotal")
        .and_then(|total| total.split(' ').next()?.parse::<u64>().ok())
        .map_or(0, |kib| (kib + (1 << 19)) >> 20);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {cores} cores, {gib} GiB, Linux {}", kernel.trim())
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}
