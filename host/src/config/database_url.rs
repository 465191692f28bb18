//! URLs of database servers, checked before anybody connects. No error text shows what the URL holds, for a password is
//! in it.

use std::{path::PathBuf, str::FromStr as _};

use sqlx::{mysql::MySqlConnectOptions, postgres::PgConnectOptions};
use url::Url;

use super::captcha::Secret;

/// Parameters that the drivers know; they write others, with their values, into the log.
const MYSQL: [&str; 13] = [
    "sslmode",
    "ssl-mode",
    "sslca",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "charset",
    "collation",
    "socket",
    "timezone",
    "time-zone",
];
const POSTGRES: [&str; 17] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "application_name",
    "options",
];
/// What both know.
const CACHE: &str = "statement-cache-capacity";

/// A database as it is written: `sqlite:PATH` or a server's URL.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Sqlite(PathBuf),
    MySql(Secret),
    Postgres(Secret),
}

/// Reads it.
///
/// # Errors
/// What is wrong, for operators.
pub(super) fn parse(written: &str) -> Result<Written, String> {
    if let Some(path) = written.strip_prefix("sqlite:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        if matches!(path, "" | ":memory:") || path.contains('?') {
            return Err("must be sqlite: and the path of a file".to_owned());
        }
        return Ok(Written::Sqlite(PathBuf::from(path)));
    }
    let url = Url::parse(written).map_err(|_| "must be sqlite:PATH or the URL of a database".to_owned())?;
    match url.scheme() {
        "mysql" | "mariadb" => {
            known(&url, &MYSQL)?;
            // The driver knows the first scheme only.
            let plain = written.replacen("mariadb://", "mysql://", 1);
            MySqlConnectOptions::from_str(&plain).map_err(|_| unusable("ssl-mode, charset"))?;
            if url.path().trim_matches('/').is_empty() {
                return Err("must name the database, as in mysql://user:password@host/name".to_owned());
            }
            Ok(Written::MySql(Secret::new(&plain)))
        }
        "postgres" | "postgresql" => {
            known(&url, &POSTGRES)?;
            PgConnectOptions::from_str(written).map_err(|_| unusable("sslmode, port"))?;
            Ok(Written::Postgres(Secret::new(written)))
        }
        _ => Err("must be sqlite:PATH or the URL of a database".to_owned()),
    }
}

/// The same where MariaDB will not do.
///
/// # Errors
/// What is wrong, for operators.
pub(super) fn sqlite_or_postgres<T>(
    written: &str,
    sqlite: impl FnOnce(PathBuf) -> T,
    postgres: impl FnOnce(Secret) -> T,
) -> Result<T, String> {
    let other = || "must be sqlite:PATH or postgres://user:password@host/name".to_owned();
    if ["mysql:", "mariadb:"].iter().any(|scheme| written.starts_with(scheme)) {
        return Err(other());
    }
    match parse(written)? {
        Written::Sqlite(path) => Ok(sqlite(path)),
        Written::Postgres(url) => Ok(postgres(url)),
        Written::MySql(_) => Err(other()),
    }
}

fn known(url: &Url, names: &[&str]) -> Result<(), String> {
    let wrong = url.query_pairs().find(|(name, _)| {
        let option = name.starts_with("options[") && names.contains(&"options");
        name != CACHE && !option && !names.contains(&&**name)
    });
    match wrong {
        None => Ok(()),
        Some((name, _)) => Err(format!("has the unknown parameter `{name}`; known are {}", names.join(", "))),
    }
}

fn unusable(examples: &str) -> String {
    format!("has a parameter or a part that the driver does not understand; check {examples} and the host")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    #[test]
    fn databases_are_told_by_their_scheme() {
        assert!(
            matches!(parse("sqlite:/var/lib/a.sqlite"), Ok(Written::Sqlite(path)) if path.ends_with("a.sqlite"))
        );
        for url in ["mysql://u:p@h/zms?ssl-mode=VERIFY_CA&ssl-ca=/ca.pem", "mariadb://u@h:3307/zms"] {
            let Ok(Written::MySql(url)) = parse(url) else { panic!("{url}") };
            assert!(url.expose().starts_with("mysql://"));
        }
        for url in ["postgres://u:p@h/n?sslmode=verify-full", "postgresql://h?user=u&password=p&options[a]=b"]
        {
            assert!(matches!(parse(url), Ok(Written::Postgres(_))), "{url}");
        }
    }

    #[test]
    fn what_cannot_work_is_refused_without_the_secret() {
        let other = sqlite_or_postgres("mysql://u:swordfish@h", drop, drop).unwrap_err();
        assert!(other.starts_with("must be sqlite:PATH or postgres:"), "{other}");
        for url in [
            "mysql://u:swordfish@h/zms?ssl-mode=FOO",
            "mysql://u:swordfish@h",
            "mysql://u:swordfish@h/zms?pass=swordfish",
            "postgres://u:swordfish@h/zms?sslmode=foo",
            "postgres://u:swordfish@h/zms?pass=swordfish",
            "http://swordfish",
            "swordfish",
            "sqlite:",
        ] {
            let refused = parse(url).unwrap_err();
            assert!(!refused.contains("swordfish"), "{url}: {refused}");
        }
    }
}
