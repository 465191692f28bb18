//! The functions that a component exports, their names and signatures.

use bulkhead_telemetry::one_line;
use wasmtime::component::{
    Component, ComponentExportIndex,
    types::{ComponentFunc, ComponentItem},
    wasm_wave::wasm::DisplayFunc,
};
use wit_component::DecodedWasm;
use wit_parser::{Function, Resolve, WorldId, WorldItem};

use crate::{
    report::AuthoringFailure,
    signature::{self, bare},
};

/// A function that a component exports.
pub(crate) struct ExportedFunction {
    /// The interface that has it, with its version; `None` for a function of the world.
    pub(crate) interface: Option<String>,
    /// Its name there.
    pub(crate) name: String,
    /// Its type.
    pub(crate) ty: ComponentFunc,
    /// Where instances have it.
    pub(crate) index: ComponentExportIndex,
}

impl ExportedFunction {
    /// Returns the name that is unique in the component, `package:name/interface@version#function`.
    pub(crate) fn full_name(&self) -> String {
        match &self.interface {
            Some(interface) => format!("{interface}#{}", self.name),
            None => self.name.clone(),
        }
    }

    fn is_called(&self, wanted: &str) -> bool {
        let unversioned =
            self.interface.as_ref().map(|interface| format!("{}#{}", bare(interface), self.name));
        self.full_name() == wanted || unversioned.as_deref() == Some(wanted)
    }
}

/// Returns every function that a component exports.
pub(crate) fn functions(component: &Component) -> Vec<ExportedFunction> {
    let (engine, mut found) = (component.engine(), Vec::new());
    for (name, export) in component.component_type().exports(engine) {
        let Some(index) = component.get_export_index(None, name) else { continue };
        match export.ty {
            ComponentItem::ComponentFunc(ty) => {
                found.push(ExportedFunction { interface: None, name: name.to_owned(), ty, index });
            }
            ComponentItem::ComponentInstance(instance) => {
                for (member, export) in instance.exports(engine) {
                    let ComponentItem::ComponentFunc(ty) = export.ty else { continue };
                    let Some(index) = component.get_export_index(Some(&index), member) else { continue };
                    let (interface, name) = (Some(name.to_owned()), member.to_owned());
                    found.push(ExportedFunction { interface, name, ty, index });
                }
            }
            _ => {}
        }
    }
    found
}

/// Finds a function by its name, with or without interface and version.
///
/// # Errors
/// When none or several have the name; the text lists all names.
pub(crate) fn find<'a>(
    functions: &'a [ExportedFunction],
    wanted: &str,
) -> Result<&'a ExportedFunction, AuthoringFailure> {
    if let Some(found) = functions.iter().find(|function| function.is_called(wanted)) {
        return Ok(found);
    }
    let named: Vec<_> = functions.iter().filter(|function| function.name == wanted).collect();
    match named.as_slice() {
        [one] => Ok(one),
        [] => Err(AuthoringFailure::Usage(format!(
            "the component exports no function {}; it exports {}",
            one_line(wanted),
            names(functions.iter())
        ))),
        several => Err(AuthoringFailure::Usage(format!(
            "the component exports several functions {}; name one of {}",
            one_line(wanted),
            names(several.iter().copied())
        ))),
    }
}

fn names<'a>(functions: impl Iterator<Item = &'a ExportedFunction>) -> String {
    let names: Vec<String> = functions.map(ExportedFunction::full_name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Returns the signature of a function in WIT.
pub(crate) fn signature(wasm: &[u8], function: &ExportedFunction) -> String {
    let decoded = match wit_component::decode(wasm) {
        Ok(DecodedWasm::Component(resolve, world)) => {
            named(&resolve, world, function).map(|found| signature::signature(&resolve, found))
        }
        _ => None,
    };
    // Without the names of types and parameters where the component is unusual.
    let signature = decoded.unwrap_or_else(|| DisplayFunc(function.ty.clone()).to_string());
    format!("{}: {signature}", function.name)
}

fn named<'a>(resolve: &'a Resolve, world: WorldId, function: &ExportedFunction) -> Option<&'a Function> {
    resolve.worlds.get(world)?.exports.iter().find_map(|(key, item)| match (item, &function.interface) {
        (WorldItem::Function(found), None) => (found.name == function.name).then_some(found),
        (WorldItem::Interface { id, .. }, Some(interface)) if resolve.name_world_key(key) == *interface => {
            resolve.interfaces.get(*id)?.functions.get(&function.name)
        }
        _ => None,
    })
}
