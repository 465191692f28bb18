//! Edits of the captcha sites in a configuration file's text; comments, line ends, a byte order mark and the
//! order of all else stay.

mod ends;
#[cfg(test)]
mod tests;

use toml_edit::{
    Array, DocumentMut, InlineTable, Item, Table, TableLike, Value,
    visit_mut::{self, VisitMut},
};
use unicode_normalization::UnicodeNormalization as _;

/// A byte order mark, which some editors put before the text.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// Names of a site's secret in a file.
const SECRET: [&str; 4] = ["secret", "site_secret", "site-secret", "secrets"];

/// Why a file is not edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The file is not TOML.
    #[error("is not valid TOML: {0}; `bulkhead config check` names the lines")]
    NotToml(String),
    /// A key above the sites holds something else than a table.
    #[error("{0} is not a table there; `bulkhead config check` says what it must be")]
    NotATable(&'static str),
    /// The site is there already.
    #[error("the site `{0}` exists already; `bulkhead captcha site rotate-secret` gives it another secret")]
    Exists(String),
    /// The site is not in the file.
    #[error("has no site `{0}`")]
    Unknown(String),
    /// The site has no secret in the file.
    #[error("has no secret of the site `{0}`")]
    NoSecret(String),
    /// The site has two secrets already.
    #[error(
        "has two secrets of the site `{0}`, so that a rotation is under way; end it with --finish, or replace both with \
         --revoke"
    )]
    UnderWay(String),
    /// There is no former secret.
    #[error("has one secret of the site `{0}`, so that there is no rotation to finish")]
    NotUnderWay(String),
}

/// What becomes of a site's secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation<'s> {
    /// This secret comes first, and the present one is accepted beside it.
    Begin(&'s str),
    /// Only the first secret, which is the newest, is accepted from now on.
    Finish,
    /// Only this secret is accepted from now on.
    Revoke(&'s str),
}

/// A configuration file with its captcha sites.
#[derive(Clone, Debug)]
pub struct SitesFile {
    document: DocumentMut,
    /// The text as it was read, for its byte order mark and its line ends.
    original: String,
}

impl SitesFile {
    /// Reads a file's text.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn parse(text: &str) -> Result<Self, EditError> {
        let not_toml = |error: toml_edit::TomlError| EditError::NotToml(error.message().replace('\n', ", "));
        // With one kind of line ends, which `text` turns back.
        let document: DocumentMut = text.replace("\r\n", "\n").parse().map_err(not_toml)?;
        Ok(Self { document, original: text.to_owned() })
    }

    /// The text.
    pub fn text(&self) -> String {
        let written = self.document.to_string();
        // The parser skips one mark and does not write it.
        let written = written.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&written);
        match self.original.strip_prefix(BYTE_ORDER_MARK) {
            None => ends::with_ends_of(&self.original, written),
            Some(original) => format!("{BYTE_ORDER_MARK}{}", ends::with_ends_of(original, written)),
        }
    }

    /// Whether it has a site.
    pub fn has(&self, site: &str) -> bool {
        let sites = self.document.get("captcha").and_then(|captcha| captcha.as_table_like()?.get("sites"));
        sites.and_then(Item::as_table_like).is_some_and(|sites| spelling(sites, site).is_some())
    }

    /// Adds a site.
    ///
    /// # Errors
    /// When it is there already.
    pub fn add(&mut self, site: &str, secret: &str, origins: &[String]) -> Result<(), EditError> {
        if self.has(site) {
            return Err(EditError::Exists(site.to_owned()));
        }
        let captcha = self.document.as_table_mut().entry("captcha").or_insert_with(|| without_header(false));
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
    /// When the site or its secret is not in the file, or has another number of secrets than the change is for.
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
                return Err(EditError::UnderWay(site.to_owned()));
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
            (Rotation::Finish, _) => return Err(EditError::NotUnderWay(site.to_owned())),
        };
        let decor = value.decor().clone();
        *value = changed;
        *value.decor_mut() = decor;
        Ok(())
    }

    /// Removes a site. Comments above it that a blank line divides from it stay.
    ///
    /// # Errors
    /// When it is not in the file.
    pub fn remove(&mut self, site: &str) -> Result<(), EditError> {
        let unknown = || EditError::Unknown(site.to_owned());
        let sites = self.sites().ok_or_else(unknown)?;
        let spelt = spelling(sites, site).ok_or_else(unknown)?;
        let removed = sites.remove(&spelt).ok_or_else(unknown)?;
        if let Item::Table(table) = removed {
            self.keep_above(&table);
        }
        Ok(())
    }

    /// Puts what stood above a removed table, but for its own comment, above the table after it.
    fn keep_above(&mut self, removed: &Table) {
        let text = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let Some((above, _own)) = text.rsplit_once("\n\n").filter(|(above, _)| !above.trim().is_empty())
        else {
            return;
        };
        let mut next = After { position: removed.position().unwrap_or(isize::MAX), found: None };
        next.visit_document_mut(&mut self.document);
        let mut put = Above { position: next.found, text: Some(above.to_owned()) };
        put.visit_document_mut(&mut self.document);
        if let Some(above) = put.text {
            let trailing = self.document.trailing().as_str().unwrap_or_default().to_owned();
            self.document.set_trailing(divided(&above, &trailing));
        }
    }

    fn sites(&mut self) -> Option<&mut dyn TableLike> {
        self.document.get_mut("captcha")?.as_table_like_mut()?.get_mut("sites")?.as_table_like_mut()
    }
}

