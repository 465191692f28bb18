//! Components made from WebAssembly text, for the captcha world and for those of other services.

mod http;
mod status;
mod stubs;

use std::path::{Path, PathBuf};

use bulkhead::slots::outline;

pub use self::http::{HttpGuest, OUTGOING};
pub use self::status::StatusGuest;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, UnresolvedPackageGroup};

/// The captcha world and everything else that a hostile or an old guest might import.
const WORLD: &str = r"
    package test:guest;
    world guest {
        include bulkhead:captcha/captcha@0.1.1;
        import bulkhead:host/pow@0.1.1;
        import bulkhead:host/ledger@0.1.1;
        import bulkhead:host/guard@0.1.1;
        import wasi:config/store@0.2.0-rc.1;
        import wasi:clocks/monotonic-clock@0.2.12;
        import wasi:io/poll@0.2.12;
        import wasi:cli/environment@0.2.0;
        import wasi:cli/exit@0.2.0;
        import wasi:cli/stdin@0.2.0;
        import wasi:cli/stdout@0.2.0;
        import wasi:cli/stderr@0.2.0;
        import wasi:cli/terminal-stdout@0.2.0;
        import wasi:filesystem/preopens@0.2.3;
        import wasi:sockets/tcp-create-socket@0.2.3;
    }
";

/// A captcha component in WebAssembly text. Every export of the world is there and well behaved but for
/// what is set here.
#[derive(Clone)]
pub struct Guest {
    /// Before everything else: imports.
    pub imports: String,
    /// Memories and tables.
    pub memory: String,
    /// Further fields: functions, globals, a start function.
    pub fields: String,
    /// Body of `issue`, `verify` and `invalidate`: gets `$arguments`, gives a pointer to the result.
    pub call: String,
    /// Body of `self-test`: gives a pointer to the result.
    pub self_test: String,
    /// Body of `cabi_realloc`, which makes room for what the host hands over: gets old address, old size,
    /// alignment and new size, gives an address.
    pub realloc: String,
}

/// A body of `cabi_realloc` that takes memory from the global `$heap` and never gives it back.
pub const BUMP: &str = "
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 15)) (i32.const -16)))
    (global.set $heap (i32.add (local.get $at) (local.get 3)))
    (local.get $at)";

impl Default for Guest {
    fn default() -> Self {
        Self {
            imports: String::new(),
            memory: r#"(memory (export "memory") 4)"#.into(),
            fields: String::new(),
            // Address 0 holds zeros: `ok` with an empty challenge.
            call: "i32.const 0".into(),
            self_test: "i32.const 0".into(),
            realloc: BUMP.into(),
        }
    }
}

impl Guest {
    pub fn call(body: &str) -> Self {
        Self { call: body.into(), ..Self::default() }
    }

    pub fn with_imports(self, imports: &str) -> Self {
        Self { imports: imports.into(), ..self }
    }

    pub fn with_fields(self, fields: &str) -> Self {
        Self { fields: fields.into(), ..self }
    }

    pub fn with_memory(self, memory: &str) -> Self {
        Self { memory: memory.into(), ..self }
    }

    pub fn with_self_test(self, body: &str) -> Self {
        Self { self_test: body.into(), ..self }
    }

    pub fn with_realloc(self, body: &str) -> Self {
        Self { realloc: body.into(), ..self }
    }

    /// The core module as text.
    pub fn text(&self) -> String {
        let Self { imports, memory, fields, call, self_test, realloc } = self;
        let export = |name: &str| {
            format!(
                r#"(func (export "bulkhead:captcha/challenges@0.1.1#{name}") (param $arguments i32) (result i32) {call})"#
            )
        };
        format!(
            r#"(module
                {imports}
                {memory}
                (global $heap (mut i32) (i32.const 65536))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
                {}
                {}
                {}
                (func (export "self-test") (result i32) {self_test})
                {fields}
            )"#,
            export("issue"),
            export("verify"),
            export("invalidate"),
        )
    }

    /// The component.
    pub fn component(&self) -> Vec<u8> {
        component(&wat::parse_str(self.text()).unwrap())
    }
}

/// Instructions that change a function's parameter.
pub const ARITHMETIC: &[u8] = &[0x20, 0, 0x67, 0x20, 0, 0x6c, 0x21, 0];

/// A component with a core module of so many functions more, each of which takes a number, runs
/// `instructions` and returns it. They are compiled and never run.
pub fn with_functions(mut component: Vec<u8>, functions: usize, instructions: &[u8]) -> Vec<u8> {
    let mut code = length(functions);
    let body = [&[0], instructions, &[0x20, 0, 0x0b]].concat();
    for _ in 0..functions {
        code.extend(length(body.len()));
        code.extend_from_slice(&body);
    }
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    push_section(&mut module, 1, &[1, 0x60, 1, 0x7f, 1, 0x7f]);
    push_section(&mut module, 3, &[length(functions), vec![0; functions]].concat());
    push_section(&mut module, 10, &code);
    push_section(&mut component, 1, &module);
    component
}

/// A component with empty core modules instantiated until it has `count` core instances.
pub fn with_core_instances(mut component: Vec<u8>, count: usize) -> Vec<u8> {
    let own = outline(&component).unwrap().usage.core_instances as usize;
    let module = core_modules(&component);
    push_section(&mut component, 1, b"\0asm\x01\0\0\0");
    let one = [&[0], length(module).as_slice(), &[0]].concat();
    let more = count - own;
    push_section(&mut component, 2, &[length(more), one.repeat(more)].concat());
    component
}

