//! What a component is made of, read from its sections in one pass without validating or compiling it.

#[cfg(test)]
mod tests;

use wasmparser::{
    BinaryReaderError, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentTypeRef, Encoding, Instance, Parser, Payload,
};

use crate::telemetry::quoted;

/// Names kept of imports, and of exports.
const NAMES_KEPT: usize = 1000;
/// Modules and components that one file may define or name: each takes memory while it is read.
const DEFINITIONS: usize = 10_000;
/// Readings of a file after which what still grows has no bound.
const READINGS: usize = 5;
/// What every WebAssembly file begins with.
const MAGIC: &[u8] = b"\0asm";
const CUT_OFF: &str = "it ends before its end; see that it has been copied whole";

/// A component's imports and exports, and what one instance of it is made of.
#[derive(Debug, Default)]
pub struct Outline {
    /// Names of imports, with versions; cut, and free of control characters.
    pub imports: Vec<String>,
    /// Names of exports in the same form.
    pub exports: Vec<String>,
    /// Number of imports, those without a name here among them.
    pub import_count: u64,
    /// Number of exports, those without a name here among them.
    pub export_count: u64,
    /// What an instance of it takes.
    pub usage: Usage,
}

/// What instances take, nested ones as often as they are made; counts stay at their largest value.
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
    /// More than any limit.
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

/// A component or module that is being read.
#[derive(Default)]
struct Frame {
    is_module: bool,
    /// It imports components, or instances, which may have some.
    is_open: bool,
    /// What one instance of it takes.
    usage: Usage,
    /// What an instance takes of each module, and of each component, that it can name by index; none of what comes from
    /// an import or an instance.
    modules: Vec<Option<Usage>>,
    components: Vec<Option<Usage>>,
}

impl Frame {
    fn module() -> Self {
        let usage = Usage { core_instances: 1, ..Usage::default() };
        Self { is_module: true, usage, ..Self::default() }
    }
}

/// Reads a component's outline.
///
/// # Errors
/// Why it is not a component, or not whole.
pub fn outline(wasm: &[u8]) -> Result<Outline, String> {
    if wasm.is_empty() {
        return Err("the file is empty".into());
    }
    if wasm.trim_ascii_start().starts_with(b"(") {
        return Err("it is text; translate it with `wasm-tools parse`".into());
    }
    if !wasm.starts_with(MAGIC) {
        return Err("it does not begin as WebAssembly does, with the bytes 00 61 73 6d; see that it is the right file".into());
    }
    // What stands before the largest was counted with less, and so was what takes something of that in turn.
    let mut largest = Largest::default();
    let mut reading = read(wasm, largest)?;
    for number in 2..=READINGS {
        if !reading.has_guessed || reading.largest == largest {
            break;
        }
        largest = if number < READINGS { reading.largest } else { Largest::MAX };
        reading = read(wasm, largest)?;
    }
    if reading.whole { Ok(reading.outline) } else { Err(CUT_OFF.into()) }
}

/// Reads a file once. Of what has no known size, an instance takes at least as much as `largest` says.
fn read(wasm: &[u8], largest: Largest) -> Result<Reading, String> {
    let mut reading = Reading { largest, ..Reading::default() };
    for payload in Parser::new(0).parse_all(wasm) {
        let read = payload.map_err(Unread::from).and_then(|payload| reading.take(payload));
        read.map_err(|unread| match unread {
            Unread::Damaged(error) => damage(&error, wasm.len()),
            Unread::Module => {
                "it is a core module; wrap it with a component linker such as wasm-component-ld".to_owned()
            }
            Unread::TooMany => format!("it defines more than {DEFINITIONS} modules and components"),
        })?;
    }
    Ok(reading)
}

enum Unread {
    Damaged(BinaryReaderError),
    Module,
    TooMany,
}

impl From<BinaryReaderError> for Unread {
    fn from(error: BinaryReaderError) -> Self {
        Self::Damaged(error)
    }
}

/// The most that an instance of any module, and of any component inside, takes: for what comes from an import or an
/// instance, whose size only the compiler finds out.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Largest {
    module: Usage,
    component: Usage,
    /// Of components that import neither components nor instances. What is instantiated without either is one of them.
    closed: Usage,
}

impl Largest {
    const MAX: Self = Self { module: Usage::MAX, component: Usage::MAX, closed: Usage::MAX };
}

/// How far a file has been read.
#[derive(Default)]
struct Reading {
    outline: Outline,
    /// Where the reader is, the file's own component first.
    frames: Vec<Frame>,
    definitions: usize,
    largest: Largest,
    /// Something has been counted as the largest of its kind.
    has_guessed: bool,
    whole: bool,
}

