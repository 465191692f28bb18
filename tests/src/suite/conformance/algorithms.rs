//! Every function that a site may ask for, solved for real by an independent client.

use serde_json::{Value, json};

use super::{CLIENT, Service, altcha, refused, valid};

/// Solves and hands in, right and wrong; the parameters that were issued.
async fn assert_works(service: &Service, site: &str) -> Value {
    let challenge = service.challenge(site, CLIENT).await;
    let solved = altcha::solve(&challenge);
    assert_eq!(service.verify(site, &solved).await, valid(), "{challenge}");
    assert_eq!(service.verify(site, &solved).await, refused("replayed"), "{challenge}");
    let other = service.challenge(site, CLIENT).await;
    let answer = service.verify(site, &altcha::unsolved(&other)).await;
    assert_eq!(answer, refused("wrong_solution"), "work that misses the prefix: {other}");
    challenge["parameters"].clone()
}

macro_rules! algorithms {
    ($($name:ident: $algorithm:literal, $settings:literal;)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let site = |site: &str, deterministic: bool| format!(
                    "[captcha.sites.{site}]\nsecret = \"{site}_secret\"\nalgorithm = \"{}\"\n\
                     deterministic = {deterministic}\n{}\n", $algorithm, $settings
                );
                let service = Service::start(&(site("drawn", true) + &site("searched", false))).await;
                for (site, deterministic) in [("drawn", true), ("searched", false)] {
                    let parameters = assert_works(&service, site).await;
                    assert_eq!(parameters["algorithm"], $algorithm);
                    assert_eq!(parameters["keyLength"], 32);
                    assert_eq!(parameters["keySignature"].is_string(), deterministic);
                    let prefix = parameters["keyPrefix"].as_str().unwrap();
                    assert_eq!(prefix.len(), if deterministic { 32 } else { 2 });
                }
                service.stop().await;
            }
        )*
    };
}

algorithms! {
    sha_256: "SHA-256", "difficulty_map = [{ min_visits = 1, cost = 20 }]";
    sha_384: "SHA-384", "difficulty_map = [{ min_visits = 1, cost = 20 }]";
    sha_512: "SHA-512", "difficulty_map = [{ min_visits = 1, cost = 20 }]";
    pbkdf2_sha_256: "PBKDF2/SHA-256", "difficulty_map = [{ min_visits = 1, cost = 20 }]";
    pbkdf2_sha_384: "PBKDF2/SHA-384", "difficulty_map = [{ min_visits = 1, cost = 20 }]";
    pbkdf2_sha_512: "PBKDF2/SHA-512", "difficulty_map = [{ min_visits = 1, cost = 20 }]";
    scrypt: "SCRYPT", "memory_cost = 8\nparallelism = 2\ndifficulty_map = [{ min_visits = 1, cost = 16 }]";
    argon2id: "ARGON2ID", "memory_cost = 64\nparallelism = 2\ndifficulty_map = [{ min_visits = 1, cost = 2 }]";
}

#[tokio::test]
async fn default_is_deterministic_pbkdf2_with_signed_key() {
    let service = Service::start("[captcha.sites.a]\nsecret = \"a_secret\"\n").await;
    let parameters = assert_works(&service, "a").await;
    service.stop().await;
    assert_eq!(parameters["algorithm"], "PBKDF2/SHA-256");
    assert_eq!((&parameters["cost"], &parameters["keyLength"]), (&json!(5000), &json!(32)));
    assert_eq!(parameters["keyPrefix"].as_str().unwrap().len(), 32, "16 bytes, half of the key");
    assert_eq!(parameters["keySignature"].as_str().unwrap().len(), 64);
    assert!(parameters.get("memoryCost").is_none() && parameters.get("parallelism").is_none());
    let data = parameters["data"].as_object().unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["keyId", "site"]);
    assert_eq!(data["site"], "a");
}

