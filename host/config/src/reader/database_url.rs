//! Checks database URLs before a connection is made. No error text quotes a URL, because it may contain a
//! password.

use std::{net::IpAddr, path::PathBuf, str::FromStr as _};

#[cfg(feature = "mysql")]
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use url::Url;

use super::Reader;
use crate::secret::Secret;

/// Parameters that the drivers know. The drivers log unknown ones with their values.
#[cfg(feature = "mysql")]
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
/// A parameter that both drivers know.
const CACHE: &str = "statement-cache-capacity";

/// A parsed database setting: `sqlite:PATH` or a server's URL.
#[derive(Clone, Debug)]
pub enum DatabaseUrl {
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A URL of MariaDB or MySQL.
    MySql(Secret),
    /// A URL of PostgreSQL.
    Postgres(Secret),
}

/// Parses a database setting.
///
/// # Errors
/// A message for operators that says what is wrong.
pub fn parse(written: &str) -> Result<DatabaseUrl, String> {
    if let Some(path) = written.strip_prefix("sqlite:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        if matches!(path, "" | ":memory:") || path.contains('?') {
            return Err("must be sqlite: and the path of a file".to_owned());
        }
        return Ok(DatabaseUrl::Sqlite(PathBuf::from(path)));
    }
    let url = Url::parse(written).map_err(|_| "must be sqlite:PATH or the URL of a database".to_owned())?;
    match url.scheme() {
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => {
            check_parameters(&url, &MYSQL)?;
            // The driver knows the first scheme only.
            let plain = written.replacen("mariadb://", "mysql://", 1);
            MySqlConnectOptions::from_str(&plain).map_err(|_| unusable("ssl-mode, charset"))?;
            if url.path().trim_matches('/').is_empty() {
                return Err("must name the database, as in mysql://user:password@host/name".to_owned());
            }
            Ok(DatabaseUrl::MySql(Secret::new(&plain)))
        }
        #[cfg(not(feature = "mysql"))]
        "mysql" | "mariadb" => {
            Err("names a MariaDB or MySQL database, which this program is built without; \
                                     give sqlite:PATH or postgres://user:password@host/name"
                .to_owned())
        }
        "postgres" | "postgresql" => {
            check_parameters(&url, &POSTGRES)?;
            PgConnectOptions::from_str(written).map_err(|_| unusable("sslmode, port"))?;
            Ok(DatabaseUrl::Postgres(Secret::new(written)))
        }
        _ => Err("must be sqlite:PATH or the URL of a database".to_owned()),
    }
}

/// Parses the setting of a key with `parse`, and records what is wrong with it and what to review. Returns `None` where it
/// is absent or wrong.
pub fn read<T>(
    r: &mut Reader,
    key: &str,
    written: Option<Secret>,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let written = written?;
    if let Some(text) = warning(written.expose()) {
        r.warn(key, text);
    }
    parse(written.expose()).map_err(|problem| r.problem(key, problem)).ok()
}

/// Returns the warning for a database on another machine whose URL does not demand TLS. With a mode that only prefers
/// TLS, an attacker between the two can claim that the server has none.
fn warning(written: &str) -> Option<&'static str> {
    let (is_here, demands_tls, text) = match parse(written).ok()? {
        DatabaseUrl::Sqlite(_) => return None,
        #[cfg(not(feature = "mysql"))]
        DatabaseUrl::MySql(_) => return None,
        #[cfg(feature = "mysql")]
        DatabaseUrl::MySql(url) => {
            let options = MySqlConnectOptions::from_str(url.expose()).ok()?;
            let optional = matches!(options.get_ssl_mode(), MySqlSslMode::Disabled | MySqlSslMode::Preferred);
            let is_here = options.get_socket().is_some() || is_here(options.get_host());
            (
                is_here,
                !optional,
                "does not demand TLS, and the database is on another machine: what is on the way can be \
                read and changed there; add ssl-mode=VERIFY_IDENTITY",
            )
        }
        DatabaseUrl::Postgres(url) => {
            let options = PgConnectOptions::from_str(url.expose()).ok()?;
            let mode = options.get_ssl_mode();
            let optional = matches!(mode, PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer);
            let is_here = options.get_socket().is_some() || is_here(options.get_host());
            (
                is_here,
                !optional,
                "does not demand TLS, and the database is on another machine: what is on the way can be \
                read and changed there; add sslmode=verify-full",
            )
        }
    };
    (!is_here && !demands_tls).then_some(text)
}

