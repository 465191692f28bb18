//! Writes names and signatures of functions in WIT.

use wit_component::WitPrinter;
use wit_parser::{Function, Resolve, Type};

/// Returns a name without its version.
pub(crate) fn bare(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// Returns a function's signature in WIT.
pub(crate) fn signature(resolve: &Resolve, function: &Function) -> String {
    let parameters =
        function.params.iter().map(|one| format!("{}: {}", one.name, type_name(resolve, &one.ty)));
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    let result = function.result.map(|kind| format!(" -> {}", type_name(resolve, &kind))).unwrap_or_default();
    format!("func({parameters}){result}")
}

fn type_name(resolve: &Resolve, kind: &Type) -> String {
    let mut printer = WitPrinter::default();
    match printer.print_type_name(resolve, kind) {
        Ok(()) => printer.output.to_string(),
        Err(error) => format!("({error})"),
    }
}
