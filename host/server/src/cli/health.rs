//! `bulkhead health`: asks a running host for its health, as a container's check does that has no other client.

use std::time::Duration;

use bulkhead_cli::{client::Remote, output};
use clap::Args;
use serde_json::Value;

/// Time limit of the request, below that of the usual checks of containers.
const TIMEOUT: Duration = Duration::from_secs(5);

/// `bulkhead health`.
#[derive(Debug, Args)]
pub(super) struct HealthArgs {
    /// Ask only whether the host runs, not whether it is ready.
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    remote: Remote,
}

impl HealthArgs {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let path = if self.live { "/health/live" } else { "/health/ready" };
        let (is_up, answer) = self.remote.health(path, TIMEOUT)?;
        if self.remote.json {
            output::json(&answer)?;
        } else {
            print(is_up, &answer)?;
        }
        anyhow::ensure!(
            is_up,
            "the host is not ready; send it no requests until the failing checks are corrected"
        );
        Ok(())
    }
}

/// Prints the state, then a line for each check that fails.
fn print(is_up: bool, answer: &Value) -> Result<(), output::OutputError> {
    output::line(if is_up { "up" } else { "down" })?;
    for kind in ["failing", "degraded"] {
        for check in answer.get(kind).and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| output::one_line(&output::cell(check.get(name)));
            output::line(format_args!("{kind:8} {}: {}", text("check"), text("reason")))?;
        }
    }
    Ok(())
}
