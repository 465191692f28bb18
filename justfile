# The one door to the workspace. Every recipe selects the whole workspace in the release profile,
# so that dependencies keep one set of features and the WebAssembly compiler is built once.

set positional-arguments

setup := "cargo run --quiet --release --locked -p bulkhead-setup --"

# List the recipes
default:
    @just --list --unsorted

# Build the components that the host embeds
components:
    @{{ setup }} components

# Build everything
build: components
    cargo build --release --workspace --bins --locked

# Build and serve; ARGS go to `bulkhead serve`
serve *ARGS: build
    target/release/bulkhead serve "$@"

# Run every test; ARGS go to `cargo test`
test *ARGS: build
    @{{ setup }} tests
    cargo test --release --workspace --locked --no-fail-fast "$@"

# Format check, clippy, licences and sources, rustdoc
lint: components && deny
    @{{ setup }} lint
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets --locked -- -D warnings
    RUSTDOCFLAGS=-Dwarnings cargo doc --release --workspace --no-deps --locked

# Licences, bans, sources, and advisories where their database can be fetched
[private]
deny *CHECKS:
    cargo deny --locked check --config .config/deny.toml bans licenses sources

# Measure, as ratios in one run; ARGS go to the bench program
bench *ARGS: build
    @{{ setup }} tests
    target/release/bench "$@"

# What continuous integration runs
ci: test lint
