//! What packages hold is here, and what is written in two places is the same.

use std::collections::BTreeSet;

use super::root;

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The texts in quotes of a line.
fn quoted(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

/// The texts in quotes of a list in TOML.
fn listed<'t>(text: &'t str, key: &str) -> BTreeSet<&'t str> {
    let (_, list) = text.split_once(&format!("\n{key} = [\n")).unwrap();
    let lines = list.lines().take_while(|line| *line != "]");
    lines.filter_map(|line| quoted(line).first().copied()).collect()
}

#[test]
fn files_of_debian_package_are_here() {
    let manifest = read("host/Cargo.toml");
    let (_, assets) = manifest.split_once("\nassets = [\n").unwrap();
    let sources = assets.lines().take_while(|line| *line != "]").map(|line| quoted(line)[0]);
    let own: Vec<_> = sources.filter(|source| !source.contains("target/")).collect();
    assert!(own.len() > 3, "{own:?}");
    for source in own {
        assert!(root().join("host").join(source).is_file(), "{source}");
    }
    for script in ["postinst", "postrm"] {
        assert!(read(&format!("host/deploy/debian/{script}")).contains("\n#DEBHELPER#\n"), "{script}");
    }
}

/// What lintian says of the text that the manifest and the file of the license give.
#[test]
fn debian_texts_are_as_lintian_wants() {
    let manifest = read("host/Cargo.toml");
    let texts = manifest.split("\nextended-description = \"\"\"\n").skip(1);
    let texts: Vec<_> = texts.filter_map(|text| text.split("\"\"\"").next()).collect();
    assert_eq!(texts.len(), 2);
    for line in texts.iter().flat_map(|text| text.lines()) {
        assert!(line.chars().count() < 80, "{line}");
    }
    let (_, license) = manifest.split_once("\nlicense-file = [\"").unwrap();
    let license = read(&format!("host/{}", license.split('"').next().unwrap()));
    for line in ["Format: https://", "Copyright: 2", " /usr/share/common-licenses/Apache-2.0"] {
        assert!(license.lines().any(|found| found.starts_with(line)), "{line}");
    }
}

#[test]
fn debian_packages_replace_each_other() {
    let manifest = read("host/Cargo.toml");
    let (full, edge) = manifest.split_once("\n[package.metadata.deb.variants.edge]\n").unwrap();
    for (of, other) in [(full, "bulkhead-edge"), (edge, "bulkhead")] {
        for key in ["conflicts", "replaces"] {
            assert!(of.contains(&format!("\n{key} = \"{other}\"\n")), "{key} {other}");
        }
    }
    // Both have these lines, which therefore name no package.
    let overrides = read("host/deploy/debian/lintian-overrides");
    assert!(overrides.lines().all(|line| line.starts_with('#') || !line.contains(':')), "{overrides}");
}

#[test]
fn notices_are_of_components_in_binary() {
    let program = read("host/setup/src/package.rs");
    let (_, listed) = program.split_once("\nconst COMPONENTS: ").unwrap();
    let listed = quoted(listed.lines().next().unwrap());
    let mut contained = Vec::new();
    for service in super::names(&root().join("host/services")) {
        let specification = root().join(format!("host/services/{service}/src/spec.rs"));
        let text = std::fs::read_to_string(specification).unwrap_or_default();
        let names = text.split("env!(\"BULKHEAD_COMPONENT_").skip(1);
        contained.extend(names.map(|name| name.split('"').next().unwrap().to_lowercase()));
    }
    contained.sort();
    assert_eq!(listed, contained);
}

#[test]
fn licences_of_notices_are_allowed() {
    let (notices, deny) = (read(".config/about.toml"), read(".config/deny.toml"));
    let (accepted, allowed) = (listed(&notices, "accepted"), listed(&deny, "allow"));
    assert!(accepted.len() > 5 && accepted.is_subset(&allowed), "{accepted:?} {allowed:?}");
}

#[test]
fn image_has_one_user() {
    let recipe = read("host/setup/src/package/image.rs");
    let (_, users) = recipe.split_once("USERS: &str = \"bulkhead:x:").unwrap();
    let user = users.split(':').next().unwrap();
    let image = read("host/deploy/Containerfile");
    for line in [format!("USER {user}:{user}"), format!("--chown={user}:{user}")] {
        assert!(image.contains(&line), "{line}");
    }
}

#[test]
fn unit_and_packages_share_folders() {
    let (unit, configuration) =
        (read("host/deploy/systemd/bulkhead.service"), read("host/deploy/bulkhead.toml"));
    assert!(unit.contains("\nStateDirectory=bulkhead\n"));
    assert!(configuration.contains("\ndata_dir = \"/var/lib/bulkhead\"\n"));
    for script in ["postinst", "postrm"] {
        let script = read(&format!("host/deploy/debian/{script}"));
        assert!(script.contains("/var/lib/bulkhead") && script.contains("/etc/bulkhead/credentials"));
    }
    assert!(unit.contains("\nLoadCredential=secret:/etc/bulkhead/credentials\n"));
}
