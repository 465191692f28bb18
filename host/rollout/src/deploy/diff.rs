//! Comparison of two versions of a slot.

use std::collections::BTreeMap;

use bulkhead_runtime::slots::Outline;
use serde::Serialize;

use crate::{VersionId, VersionRecord};

/// One side of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct VersionSide {
    /// The version.
    pub id: VersionId,
    /// Its component.
    pub component: String,
    /// Source of the component.
    pub source: String,
    /// Its size, bytes.
    pub bytes: usize,
    /// The packages that it exports, with versions, which show the world that it was built for.
    pub packages: Vec<String>,
}

/// Names that only one side has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NameDiff {
    /// Names of the first only.
    pub only_a: Vec<String>,
    /// Names of the second only.
    pub only_b: Vec<String>,
}

/// A setting that differs; `None` if a side lacks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingDiff {
    /// Its key below the slot.
    pub key: String,
    /// Its value for the first.
    pub a: Option<String>,
    /// Its value for the second.
    pub b: Option<String>,
}

/// The differences of two versions of a slot.
#[derive(Clone, Debug, Serialize)]
pub struct VersionDiff {
    /// The slot.
    pub slot: &'static str,
    /// The first.
    pub a: VersionSide,
    /// The second.
    pub b: VersionSide,
    /// Both have the same component.
    pub same_component: bool,
    /// What they import.
    pub imports: NameDiff,
    /// What they export.
    pub exports: NameDiff,
    /// Grants, limits and configuration.
    pub settings: Vec<SettingDiff>,
}

impl NameDiff {
    /// Compares names; those of which `named` makes the same are one name.
    fn of(a: &[String], b: &[String], named: impl Fn(&str) -> String) -> Self {
        let only = |these: &[String], those: &[String]| {
            let those: Vec<String> = those.iter().map(|name| named(name)).collect();
            let mut only: Vec<_> =
                these.iter().filter(|name| !those.contains(&named(name))).cloned().collect();
            only.sort();
            only
        };
        Self { only_a: only(a, b), only_b: only(b, a) }
    }
}

fn settings(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<SettingDiff> {
    let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
    keys.sort();
    keys.dedup();
    let setting =
        |key: &String| SettingDiff { key: key.clone(), a: a.get(key).cloned(), b: b.get(key).cloned() };
    keys.into_iter().map(setting).filter(|setting| setting.a != setting.b).collect()
}

impl VersionSide {
    fn new(record: &VersionRecord, outline: &Outline) -> Self {
        let package = |name: &String| {
            let (interface, version) = name.split_once('@')?;
            let (package, _) = interface.split_once('/')?;
            Some(format!("{package}@{version}"))
        };
        let mut packages: Vec<_> = outline.exports.iter().filter_map(package).collect();
        packages.sort();
        packages.dedup();
        Self {
            id: record.id.clone(),
            component: record.component.clone(),
            source: record.source.clone(),
            bytes: record.bytes,
            packages,
        }
    }
}

impl VersionDiff {
    /// Compares two versions and what they import and export; imports that `named_now` names alike are the same.
    pub(crate) fn new(
        slot: &'static str,
        (a, of_a): (&VersionRecord, &Outline),
        (b, of_b): (&VersionRecord, &Outline),
        named_now: impl Fn(&str) -> String,
    ) -> Self {
        Self {
            slot,
            same_component: a.component == b.component,
            imports: NameDiff::of(&of_a.imports, &of_b.imports, named_now),
            exports: NameDiff::of(&of_a.exports, &of_b.exports, str::to_owned),
            settings: settings(&a.settings, &b.settings),
            a: VersionSide::new(a, of_a),
            b: VersionSide::new(b, of_b),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn diff_lists_names_of_both_sides() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = NameDiff::of(&names(&["b", "a", "same"]), &names(&["same", "c"]), str::to_owned);
        assert_eq!(found, NameDiff { only_a: names(&["a", "b"]), only_b: names(&["c"]) });
        let now = |name: &str| if name == "before" { "now".to_owned() } else { name.to_owned() };
        let found = NameDiff::of(&names(&["before", "a"]), &names(&["now"]), now);
        assert_eq!(found, NameDiff { only_a: names(&["a"]), only_b: Vec::new() });
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let found = settings(
            &map(&[("cpu_ms", "1"), ("reuse", "true"), ("x", "1")]),
            &map(&[("cpu_ms", "2"), ("reuse", "true"), ("y", "1")]),
        );
        let shown: Vec<_> =
            found.iter().map(|one| (one.key.as_str(), one.a.as_deref(), one.b.as_deref())).collect();
        assert_eq!(shown, [("cpu_ms", Some("1"), Some("2")), ("x", Some("1"), None), ("y", None, Some("1"))]);
    }
}
