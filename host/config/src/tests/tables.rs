//! Tests of services' tables, with two invented ones.

use std::{collections::BTreeMap, fs, net::SocketAddr, path::PathBuf};

use super::{each_refused, loaded};
use crate::{
    HostSpec, Origin, Problem,
    alias::{AliasLayer, Aliases, SecretAlias},
    formats,
    reader::Reader,
    reference,
    secret::Secret,
    tables::{Context, MissingTable, ServiceTable, TableSpec},
    tree,
};

pub(super) const TABLES: &[TableSpec] = &[TableSpec::of::<Shop>(), TableSpec::of::<Sale>()];

pub(super) const ALIASES: &[Aliases] = &[Aliases {
    plain: &[("SHOP_OPEN", "shop.hours.open")],
    secrets: &[
        SecretAlias { variable: "SHOP_KEY", key: "shop.keys", appends: true },
        SecretAlias { variable: "SHOP_ONLY_KEY", key: "shop.keys", appends: false },
    ],
    others: |layer: &mut AliasLayer<'_>| {
        for (name, text) in layer.environment {
            let origin = Origin::Environment(name.clone());
            match name.strip_prefix("SHOP_PRICE_") {
                Some("") => layer.problems.push(Problem::new(origin, "shop.prices", "must name an article")),
                Some(article) => tree::set_text(layer.tree, &format!("shop.prices.{article}"), origin, text),
                None => {}
            }
        }
    },
}];

/// A table with every kind of key.
#[derive(Clone, Debug)]
pub(super) struct Shop {
    pub(super) prices: BTreeMap<String, String>,
    keys: Vec<Secret>,
    open: Option<String>,
    stock: Option<PathBuf>,
    listen: Option<SocketAddr>,
    public: SocketAddr,
}

impl ServiceTable for Shop {
    const NAME: &'static str = "shop";
    const CHOSEN_NAMES: &'static [&'static str] = &["shop.prices"];
    const SETTINGS_FILES: &'static [&'static str] = &["shop.stock"];

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        let public = context.address("captcha");
        let shop = reader.table(Self::NAME, |r| Self {
            prices: r.strings("prices", "Prices by article"),
            keys: r.key("keys", "Keys of the door").secrets(1),
            open: r.table("hours", |r| r.key("open", "From when on").text()),
            stock: r.key("stock", "File of what there is").path(),
            listen: r.key("listen", "A listener of its own").optional("address", formats::address),
            public,
        });
        if let Some(address) = shop.listen {
            context.opens("captcha", "shop.listen", address);
        }
        shop
    }
}

/// A table whose reader needs another one.
#[derive(Clone, Debug)]
struct Sale {
    articles: usize,
}

impl ServiceTable for Sale {
    const NAME: &'static str = "sale";

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        let articles = context.table::<Shop>().map_or(0, |shop| shop.prices.len());
        reader.table(Self::NAME, |r| {
            if articles == 0 && r.key("enabled", "Sell cheaply").flag(false) {
                r.problem("enabled", "needs a price");
            }
            Self { articles }
        })
    }
}

/// A table that no host has.
#[derive(Clone, Debug)]
struct Absent;

impl ServiceTable for Absent {
    const NAME: &'static str = "absent";

    fn read(_: &mut Reader, _: &mut Context<'_>) -> Self {
        Self
    }
}

fn shop(toml: &str, environment: &[(&str, &str)]) -> Shop {
    loaded(toml, environment).config.table::<Shop>().unwrap().clone()
}

fn exposed(keys: &[Secret]) -> Vec<&str> {
    keys.iter().map(Secret::expose).collect()
}

#[test]
fn table_is_found_by_its_type() {
    let config = loaded("[shop.prices]\nbread = '2'\nmilk = '1'", &[]).config;
    assert_eq!(config.table::<Shop>().unwrap().prices["milk"], "1");
    assert_eq!(config.table::<Sale>().unwrap().articles, 2, "a table may need one that is read before");
    let missing = config.table::<Absent>().unwrap_err().to_string();
    assert!(missing.starts_with("the configuration was read without the table `absent`; "), "{missing}");
}

