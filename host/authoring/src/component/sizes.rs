//! The size of a component by part, and the memories of its core modules.

#[cfg(test)]
mod tests;

use bulkhead_telemetry::quoted;
use serde::Serialize;
use wasmparser::{KnownCustom, MemoryType, Name, Parser, Payload};

/// Most core modules that are listed; more are counted together.
const LISTED: usize = 200;

/// The bytes of a component by part.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Sizes {
    /// The whole file.
    pub(crate) bytes: usize,
    /// Its core modules, in the order of the file.
    pub(crate) modules: Vec<ModuleSize>,
    /// Custom sections outside of core modules.
    pub(crate) custom_bytes: usize,
    /// All else: types, imports, exports, and how the modules are joined.
    pub(crate) rest_bytes: usize,
}

/// The bytes of a core module by part, and its memories.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ModuleSize {
    /// Its name, from its section of names.
    pub(crate) name: Option<String>,
    /// The whole module.
    pub(crate) bytes: usize,
    /// Code of functions.
    pub(crate) code_bytes: usize,
    /// Initial content of memories.
    pub(crate) data_bytes: usize,
    /// Custom sections, such as names and debug information.
    pub(crate) custom_bytes: usize,
    /// The memories that it defines.
    pub(crate) memories: Vec<MemorySize>,
}

/// The size of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct MemorySize {
    /// Bytes that it has from the start.
    pub(crate) minimum_bytes: u64,
    /// Bytes that it may grow to; `None` without a limit of its own.
    pub(crate) maximum_bytes: Option<u64>,
}

impl MemorySize {
    fn new(memory: MemoryType) -> Self {
        let page = 1_u64 << memory.page_size_log2.unwrap_or(16).min(32);
        Self {
            minimum_bytes: memory.initial.saturating_mul(page),
            maximum_bytes: memory.maximum.map(|pages| pages.saturating_mul(page)),
        }
    }
}

impl Sizes {
    /// Reads the sizes of a component whose outline could be read.
    ///
    /// # Errors
    /// When a section is damaged.
    pub(crate) fn read(wasm: &[u8]) -> Result<Self, wasmparser::BinaryReaderError> {
        let mut sizes = Self { bytes: wasm.len(), ..Self::default() };
        // Whether each component or module around the current section is a module.
        let mut scopes: Vec<bool> = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ModuleSection { unchecked_range: range, .. } => {
                    scopes.push(true);
                    let module = ModuleSize { bytes: range.len(), ..ModuleSize::default() };
                    sizes.add_module(module);
                }
                Payload::ComponentSection { .. } => scopes.push(false),
                Payload::End(_) => _ = scopes.pop(),
                Payload::CustomSection(section) => {
                    let bytes = section.range().len();
                    match sizes.module(&scopes) {
                        Some(module) => {
                            module.custom_bytes = module.custom_bytes.saturating_add(bytes);
                            if let KnownCustom::Name(names) = section.as_known() {
                                module.name = module.name.take().or_else(|| module_name(names));
                            }
                        }
                        None => sizes.custom_bytes = sizes.custom_bytes.saturating_add(bytes),
                    }
                }
                Payload::CodeSectionStart { size, .. } => {
                    if let Some(module) = sizes.module(&scopes) {
                        module.code_bytes = module.code_bytes.saturating_add(size as usize);
                    }
                }
                Payload::DataSection(section) => {
                    if let Some(module) = sizes.module(&scopes) {
                        module.data_bytes = module.data_bytes.saturating_add(section.range().len());
                    }
                }
                Payload::MemorySection(section) => {
                    for memory in section {
                        let memory = MemorySize::new(memory?);
                        if let Some(module) = sizes.module(&scopes) {
                            module.memories.push(memory);
                        }
                    }
                }
                _ => {}
            }
        }
        let known = sizes.modules.iter().map(|module| module.bytes).sum::<usize>() + sizes.custom_bytes;
        sizes.rest_bytes = sizes.bytes.saturating_sub(known);
        Ok(sizes)
    }

    /// Adds a module, or its bytes to the last one where too many are listed.
    fn add_module(&mut self, module: ModuleSize) {
        if self.modules.len() < LISTED {
            self.modules.push(module);
        } else if let Some(last) = self.modules.last_mut() {
            last.bytes = last.bytes.saturating_add(module.bytes);
        }
    }

    /// Returns the module around the current section.
    fn module(&mut self, scopes: &[bool]) -> Option<&mut ModuleSize> {
        if scopes.last() == Some(&true) { self.modules.last_mut() } else { None }
    }
}

/// Returns the name of a module in its section of names.
fn module_name(mut names: wasmparser::NameSectionReader<'_>) -> Option<String> {
    names.find_map(|name| match name {
        Ok(Name::Module { name, .. }) => Some(quoted(name)),
        _ => None,
    })
}
