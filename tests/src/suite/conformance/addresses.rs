//! Facts 2, 3 and 17 to 19: what a client's address becomes, read from the ledger.

use serde_json::json;

use super::{JAVA, SITE, Service, altcha, client_hashes, envelope, refusal};

/// Sites in compatible mode with masks of their own, and an address that each is asked for.
async fn hashes_under_masks(setting: &str, address: &str, sizes: &[u8]) -> Vec<String> {
    let site = |size: &u8| {
        format!(
            "[captcha.sites.m{size}]\nsecret = \"m{size}_secret\"\ncompat = true\n{setting} = {size}\n\
             difficulty_map = [{{ min_visits = 1, cost = 1 }}]\n"
        )
    };
    let config: String = sizes.iter().map(site).collect();
    let service = Service::start(&format!("[captcha]\nhmac_key = \"secret\"\n{config}")).await;
    for size in sizes {
        service.challenge(&format!("m{size}"), address).await;
    }
    client_hashes(&service.stop().await).await
}

fn hashes(texts: &[&str]) -> Vec<String> {
    let mut hashes: Vec<_> = texts.iter().map(|text| altcha::hash(text)).collect();
    hashes.sort_unstable();
    hashes
}

#[tokio::test]
async fn fact_2_ipv4_client_is_one_row() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, "1.2.3.4").await;
    let rows = client_hashes(&service.stop().await).await;
    assert_eq!(rows, ["6694f83c9f476da31f5df6bcc520034e7e57d421d247b9d34f49edbfc84a764c"]);
}

#[tokio::test]
async fn fact_3_ipv6_client_is_masked() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, "ea28:fb8:e3f6:2836:5678:9abc:def0:1234").await;
    let rows = client_hashes(&service.stop().await).await;
    assert_eq!(rows, ["6f70f5e3d3975f74b80d7b8bc483949bd404ae619bb1f0b7869c1f4d5b575019"]);
}

#[tokio::test]
async fn fact_17_ipv4_masks() {
    let rows = |address, sizes| hashes_under_masks("source_address_ipv4_net_size", address, sizes);
    assert_eq!(
        rows("192.168.1.100", &[24, 16, 8, 20, 32, 0]).await,
        hashes(&["192.168.1.0", "192.168.0.0", "192.0.0.0", "192.168.0.0", "192.168.1.100", "0.0.0.0"])
    );
    assert_eq!(rows("10.10.10.10", &[13]).await, hashes(&["10.8.0.0"]));
}

#[tokio::test]
async fn fact_18_ipv6_masks() {
    let address = "2001:db8:85a3:8d3:1319:8a2e:370:7348";
    let rows = hashes_under_masks("source_address_ipv6_net_size", address, &[64, 32, 70, 128, 0]).await;
    let texts = [
        "2001:db8:85a3:8d3:0:0:0:0",
        "2001:db8:0:0:0:0:0:0",
        "2001:db8:85a3:8d3:1000:0:0:0",
        address,
        "0:0:0:0:0:0:0:0",
    ];
    assert_eq!(rows, hashes(&texts));
}

#[tokio::test]
async fn fact_19_bad_literals_are_refused() {
    let service = Service::start(JAVA).await;
    for address in ["", " ", "localhost", "1.2.3", "01.2.3.4", "1.2.3.4/24", "[::1]", "::1::", "1.2.3.4:80"] {
        assert_eq!(service.post("/challenge", &envelope(SITE, address)).await.0, 400, "{address:?}");
    }
    for address in [json!(null), json!(16_909_060), json!(["1.2.3.4"])] {
        let mut body = envelope(SITE, "");
        body["clientAddress"] = address.clone();
        assert_eq!(service.post("/challenge", &body).await.0, 400, "{address}");
    }
    assert_eq!(client_hashes(&service.stop().await).await, hashes(&[]), "no visit of nobody");

    for (setting, size) in [("ipv4", "33"), ("ipv4", "-1"), ("ipv6", "129"), ("ipv6", "-1")] {
        let key = format!("source_address_{setting}_net_size");
        let reason = refusal(&format!("[captcha.sites.a]\nsecret = \"a\"\n{key} = {size}")).await;
        assert!(reason.contains(&key) && reason.contains(size), "{reason}");
    }
}

