//! Runs a binary for the edge, emulated where it is for another machine, and asks each of its services.

use super::Release;
use crate::command::{Outcome, capture, program};
use crate::{install::apt, paths};

/// What the test runs.
const PACKAGES: [&str; 2] = ["curl", "minisign"];
/// The arguments are the target, the compiler of packs, a component and the command of the binary. The host serves with a
/// demonstration and an app, and allocates instances on demand, as emulators reserve little address space.
const SCRIPT: &str = r#"
    target=$1 compiler=$2 component=$3
    shift 3
    folder=$(mktemp --directory)
    trap 'kill $host 2> /dev/null || true; rm --recursive --force "$folder"' EXIT
    minisign -G -W -p "$folder/packs.pub" -s "$folder/packs.key"
    "$compiler" component compile "$component" --target "$target" --sign "$folder/packs.key" --output "$folder/hello.cwasm"
    printf '[sandbox]\nallocator = "on-demand"\npack_keys = ["%s"]\n[apps.hello]\ncomponent = "%s"\npath_prefix = "/hello"\n' \
        "$(tail --lines 1 "$folder/packs.pub")" "$folder/hello.cwasm" > "$folder/bulkhead.toml"
    public=127.0.0.2:18080 operators=127.0.0.2:19901
    "$@" serve --demo --config "$folder/bulkhead.toml" --data-dir "$folder/data" --listen $public --admin-listen $operators &
    host=$!
    tries=300
    until curl --silent --fail http://$operators/health/ready; do
        kill -0 $host
        tries=$((tries - 1))
        test $tries -gt 0
        sleep 1
    done
    curl --silent --show-error --fail --header 'content-type: application/json' \
        --data '{"siteKey":"demo","siteSecret":"demo","clientAddress":"192.0.2.1"}' http://$public/api/v1/captcha/challenge
    curl --silent --show-error --fail --header 'x-token: demo' http://$public/terminvereinbarung/api/2/status/
    curl --silent --show-error --fail http://$public/hello
    kill $host
    wait $host
"#;

/// Waits until every component has passed its self-test, and fails unless each service answers.
pub(super) fn test(release: &Release) -> Outcome {
    if !apt::missing(&PACKAGES).is_empty() {
        apt::install("smoke test", &PACKAGES)?;
    }
    let host = release.command();
    let mut script = program("sh", ["-ec", SCRIPT, "smoke", &release.target]);
    script
        .arg(paths::target().join("release/bulkhead"))
        .arg(paths::target().join("components/hello-rust.wasm"));
    capture(script.arg(host.get_program()).args(host.get_args()))?;
    println!("package: captcha, status and an app answer");
    Ok(())
}
