//! Checks the configuration of a bundle before an import changes anything.

use std::collections::BTreeSet;

use anyhow::bail;
use bulkhead_config::{
    ConfigFile, HostSpec, Problem, Problems, Sources, edit::EditedFile, load, sandbox::Sandbox,
};

use crate::host::install::CONFIGURATION;

/// Checks a configuration as a start of a host does, with the variables of this process. Returns its sandbox, and the problems
/// that other variables, or `secrets`, the keys of removed secrets, may solve.
///
/// # Errors
/// With all other problems.
pub(super) fn check(
    edited: EditedFile,
    spec: &HostSpec,
    secrets: &[String],
) -> anyhow::Result<(Sandbox, Vec<Problem>)> {
    match load(sources(edited.text())?, spec) {
        Ok(loaded) => Ok((loaded.config.sandbox, Vec::new())),
        Err(problems) => {
            let unsettled = unsettled(&problems, &edited, secrets)?;
            Ok((sandbox(edited, spec)?, unsettled))
        }
    }
}

/// Returns what an imported configuration is read from.
fn sources(text: String) -> Result<Sources, Problems> {
    let file = Some(ConfigFile { name: CONFIGURATION.to_owned(), text });
    Ok(Sources { file, ..Sources::of_process(None, Vec::new())? })
}

/// Returns the sandbox of a configuration that cannot be read as a whole.
fn sandbox(mut edited: EditedFile, spec: &HostSpec) -> Result<Sandbox, Problems> {
    edited.document.retain(|table, _| matches!(table, "data_dir" | "sandbox"));
    let mut sources = sources(edited.text())?;
    sources.environment.retain(|(name, _)| name.starts_with("BULKHEAD_SANDBOX_"));
    Ok(load(sources, spec)?.config.sandbox)
}

/// Returns those problems of an imported configuration that the host may not have: the value comes from elsewhere, or of the same
/// table another one does.
///
/// # Errors
/// All others.
fn unsettled(problems: &Problems, edited: &EditedFile, secrets: &[String]) -> anyhow::Result<Vec<Problem>> {
    let missing = problems.iter().map(|problem| &problem.key).filter(|key| !edited.holds(key));
    let incomplete: BTreeSet<Vec<&str>> = missing.chain(secrets).map(|key| table(key)).collect();
    let (unsettled, wrong): (Vec<&Problem>, Vec<&Problem>) =
        problems.iter().partition(|problem| incomplete.contains(&table(&problem.key)));
    if wrong.is_empty() {
        let is_named = |problem: &&Problem| secrets.contains(&problem.key);
        return Ok(unsettled.into_iter().filter(|problem| !is_named(problem)).cloned().collect());
    }
    let text = |problem: &Problem| match problem.is_unknown_key() {
        true => format!("{problem}; use a binary that has it"),
        false => problem.to_string(),
    };
    let texts: Vec<String> = wrong.into_iter().map(text).collect();
    bail!(
        "{}; correct it and export it again, or set the variables of the host for the import, too",
        texts.join("\n")
    )
}

/// Returns the path of the table of a key, without the places in lists.
fn table(key: &str) -> Vec<&str> {
    let mut names: Vec<&str> = key.split('.').filter(|name| name.parse::<usize>().is_err()).collect();
    names.pop();
    names
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Checks a configuration without these secrets; returns the keys of the problems that are left.
    fn checked(text: &str, secrets: &[&str]) -> Result<Vec<String>, String> {
        let data = tempfile::tempdir().unwrap();
        let mut edited = EditedFile::parse(text).unwrap();
        edited.set_text(&["data_dir"], &data.path().display().to_string());
        let secrets: Vec<String> = secrets.iter().map(|key| (*key).to_owned()).collect();
        let checked = check(edited, &HostSpec::default(), &secrets);
        let keys = |(_, problems): (Sandbox, Vec<Problem>)| {
            problems.into_iter().map(|problem| problem.key).collect()
        };
        checked.map(keys).map_err(|error| error.to_string())
    }

    #[test]
    fn key_or_value_is_refused() {
        assert_eq!(checked("[server]\nlisten = '127.0.0.1:1'\n", &[]), Ok(Vec::new()));
        let wrong = "[server]\nlisten = 'nowhere'\nno_such_key = 1\n[sandbox]\ncache = 1\n";
        let refused = checked(wrong, &["registries.town.password"]).unwrap_err();
        for part in [
            "server.no_such_key: unknown key",
            "use a binary that has it",
            "server.listen: must",
            "sandbox.cache",
        ] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
    }

    #[test]
    fn missing_secrets_are_left_to_the_start() {
        let town = "[registries.town]\nhost = 'town.example'\nusername = 'eva'\n";
        assert_eq!(
            checked(town, &["registries.town.password"]),
            Ok(vec!["registries.town.username".to_owned()])
        );
        let elsewhere = format!("{town}password = 'file:/absent'\n[sandbox]\nworkers = 1\n");
        let refused = checked(&elsewhere, &[]).unwrap_err();
        assert!(refused.contains("sandbox.workers: unknown key"), "{refused}");
        let elsewhere = format!("{town}password = 'file:/absent'\n");
        assert_eq!(checked(&elsewhere, &[]), Ok(vec!["registries.town.password".to_owned()]));
    }
}
