//! Whether the functions that a component exports have the types of a world.

use bulkhead_runtime::slots::PreflightFinding;
use wit_component::DecodedWasm;
use wit_parser::{Function, Handle, Resolve, Type, TypeDefKind, TypeId, TypeOwner, WorldId, WorldItem};

use crate::{
    platform::AuthorPlatform,
    signature::{bare, signature},
    wit::packages::Packages,
};

/// Returns a finding for each function of a world that a component lacks or exports with other types. Nothing is found in a
/// component whose types cannot be read: a host refuses it when it links it.
pub(crate) fn findings(platform: &AuthorPlatform, world: &str, wasm: &[u8]) -> Vec<PreflightFinding> {
    let Ok(packages) = Packages::of(platform) else { return Vec::new() };
    let Ok(world) = packages.world(world) else { return Vec::new() };
    let Ok(DecodedWasm::Component(component, own)) = wit_component::decode(wasm) else { return Vec::new() };
    let (host, exported) = (packages.resolve(), functions(&component, own));
    let finding = |(name, function): (String, &Function)| {
        let wanted = signature(host, function);
        let Some((_, found)) = exported.iter().find(|(other, _)| *other == name) else {
            return Some(PreflightFinding::MissingExport {
                wanted: format!("{name}: {wanted}"),
                nearest: None,
            });
        };
        let is_same = types(&component, found) == types(host, function);
        (!is_same).then(|| PreflightFinding::OtherFunction {
            name,
            found: signature(&component, found),
            wanted,
        })
    };
    functions(host, world).into_iter().filter_map(finding).collect()
}

/// Returns the functions that a world exports, each with the name of its interface, which has no version.
fn functions(resolve: &Resolve, world: WorldId) -> Vec<(String, &Function)> {
    let mut found = Vec::new();
    let Some(world) = resolve.worlds.get(world) else { return found };
    for (key, item) in &world.exports {
        match item {
            WorldItem::Function(function) => found.push((function.name.clone(), function)),
            WorldItem::Interface { id, .. } => {
                let interface = resolve.name_world_key(key);
                let name = |function: &Function| format!("{}#{}", bare(&interface), function.name);
                let functions =
                    resolve.interfaces.get(*id).into_iter().flat_map(|all| all.functions.values());
                found.extend(functions.map(|function| (name(function), function)));
            }
            WorldItem::Type { .. } => {}
        }
    }
    found
}

/// Returns the types of a function as a text that is the same for the same types in every package and version.
fn types(resolve: &Resolve, function: &Function) -> String {
    let kind = if function.kind.is_async() { "async func" } else { "func" };
    let parameters = list(resolve, function.params.iter().map(|parameter| &parameter.ty));
    format!("{kind}({parameters}) -> {}", optional(resolve, function.result.as_ref()))
}

fn list<'t>(resolve: &Resolve, types: impl Iterator<Item = &'t Type>) -> String {
    types.map(|one| structure(resolve, one)).collect::<Vec<_>>().join(", ")
}

fn optional(resolve: &Resolve, kind: Option<&Type>) -> String {
    kind.map_or_else(|| "_".to_owned(), |kind| structure(resolve, kind))
}

/// Returns a type by its structure, and a resource by its name without a version.
fn structure(resolve: &Resolve, kind: &Type) -> String {
    let Type::Id(id) = kind else { return format!("{kind:?}") };
    let Some(definition) = resolve.types.get(*id) else { return String::new() };
    let of = |kind: &Type| structure(resolve, kind);
    match &definition.kind {
        TypeDefKind::Type(other) => of(other),
        TypeDefKind::Resource => resource(resolve, *id),
        TypeDefKind::Handle(Handle::Own(id)) => format!("own<{}>", of(&Type::Id(*id))),
        TypeDefKind::Handle(Handle::Borrow(id)) => format!("borrow<{}>", of(&Type::Id(*id))),
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter().map(|field| format!("{}: {}", field.name, of(&field.ty)));
            format!("record({})", fields.collect::<Vec<_>>().join(", "))
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter();
            let cases = cases.map(|case| format!("{}: {}", case.name, optional(resolve, case.ty.as_ref())));
            format!("variant({})", cases.collect::<Vec<_>>().join(", "))
        }
        TypeDefKind::Enum(all) => {
            format!("enum({})", all.cases.iter().map(|case| &*case.name).collect::<Vec<_>>().join(", "))
        }
        TypeDefKind::Flags(all) => {
            format!("flags({})", all.flags.iter().map(|flag| &*flag.name).collect::<Vec<_>>().join(", "))
        }
        TypeDefKind::Tuple(tuple) => format!("tuple({})", list(resolve, tuple.types.iter())),
        TypeDefKind::Option(some) => format!("option({})", of(some)),
        TypeDefKind::Result(result) => {
            let (ok, err) = (result.ok.as_ref(), result.err.as_ref());
            format!("result({}, {})", optional(resolve, ok), optional(resolve, err))
        }
        TypeDefKind::List(element) => format!("list({})", of(element)),
        // No world of a host has others.
        other => other.as_str().to_owned(),
    }
}

fn resource(resolve: &Resolve, id: TypeId) -> String {
    let Some(definition) = resolve.types.get(id) else { return String::new() };
    let owner = match definition.owner {
        TypeOwner::Interface(interface) => resolve.id_of(interface),
        TypeOwner::World(_) | TypeOwner::None => None,
    };
    let (owner, name) = (owner.unwrap_or_default(), definition.name.as_deref().unwrap_or_default());
    format!("{}#{name}", bare(&owner))
}
