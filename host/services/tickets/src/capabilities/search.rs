//! `bulkhead:answer/search`: searches the knowledge base with the model that it was embedded with.

use std::sync::Arc;

use bulkhead_models::SlotModelAccess;
use bulkhead_runtime::capabilities::{Access::Read, Capabilities, Capability, Interface, SlotResources};
use wasmtime::component::HasSelf;

use self::bindings::bulkhead::answer::search::{self as wit, Error, Options, Passage};
use crate::knowledge::{Knowledge, KnowledgeSearchError};

/// Bindings of the interface.
#[allow(missing_docs)]
pub mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package bulkhead:slot;
            world offered {
                import bulkhead:answer/search@0.1.1;
            }
        ",
        path: "../../../wit/answer",
        world: "bulkhead:slot/offered",
        imports: { default: async | trappable },
    });
}

/// `bulkhead:answer/search`, over the slot's [`Knowledge`] and [`SlotModelAccess`].
#[derive(Clone, Copy, Debug)]
pub struct SearchCapability;

impl Capability for SearchCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[SEARCH]
    }
}

/// The function that searches.
const SEARCH: Interface = Interface {
    name: "bulkhead:answer/search",
    version: "0.1.1",
    is_general: false,
    functions: &[("search", Read)],
    add_to_linker: |instance| {
        wit::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

impl From<KnowledgeSearchError> for Error {
    fn from(error: KnowledgeSearchError) -> Self {
        match error {
            KnowledgeSearchError::Unavailable(reason) => Self::Unavailable(reason),
            KnowledgeSearchError::Failed(reason) => Self::Internal(reason),
        }
    }
}

impl From<bulkhead_knowledge::Passage> for Passage {
    fn from(passage: bulkhead_knowledge::Passage) -> Self {
        // Two sources may each have a document of that id.
        let document = format!("{}/{}", passage.source, passage.document);
        let bulkhead_knowledge::Passage { id, title, url, text, language, categories, score, .. } = passage;
        Self { id, document, title, url, text, language, categories, score }
    }
}

/// Searches the slot's knowledge base.
async fn search(resources: &SlotResources, text: String, options: Options) -> Result<Vec<Passage>, Error> {
    let none = || Error::Unavailable("this slot's service has no knowledge base".to_owned());
    let (knowledge, access) =
        resources.get::<Knowledge>().zip(resources.get::<SlotModelAccess>()).ok_or_else(none)?;
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let found = knowledge.search(access, text, options.categories, limit).await?;
    Ok(found.into_iter().map(Passage::from).collect())
}

impl wit::Host for Capabilities {
    async fn search(
        &mut self,
        text: String,
        options: Options,
    ) -> wasmtime::Result<Result<Vec<Passage>, Error>> {
        let resources = Arc::clone(&self.resources);
        let key = self.shadow.key(format_args!("search {text:?} {options:?}"));
        let search = async move { search(&resources, text, options).await };
        Ok(self.shadow.replay_or_read(key, search).await)
    }
}
