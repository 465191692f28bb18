//! Slots whose component the configuration takes from a registry.

use bulkhead_tests::servers::fake_registry::Behaviour;

use super::*;
use crate::operators::packs::compiled;

/// A host whose captcha slot has this component.
fn naming(reference: &str, registry: &str) -> Builder {
    TestHost::builder()
        .config(&operator::tokens())
        .config(SITE)
        .config(registry)
        .config(&format!("[slots.captcha]\ncomponent = \"{reference}\"\n"))
        .env("CAPTCHA_HMAC_KEY", bulkhead_tests::host::HMAC_KEY)
}

async fn is_ready(host: &TestHost) -> bool {
    host.client().get(host.admin_url("/health/ready")).send().await.unwrap().status() == 200
}

#[tokio::test(flavor = "multi_thread")]
async fn host_starts_offline_with_stored_component() {
    let mut registry = Registry::start().await;
    let first = registry.push("town/captcha", "stable", &artifact('B')).await;
    let settings = plain(&registry.host());
    let name = format!("oci://{}/town/captcha", registry.host());
    let tag = format!("{name}:stable");

    let host = naming(&tag, &settings).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    let active = operator(&host).slot().await["active"].clone();
    assert_eq!(active["source"], format!("{tag}@{first}"));
    assert_eq!(active["configured"], true);
    // The tag moves, and not under the host.
    let second = registry.push("town/captcha", "stable", &artifact('C')).await;
    let host = naming(&tag, &settings).folder(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    // By its digest the new one is another.
    let digest = format!("{name}@{second}");
    let host = naming(&digest, &settings).folder(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'C');

    registry.stop();
    let mut folder = host.stop().await;
    // What was had once is had again, under other settings too.
    for (reference, cpu_ms, expected) in
        [(&digest, "200", 'C'), (&digest, "300", 'C'), (&tag, "300", 'B'), (&tag, "200", 'B')]
    {
        let host = naming(reference, &settings).env("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", cpu_ms);
        let host = host.folder(folder).start().await;
        assert_eq!(letter(&host, 1).await, expected, "{reference} {cpu_ms}");
        assert!(is_ready(&host).await);
        folder = host.stop().await;
    }
    // What was never had is not: the last that answered goes on.
    let host = naming(&format!("{name}@sha256:{}", "0".repeat(64)), &settings).folder(folder).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    assert!(is_ready(&host).await);
    assert_eq!(leftovers(host.folder()), [""; 0]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn first_start_without_registry_is_empty() {
    let fake = FakeRegistry::start().await;
    fake.does("/v2/", Behaviour::Hangs);
    let settings = plain(&fake.host()) + "timeout_ms = 500\n";
    let name = format!("oci://{}/town/captcha:1", fake.host());
    let host = naming(&name, &settings).start().await;
    assert_eq!((ask(&host, 1).await.status().as_u16(), is_ready(&host).await), (503, false));
    let first = operator(&host);
    let empty = first.slot().await["empty"].as_str().unwrap().to_owned();
    assert!(empty.contains(&name) && empty.contains("does not answer in time"), "{empty}");
    let version = first.push(answering('B', "").component()).await;
    first.swap(&version).await;
    assert_eq!((letter(&host, 1).await, is_ready(&host).await), ('B', true));
    // What was pushed since needs nobody.
    let asked = fake.received().len();
    let host = naming(&name, &settings).folder(host.stop().await).start().await;
    assert_eq!((letter(&host, 1).await, fake.received().len()), ('B', asked));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_component_needs_its_signature() {
    let (fake, signer, other) = (FakeRegistry::start().await, Signer::new(), Signer::new());
    let b = artifact('B');
    fake.holds("town", "1", &b.clone().signed(&signer.sign(&b.layer, 1_780_000_000)));
    let name = format!("oci://{}/town:1", fake.host());
    let naming = |signer: &Signer| {
        naming(&name, &plain(&fake.host()))
            .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "required")
            .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &signer.key())
    };
    let host = naming(&signer).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    let asked = fake.received().len();
    let host = naming(&signer).folder(host.stop().await).start().await;
    assert_eq!((letter(&host, 1).await, fake.received().len()), ('B', asked));
    let host = naming(&other).folder(host.stop().await).start().await;
    assert_eq!(ask(&host, 1).await.status(), 503);
    let empty = operator(&host).slot().await["empty"].as_str().unwrap().to_owned();
    assert!(empty.contains("not that of these bytes"), "{empty}");
    host.stop().await;
}

/// An upgrade may refuse every pack of before; here, it is the key that is not accepted any more.
#[tokio::test(flavor = "multi_thread")]
async fn refused_stored_pack_is_pulled_again() {
    let (fake, mut folder) = (FakeRegistry::start().await, TempDir::new().unwrap());
    let name = format!("oci://{}/town:1", fake.host());
    for expected in ['B', 'C'] {
        let signer = Signer::new();
        let pack = compiled(&answering(expected, "").component(), Some(&signer), &[]).await;
        fake.holds("town", "1", &Artifact::of(pack));
        let host = naming(&name, &plain(&fake.host())).env("BULKHEAD_SANDBOX__PACK_KEYS", &signer.key());
        let host = host.folder(folder).start().await;
        assert_eq!(letter(&host, 1).await, expected);
        folder = host.stop().await;
    }
}