#[test]
fn listeners_come_with_their_keys() {
    let toml = "[shop]\nlisten = '127.0.0.1:81'\n[services.captcha]\nlisten = '127.0.0.1:82'";
    let listeners = loaded(toml, &[]).config.listeners();
    let ports: Vec<_> = listeners.iter().map(|(key, address)| (key.as_str(), address.port())).collect();
    let of_server = [("server.listen", 8080), ("server.admin_listen", 9901)];
    assert_eq!(ports, [&of_server[..], &[("services.captcha.listen", 82), ("shop.listen", 81)]].concat());
}

#[test]
fn edit_leaves_clones_as_they_were() {
    let before = loaded("", &[]).config;
    let mut after = before.clone();
    after.edit_table::<Shop>(|shop| shop.open = Some("8".to_owned())).unwrap();
    assert_eq!(after.table::<Shop>().unwrap().open.as_deref(), Some("8"));
    assert_eq!(before.table::<Shop>().unwrap().open, None);
    let missing: MissingTable = after.edit_table::<Absent>(|_| {}).unwrap_err();
    assert_eq!(missing, before.table::<Absent>().unwrap_err());
}

#[test]
fn tables_are_shown_by_name() {
    let config = loaded("[shop]\nkeys = ['swordfish']", &[]).config;
    let shown = format!("{config:?}");
    assert!(shown.contains("shop") && !shown.contains("swordfish"), "{shown}");
}

#[test]
fn listeners_of_tables_may_not_clash() {
    each_refused(&[(
        "[shop]\nlisten = '127.0.0.1:9901'",
        "line 2: shop.listen: 127.0.0.1:9901 is taken by server.admin_listen; give one of them another port",
    )]);
    loaded("[services.captcha]\nenabled = false\n[shop]\nlisten = '127.0.0.1:9901'", &[]);
    assert_eq!(shop("", &[]).public.to_string(), "127.0.0.1:8080");
    assert_eq!(
        shop("[services.captcha]\nlisten = '127.0.0.1:1'", &[]).public.to_string(),
        "127.0.0.1:1",
        "a service's own listener"
    );
}

#[test]
fn services_hand_in_names_of_replaced_ones() {
    assert_eq!(shop("", &[("SHOP_OPEN", "8")]).open.as_deref(), Some("8"));
    assert_eq!(shop("", &[("SHOP_PRICE_bread", "2")]).prices["bread"], "2");
    each_refused(&[("[sale]\nenabled = true", "line 2: sale.enabled: needs a price")]);
    let file = "[shop]\nkeys = ['file']";
    assert_eq!(exposed(&shop(file, &[("SHOP_KEY", "more")]).keys), ["file", "more"]);
    assert_eq!(exposed(&shop(file, &[("SHOP_ONLY_KEY", "only")]).keys), ["only"]);
    let own = [("BULKHEAD_SHOP__HOURS__OPEN", "9"), ("SHOP_OPEN", "8")];
    assert_eq!(shop("[shop.hours]\nopen = '7'", &own).open.as_deref(), Some("9"), "our own names win");
}

#[test]
fn names_of_no_service_set_the_server() {
    let environment = [("HOST", "a-machine"), ("LOG_LEVEL", "loud"), ("PORT", "81"), ("TLS_CERT", "c")];
    let loaded = loaded("", &[&environment[..], &[("TLS_KEY", "k")]].concat());
    assert_eq!(loaded.config.server.listen.to_string(), "127.0.0.1:81");
    assert!(loaded.config.server.tls.is_some());
    let [warning] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    assert!(
        warning.to_string().starts_with("LOG_LEVEL: log.level: ignored; give one of error, "),
        "{warning}"
    );
}

#[test]
fn settings_file_counts_with_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stock");
    let toml = format!("[shop]\nstock = '{}'", file.display());
    let digest = || loaded(&toml, &[]).set["shop.stock"];
    fs::write(&file, "one").unwrap();
    let one = digest();
    fs::write(&file, "two").unwrap();
    assert_ne!(one, digest());
    assert_eq!(shop(&toml, &[]).stock, Some(file));
}

#[test]
fn reference_has_tables_in_reading_order() {
    let spec = HostSpec { tables: TABLES.to_vec(), ..HostSpec::default() };
    let paths: Vec<String> = reference(&spec).into_iter().map(|doc| doc.path).collect();
    let of_tables =
        ["shop.prices.KEY", "shop.keys", "shop.hours.open", "shop.stock", "shop.listen", "sale.enabled"];
    assert!(paths.ends_with(&of_tables.map(str::to_owned)), "{paths:?}");
}
