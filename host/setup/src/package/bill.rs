//! Writes a software bill of materials in CycloneDX: the crates of the binary and of the components in it. It has no time
//! and no serial number, so that one build has one bill.

use std::collections::{BTreeMap, BTreeSet};

use super::crates::{self, Crates, LinkedCrate, Locked};
use super::{Release, VERSION};
use crate::command::Outcome;
use crate::toolchain::target_std::WEBASSEMBLY;

type Identity = (String, String);

/// Returns the bill.
pub(super) fn write(release: &Release) -> Outcome<String> {
    let mut all = crates::linked("bulkhead", &release.target, release.features.arguments())?;
    for (_, package) in release.components()? {
        all.extend(crates::linked(&package, WEBASSEMBLY.name, &[])?);
    }
    Ok(bill(&all, &crates::lock_file()?))
}

fn bill(all: &Crates, locked: &BTreeMap<Identity, Locked>) -> String {
    let root = ("bulkhead".to_owned(), VERSION.to_owned());
    let others = all.iter().filter(|(identity, _)| **identity != root);
    let checksum = |identity: &Identity| locked.get(identity).and_then(|locked| locked.checksum.as_deref());
    let mut components: Vec<String> =
        others.map(|(identity, of)| component("library", identity, of, checksum(identity))).collect();
    components.push(format!(
        "{{\"type\":\"library\",\"bom-ref\":\"pkg:npm/swagger-ui-dist\",\"name\":\"swagger-ui-dist\",\"version\":{},\
         \"licenses\":[{{\"expression\":\"Apache-2.0\"}}]}}",
        quoted(swagger_version())
    ));
    let graph: Vec<String> = all.keys().map(|identity| dependencies(identity, all, locked)).collect();
    let own = LinkedCrate { licence: "Apache-2.0".to_owned(), repository: String::new(), is_own: true };
    format!(
        "{{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.5\",\"version\":1,\n\"metadata\":{{\"component\":{}}},\n\
         \"components\":[\n{}\n],\n\"dependencies\":[\n{}\n]}}\n",
        component("application", &root, &own, None),
        components.join(",\n"),
        graph.join(",\n")
    )
}

/// Returns the version of the vendored pages that show APIs.
fn swagger_version() -> &'static str {
    let text = include_str!("../../../vendor/swagger-ui/VERSION");
    text.split_whitespace().nth(1).unwrap_or_default()
}

/// Returns the package URL of a crate, which is its reference in the bill too.
fn purl((name, version): &Identity) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

fn component(kind: &str, identity: &Identity, of: &LinkedCrate, checksum: Option<&str>) -> String {
    let (name, version) = identity;
    let mut members = vec![
        format!("\"type\":{}", quoted(kind)),
        format!("\"bom-ref\":{}", quoted(&purl(identity))),
        format!("\"name\":{}", quoted(name)),
        format!("\"version\":{}", quoted(version)),
    ];
    if let Some(checksum) = checksum {
        members.push(format!("\"hashes\":[{{\"alg\":\"SHA-256\",\"content\":{}}}]", quoted(checksum)));
    }
    if !of.licence.is_empty() {
        // An older way to write a choice.
        let expression = of.licence.replace('/', " OR ");
        members.push(format!("\"licenses\":[{{\"expression\":{}}}]", quoted(&expression)));
    }
    // Crates of this repository are in no registry.
    if !of.is_own {
        members.push(format!("\"purl\":{}", quoted(&purl(identity))));
    }
    if !of.repository.is_empty() {
        members.push(format!(
            "\"externalReferences\":[{{\"type\":\"vcs\",\"url\":{}}}]",
            quoted(&of.repository)
        ));
    }
    format!("{{{}}}", members.join(","))
}

/// Returns which crates of the bill a crate depends on. The lock file also has those of other targets and features, and of
/// tests; only crates that are in the bill are named.
fn dependencies(identity: &Identity, all: &Crates, locked: &BTreeMap<Identity, Locked>) -> String {
    let named = locked.get(identity).map_or(&[][..], |locked| locked.dependencies.as_slice());
    let found: BTreeSet<String> = named
        .iter()
        .flat_map(|dependency| {
            let (name, version) = dependency.split_once(' ').unwrap_or((dependency, ""));
            let version = version.split(' ').next().unwrap_or_default().to_owned();
            let is_it = move |of: &&Identity| of.0 == name && (version.is_empty() || of.1 == version);
            all.keys().filter(is_it).map(|of| quoted(&purl(of)))
        })
        .collect();
    let found: Vec<String> = found.into_iter().collect();
    format!("{{\"ref\":{},\"dependsOn\":[{}]}}", quoted(&purl(identity)), found.join(","))
}

/// Returns a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            char if char.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(char))),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bill_names_crates_and_what_they_use() {
        let identity = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let of = |is_own| LinkedCrate { licence: "MIT/ISC".to_owned(), repository: String::new(), is_own };
        let all: Crates =
            [(identity("bulkhead", VERSION), of(true)), (identity("a", "1.0.0+b"), of(false))].into();
        let using = Locked { checksum: None, dependencies: vec!["a 1.0.0+b".to_owned(), "c".to_owned()] };
        let used = Locked { checksum: Some("0f".to_owned()), dependencies: Vec::new() };
        let locked = [(identity("bulkhead", VERSION), using), (identity("a", "1.0.0+b"), used)].into();
        let bill = bill(&all, &locked);
        for part in [
            "\"hashes\":[{\"alg\":\"SHA-256\",\"content\":\"0f\"}]",
            "\"expression\":\"MIT OR ISC\"",
            "\"purl\":\"pkg:cargo/a@1.0.0%2Bb\"",
            "\"dependsOn\":[\"pkg:cargo/a@1.0.0%2Bb\"]",
        ] {
            assert!(bill.contains(part), "{part}: {bill}");
        }
        assert!(!bill.contains("pkg:cargo/c@"), "{bill}");
        assert_eq!(bill.matches("\"type\":\"application\"").count(), 1);
    }

    #[test]
    fn strings_are_quoted_as_json() {
        assert_eq!(quoted("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
    }
}
