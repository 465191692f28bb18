//! `bulkhead captcha import`: converts the configuration of captchaservice.

use std::{fs, path::Path};

use anyhow::Context as _;
use bulkhead_cli::{check, exit::InvalidConfiguration, output};
use bulkhead_config::{
    ConfigFile, HostSpec,
    import::{ImportError, Imported},
};
use bulkhead_telemetry::logs;

use crate::import::{ApplicationFormat, import_application};

/// The name of the result in error texts.
const RESULT: &str = "the result";

/// Prints the converted configuration; notes go to standard error.
pub(super) fn run(spec: &HostSpec, file: &Path) -> anyhow::Result<()> {
    let imported = read(file)?;
    for note in &imported.notes {
        logs::write_last(&format!("{note}\n"));
    }
    output::text(&imported.toml)?;
    let result = ConfigFile { name: RESULT.to_owned(), text: imported.toml };
    check(spec, result).map(drop).map_err(|problems| {
        InvalidConfiguration { what: "no host can start from the result", problems }.into()
    })
}

fn read(file: &Path) -> anyhow::Result<Imported> {
    let name = file.display();
    let bytes = fs::read(file).with_context(|| format!("cannot read {name}"))?;
    let is_properties =
        file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("properties"));
    let failed = |error: ImportError| anyhow::Error::from(error).context(format!("cannot import {name}"));
    if !is_properties {
        let text = String::from_utf8(bytes).ok().with_context(|| format!("{name} is not UTF-8"))?;
        return import_application(&text, ApplicationFormat::Yaml).map_err(failed);
    }
    // Java reads properties in ISO 8859-1, in which every byte is a character.
    let text: String = bytes.iter().copied().map(char::from).collect();
    let mut imported = import_application(&text, ApplicationFormat::Properties).map_err(failed)?;
    if !bytes.is_ascii() {
        imported
            .notes
            .push("is read as ISO 8859-1, as Java reads it; check the letters beyond ASCII".to_owned());
    }
    Ok(imported)
}
