//! `bulkhead captcha import`

use std::{fs, path::Path};

use anyhow::Context as _;

use crate::{
    cli::{check, exit::Unsound, output},
    config::{
        ConfigFile,
        import::{ImportError, Imported},
    },
    distribution::Distribution,
    services::captcha::import::{ApplicationFormat, import_application},
    telemetry::logs,
};

/// How problems name the result.
const RESULT: &str = "the result";

pub(super) fn run(distribution: &Distribution, file: &Path) -> anyhow::Result<()> {
    let imported = read(file)?;
    for note in &imported.notes {
        logs::write_last(&format!("{note}\n"));
    }
    output::text(&imported.toml)?;
    let result = ConfigFile { name: RESULT.to_owned(), text: imported.toml };
    check(distribution, result)
        .map(drop)
        .map_err(|problems| Unsound { what: "no host starts from the result", problems }.into())
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
    // Java reads these in ISO 8859-1, of which every byte is a character.
    let text: String = bytes.iter().copied().map(char::from).collect();
    let mut imported = import_application(&text, ApplicationFormat::Properties).map_err(failed)?;
    if !bytes.is_ascii() {
        imported
            .notes
            .push("is read as ISO 8859-1, as Java reads it; look at letters beyond ASCII".to_owned());
    }
    Ok(imported)
}