/// What stands around the values of a list: blanks, line ends and comments.
fn around(value: &Value) -> impl Iterator<Item = &str> {
    let decor = value.decor();
    [decor.prefix(), decor.suffix()].into_iter().flatten().filter_map(|text| text.as_str())
}

/// Whether somebody has noted something in a list.
fn has_comment(list: &Array) -> bool {
    let trailing = list.trailing().as_str();
    list.iter().flat_map(around).chain(trailing).any(|text| text.contains('#'))
}

/// Leaves the first value of a list, and every comment: of one between two values nobody can say which it is about.
fn keep_first(list: &mut Array) {
    let mut below = String::new();
    while list.len() > 1 {
        let removed = list.remove(1);
        below.extend(around(&removed));
    }
    below.push_str(list.trailing().as_str().unwrap_or_default());
    list.set_trailing_comma(true);
    list.set_trailing(below);
}

/// Finds the position of the first table after another one.
struct After {
    position: isize,
    found: Option<isize>,
}

impl VisitMut for After {
    fn visit_table_mut(&mut self, table: &mut Table) {
        let after = table.position().filter(|position| *position > self.position && !table.is_implicit());
        self.found = [self.found, after].into_iter().flatten().min();
        visit_mut::visit_table_mut(self, table);
    }
}

/// Puts a text above the table at a position.
struct Above {
    position: Option<isize>,
    text: Option<String>,
}

impl VisitMut for Above {
    fn visit_table_mut(&mut self, table: &mut Table) {
        if self.position.is_some()
            && table.position() == self.position
            && let Some(text) = self.text.take()
        {
            let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
            let prefix = divided(&text, prefix);
            table.decor_mut().set_prefix(prefix);
        }
        visit_mut::visit_table_mut(self, table);
    }
}

/// Two comments with a blank line between them.
fn divided(above: &str, below: &str) -> String {
    let blank = if below.starts_with('\n') { "" } else { "\n" };
    format!("{above}\n{blank}{below}")
}

/// How a file spells a site's key: keys are compared in Unicode NFC.
fn spelling(sites: &dyn TableLike, site: &str) -> Option<String> {
    let is_site = |key: &&str| key.nfc().eq(site.nfc());
    sites.iter().map(|(key, _)| key).find(is_site).map(str::to_owned)
}

/// An empty table, of which only what it holds is written.
fn without_header(is_inline: bool) -> Item {
    if is_inline {
        return Item::Value(Value::InlineTable(InlineTable::new()));
    }
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}
