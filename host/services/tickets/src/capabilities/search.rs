//! `bulkhead:answer/search` and `bulkhead:answer/items`: search the knowledge base with the model that it was embedded
//! with.

use std::sync::Arc;

use bulkhead_knowledge::{PassageItems, ScoredItem};
use bulkhead_models::SlotModelAccess;
use bulkhead_runtime::capabilities::{Access::Read, Capabilities, Capability, Interface, SlotResources};
use wasmtime::component::HasSelf;

use self::bindings::bulkhead::answer::items::{self, Found, Item};
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
                import bulkhead:answer/items@0.1.1;
            }
        ",
        path: "../../../wit/answer",
        world: "bulkhead:slot/offered",
        imports: { default: async | trappable },
    });
}

/// Both interfaces, over the slot's [`Knowledge`] and [`SlotModelAccess`].
#[derive(Clone, Copy, Debug)]
pub struct SearchCapability;

impl Capability for SearchCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[SEARCH, ITEMS]
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

/// The function that searches for items.
const ITEMS: Interface = Interface {
    name: "bulkhead:answer/items",
    version: "0.1.1",
    is_general: false,
    functions: &[("find", Read)],
    add_to_linker: |instance| {
        items::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// The most texts that are embedded for a question: the whole and its sentences.
const MAX_TEXTS: usize = 17;

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

impl From<PassageItems> for Found {
    fn from(found: PassageItems) -> Self {
        let place = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let item =
            |ScoredItem { range, score }| Item { start: place(range.start), end: place(range.end), score };
        Self { passage: found.passage.into(), items: found.items.into_iter().map(item).collect() }
    }
}

/// Returns the slot's knowledge base, and its access to models.
fn knowledge(resources: &SlotResources) -> Result<(&Knowledge, &SlotModelAccess), Error> {
    let none = || Error::Unavailable("this slot's service has no knowledge base".to_owned());
    resources.get::<Knowledge>().zip(resources.get::<SlotModelAccess>()).ok_or_else(none)
}

/// Searches the slot's knowledge base for items.
async fn find(
    resources: &SlotResources,
    mut texts: Vec<String>,
    options: Options,
) -> Result<Vec<Found>, Error> {
    let (knowledge, access) = knowledge(resources)?;
    texts.truncate(MAX_TEXTS);
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let found = knowledge.find(access, texts, options.categories, limit).await?;
    Ok(found.into_iter().map(Found::from).collect())
}

/// Searches the slot's knowledge base.
async fn search(resources: &SlotResources, text: String, options: Options) -> Result<Vec<Passage>, Error> {
    let (knowledge, access) = knowledge(resources)?;
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

impl items::Host for Capabilities {
    async fn find(
        &mut self,
        texts: Vec<String>,
        options: Options,
    ) -> wasmtime::Result<Result<Vec<Found>, Error>> {
        let resources = Arc::clone(&self.resources);
        let key = self.shadow.key(format_args!("find {texts:?} {options:?}"));
        let find = async move { find(&resources, texts, options).await };
        Ok(self.shadow.replay_or_read(key, find).await)
    }
}
