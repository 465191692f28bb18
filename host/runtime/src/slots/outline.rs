//! The outline of a component, read from its sections without validation or compilation.

#[cfg(test)]
mod tests;

use bulkhead_telemetry::quoted;
use wasmparser::{
    BinaryReaderError, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentTypeRef, Encoding, Instance, Parser, Payload,
};

/// Most names of imports, and of exports, in an outline.
const NAMES_KEPT: usize = 1000;
/// Most modules and components that one file may define or name: each takes memory while the file is read.
const DEFINITIONS: usize = 10_000;
/// Most passes over a file. A size that still grows in the last one counts as unbounded.
const PASSES: usize = 5;
/// The first bytes of every WebAssembly file.
const MAGIC: &[u8] = b"\0asm";
const TRUNCATED: &str = "it is truncated; check that it was copied completely";

/// The imports and exports of a component, and what one instance of it uses.
#[derive(Debug, Default)]
pub struct Outline {
    /// Names of imports, with versions; cut, and without control characters.
    pub imports: Vec<String>,
    /// Names of exports in the same form.
    pub exports: Vec<String>,
    /// Number of all imports, also those not in `imports`.
    pub import_count: u64,
    /// Number of all exports, also those not in `exports`.
    pub export_count: u64,
    /// What one instance uses.
    pub usage: Usage,
}

/// What instances use, with nested instances counted as often as they are created. Counts saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Instances of core modules.
    pub core_instances: u64,
    /// Linear memories.
    pub memories: u64,
    /// Tables.
    pub tables: u64,
}

impl Usage {
    /// Exceeds every limit.
    const MAX: Self = Self { core_instances: u64::MAX, memories: u64::MAX, tables: u64::MAX };

    fn add(&mut self, other: Self) {
        self.core_instances = self.core_instances.saturating_add(other.core_instances);
        self.memories = self.memories.saturating_add(other.memories);
        self.tables = self.tables.saturating_add(other.tables);
    }

    fn larger(self, other: Self) -> Self {
        Self {
            core_instances: self.core_instances.max(other.core_instances),
            memories: self.memories.max(other.memories),
            tables: self.tables.max(other.tables),
        }
    }
}

/// A component or module whose end has not been read.
#[derive(Default)]
struct OpenScope {
    is_module: bool,
    /// Whether it imports components, or instances that may contain components.
    imports_components: bool,
    /// What one instance of it uses.
    usage: Usage,
    /// The usage of each module, and of each component, that it can name by index; `None` for those that come from an
    /// import or an instance.
    modules: Vec<Option<Usage>>,
    components: Vec<Option<Usage>>,
}

impl OpenScope {
    fn module() -> Self {
        let usage = Usage { core_instances: 1, ..Usage::default() };
        Self { is_module: true, usage, ..Self::default() }
    }
}

/// Reads the outline of a component.
///
/// # Errors
/// With the reason why it is not a component, or not complete.
pub fn outline(wasm: &[u8]) -> Result<Outline, String> {
    if wasm.is_empty() {
        return Err("the file is empty".into());
    }
    if wasm.trim_ascii_start().starts_with(b"(") {
        return Err("it is text; translate it with `wasm-tools parse`".into());
    }
    if !wasm.starts_with(MAGIC) {
        return Err(
            "it does not start with the bytes 00 61 73 6d of WebAssembly; check that it is the right file"
                .into(),
        );
    }
    // A pass counts an unknown size as the largest that it has seen so far, so it may count too little. Passes repeat
    // until the largest size no longer grows.
    let mut largest = Largest::default();
    let mut reader = read(wasm, largest)?;
    for number in 2..=PASSES {
        if !reader.has_guessed || reader.largest == largest {
            break;
        }
        largest = if number < PASSES { reader.largest } else { Largest::MAX };
        reader = read(wasm, largest)?;
    }
    if reader.is_complete { Ok(reader.outline) } else { Err(TRUNCATED.into()) }
}

/// Reads a file once. An instance of unknown size counts as at least `largest`.
fn read(wasm: &[u8], largest: Largest) -> Result<OutlineReader, String> {
    let mut reader = OutlineReader { largest, ..OutlineReader::default() };
    for payload in Parser::new(0).parse_all(wasm) {
        let read = payload.map_err(ReadError::from).and_then(|payload| reader.read_payload(payload));
        read.map_err(|error| match error {
            ReadError::Damaged(error) => describe(&error, wasm.len()),
            ReadError::Module => {
                "it is a core module; wrap it with a component linker such as wasm-component-ld".to_owned()
            }
            ReadError::TooMany => format!("it defines more than {DEFINITIONS} modules and components"),
        })?;
    }
    Ok(reader)
}

enum ReadError {
    Damaged(BinaryReaderError),
    Module,
    TooMany,
}

impl From<BinaryReaderError> for ReadError {
    fn from(error: BinaryReaderError) -> Self {
        Self::Damaged(error)
    }
}

/// The largest usage of any module, and of any component inside. It is used for those that come from an import or an
/// instance, whose size only the compiler determines.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Largest {
    module: Usage,
    component: Usage,
    /// The largest of components that import neither components nor instances. A component that is instantiated without
    /// either is one of these.
    closed: Usage,
}

impl Largest {
    const MAX: Self = Self { module: Usage::MAX, component: Usage::MAX, closed: Usage::MAX };
}

/// Reads the sections of a file into an outline.
#[derive(Default)]
struct OutlineReader {
    outline: Outline,
    /// The components and modules around the current section, the outermost first.
    scopes: Vec<OpenScope>,
    definitions: usize,
    largest: Largest,
    /// Whether an unknown size was counted as the largest.
    has_guessed: bool,
    is_complete: bool,
}