impl Reading {
    fn take(&mut self, payload: Payload<'_>) -> Result<(), Unread> {
        let at_top = self.frames.len() == 1;
        match payload {
            Payload::Version { encoding, .. } if self.frames.is_empty() => {
                if encoding == Encoding::Module {
                    return Err(Unread::Module);
                }
                self.frames.push(Frame::default());
            }
            Payload::ModuleSection { .. } => self.frames.push(Frame::module()),
            Payload::ComponentSection { .. } => self.frames.push(Frame::default()),
            Payload::End(_) => return self.end(),
            Payload::MemorySection(section) => {
                self.use_more(Usage { memories: section.count().into(), ..Usage::default() });
            }
            Payload::TableSection(section) => {
                self.use_more(Usage { tables: section.count().into(), ..Usage::default() });
            }
            Payload::InstanceSection(section) => {
                for instance in section {
                    if let Instance::Instantiate { module_index, .. } = instance? {
                        let known = self.known(|frame| &frame.modules, 0, module_index);
                        let usage = known.unwrap_or_else(|| self.guess(self.largest.module));
                        self.use_more(usage);
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    if let ComponentInstance::Instantiate { component_index, args } = instance? {
                        let is_open = args.iter().any(|arg| {
                            matches!(
                                arg.kind,
                                ComponentExternalKind::Component | ComponentExternalKind::Instance
                            )
                        });
                        let Largest { component, closed, .. } = self.largest;
                        let known = self.known(|frame| &frame.components, 0, component_index);
                        let usage =
                            known.unwrap_or_else(|| self.guess(if is_open { component } else { closed }));
                        self.use_more(usage);
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
                        note(imports, import_count, import.name.name);
                    }
                    match import.ty {
                        ComponentTypeRef::Module(_) => self.define(true, None)?,
                        ComponentTypeRef::Component(_) => {
                            self.define(false, None)?;
                            self.open();
                        }
                        ComponentTypeRef::Instance(_) => self.open(),
                        _ => {}
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export?;
                    if at_top {
                        let Outline { exports, export_count, .. } = &mut self.outline;
                        note(exports, export_count, export.name.name);
                    }
                    // An export has an index of its own.
                    match export.kind {
                        ComponentExternalKind::Module => {
                            self.define(true, self.known(|frame| &frame.modules, 0, export.index))?;
                        }
                        ComponentExternalKind::Component => {
                            self.define(false, self.known(|frame| &frame.components, 0, export.index))?;
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the innermost component or module, which the one around it can name from now on.
    fn end(&mut self) -> Result<(), Unread> {
        let Some(Frame { is_module, is_open, usage, .. }) = self.frames.pop() else { return Ok(()) };
        if self.frames.is_empty() {
            self.outline.usage = usage;
            self.whole = true;
            return Ok(());
        }
        let Largest { module, component, closed } = &mut self.largest;
        if is_module {
            *module = module.larger(usage);
        } else {
            *component = component.larger(usage);
        }
        if !is_module && !is_open {
            *closed = closed.larger(usage);
        }
        self.define(is_module, Some(usage))
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<(), Unread> {
        match alias {
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Module, .. } => {
                self.define(true, None)
            }
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                self.define(false, None)
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, count, index } => {
                self.define(true, self.known(|frame| &frame.modules, *count, *index))
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                self.define(false, self.known(|frame| &frame.components, *count, *index))
            }
            _ => Ok(()),
        }
    }

    /// Gives the innermost component another module, or component, to name; without a usage one whose size is not known.
    fn define(&mut self, is_module: bool, usage: Option<Usage>) -> Result<(), Unread> {
        self.definitions += 1;
        if self.definitions > DEFINITIONS {
            return Err(Unread::TooMany);
        }
        if let Some(frame) = self.frames.last_mut() {
            if is_module { &mut frame.modules } else { &mut frame.components }.push(usage);
        }
        Ok(())
    }

    /// Notes that the innermost component imports what may be, or have, a component.
    fn open(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.is_open = true;
        }
    }

    /// Counts something whose size is not known as the largest that it may be.
    const fn guess(&mut self, largest: Usage) -> Usage {
        self.has_guessed = true;
        largest
    }

    /// What an instance takes of something that the component `outward` levels around the innermost one can name.
    /// An index that leads nowhere is the compiler's to refuse.
    fn known(
        &self,
        space: impl Fn(&Frame) -> &Vec<Option<Usage>>,
        outward: u32,
        index: u32,
    ) -> Option<Usage> {
        let frame = self.frames.iter().rev().nth(outward as usize);
        frame.and_then(|frame| space(frame).get(index as usize)).copied().unwrap_or(Some(Usage::default()))
    }

    fn use_more(&mut self, usage: Usage) {
        if let Some(frame) = self.frames.last_mut() {
            frame.usage.add(usage);
        }
    }
}

fn note(names: &mut Vec<String>, count: &mut u64, name: &str) {
    *count += 1;
    if names.len() < NAMES_KEPT {
        names.push(quoted(name));
    }
}

/// What keeps a file from being read.
fn damage(error: &BinaryReaderError, bytes: usize) -> String {
    if error.offset() >= bytes || error.message().starts_with("unexpected end") {
        return CUT_OFF.to_owned();
    }
    format!("it is damaged at byte {}: {}", error.offset(), quoted(error.message()))
}