#[tokio::test]
async fn a_mapped_address_is_the_ipv4_client() {
    let service = Service::start(JAVA).await;
    let mut costs = Vec::new();
    for address in ["1.2.3.4", "::ffff:1.2.3.4", "::FFFF:102:304", "0:0:0:0:0:ffff:1.2.3.4"] {
        costs.push(service.cost(SITE, address).await);
    }
    assert_eq!(costs, [1000, 1000, 2000, 3000]);
    assert_eq!(service.cost(SITE, "::ffff:10.9.8.7").await, 1, "allow-listed");
    let rows = client_hashes(&service.stop().await).await;
    assert_eq!(rows, hashes(&["1.2.3.4", "1.2.3.4", "1.2.3.4", "1.2.3.4", "10.9.8.7"]));
}

#[tokio::test]
async fn ipv6_visits_count_by_64_bits_normally() {
    let config = r#"
        [captcha]
        hmac_key = "secret"
        [captcha.sites.own]
        secret = "own_secret"
        difficulty_map = [{ min_visits = 1, cost = 7 }, { min_visits = 3, cost = 9 }]
        [captcha.sites.compat]
        secret = "compat_secret"
        compat = true
        difficulty_map = [{ min_visits = 1, cost = 7 }, { min_visits = 3, cost = 9 }]
    "#;
    let service = Service::start(config).await;
    for (site, costs) in [("own", [7, 7, 9, 9]), ("compat", [7, 7, 7, 7])] {
        for (host, cost) in (1..).zip(costs) {
            assert_eq!(service.cost(site, &format!("2001:db8::{host}:0:0:1")).await, cost, "{site} {host}");
        }
        assert_eq!(service.cost(site, "2001:db8:0:1::1").await, 7, "{site}: another network");
    }
    service.stop().await;
}

#[tokio::test]
async fn allow_lists_match_the_full_address() {
    let config = r#"
        [captcha]
        hmac_key = "secret"
        [captcha.sites.a]
        secret = "a_secret"
        compat = true
        source_address_ipv4_net_size = 24
        source_address_ipv6_net_size = 64
        whitelisted_source_addresses = ["192.0.2.7", "2001:db8::1/128", "198.51.100.0/30"]
        difficulty_map = [{ min_visits = 1, cost = 7 }]
    "#;
    let service = Service::start(config).await;
    for (address, cost) in [
        ("192.0.2.7", 1),
        ("192.0.2.8", 7),
        ("192.0.2.0", 7),
        ("2001:db8::1", 1),
        ("2001:db8::2", 7),
        ("2001:db8::", 7),
        ("198.51.100.3", 1),
        ("198.51.100.4", 7),
    ] {
        assert_eq!(service.cost("a", address).await, cost, "{address}");
    }
    let folder = service.stop().await;
    let listed = "SELECT CAST(is_whitelisted AS TEXT) FROM captcha_request ORDER BY rowid";
    assert_eq!(super::column(&folder, listed).await, ["1", "0", "0", "1", "0", "0", "1", "0"]);
}

#[tokio::test]
async fn ledger_has_no_address_in_normal_mode() {
    let config = r#"
        [captcha.sites.a]
        secret = "a_secret"
        algorithm = "SHA-256"
        difficulty_map = [{ min_visits = 1, cost = 1 }]
    "#;
    let service = Service::start(config).await;
    service.challenge("a", "1.2.3.4").await;
    service.challenge("a", "1.2.3.4").await;
    let folder = service.stop().await;
    let rows = client_hashes(&folder).await;
    assert_eq!((rows.len(), &rows[0]), (2, &rows[1]), "one client is one key");
    assert_ne!(rows[0], altcha::hash("1.2.3.4"));
    for file in std::fs::read_dir(folder.path().join("data")).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(7).any(|window| window == b"1.2.3.4"), "{}", path.display());
        }
    }

    // Another host's pepper makes another key.
    let other = Service::start(config).await;
    other.challenge("a", "1.2.3.4").await;
    assert_ne!(client_hashes(&other.stop().await).await[0], rows[0]);
}

#[tokio::test]
async fn ladder_sparing_first_visits_is_refused() {
    let ladder = |text: &str| format!("[captcha.sites.a]\nsecret = \"a\"\ncompat = true\n{text}");
    let reason = refusal(&ladder("difficulty_map = [{ min_visits = 2, cost = 7 }]")).await;
    assert!(reason.contains("has no entry for the first visit"), "{reason}");
    let reason = refusal(&ladder("difficulty_map = []")).await;
    assert!(reason.contains("difficulty_map"), "{reason}");
    let reason = refusal(&ladder("")).await;
    assert!(reason.contains("must be given with SHA-256"), "{reason}");
}