#[tokio::test]
async fn counters_are_between_1_and_bound() {
    let settings = "counter_max = 4\ndifficulty_map = [{ min_visits = 1, cost = 1 }]";
    let service = Service::start(&format!("[captcha.sites.a]\nsecret = \"a_secret\"\n{settings}")).await;
    let mut seen = std::collections::BTreeSet::new();
    // Four equally likely counters: that one is missing after 100 draws happens once in 10^12.
    for _ in 0..100 {
        seen.insert(service.solved("a", CLIENT).await["solution"]["counter"].as_u64().unwrap());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
    service.stop().await;
}

#[tokio::test]
async fn protocol_v1() {
    for (settings, algorithm) in [
        ("", "SHA-256"),
        ("algorithm = \"SHA-384\"", "SHA-384"),
        ("algorithm = \"SHA-512\"", "SHA-512"),
        ("compat = true", "SHA-256"),
    ] {
        let config = format!(
            "[captcha]\nhmac_key = \"secret\"\n[captcha.sites.a]\nsecret = \"a_secret\"\nprotocol = \"v1\"\n{settings}\n\
             difficulty_map = [{{ min_visits = 1, cost = 1000 }}]\n"
        );
        let service = Service::start(&config).await;
        let challenge = service.challenge("a", CLIENT).await;
        let members: Vec<_> = challenge.as_object().unwrap().keys().collect();
        assert_eq!(members, ["algorithm", "challenge", "maxnumber", "salt", "signature"]);
        assert_eq!((&challenge["algorithm"], &challenge["maxnumber"]), (&json!(algorithm), &json!(1000)));
        assert!(challenge["salt"].as_str().unwrap().ends_with('&'), "a closed salt");
        let solved = altcha::solve(&challenge);

        let mut wrong = solved.clone();
        wrong["number"] = json!(solved["number"].as_u64().unwrap() + 1);
        assert_eq!(service.verify("a", &wrong).await, refused("wrong_solution"));
        let body = super::with_payload(super::envelope("a", CLIENT), &{
            let mut text = solved.clone();
            text["number"] = json!(solved["number"].to_string());
            text
        });
        assert_eq!(service.post("/verify", &body).await.0, 400, "a number is not a text");
        assert_eq!(service.verify("a", &spliced(&solved)).await["valid"], false, "CVE-2025-68113");

        assert_eq!(service.verify("a", &solved).await, valid(), "{settings}");
        assert_eq!(service.verify("a", &solved).await, refused("replayed"), "{settings}");
        service.stop().await;
    }
}

/// Digits of the number moved to the end of the salt.
fn spliced(solved: &Value) -> Value {
    let mut spliced = solved.clone();
    let salt = solved["salt"].as_str().unwrap();
    let number = solved["number"].to_string();
    let (moved, left) = number.split_at(number.len().min(1));
    spliced["salt"] = json!(format!("{salt}{moved}"));
    spliced["number"] = json!(left.parse::<u64>().unwrap_or(0));
    spliced
}

#[tokio::test]
async fn v1_is_accepted_where_it_is_configured() {
    let config = |accept: &str| {
        format!(
            "[captcha]\nhmac_key = \"secret\"\n[captcha.sites.a]\nsecret = \"a_secret\"\ncompat = true\n{accept}\n\
             difficulty_map = [{{ min_visits = 1, cost = 10 }}]\n"
        )
    };
    let issuer = Service::start(&config("protocol = \"v1\"")).await;
    let solved = issuer.solved("a", CLIENT).await;
    issuer.stop().await;
    let strict = Service::start(&config("")).await;
    let body = super::with_payload(super::envelope("a", CLIENT), &solved);
    assert_eq!(strict.post("/verify", &body).await.0, 400);
    strict.stop().await;
    let lenient = Service::start(&config("accept_v1 = true")).await;
    assert_eq!(lenient.challenge("a", CLIENT).await["parameters"]["algorithm"], "SHA-256", "v2 is issued");
    assert_eq!(lenient.verify("a", &solved).await, valid());
    lenient.stop().await;
}
