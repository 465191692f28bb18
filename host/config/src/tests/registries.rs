//! Tests of registries and references to them.

use super::{captcha_slot, each_refused, loaded};
use crate::{
    registries::{Reference, allowed},
    slots::ComponentSource,
};

const TOWN: &str = "[registries.town]\nhost = 'registry.example.org'\n";

#[test]
fn only_named_repositories_are_allowed() {
    let reference = |text: &str| Reference::parse(text).unwrap();
    let none = loaded("", &[]).config.registries;
    let refused = allowed(&none, &reference("oci://registry.example.org/a:1")).unwrap_err();
    assert!(refused.contains("host = \"registry.example.org\""), "{refused}");
    let some = loaded(&format!("{TOWN}repositories = ['town', 'other/a']"), &[]).config.registries;
    for (name, fits) in
        [("town", true), ("town/a/b", true), ("other/a", true), ("other", false), ("townhall", false)]
    {
        let reference = reference(&format!("oci://registry.example.org/{name}:1"));
        assert_eq!(allowed(&some, &reference).is_ok(), fits, "{name}");
    }
    allowed(&some, &reference("oci://registry.example.org:5000/town:1")).unwrap_err();
}

#[test]
fn a_slot_may_name_an_allowed_registry() {
    let slot = "[slots.captcha]\ncomponent = 'oci://registry.example.org/captcha:2.1'\n";
    let settings = captcha_slot(&format!("{slot}{TOWN}"), &[]);
    let ComponentSource::Registry(reference) = settings.component else { panic!() };
    assert_eq!(reference.to_string(), "oci://registry.example.org/captcha:2.1");
    each_refused(&[
        (slot, "line 2: slots.captcha.component: registry registry.example.org is not allowed"),
        (
            &format!("{slot}{TOWN}repositories = ['other']"),
            "slots.captcha.component: repository captcha of registry registry.example.org is not allowed",
        ),
        ("[slots.captcha]\ncomponent = 'oci://r/../a:1'", "slots.captcha.component: must be oci://HOST"),
        ("[slots.captcha]\ncomponent = 'oci://r/a'", "slots.captcha.component: must name a tag"),
    ]);
}

#[test]
fn registries_are_checked_without_showing_secrets() {
    each_refused(&[
        ("[registries.a]\nplain_http = true", "registries.a.host: must be given"),
        ("[registries.a]\nhost = 'https://r'", "registries.a.host: must be a host such as"),
        (&format!("{TOWN}repositories = ['../etc']"), "must be a repository such as"),
        (&format!("{TOWN}username = 'eva'"), "registries.town.username: needs a password"),
        (
            &format!("{TOWN}username = 'eva'\npassword = 'file:/nowhere'"),
            "registries.town.password: cannot read /nowhere",
        ),
        (
            &format!("{TOWN}username = 'eva'\npassword = 'p'\nauth_file = 'config.json'"),
            "registries.town.auth_file: gives credentials a second time",
        ),
        (
            &format!("{TOWN}[registries.village]\nhost = 'registry.example.org'"),
            "registries.village.host: registry.example.org is already configured under another name",
        ),
    ]);
    let environment =
        [("BULKHEAD_REGISTRIES__TOWN__USERNAME", "eva"), ("BULKHEAD_REGISTRIES__TOWN__PASSWORD", "unspoken")];
    let found = loaded(&format!("{TOWN}plain_http = true"), &environment);
    assert!(found.warnings.iter().any(|warning| warning.to_string().contains("plain_http")));
    let [registry] = found.config.registries.as_slice() else { panic!() };
    assert_eq!(registry.base.as_str(), "http://registry.example.org/");
    assert_eq!(registry.password.as_ref().unwrap().expose(), "unspoken");
    assert!(!format!("{registry:?}").contains("unspoken"));
}
