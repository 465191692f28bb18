//! Pulls components from OCI registries (OCI distribution specification): a manifest and the one layer that it names,
//! both checked against their digests. A registry is not trusted: each pull has limits of time and size, and a redirect
//! is followed only to addresses that the configuration allows.

mod address;
mod challenge;
mod credentials;
mod error;
mod layer;
pub mod manifest;
mod session;

use std::{path::PathBuf, sync::Arc};

use bulkhead_config::registries::{Reference, Registry, allowed};
use bulkhead_telemetry::Metrics;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use self::{
    manifest::{ACCEPTED, Manifest},
    session::Session,
};

pub use self::error::{Fault, PullError};

/// Largest manifest, bytes: what registries take at most is four times as much, and a component's has less than one
/// kilobyte.
const MANIFEST_BYTES: usize = 1 << 20;

/// How a pull ends that gives a component, beside the codes of those that do not.
const OK: &str = "ok";

/// A component that a registry gave.
#[derive(Clone, Debug)]
pub struct PulledComponent {
    /// Its bytes.
    pub wasm: Arc<[u8]>,
    /// The reference with the digest that it was pulled by.
    pub reference: Reference,
    /// The text of its `.minisig` file, where the manifest carries one.
    pub signature: Option<String>,
}

/// The registries that may be asked.
#[derive(Debug)]
pub struct Registries {
    allowed: Vec<Registry>,
    component_bytes: usize,
    folder: PathBuf,
    /// Where pulls are counted, if anywhere.
    metrics: Option<Arc<Metrics>>,
}

impl Registries {
    /// These and no others, for components of so many bytes at most, which `folder` takes while they arrive.
    pub fn new(allowed: Vec<Registry>, component_bytes: usize, folder: PathBuf) -> Self {
        Self { allowed, component_bytes, folder, metrics: None }
    }

    /// The same, with every pull counted.
    #[must_use]
    pub fn counted(self, metrics: Arc<Metrics>) -> Self {
        // Where no registry is allowed, a pull is refused, and that counts.
        metrics.pulls.expect(&[OK]);
        metrics.pulls.expect(&Fault::CODES);
        Self { metrics: Some(metrics), ..self }
    }

    /// Pulls a component. A tag is resolved here, once: from then on the digest in what comes back names it.
    ///
    /// # Errors
    /// Why it cannot be had; nothing of the attempt is left.
    pub async fn pull(&self, reference: &Reference) -> Result<PulledComponent, PullError> {
        let run = self.metrics.as_ref().map(|metrics| metrics.pulls.begin());
        let pulled = async {
            let registry = allowed(&self.allowed, reference).map_err(Fault::NotAllowed)?;
            let pull = self.pull_from(registry, reference);
            timeout(registry.timeout, pull).await.unwrap_or(Err(Fault::Timeout))
        };
        let pulled: Result<PulledComponent, Fault> = pulled.await;
        match &pulled {
            Ok(PulledComponent { wasm, reference, .. }) => {
                tracing::info!(source = %reference, bytes = wasm.len(), "component pulled");
            }
            Err(fault) => tracing::warn!(source = %reference, %fault, "component not pulled"),
        }
        if let Some(run) = run {
            run.end(pulled.as_ref().map_or_else(Fault::code, |_| OK));
        }
        pulled.map_err(|fault| PullError { reference: reference.to_string(), fault })
    }

    async fn pull_from(&self, registry: &Registry, reference: &Reference) -> Result<PulledComponent, Fault> {
        let mut session = Session::new(registry, reference)?;
        let (digest, mut manifest) = fetch(&mut session, reference.tag_or_digest()).await?;
        if let Manifest::Index(component) = &manifest {
            (_, manifest) = fetch(&mut session, component).await?;
        }
        let Manifest::Component { layer, signature } = manifest else {
            return Err(Fault::MediaType(
                "its index leads to another; name the manifest by its digest".into(),
            ));
        };
        if layer.bytes > self.component_bytes as u64 {
            return Err(Fault::TooLarge("component", self.component_bytes, "raise sandbox.component_bytes"));
        }
        let blob = session.get(&format!("blobs/{}", layer.digest), "*/*").await?;
        let wasm = layer::receive(blob, &layer, &self.folder).await?;
        Ok(PulledComponent { wasm, reference: reference.with_digest(&digest), signature })
    }
}

/// A manifest by its tag or digest, with its digest.
async fn fetch(session: &mut Session<'_>, wanted: &str) -> Result<(String, Manifest), Fault> {
    let answer = session.get(&format!("manifests/{wanted}"), ACCEPTED).await?;
    let declared = session::header(&answer, "content-type").unwrap_or_default().to_owned();
    let stated = session::header(&answer, "docker-content-digest").map(str::to_owned);
    let text = session::read(answer, MANIFEST_BYTES).await?;
    let text =
        text.ok_or(Fault::TooLarge("manifest", MANIFEST_BYTES, "a component's has less than a kilobyte"))?;
    let found = format!("sha256:{}", hex::encode(Sha256::digest(&text)));
    // By a tag there is only the registry's own word, which must at least agree with itself.
    let named = Some(wanted).filter(|wanted| wanted.starts_with("sha256:")).map(str::to_owned);
    let stated = stated.filter(|digest| digest.starts_with("sha256:"));
    if let Some(wanted) = named.or(stated).filter(|wanted| *wanted != found) {
        return Err(Fault::DigestMismatch { what: "manifest", wanted, found });
    }
    Ok((found, manifest::read(&declared, &text)?))
}
