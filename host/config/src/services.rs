//! Reads `[services.*]`: whether and where each service is served.

use std::net::SocketAddr;

use super::{
    reader::{Reader, formats},
    slots::{ServiceSpec, SlotSpec},
};

/// `[services.NAME]`: whether and where a service is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Whether the service runs; a disabled one costs nothing at start.
    pub enabled: bool,
    /// Its own listener instead of the shared one.
    pub listen: Option<SocketAddr>,
    /// Put before every path of the service; empty or `/something` without a slash at the end.
    pub path_prefix: String,
}

/// `[services]`: every service of the host by its name, in the order of the binary's list.
#[derive(Clone, Debug)]
pub struct Services(Vec<(&'static str, ServiceSettings)>);

impl ServiceSettings {
    fn read(reader: &mut Reader, name: &str) -> Self {
        reader.table(name, |r| Self {
            enabled: r.key("enabled", "Whether the service runs; a disabled one costs nothing").flag(true),
            listen: r
                .key("listen", "Its own listener instead of the shared one")
                .optional("address", formats::address),
            path_prefix: r.key("path_prefix", "Put before every path of the service").parsed(
                "path",
                String::new(),
                formats::path_prefix,
            ),
        })
    }
}

impl Services {
    pub(super) fn read(reader: &mut Reader, services: &[ServiceSpec]) -> Self {
        let read = |r: &mut Reader| {
            let services = services.iter();
            services.map(|service| (service.name, ServiceSettings::read(r, service.name))).collect()
        };
        Self(reader.table("services", read))
    }

    /// Returns one service. A service that the host does not have is off.
    pub fn get(&self, name: &str) -> &ServiceSettings {
        static OFF: ServiceSettings =
            ServiceSettings { enabled: false, listen: None, path_prefix: String::new() };
        self.each().find(|(known, _)| *known == name).map_or(&OFF, |(_, service)| service)
    }

    /// Returns each service with its name in the configuration.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &ServiceSettings)> {
        self.0.iter().map(|(name, service)| (*name, service))
    }

    /// Returns whether the service that owns a slot is on.
    pub fn uses(&self, slot: &SlotSpec) -> bool {
        self.get(slot.service).enabled
    }
}