/// The number of core modules at the top of a component that names none from elsewhere.
fn core_modules(component: &[u8]) -> usize {
    let (mut rest, mut modules) = (&component[8..], 0);
    while let [id, after @ ..] = rest {
        modules += usize::from(*id == 1);
        let bytes = after.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let digits = after[..bytes].iter().rev();
        let size = digits.fold(0, |size, byte| (size << 7) | usize::from(byte & 0x7f));
        rest = &after[bytes + size..];
    }
    modules
}

/// Appends a section.
pub fn push_section(wasm: &mut Vec<u8>, id: u8, content: &[u8]) {
    wasm.push(id);
    wasm.extend(length(content.len()));
    wasm.extend_from_slice(content);
}

/// A number as WebAssembly writes it.
fn length(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Wraps a core module for the world of guests.
pub fn component(module: &[u8]) -> Vec<u8> {
    wrap(module, &wit(), &[&PLATFORM[..], &["captcha"]].concat(), WORLD)
}

/// A core module's text as a component of a service's world, which is called as its package is.
pub fn of_service(text: &str, service: &str) -> Vec<u8> {
    of_service_importing(text, service, &[])
}

/// The same with `imports` beyond those of the service's world, such as `bulkhead:host/keys@0.1.1`.
pub fn of_service_importing(text: &str, service: &str, imports: &[&str]) -> Vec<u8> {
    let imports: String = imports.iter().map(|import| format!("import {import}; ")).collect();
    let (_, version) = SERVICES.iter().find(|(name, _)| *name == service).unwrap();
    let world = format!(
        "package test:guest; world guest {{ include bulkhead:{service}/{service}@{version}; {imports}}}"
    );
    let services = SERVICES.map(|(name, _)| name);
    let folders = [&PLATFORM[..], &["deps/nn"], &services].concat();
    wrap(&wat::parse_str(text).unwrap(), &wit(), &folders, &world)
}

/// A core module's text as a component of `world`, such as `a:b/c@1.0.0`, whose WIT is in `folder`.
pub fn of_world(text: &str, folder: &Path, world: &str) -> Vec<u8> {
    let world = format!("package test:guest; world guest {{ include {world}; }}");
    wrap(&wat::parse_str(text).unwrap(), folder, &["."], &world)
}

fn wit() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")
}

/// A core module's text as a component that was built while `package` (`a:b@1.0.0`) had another version.
pub fn built_against(text: &str, package: &str, version: &str) -> Vec<u8> {
    built_with(text, |text| renamed(text, package, version))
}

/// A core module's text as a component that was built with other WIT.
pub fn built_with(text: &str, edit: impl Fn(&str) -> String) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (wit, folders) = (wit(), [&PLATFORM[..], &["captcha"]].concat());
    for package in &folders {
        let other = folder.path().join(package);
        std::fs::create_dir_all(&other).unwrap();
        let files = std::fs::read_dir(wit.join(package)).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|path| path.is_file()) {
            let text = edit(&std::fs::read_to_string(&file).unwrap());
            std::fs::write(other.join(file.file_name().unwrap()), text).unwrap();
        }
    }
    wrap(&wat::parse_str(edit(text)).unwrap(), folder.path(), &folders, &edit(WORLD))
}

/// `text` with another version of `package`, wherever it or an interface of it is named.
pub fn renamed(text: &str, package: &str, version: &str) -> String {
    let (name, old) = package.split_once('@').unwrap();
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(name) {
        let (before, after) = rest.split_at(at + name.len());
        out.push_str(before);
        let interface = after.strip_prefix('/').map_or(0, |after| {
            1 + after.find(|char: char| !char.is_ascii_alphanumeric() && char != '-').unwrap_or(after.len())
        });
        let (interface, after) = after.split_at(interface);
        out.push_str(interface);
        rest = match after.strip_prefix('@').and_then(|after| after.strip_prefix(old)) {
            Some(after) => {
                out.push_str(&format!("@{version}"));
                after
            }
            None => after,
        };
    }
    out + rest
}

/// The package of each service, and its version.
const SERVICES: [(&str, &str); 4] =
    [("answer", "0.1.1"), ("captcha", "0.1.1"), ("status", "0.1.1"), ("triage", "0.1.0")];

/// The packages that a service's own builds on, in an order in which each comes after those that it needs.
const PLATFORM: [&str; 6] = ["deps/io", "deps/clocks", "deps/random", "deps/logging", "deps/config", "host"];

fn wrap(module: &[u8], wit: &Path, folders: &[&str], world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    for folder in folders {
        // Without the links in `deps`: each package is there once.
        let package = UnresolvedPackageGroup::parse_dir(wit.join(folder)).unwrap();
        resolve.push_group(package).unwrap();
        if *folder == "deps/io" {
            stubs::push(&mut resolve);
        }
    }
    let package = resolve.push_str(PathBuf::from("guest.wit"), world).unwrap();
    let world = resolve.select_world(&[package], Some("guest")).unwrap();
    let mut module = module.to_vec();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

/// Answers every challenge with `letter`, after `body`.
pub fn answering(letter: char, body: &str) -> Guest {
    Guest::call(&format!(
        "{body} (i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const 14)) i32.const 0"
    ))
    .with_fields(&format!(r#"(data (i32.const 1024) "{{\"letter\":\"{letter}\"}}")"#))
}
