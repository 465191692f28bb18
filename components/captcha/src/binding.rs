//! Binding of a challenge to its site, an action and a client.

use crate::error::Error;
use crate::json::Members;
use crate::policy::{Binding, Client, Site};
use crate::verdict::Reason;

/// Maximum number of characters of an action, which is in every payload.
pub const MAX_ACTION: usize = 100;

/// The members that an issuer signs into a challenge besides the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bound {
    /// Key of the site the challenge was issued for.
    pub site: Option<String>,
    /// Id of the key that signed it.
    pub key_id: Option<String>,
    /// The action that the client is about to take, as the site names it.
    pub action: Option<String>,
    /// Opaque key of the client's network or address.
    pub client: Option<String>,
}

impl Bound {
    /// Returns the members to sign for `client` at `site`: none in compat mode. Signing adds the id of the key.
    pub fn to(site: &Site, client: &Client, action: Option<&str>) -> Result<Self, Error> {
        if let Some(action) = action {
            let length = action.chars().count();
            let problem = if site.compat {
                "action cannot be signed in compat mode"
            } else if length == 0 || length > MAX_ACTION {
                "action must have 1 to 100 characters"
            } else {
                ""
            };
            if !problem.is_empty() {
                return Err(Error::Malformed(problem.to_owned()));
            }
        }
        if site.compat {
            return Ok(Self::default());
        }
        let key = client.keys(site.binding).first();
        if site.binding != Binding::None && key.is_none() {
            let problem = format!("site {} binds clients, but this client has no key", site.key);
            return Err(Error::Internal(problem));
        }
        Ok(Self {
            site: Some(site.key.clone()),
            key_id: None,
            action: action.map(str::to_owned),
            client: key.cloned(),
        })
    }

    /// Returns names and values as in the `data` of protocol v2.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("site", &self.site), ("keyId", &self.key_id), ("action", &self.action), ("client", &self.client)]
            .into_iter()
            .filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }

    /// Reads the `data` of a v2 challenge, whose other members may have any type.
    pub fn from_data(data: Members<'_>) -> Self {
        Self::read(|name| data.string(name).ok().flatten().map(str::to_owned))
    }

    /// Reads the members that [`Self::members`] names.
    pub fn read(text: impl Fn(&str) -> Option<String>) -> Self {
        Self { site: text("site"), key_id: text("keyId"), action: text("action"), client: text("client") }
    }

    /// Returns why the challenge is not acceptable here, if it is not. In compat mode only the work is signed, so
    /// that site and client cannot be checked.
    pub fn refusal(&self, site: &Site, client: &Client, action: Option<&str>) -> Option<Reason> {
        if !self.is_of(site) {
            return Some(Reason::WrongSite);
        }
        if action.is_some() && action != self.action.as_deref() {
            return Some(Reason::WrongAction);
        }
        let keys = client.keys(site.binding);
        let known = self.client.as_ref().is_some_and(|key| keys.contains(key));
        let bound = site.binding != Binding::None && !site.compat;
        (bound && !known).then_some(Reason::WrongClient)
    }

    /// Returns whether the challenge was issued for `site`.
    pub fn is_of(&self, site: &Site) -> bool {
        match &self.site {
            Some(key) => *key == site.key,
            None => site.compat,
        }
    }
}
