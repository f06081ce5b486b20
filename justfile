# What is done often. `just` alone lists it.

_list:
    @just --list --unsorted

# Everything CI runs
check:
    .ci/run

# The tests, or those whose name holds FILTER
test FILTER="":
    cargo test --workspace -- {{ FILTER }}

# Format the code
fmt:
    cargo fmt --all

# Write the generated files
gen:
    cargo run -q -p xtask -- gen

# The benchmarks; prints ratios, asserts nothing
bench *ARGS:
    cargo run --release -p formsvc-bench -- {{ ARGS }}

# The documentation of the crates, opened
doc:
    cargo doc --workspace --no-deps --document-private-items --open
