//! Edits the captcha sites in the text of a configuration file; keeps everything else.

#[cfg(test)]
mod tests;

use bulkhead_config::edit::{EditedFile, NotToml, has_comment, keep_first, without_header};
use toml_edit::{Array, Item, Table, TableLike, Value};
use unicode_normalization::UnicodeNormalization as _;

/// The names of a site's secret in a file.
const SECRET: [&str; 4] = ["secret", "site_secret", "site-secret", "secrets"];

/// Why a file cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The file is not TOML.
    #[error(transparent)]
    NotToml(#[from] NotToml),
    /// A parent key of the sites is not a table.
    #[error("{0} is not a table there; `bulkhead config check` says what it must be")]
    NotATable(&'static str),
    /// The site exists already.
    #[error("the site `{0}` exists already; `bulkhead captcha site rotate-secret` gives it another secret")]
    Exists(String),
    /// The site is not in the file.
    #[error("the file has no site `{0}`")]
    Unknown(String),
    /// The site has no secret in the file.
    #[error("the file has no secret of the site `{0}`")]
    NoSecret(String),
    /// The site has two secrets: a rotation is in progress.
    #[error(
        "the file has two secrets of the site `{0}`, so a rotation is in progress; end it with --finish, or replace \
         both with --revoke"
    )]
    RotationInProgress(String),
    /// The site has no former secret.
    #[error("the file has one secret of the site `{0}`, so there is no rotation to finish")]
    NoRotation(String),
}

/// A change of a site's secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation<'s> {
    /// Adds this secret as the first one; the current one stays accepted.
    Begin(&'s str),
    /// Keeps only the first secret, which is the newest.
    Finish,
    /// Replaces all secrets by this one.
    Revoke(&'s str),
}

/// A configuration file with its captcha sites.
#[derive(Clone, Debug)]
pub struct SitesFile(EditedFile);

impl SitesFile {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// Fails when it is not TOML.
    pub fn parse(text: &str) -> Result<Self, EditError> {
        Ok(Self(EditedFile::parse(text)?))
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// Checks whether the file has a site.
    fn has(&self, site: &str) -> bool {
        let sites = self.0.document.get("captcha").and_then(|captcha| captcha.as_table_like()?.get("sites"));
        sites.and_then(Item::as_table_like).is_some_and(|sites| spelling(sites, site).is_some())
    }

    /// Adds a site.
    ///
    /// # Errors
    /// Fails when it exists already.
    pub fn add(&mut self, site: &str, secret: &str, origins: &[String]) -> Result<(), EditError> {
        if self.has(site) {
            return Err(EditError::Exists(site.to_owned()));
        }
        let captcha =
            self.0.document.as_table_mut().entry("captcha").or_insert_with(|| without_header(false));
        let is_inline = captcha.is_inline_table();
        let captcha = captcha.as_table_like_mut().ok_or(EditError::NotATable("captcha"))?;
        let sites = captcha.entry("sites").or_insert_with(|| without_header(is_inline));
        let is_inline = sites.is_inline_table();
        let sites = sites.as_table_like_mut().ok_or(EditError::NotATable("captcha.sites"))?;
        let origins = (!origins.is_empty()).then(|| origins.iter().map(String::as_str).collect());
        let members = [("secret", Some(Value::from(secret))), ("allowed_origins", origins.map(Value::Array))];
        let members = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let item = if is_inline {
            Item::Value(Value::InlineTable(members.collect()))
        } else {
            let mut table: Table = members.collect();
            match sites.is_dotted() {
                true => table.set_dotted(true),
                false => table.decor_mut().set_prefix("\n"),
            }
            Item::Table(table)
        };
        sites.insert(site, item);
        Ok(())
    }

    /// Changes a site's secrets.
    ///
    /// # Errors
    /// Fails when the site or its secret is not in the file, or when the change does not fit the number of secrets.
    pub fn rotate(&mut self, site: &str, rotation: Rotation<'_>) -> Result<(), EditError> {
        let unknown = || EditError::Unknown(site.to_owned());
        let sites = self.sites().ok_or_else(unknown)?;
        let spelt = spelling(sites, site).ok_or_else(unknown)?;
        let members = sites.get_mut(&spelt).and_then(Item::as_table_like_mut).ok_or_else(unknown)?;
        let name = SECRET.into_iter().find(|name| members.contains_key(name));
        let value = name.and_then(|name| members.get_mut(name)?.as_value_mut());
        let value = value.ok_or_else(|| EditError::NoSecret(site.to_owned()))?;
        let changed = match (rotation, value.as_array_mut()) {
            (Rotation::Revoke(new), Some(secrets)) if !secrets.is_empty() && has_comment(secrets) => {
                secrets.replace(0, new);
                keep_first(secrets);
                return Ok(());
            }
            (Rotation::Revoke(new), _) => Value::from(new),
            (Rotation::Begin(_), Some(secrets)) if secrets.len() > 1 => {
                return Err(EditError::RotationInProgress(site.to_owned()));
            }
            (Rotation::Begin(new), Some(secrets)) => {
                secrets.insert(0, new);
                return Ok(());
            }
            (Rotation::Begin(new), None) => {
                let mut former = value.clone();
                former.decor_mut().clear();
                Value::Array(Array::from_iter([Value::from(new), former]))
            }
            (Rotation::Finish, Some(secrets)) if secrets.len() > 1 && has_comment(secrets) => {
                keep_first(secrets);
                return Ok(());
            }
            (Rotation::Finish, Some(secrets)) if secrets.len() > 1 => secrets.remove(0),
            (Rotation::Finish, _) => return Err(EditError::NoRotation(site.to_owned())),
        };
        let decor = value.decor().clone();
        *value = changed;
        *value.decor_mut() = decor;
        Ok(())
    }

    /// Removes a site. Keeps the comments above it that a blank line separates from it.
    ///
    /// # Errors
    /// Fails when it is not in the file.
    pub fn remove(&mut self, site: &str) -> Result<(), EditError> {
        let unknown = || EditError::Unknown(site.to_owned());
        let sites = self.sites().ok_or_else(unknown)?;
        let spelt = spelling(sites, site).ok_or_else(unknown)?;
        let removed = sites.remove(&spelt).ok_or_else(unknown)?;
        if let Item::Table(table) = removed {
            self.0.keep_comments_above(&table);
        }
        Ok(())
    }

    fn sites(&mut self) -> Option<&mut dyn TableLike> {
        self.0.document.get_mut("captcha")?.as_table_like_mut()?.get_mut("sites")?.as_table_like_mut()
    }
}

/// Returns a site's key as the file spells it: keys are compared in Unicode NFC.
fn spelling(sites: &dyn TableLike, site: &str) -> Option<String> {
    let is_site = |key: &&str| key.nfc().eq(site.nfc());
    sites.iter().map(|(key, _)| key).find(is_site).map(str::to_owned)
}