impl OutlineReader {
    fn read_payload(&mut self, payload: Payload<'_>) -> Result<(), ReadError> {
        let at_top = self.scopes.len() == 1;
        match payload {
            Payload::Version { encoding, .. } if self.scopes.is_empty() => {
                if encoding == Encoding::Module {
                    return Err(ReadError::Module);
                }
                self.scopes.push(OpenScope::default());
            }
            Payload::ModuleSection { .. } => self.scopes.push(OpenScope::module()),
            Payload::ComponentSection { .. } => self.scopes.push(OpenScope::default()),
            Payload::End(_) => return self.end(),
            Payload::MemorySection(section) => {
                self.add_usage(Usage { memories: section.count().into(), ..Usage::default() });
            }
            Payload::TableSection(section) => {
                self.add_usage(Usage { tables: section.count().into(), ..Usage::default() });
            }
            Payload::InstanceSection(section) => {
                for instance in section {
                    if let Instance::Instantiate { module_index, .. } = instance? {
                        let known = self.known_usage(|scope| &scope.modules, 0, module_index);
                        let usage = known.unwrap_or_else(|| self.guess(self.largest.module));
                        self.add_usage(usage);
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    if let ComponentInstance::Instantiate { component_index, args } = instance? {
                        let gets_components = args.iter().any(|arg| {
                            matches!(
                                arg.kind,
                                ComponentExternalKind::Component | ComponentExternalKind::Instance
                            )
                        });
                        let Largest { component, closed, .. } = self.largest;
                        let known = self.known_usage(|scope| &scope.components, 0, component_index);
                        let usage = known
                            .unwrap_or_else(|| self.guess(if gets_components { component } else { closed }));
                        self.add_usage(usage);
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    self.alias(&alias?)?;
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    let import = import?;
                    if at_top {
                        let Outline { imports, import_count, .. } = &mut self.outline;
                        add_name(imports, import_count, import.name.name);
                    }
                    match import.ty {
                        ComponentTypeRef::Module(_) => self.define(true, None)?,
                        ComponentTypeRef::Component(_) => {
                            self.define(false, None)?;
                            self.note_component_import();
                        }
                        ComponentTypeRef::Instance(_) => self.note_component_import(),
                        _ => {}
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export?;
                    if at_top {
                        let Outline { exports, export_count, .. } = &mut self.outline;
                        add_name(exports, export_count, export.name.name);
                    }
                    // An export has an index of its own.
                    match export.kind {
                        ComponentExternalKind::Module => {
                            self.define(true, self.known_usage(|scope| &scope.modules, 0, export.index))?;
                        }
                        ComponentExternalKind::Component => {
                            self.define(false, self.known_usage(|scope| &scope.components, 0, export.index))?;
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Closes the innermost component or module, which its parent can name from now on.
    fn end(&mut self) -> Result<(), ReadError> {
        let Some(OpenScope { is_module, imports_components, usage, .. }) = self.scopes.pop() else {
            return Ok(());
        };
        if self.scopes.is_empty() {
            self.outline.usage = usage;
            self.is_complete = true;
            return Ok(());
        }
        let Largest { module, component, closed } = &mut self.largest;
        if is_module {
            *module = module.larger(usage);
        } else {
            *component = component.larger(usage);
        }
        if !is_module && !imports_components {
            *closed = closed.larger(usage);
        }
        self.define(is_module, Some(usage))
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<(), ReadError> {
        match alias {
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Module, .. } => {
                self.define(true, None)
            }
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                self.define(false, None)
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, count, index } => {
                self.define(true, self.known_usage(|scope| &scope.modules, *count, *index))
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                self.define(false, self.known_usage(|scope| &scope.components, *count, *index))
            }
            _ => Ok(()),
        }
    }

    /// Adds a module, or component, to those that the innermost component can name; without a usage where its size is
    /// unknown.
    fn define(&mut self, is_module: bool, usage: Option<Usage>) -> Result<(), ReadError> {
        self.definitions += 1;
        if self.definitions > DEFINITIONS {
            return Err(ReadError::TooMany);
        }
        if let Some(scope) = self.scopes.last_mut() {
            if is_module { &mut scope.modules } else { &mut scope.components }.push(usage);
        }
        Ok(())
    }

    /// Records that the innermost component imports a component, or an instance that may contain one.
    fn note_component_import(&mut self) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.imports_components = true;
        }
    }

    /// Counts an unknown size as the largest that it may be.
    const fn guess(&mut self, largest: Usage) -> Usage {
        self.has_guessed = true;
        largest
    }

    /// Returns the usage of the module or component that the parent `outward` levels up can name by `index`. The
    /// compiler refuses an index out of range.
    fn known_usage(
        &self,
        space: impl Fn(&OpenScope) -> &Vec<Option<Usage>>,
        outward: u32,
        index: u32,
    ) -> Option<Usage> {
        let scope = self.scopes.iter().rev().nth(outward as usize);
        scope.and_then(|scope| space(scope).get(index as usize)).copied().unwrap_or(Some(Usage::default()))
    }

    fn add_usage(&mut self, usage: Usage) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.usage.add(usage);
        }
    }
}

/// Adds a name, unless there are too many, and counts it.
fn add_name(names: &mut Vec<String>, count: &mut u64, name: &str) {
    *count += 1;
    if names.len() < NAMES_KEPT {
        names.push(quoted(name));
    }
}

/// Describes an error of the parser.
fn describe(error: &BinaryReaderError, bytes: usize) -> String {
    if error.offset() >= bytes || error.message().starts_with("unexpected end") {
        return TRUNCATED.to_owned();
    }
    format!("it is damaged at byte {}: {}", error.offset(), quoted(error.message()))
}