/// Returns whether a host is this machine: by its name, by a loopback address, or by the path of a socket.
fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_name = host.is_empty() || host.starts_with('/') || host.eq_ignore_ascii_case("localhost");
    is_name || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Parses as [`parse`] does, and rejects MariaDB.
///
/// # Errors
/// A message for operators that says what is wrong.
pub fn sqlite_or_postgres<T>(
    written: &str,
    sqlite: impl FnOnce(PathBuf) -> T,
    postgres: impl FnOnce(Secret) -> T,
) -> Result<T, String> {
    let other = || "must be sqlite:PATH or postgres://user:password@host/name".to_owned();
    if ["mysql:", "mariadb:"].iter().any(|scheme| written.starts_with(scheme)) {
        return Err(other());
    }
    match parse(written)? {
        DatabaseUrl::Sqlite(path) => Ok(sqlite(path)),
        DatabaseUrl::Postgres(url) => Ok(postgres(url)),
        DatabaseUrl::MySql(_) => Err(other()),
    }
}

fn check_parameters(url: &Url, names: &[&str]) -> Result<(), String> {
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

// They compare what the drivers make of URLs.
#[cfg(all(test, feature = "mysql"))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    #[test]
    fn scheme_selects_the_database() {
        assert!(
            matches!(parse("sqlite:/var/lib/a.sqlite"), Ok(DatabaseUrl::Sqlite(path)) if path.ends_with("a.sqlite"))
        );
        for url in ["mysql://u:p@h/zms?ssl-mode=VERIFY_CA&ssl-ca=/ca.pem", "mariadb://u@h:3307/zms"] {
            let Ok(DatabaseUrl::MySql(url)) = parse(url) else { panic!("{url}") };
            assert!(url.expose().starts_with("mysql://"));
        }
        for url in ["postgres://u:p@h/n?sslmode=verify-full", "postgresql://h?user=u&password=p&options[a]=b"]
        {
            assert!(matches!(parse(url), Ok(DatabaseUrl::Postgres(_))), "{url}");
        }
    }

    #[test]
    fn remote_database_without_tls_is_warned_about() {
        for url in [
            "postgres://u:p@db.example/n",
            "postgres://u:p@192.0.2.1/n?sslmode=prefer",
            "postgres:///n?host=db.example&sslmode=disable",
            "mysql://u:p@db.example/n",
            "mariadb://u:p@[2001:db8::1]/n?ssl-mode=PREFERRED",
            "postgres://u:p@localhost.example/n",
        ] {
            let text = warning(url).unwrap();
            assert!(text.contains(if url.starts_with('p') { "sslmode=" } else { "ssl-mode=" }), "{url}");
        }
        for url in [
            "sqlite:/a",
            "postgres://u:p@localhost/n",
            "postgres://u:p@127.1.2.3/n",
            "postgres://u:p@[::1]/n",
            "postgres:///n?host=/run/postgresql",
            "postgres://%2Frun%2Fpostgresql/n",
            "postgres://u:p@db.example/n?sslmode=require",
            "postgres://u:p@db.example/n?ssl-mode=verify-full",
            "mysql://u:p@127.0.0.1/n",
            "mysql://u:p@h/n?socket=/run/mysqld/mysqld.sock",
            "mariadb://u:p@db.example/n?ssl-mode=VERIFY_CA",
        ] {
            assert_eq!(warning(url), None, "{url}");
        }
    }

    #[test]
    fn unusable_url_is_rejected_without_secret() {
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
