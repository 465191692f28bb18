//! Address and cache of the hub, from the variables that `huggingface_hub` reads.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The hub's own address.
const ENDPOINT: &str = "https://huggingface.co";

/// Settings of the hub.
#[derive(Clone, PartialEq, Eq)]
pub struct HubSettings {
    /// Address of the hub or a mirror, without a slash at the end (`HF_ENDPOINT`).
    pub endpoint: String,
    /// The cache (`HF_HUB_CACHE`, else `HF_HOME/hub`).
    pub cache: PathBuf,
    /// Sent to the endpoint, and to no other host (`HF_TOKEN`, else the file `HF_TOKEN_PATH` or `HF_HOME/token`).
    pub token: Option<String>,
    /// Ask no server (`HF_HUB_OFFLINE`).
    pub offline: bool,
}

impl HubSettings {
    /// Reads the settings from this process's environment.
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the settings from variables; empty ones count as unset.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| {
            variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let home = set("HF_HOME").map(PathBuf::from).unwrap_or_else(|| {
            let caches = set("XDG_CACHE_HOME").map(PathBuf::from);
            let caches = caches.or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")));
            caches.unwrap_or_else(|| PathBuf::from(".cache")).join("huggingface")
        });
        let token_file = set("HF_TOKEN_PATH").map_or_else(|| home.join("token"), PathBuf::from);
        let stored = || fs::read_to_string(token_file).ok().map(|token| token.trim().to_owned());
        let truth =
            |value: String| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on");
        Self {
            endpoint: set("HF_ENDPOINT")
                .unwrap_or_else(|| ENDPOINT.to_owned())
                .trim_end_matches('/')
                .to_owned(),
            cache: set("HF_HUB_CACHE").map_or_else(|| home.join("hub"), PathBuf::from),
            token: set("HF_TOKEN").or_else(stored).filter(|token| !token.is_empty()),
            offline: set("HF_HUB_OFFLINE").is_some_and(truth),
        }
    }
}

impl fmt::Debug for HubSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HubSettings")
            .field("endpoint", &self.endpoint)
            .field("cache", &self.cache)
            .field("token", &self.token.as_ref().map(|_| "(set)"))
            .field("offline", &self.offline)
            .finish()
    }
}
