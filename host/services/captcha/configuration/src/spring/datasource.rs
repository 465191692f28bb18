//! Translates `spring.datasource.*` into a PostgreSQL URL.

use url::Url;

/// The Java service's settings of its database.
#[derive(Debug, Default)]
pub(crate) struct Datasource {
    pub(crate) url: Option<String>,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
}

/// A PostgreSQL URL, and the parameters of the Java driver that have no counterpart.
#[derive(Debug)]
pub(crate) struct Translated {
    pub(crate) url: String,
    pub(crate) dropped: Vec<String>,
}

impl Datasource {
    /// Returns the field that a property's last word names.
    pub(crate) fn field(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name.to_ascii_lowercase().as_str() {
            "url" => Some(&mut self.url),
            "username" => Some(&mut self.username),
            "password" => Some(&mut self.password),
            _ => None,
        }
    }

    /// Translates the settings; `None` without a URL. Errors describe a valid JDBC URL and never show the given one.
    pub(crate) fn translate(self) -> Option<Result<Translated, String>> {
        let jdbc = self.url.as_deref()?;
        let wrong = || {
            "must be jdbc:postgresql://host:port/database with one host; or set captcha.database \
             instead"
                .to_owned()
        };
        Some(parse(jdbc).and_then(|java| self.fill(&java)).ok_or_else(wrong))
    }

    fn fill(&self, java: &Url) -> Option<Translated> {
        let mut url = java.clone();
        url.set_query(None);
        let (mut ours, mut dropped, mut ssl) = (Vec::new(), Vec::new(), false);
        let (mut username, mut password) = (self.username.clone(), self.password.clone());
        for (name, value) in java.query_pairs().map(|(name, value)| (name, value.into_owned())) {
            match name.as_ref() {
                "user" => username = username.or(Some(value)),
                "password" => password = password.or(Some(value)),
                "ssl" => ssl = value != "false",
                "sslmode" | "sslrootcert" | "sslcert" | "sslkey" => ours.push((name.to_string(), value)),
                "ApplicationName" => ours.push(("application_name".to_owned(), value)),
                "currentSchema" => ours.push(("options[search_path]".to_owned(), value)),
                _ => dropped.push(name.to_string()),
            }
        }
        if ssl && !ours.iter().any(|(name, _)| name == "sslmode") {
            ours.push(("sslmode".to_owned(), "verify-full".to_owned()));
        }
        if !ours.is_empty() {
            url.query_pairs_mut().extend_pairs(ours);
        }
        url.set_username(username.as_deref().unwrap_or_default()).ok()?;
        url.set_password(password.as_deref()).ok()?;
        Some(Translated { url: url.into(), dropped })
    }
}

/// Parses a JDBC URL, with the driver's default host where it has none.
fn parse(jdbc: &str) -> Option<Url> {
    let rest = jdbc.strip_prefix("jdbc:postgresql:")?;
    let url = match rest.strip_prefix("//") {
        Some(rest) if rest.starts_with('/') => format!("postgres://localhost{rest}"),
        Some(rest) => format!("postgres://{rest}"),
        None => format!("postgres://localhost/{}", rest.trim_start_matches('/')),
    };
    let url = Url::parse(&url).ok()?;
    let one_host = !url.host_str()?.contains(',') && url.username().is_empty();
    one_host.then_some(url)
}
