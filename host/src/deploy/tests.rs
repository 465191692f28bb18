use crate::config::{
    rollout::Rollout,
    signatures::Signatures,
    slots::{ComponentSource, Limits, Slot},
    watch::Watch,
};

/// A slot's settings.
pub(super) fn settings() -> Slot {
    Slot {
        component: ComponentSource::Embedded,
        limits: Limits::DEFAULT,
        grants: Vec::new(),
        models: None,
        reuse: false,
        rollout: Rollout::DEFAULT,
        signatures: Signatures::DEFAULT,
        watch: Watch::DEFAULT,
        config: std::collections::BTreeMap::new(),
    }
}

#[test]
fn what_a_component_is_given_makes_another_version_of_it() {
    use super::VersionId;
    use crate::{compile::ComponentDigest, slots::revision};

    let (plain, component) = (settings(), ComponentDigest::of(b"a"));
    let id = |settings: &Slot| VersionId::new(component, &revision(settings));
    for other in [
        Slot { grants: vec!["wasi:io/poll".into()], ..settings() },
        Slot { limits: Limits { cpu_ms: 1, ..Limits::DEFAULT }, ..settings() },
        Slot { config: [("a".to_owned(), "b".to_owned())].into(), ..settings() },
        Slot { reuse: true, ..settings() },
    ] {
        assert_ne!(id(&other), id(&plain), "{other:?}");
    }
    let elsewhere = Slot { component: ComponentSource::File("a.wasm".into()), ..settings() };
    assert_eq!(id(&elsewhere), id(&plain), "where the file is makes no difference");
    assert_ne!(VersionId::new(ComponentDigest::of(b"b"), &revision(&plain)), id(&plain));
}
