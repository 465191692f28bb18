//! Loads a listener's certificate, and reloads it while serving.

mod dates;

use std::{
    fmt,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use bulkhead_config::server::Tls;
use bulkhead_os::files;
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
};

use self::dates::CertificateDates;
use crate::lifecycle::Stopping;

/// How often the files are checked. Certificates are renewed days before they expire.
const POLL: Duration = Duration::from_secs(30);

/// A certificate that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {cause}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A file holds no PEM block of the kind that is needed.
    #[error("{} holds no usable {wanted}: {cause}", .path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
        /// Why it was not found.
        cause: pem::Error,
    },
    /// Certificate and key do not go together, or are of an unsupported kind.
    #[error(
        "cannot serve the certificate in {} with the key in {}: {cause}",
        .cert.display(),
        .key.display()
    )]
    Unusable {
        /// The certificate file.
        cert: PathBuf,
        /// The key file.
        key: PathBuf,
        /// What is wrong.
        cause: rustls::Error,
    },
}

/// A certificate chain and key that may be replaced; connections take the one that is current when they
/// are accepted.
pub struct Certificates {
    files: Tls,
    current: ArcSwap<ServedChain>,
    seen: Mutex<Stamp>,
}

/// A certificate chain in use.
struct ServedChain {
    config: Arc<ServerConfig>,
    dates: CertificateDates,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Certificates {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// Where a file is missing or unfit; the error names the file.
    pub fn load(files: &Tls) -> Result<Arc<Self>, TlsError> {
        let seen = Stamp::of(files);
        let current = ServedChain::load(files)?;
        Ok(Arc::new(Self {
            files: files.clone(),
            current: ArcSwap::from_pointee(current),
            seen: Mutex::new(seen),
        }))
    }

    /// Returns the certificate for new connections.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.load().config)
    }

    /// Describes what is wrong with the dates of the chain at `now`, and what to do: it is not valid yet, has expired, or
    /// expires within 14 days.
    pub fn date_fault(&self, now: SystemTime) -> Option<String> {
        self.current.load().dates.fault(now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// Where they are unfit; the certificate in use stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        let stamp = Stamp::of(&self.files);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = stamp;
        self.current.store(Arc::new(ServedChain::load(&self.files)?));
        Ok(())
    }

    /// Reloads whenever a file has changed, until `stopping` resolves. An unfit file is logged once and
    /// leaves the certificate in use. Dates that are wrong are logged once, too.
    pub async fn watch(self: Arc<Self>, mut stopping: Stopping) {
        let mut has_fault = false;
        loop {
            let fault = self.date_fault(SystemTime::now());
            if let Some(fault) = fault.as_deref().filter(|_| !has_fault) {
                tracing::warn!(cert = %self.files.cert.display(), fault, "clients refuse the certificate, or will soon");
            }
            has_fault = fault.is_some();
            tokio::select! {
                () = stopping.wait() => return,
                () = tokio::time::sleep(POLL) => self.reload_if_changed(),
            }
        }
    }

    fn reload_if_changed(&self) {
        let changed = *self.seen.lock().unwrap_or_else(PoisonError::into_inner) != Stamp::of(&self.files);
        if !changed {
            return;
        }
        let cert = self.files.cert.display();
        match self.reload() {
            Ok(()) => tracing::info!(%cert, "certificate reloaded"),
            Err(error) => {
                tracing::error!(%cert, %error, "certificate not reloaded, keeping the old one")
            }
        }
    }
}

/// Identifies a state of the two files. Links are followed, as in mounted secrets.
#[derive(PartialEq, Eq)]
struct Stamp([Option<(u64, u64, i64, i64)>; 2]);

impl Stamp {
    fn of(files: &Tls) -> Self {
        let stamp = |path: &Path| {
            fs::metadata(path).ok().map(|metadata: Metadata| {
                (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
            })
        };
        Self([stamp(&files.cert), stamp(&files.key)])
    }
}

impl ServedChain {
    fn load(files: &Tls) -> Result<Self, TlsError> {
        let chain = certificate_chain(&files.cert)?;
        let dates = CertificateDates::of(&chain);
        let key = private_key(&files.key)?;
        let unusable = |cause| TlsError::Unusable { cert: files.cert.clone(), key: files.key.clone(), cause };
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), dates })
    }
}

fn certificate_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(pem::Error::NoItemsFound),
        chain => chain,
    }
    .map_err(|cause| unfit(path, "certificate", cause))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|cause| unfit(path, "private key", cause))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    files::read_settings(path).map_err(|cause| TlsError::Read { path: path.to_owned(), cause })
}

fn unfit(path: &Path, wanted: &'static str, cause: pem::Error) -> TlsError {
    TlsError::Pem { path: path.to_owned(), wanted, cause }
}

#[cfg(test)]
mod tests;
