//! `bulkhead doctor`: checks the machine, the configuration and the data folder of a host, and says what to do.

mod certificates;
mod clock;
mod folder;
mod kernel;
mod limits;
mod ports;

use std::{collections::BTreeSet, path::PathBuf};

use bulkhead_cli::{
    Configuration,
    exit::{CommandFailure, Exit},
    output,
};
use bulkhead_config::{Config, Flag, Loaded, Problem};
use bulkhead_os::data_folder;
use bulkhead_service::{MachineFinding, Severity};
use clap::Args;
use serde_json::json;

use crate::{distribution::Distribution, host};

/// What a finding about the configuration is called.
const CONFIGURATION: &str = "configuration";

/// `bulkhead doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    configuration: Configuration,
    /// Folder for databases, generated secrets and compiled code.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        let mut findings = self.examine(distribution)?;
        for finding in &mut findings {
            finding.text = super::without_numbers(&output::one_line(&finding.text));
        }
        let worst = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Fine);
        let listed = json!(findings);
        if self.json {
            output::json(&json!({ "severity": worst, "findings": listed }))?;
        } else {
            output::table(&["severity", "check", "text"], Some(&listed))?;
        }
        let (exit, what) = match worst {
            Severity::Fine => return Ok(()),
            Severity::Warning => (Exit::Failed, "a host starts, but correct these"),
            Severity::Failure => (Exit::Refused, "no host can start or keep its data; correct these"),
        };
        let mut checks = Vec::new();
        for severity in [Severity::Failure, Severity::Warning] {
            let of_severity = findings.iter().filter(|finding| finding.severity == severity);
            let mut named: BTreeSet<&str> = of_severity.map(|finding| finding.check).collect();
            named.retain(|check| !checks.contains(check));
            checks.extend(named);
        }
        Err(CommandFailure { exit, text: format!("{what}: {}", checks.join(", ")) }.into())
    }

    /// Makes every check. Without a valid configuration only those that need none.
    fn examine(&self, distribution: &Distribution) -> anyhow::Result<Vec<MachineFinding>> {
        let flag = self.data_dir.as_ref().map(|folder| Flag {
            name: "--data-dir".into(),
            path: "data_dir".into(),
            value: folder.display().to_string(),
        });
        let mut findings = kernel::examine();
        match self.configuration.read(&distribution.spec(), flag.into_iter().collect()) {
            Err(problems) => {
                findings.extend(limits::examine(None, &[]));
                findings.push(clock::examine(None));
                let found = |problem: &Problem| MachineFinding::failure(CONFIGURATION, problem.to_string());
                findings.extend(problems.iter().map(found));
            }
            Ok(loaded) => findings.extend(of_configuration(distribution, &loaded)?),
        }
        Ok(findings)
    }
}

/// Makes the checks of what a configuration asks for.
fn of_configuration(distribution: &Distribution, loaded: &Loaded) -> anyhow::Result<Vec<MachineFinding>> {
    let config = &loaded.config;
    let hosts = data_folder::users(&config.data_dir);
    let mut findings = limits::examine(Some(config), &hosts);
    findings.push(engine(distribution, config));
    findings.extend(folder::examine(&config.data_dir));
    findings.push(clock::examine(Some(&config.data_dir)));
    findings.extend(files(distribution, loaded));
    findings.extend(certificates::examine(config));
    findings.extend(ports::examine(config, &hosts)?);
    findings.extend(distribution.services.iter().flat_map(|service| service.examine(config)));
    Ok(findings)
}

/// Reports what `config check` does.
fn files(distribution: &Distribution, loaded: &Loaded) -> Vec<MachineFinding> {
    let warning = |text: String| MachineFinding::warning(CONFIGURATION, text);
    let mut found: Vec<_> = loaded.warnings.iter().map(|problem| warning(problem.to_string())).collect();
    match super::config::check_files(distribution, &loaded.config) {
        Ok(warnings) => found.extend(warnings.into_iter().map(warning)),
        Err(error) => found.push(MachineFinding::failure(CONFIGURATION, super::message(&error))),
    }
    if found.is_empty() {
        found.push(MachineFinding::fine(CONFIGURATION, "it is valid"));
    }
    found
}

/// Builds the engine of a host, and maps code if it can compile some.
fn engine(distribution: &Distribution, config: &Config) -> MachineFinding {
    match host::engine(distribution.services, config) {
        Err(error) => MachineFinding::failure(limits::CHECK, error.to_string()),
        Ok(engine) => {
            // Without a compiler there is no code to map.
            #[cfg(feature = "compiler")]
            if let Err(error) = engine.check_code() {
                return MachineFinding::failure(kernel::CHECK, error.to_string());
            }
            limits::of_address_space(config.sandbox.allocator, engine.pool_metrics().is_some())
        }
    }
}
