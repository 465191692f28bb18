//! Lists the deprecated names of interfaces that have moved into the packages of their services.

use crate::capabilities::Deprecated;

/// Lists every deprecated name. The WIT of each stays in `wit/host/deprecated.wit`.
pub(super) const DEPRECATED: &[Deprecated] = &[
    Deprecated { name: "bulkhead:host/pow", version: "0.1.1", instead: "bulkhead:captcha/pow" },
    Deprecated { name: "bulkhead:host/ledger", version: "0.1.1", instead: "bulkhead:captcha/ledger" },
    Deprecated {
        name: "bulkhead:host/appointments",
        version: "0.1.1",
        instead: "bulkhead:status/appointments",
    },
    #[cfg(feature = "inference")]
    Deprecated { name: "bulkhead:host/search", version: "0.1.1", instead: "bulkhead:answer/search" },
];
