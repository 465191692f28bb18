# The commands of the workspace. Recipes select the whole workspace or add the benchmarks, so that dependencies keep one
# set of features and the WebAssembly compiler is built once for each profile.

set positional-arguments

setup := "cargo run --quiet --profile edit --locked -p bulkhead-setup --"
# Everything except the benchmarks, which `just bench` builds. One selection gives dependencies one set of features.
tested := "--profile edit --workspace --exclude bulkhead-bench --locked"
deny := "cargo deny --config .config/deny.toml --workspace --locked"
manifests := "Cargo.toml tests/peers/Cargo.toml tests/fuzz/Cargo.toml tests/apps/Cargo.toml"

# List the recipes
default:
    @just --list --unsorted

# Build the components that the host embeds
components:
    @{{ setup }} components

# Build everything
build: components
    cargo build --release --workspace --exclude bulkhead-bench --bins --locked

# Build and serve; ARGS go to `bulkhead serve`
serve *ARGS: build
    @target/release/bulkhead model pull || echo "models: not all could be pulled; the host serves without them"
    target/release/bulkhead serve "$@"

# Run every test and list the kernels that were used; with ARGS the tests of one crate: CRATE [FILTER]
test *ARGS: components
    @if [ $# -eq 0 ]; then just test-all; else just test-crate "$@"; fi

[private]
test-all:
    @{{ setup }} tests
    @rm -f target/edit/kernels.txt
    cargo build {{ tested }} --bins
    cargo test {{ tested }} --no-fail-fast
    @if [ -f target/edit/kernels.txt ]; then cat target/edit/kernels.txt; fi

# The benchmarks have no tests. They are selected because they give dependencies the features of `tested`.
[private]
test-crate CRATE *FILTER:
    @if [ "$1" = bulkhead-tests ]; then {{ setup }} tests && cargo build {{ tested }} --bins; fi
    cargo test --profile edit --locked -p bulkhead-bench -p "$1" -- "${@:2}"

# Check format, clippy, the sets of features, licences, sources and rustdoc
lint: components && deny
    @{{ setup }} lint
    cargo fmt --all --check
    cargo fmt --check --manifest-path tests/peers/Cargo.toml
    cargo fmt --check --manifest-path tests/fuzz/Cargo.toml
    cargo fmt --all --check --manifest-path tests/apps/Cargo.toml
    cargo clippy --profile edit --workspace --all-targets --locked -- -D warnings
    cargo check --profile edit -p bulkhead --locked
    cargo check --profile edit -p bulkhead --no-default-features --features compiler --locked
    cargo check --profile edit -p bulkhead --no-default-features --locked
    RUSTDOCFLAGS=-Dwarnings cargo doc --profile edit --workspace --no-deps --locked

# Check licences, bans and sources of every crate, and advisories if their database can be fetched
deny:
    @{{ setup }} lint
    @for manifest in {{ manifests }}; do echo "$manifest:"; \
        {{ deny }} --manifest-path "$manifest" check bans licenses sources || exit; done
    @if {{ deny }} fetch db 2>/dev/null; then for manifest in {{ manifests }}; do \
        {{ deny }} --manifest-path "$manifest" check advisories || exit; done; \
        else echo "advisories: not checked, their database cannot be fetched"; fi

# Measure, as ratios in one run; ARGS go to the bench program
bench *ARGS: components build-bench
    @{{ setup }} tests
    target/release/bench "$@"

[private]
build-bench:
    cargo build --release --workspace --bins --locked

# Run swaps, hostile guests, embeddings and captcha on one host for MINUTES; fails if its resources grow
soak MINUTES: components build-bench
    @{{ setup }} tests
    target/release/bench --soak "$1"

# Fuzz with AddressSanitizer: [TARGET|all] [SECONDS]
fuzz *ARGS:
    @{{ setup }} fuzz "$@"

# Test the embedding engine on 64-bit ARM, emulated: [FILTER]...
arm *ARGS:
    @{{ setup }} arm "$@"

# Build for the edge, without a compiler: target/edge/bulkhead with its components compiled for this kind of machine
edge: components
    @{{ setup }} edge

# Make packages of one build in target/package: [edge] [archive|debian|image]... | [edge] --check | [edge] aarch64 [--check]
package *ARGS: components
    @{{ setup }} package "$@"

# Run tests and lints as continuous integration does; lints run even if a test fails
ci:
    @just test; tests=$?; just lint && exit $tests
