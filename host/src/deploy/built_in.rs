//! The component that is part of the binary, which can be had back whatever the history holds, and the bytes of versions.

use std::sync::Arc;

use super::{DeployError, Deployment, Proof, Record};
use crate::{background, compile::ComponentDigest, slots::World};

/// The name of the component that is part of the binary, and the source of its versions.
pub const EMBEDDED: &str = "embedded";

/// The bytes of a component.
#[derive(Clone, Debug)]
pub struct Exported {
    /// Whose they are.
    pub component: ComponentDigest,
    /// The bytes.
    pub wasm: Arc<[u8]>,
}

impl<W: World> Deployment<W> {
    /// The version that a name means. [`EMBEDDED`] becomes a version by this: the one that is remembered, or a new one
    /// that has passed its trial.
    pub(super) async fn named(&self, name: &str, actor: &str) -> Result<String, DeployError> {
        if name != EMBEDDED {
            return Ok(name.to_owned());
        }
        let wasm = self.built_in()?;
        let identified =
            self.identify(Arc::clone(&wasm), EMBEDDED, Proof::BuiltIn, &self.slot.settings()).await;
        let record = identified?.record;
        if self.book().get(&record.id).is_some_and(Record::is_tried) {
            return Ok(record.id.to_string());
        }
        let pushed = self.take_up(wasm, EMBEDDED, Proof::BuiltIn, actor, &|_| {}).await?;
        Ok(pushed.record.id.to_string())
    }

    /// The bytes of a version that is remembered, or of the component that is part of the binary.
    pub(super) async fn bytes_of(&self, name: &str) -> Result<Exported, DeployError> {
        let wasm = match name {
            EMBEDDED => self.built_in()?,
            name => self.component(&self.known(name)?).await?,
        };
        let hashed = Arc::clone(&wasm);
        let component = background::run(move || ComponentDigest::of(&hashed)).await;
        Ok(Exported { component: component.map_err(|_| DeployError::Stopping)?, wasm })
    }

    fn built_in(&self) -> Result<Arc<[u8]>, DeployError> {
        let slot = self.slot.name();
        let none = || DeployError::UnknownVersion { slot: slot.as_str(), name: EMBEDDED.to_owned() };
        self.vault.carried(slot).map(Arc::from).ok_or_else(none)
    }
}
