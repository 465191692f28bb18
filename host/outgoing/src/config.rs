//! The origins that a slot may call, as the configuration lists them.

mod limits;

use std::{collections::BTreeMap, net::IpAddr};

use bulkhead_config::{reader::Reader, secret::Secret};
use http::{HeaderName, HeaderValue};

use super::{
    address::AddressClass,
    destination::{Destination, OriginPattern},
    headers,
};

pub use self::limits::OutgoingLimits;

/// An origin that a slot may call, or all below a name, with the header fields that the host adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingOrigin {
    pattern: OriginPattern,
    /// Marked as sensitive, so that no output shows them.
    headers: Vec<(HeaderName, HeaderValue)>,
    is_private: bool,
}

/// Reads the list `outgoing` of a slot: of origins, or of tables with an origin and more.
pub fn read_origins(reader: &mut Reader) -> Vec<OutgoingOrigin> {
    let read = reader.rows_or_texts("outgoing", "origin", OutgoingOrigin::read).unwrap_or_default();
    let mut origins: Vec<OutgoingOrigin> = Vec::with_capacity(read.len());
    for (index, origin) in read.into_iter().enumerate() {
        let Some(origin) = origin else { continue };
        if origins.iter().any(|known| known.pattern == origin.pattern) {
            reader.problem(&format!("outgoing.{index}.origin"), "is listed twice; give it once");
        }
        origins.push(origin);
    }
    origins
}

impl OutgoingOrigin {
    /// Checks the text of an origin without the rest of a configuration.
    ///
    /// # Errors
    /// With what it must be.
    pub fn check(text: &str) -> Result<(), String> {
        OriginPattern::parse(text).map(drop)
    }

    fn read(r: &mut Reader) -> Option<Self> {
        let pattern = r
            .key("origin", "Origin that may be called; `*.` before a name stands for one or more labels")
            .required()
            .optional("https://HOST or http://HOST, with or without a port", OriginPattern::parse);
        let secrets = r.secrets("headers", "Header fields that the host sets; the component never sees them");
        let headers = read_headers(r, secrets);
        let is_private = r
            .key("private", "Its name may lead to an address of a private network or of this machine")
            .flag(false);
        let pattern = pattern?;
        if is_private && pattern.is_wildcard() {
            r.problem("private", "goes with one name; list each name that leads to a private address");
        }
        if !headers.is_empty() && !pattern.is_tls() {
            r.warn("headers", "are sent unencrypted, so that others on the network can read them");
        }
        Some(Self { pattern, headers, is_private })
    }

    /// Returns the entry of `origins` that matches a destination most closely.
    pub(crate) fn closest<'o>(origins: &'o [Self], destination: &Destination) -> Option<&'o Self> {
        let matching = origins
            .iter()
            .filter_map(|origin| Some((origin.pattern.closeness(destination)?, origin)))
            .max_by_key(|(closeness, _)| *closeness);
        matching.map(|(_, origin)| origin)
    }

    /// Returns whether a connection may go to an address to which the host's name leads.
    pub(crate) fn admits(&self, address: IpAddr) -> bool {
        match AddressClass::of(address) {
            AddressClass::Public => true,
            AddressClass::Private => self.is_private || self.pattern.is_address(),
            AddressClass::Special => self.pattern.is_address(),
        }
    }

    /// Returns what would allow an address that is refused.
    pub(crate) fn fix(address: IpAddr, key: &str) -> String {
        match AddressClass::of(address) {
            AddressClass::Private => format!("give its entry in {key} private = true"),
            AddressClass::Public | AddressClass::Special => {
                format!("only an entry in {key} with the address in place of the name allows it")
            }
        }
    }

    pub(crate) fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }
}

/// Checks the names and values of header fields. No text shows a value.
fn read_headers(r: &mut Reader, secrets: BTreeMap<String, Secret>) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::with_capacity(secrets.len());
    for (key, secret) in secrets {
        let path = format!("headers.{key}");
        match (HeaderName::try_from(&key), HeaderValue::try_from(secret.expose())) {
            (Err(_), _) => r.problem(&path, "must be the name of a header field"),
            (Ok(name), _) if headers::is_reserved(&name) => {
                r.problem(&path, "is set for each connection and cannot be given");
            }
            (Ok(_), Err(_)) => r.problem(&path, "has characters that no header can carry"),
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                headers.push((name, value));
            }
        }
    }
    headers
}

#[cfg(test)]
pub(crate) mod tests;
