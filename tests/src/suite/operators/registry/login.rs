//! Credentials: who gets them, and who does not.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_tests::servers::fake_registry::Behaviour;

use super::*;

fn with_tls(registry: &Registry) -> String {
    format!("[registries.tests]\nhost = \"{}\"\nca = {:?}\n", registry.host(), registry.authority())
}

#[tokio::test(flavor = "multi_thread")]
async fn real_registry_serves_logged_in_users() {
    let registry = Registry::start_guarded().await;
    registry.push("town/captcha", "1", &artifact('B')).await;
    let name = format!("oci://{}/town/captcha:1", registry.host());
    let (user, password) = registry.user();
    let folder = TempDir::new().unwrap();
    let auth_file = |password: &str| {
        let path = folder.path().join("config.json");
        let pair = BASE64_STANDARD.encode(format!("{user}:{password}"));
        fs::write(&path, json!({ "auths": { registry.host(): { "auth": pair } } }).to_string()).unwrap();
        format!("auth_file = {path:?}\n")
    };
    let login = |password: &str| format!("username = \"{user}\"\npassword = \"{password}\"\n");
    let wrong = "a-wrong-password";
    for (settings, status, code, why) in [
        (format!("[registries.tests]\nhost = \"{}\"\n", registry.host()), 502, "registry-unreachable", ""),
        (plain(&registry.host()), 502, "registry-unreachable", ""),
        (with_tls(&registry), 502, "registry-denied", "set registries.NAME.username and password"),
        (
            with_tls(&registry) + &login(wrong),
            502,
            "registry-denied",
            "the registry refuses the user name or password of registries.tests",
        ),
        (
            with_tls(&registry) + &auth_file(wrong),
            502,
            "registry-denied",
            "the registry refuses the credentials in auth_file of registries.tests",
        ),
        (with_tls(&registry) + "auth_file = \"/none/config.json\"\n", 500, "registry-settings", ""),
    ] {
        let host = hosting_a().config(&settings).start().await;
        let said = refused(&host, &name, status, code).await;
        assert!(said.contains(why), "{said}");
        assert!(!said.contains("password\"") && !said.contains("a-wrong-password"), "{said}");
        assert_untouched(&host).await;
        host.stop().await;
    }
    for credentials in [login(password), auth_file(password)] {
        let host = hosting_a().config(&(with_tls(&registry) + &credentials)).start().await;
        let (status, version) = pull(&host, &name).await;
        assert_eq!(status, 201, "{version}");
        assert!(!version.to_string().contains(password));
        host.stop().await;
    }
}

/// A registry with a token server of its own, whose files are elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn registry_token_is_for_one_repository() {
    let (fake, elsewhere) = (FakeRegistry::start().await, FakeRegistry::start().await);
    let b = artifact('B');
    fake.holds("town/captcha", "1", &b);
    elsewhere.holds("town/captcha", "1", &b);
    let blobs =
        elsewhere.url(&format!("/v2/town/captcha/blobs/{}", bulkhead_tests::artifact::digest(&b.layer)));
    fake.does(
        "/token",
        Behaviour::Says("application/json", br#"{"token":"t0ken","expires_in":60}"#.to_vec()),
    );
    fake.does("/blobs/", Behaviour::Redirects(blobs));
    let challenge =
        format!("Bearer realm=\"{}\",service=\"r\",scope=\"repository:*:push\"", fake.url("/token"));
    fake.does("/v2/", Behaviour::Wants("Bearer t0ken".into(), challenge));
    let settings = plain(&fake.host())
        + &format!("username = \"eva\"\npassword = \"unspoken\"\nallow = [\"{}\"]\n", elsewhere.url(""));
    let host = hosting_a().config(&settings).start().await;
    let (status, version) = pull(&host, &format!("oci://{}/town/captcha:1", fake.host())).await;
    assert_eq!(status, 201, "{version}");

    let received = fake.received();
    let seen: Vec<_> = received
        .iter()
        .map(|one| (one.path.rsplit('/').next().unwrap(), one.authorization.as_deref()))
        .collect();
    let basic = format!("Basic {}", BASE64_STANDARD.encode("eva:unspoken"));
    let layer = bulkhead_tests::artifact::digest(&b.layer);
    assert_eq!(
        seen,
        [
            ("1", None),
            ("token", Some(basic.as_str())),
            ("1", Some("Bearer t0ken")),
            (layer.as_str(), Some("Bearer t0ken"))
        ]
    );
    assert_eq!(
        received[1].query, "service=r&scope=repository%3Atown%2Fcaptcha%3Apull",
        "not what it wants to give"
    );
    let [one]: [_; 1] = elsewhere.received().try_into().unwrap();
    assert_eq!(one.authorization, None, "whoever it redirects to gets no token");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_but_the_registry_gets_the_credentials() {
    let (fake, foreign) = (FakeRegistry::start().await, FakeRegistry::start().await);
    foreign.does("/", Behaviour::Says("application/json", br#"{"token":"t0ken"}"#.to_vec()));
    let bearer =
        |realm: &str| Behaviour::Wants("never".into(), format!("Bearer realm=\"{realm}\",service=\"r\""));
    fake.does("/foreign/", bearer(&foreign.url("/token")));
    // A realm of its own that sends on to the foreign one.
    fake.does("/sent-on/", bearer(&fake.url("/redirecting")));
    fake.does("/redirecting", Behaviour::Redirects(foreign.url("/token")));
    fake.does("/wordless/", Behaviour::Wants("never".into(), "Negotiate".into()));
    fake.does("/broken/", bearer("not a URL"));
    fake.does("/garbled/", bearer(&fake.url("/garbage")));
    fake.does("/garbage", Behaviour::Says("application/json", b"{\"token\":\"a\\nb\"}".to_vec()));
    fake.does("/greedy/", bearer(&fake.url("/flood")));
    fake.does("/flood", Behaviour::Floods("application/json"));
    // A token server that does not take the password, and a registry that does not take the token.
    fake.does("/closed/", bearer(&fake.url("/login")));
    fake.does("/login", Behaviour::Wants("never".into(), "Basic".into()));
    fake.does("/token-only/", bearer(&fake.url("/own-token")));
    fake.does("/own-token", Behaviour::Says("application/json", br#"{"token":"t0ken"}"#.to_vec()));
    let settings = plain(&fake.host()) + "username = \"eva\"\npassword = \"unspoken\"\n";
    let host = hosting_a().config(&settings).start().await;
    for (repository, code) in [
        ("foreign", "registry-denied"),
        ("sent-on", "registry-unreachable"),
        ("wordless", "registry-denied"),
        ("broken", "malformed-answer"),
        ("garbled", "malformed-answer"),
        ("greedy", "malformed-answer"),
        ("closed", "registry-denied"),
        ("token-only", "registry-denied"),
    ] {
        let said = refused(&host, &format!("oci://{}/{repository}:1", fake.host()), 502, code).await;
        assert!(!said.contains("unspoken"), "{said}");
        let is_login = said.contains("refuses the user name or password of registries.tests (status 401)");
        assert_eq!(is_login, repository == "closed", "{repository}: {said}");
        if repository == "foreign" {
            assert!(said.contains(&foreign.url("")) && said.contains("registries.NAME.allow"), "{said}");
        }
    }
    assert_eq!(foreign.received().len(), 0);
    assert_untouched(&host).await;
    host.stop().await;
}
