# What is done often. `just` alone lists it.

_list:
    @just --list --unsorted

# Everything CI runs
check:
    .ci/run

# What takes longer, or a nightly Rust: features, oldest and newer versions, the public API, Miri, fuzzing
ci-full *STEPS:
    .ci/full {{ STEPS }}

# The tests, or those whose name holds FILTER
test FILTER="":
    cargo test --workspace -- {{ FILTER }}

# The failure tests at length, as root, for some 15 minutes; ends with their figures as a table
soak:
    #!/usr/bin/env bash
    set -euo pipefail
    FORMSVC_SOAK=1 cargo test -p formsvc-tests --test e2e deliveries:: -- --nocapture --test-threads=1 2>&1 | tee target/soak.log
    cargo test -p formsvc-server --test it delivery::c -- --nocapture --test-threads=1 2>&1 | tee -a target/soak.log
    FORMSVC_SOAK=1 cargo test -p formsvc-examples --test examples kill:: -- --nocapture 2>&1 | tee -a target/soak.log
    FORMSVC_SOAK=1 cargo test -p formsvc-cli --test it submissions::faults -- --nocapture --test-threads=1 2>&1 | tee -a target/soak.log
    FORMSVC_SOAK=1 cargo test -p formsvc-server --test it cmd::postgres::faults -- --nocapture --test-threads=1 2>&1 | tee -a target/soak.log
    printf '\n| Failure | Accepted | Delivered | Twice | Lag: half, 99 of 100, all, in ms | | Test |\n|---|---|---|---|---|---|---|\n'
    awk '/^test .* \.\.\./ { test = $2 } { at = index($0, "ledger |") } at { print substr($0, at + 7), "`" test "` |" }' target/soak.log

# Format the code
fmt:
    cargo fmt --all

# Write the generated files
gen:
    cargo run -q -p xtask -- gen

# Compare with what a user would pick instead; prints ratios, asserts nothing (docs/PERFORMANCE.md)
bench *ARGS:
    cargo build --release -p formsvc-cli -p formsvc-server --features formsvc-cli/parquet
    cargo run --release -p formsvc-bench -- {{ ARGS }}

# The documentation of the crates, opened
doc:
    cargo doc --workspace --no-deps --document-private-items --open
