//! What the slots of a host share of outgoing requests: the resolver, and whom TLS trusts.

use std::{fmt, sync::Arc};

use rustls::{ClientConfig, crypto::aws_lc_rs};
use rustls_platform_verifier::Verifier;
use tokio::{sync::OnceCell, task::spawn_blocking};

use crate::{
    error::OutgoingError,
    lookup::{NameLookup, SystemLookup},
};

/// The resolver, and the certificate authorities. Clones share both.
#[derive(Clone)]
pub struct OutgoingNetwork {
    lookup: Arc<dyn NameLookup>,
    /// Read when it is used first: a machine without authorities runs as long as nothing needs them.
    tls: Arc<OnceCell<Arc<ClientConfig>>>,
}

impl fmt::Debug for OutgoingNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingNetwork").finish_non_exhaustive()
    }
}

impl Default for OutgoingNetwork {
    fn default() -> Self {
        Self::new(Arc::new(SystemLookup::default()))
    }
}

impl OutgoingNetwork {
    /// Uses this resolver, and the system's certificate authorities.
    pub fn new(lookup: Arc<dyn NameLookup>) -> Self {
        Self { lookup, tls: Arc::default() }
    }

    /// Uses these settings of TLS in place of the system's.
    #[cfg(test)]
    pub(crate) fn trusting(lookup: Arc<dyn NameLookup>, tls: ClientConfig) -> Self {
        Self { lookup, tls: Arc::new(OnceCell::new_with(Some(Arc::new(tls)))) }
    }

    pub(crate) fn lookup(&self) -> &dyn NameLookup {
        self.lookup.as_ref()
    }

    /// Returns the settings of TLS connections.
    pub(crate) async fn tls(&self) -> Result<Arc<ClientConfig>, OutgoingError> {
        let read = || async {
            let wrong = |error: &dyn fmt::Display| OutgoingError::ConfigurationError(error.to_string());
            let read = spawn_blocking(client_config).await.map_err(|error| wrong(&error))?;
            read.map(Arc::new).map_err(|error| wrong(&error))
        };
        self.tls.get_or_try_init(read).await.cloned()
    }
}

/// Reads the system's certificate authorities.
fn client_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Verifier::new(Arc::clone(&provider))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
