//! A component of the world `wasi:http/proxy` in WebAssembly text.

use std::path::PathBuf;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::BUMP;

/// The packages that the world needs, each after those that it uses.
const PACKAGES: [&str; 9] =
    ["io", "clocks", "random", "filesystem", "sockets", "cli", "http", "config", "keyvalue"];
/// The version of those of WASI 0.2 in `wit/deps`.
const VERSION: &str = "0.2.12";

/// What every handler may call, after the imports: `$respond` gives a response and returns its body, `$open` returns the
/// stream of a body, `$write` writes and returns whether that failed, `$finish` ends both, `$read` reads the request's body to
/// address 4096 and returns the length, -1 at its end.
const PRELUDE: &str = r#"
    (func $respond (param $out i32) (param $status i32) (param $headers i32) (result i32)
        (local $response i32)
        (local.set $response (call $new-response (local.get $headers)))
        (drop (call $set-status (local.get $response) (local.get $status)))
        (call $response-body (local.get $response) (i32.const 16))
        (call $set-response (local.get $out) (i32.const 0) (local.get $response) (i32.const 0) (i64.const 0)
            (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
        (i32.load (i32.const 20)))
    (func $open (param $body i32) (result i32)
        (call $body-write (local.get $body) (i32.const 16))
        (i32.load (i32.const 20)))
    (func $write (param $stream i32) (param $at i32) (param $length i32) (result i32)
        (call $stream-write (local.get $stream) (local.get $at) (local.get $length) (i32.const 32))
        (i32.load8_u (i32.const 32)))
    (func $finish (param $stream i32) (param $body i32)
        (call $drop-stream (local.get $stream))
        (call $finish-body (local.get $body) (i32.const 0) (i32.const 0) (i32.const 64)))
    (func $header (param $headers i32) (param $name i32) (param $name-length i32) (param $value i32)
        (param $value-length i32) (result i32)
        (call $append (local.get $headers) (local.get $name) (local.get $name-length) (local.get $value)
            (local.get $value-length) (i32.const 48))
        (i32.load8_u (i32.const 48)))
    (func $input (param $request i32) (result i32)
        (call $consume (local.get $request) (i32.const 16))
        (call $body-stream (i32.load (i32.const 20)) (i32.const 16))
        (i32.load (i32.const 20)))
    (func $read (param $input i32) (result i32)
        (global.set $heap (i32.const 4096))
        (call $stream-read (local.get $input) (i64.const 4096) (i32.const 32))
        (if (result i32) (i32.load8_u (i32.const 32))
            (then (i32.const -1))
            (else (i32.load (i32.const 40)))))
"#;

/// Imports by module, with its version if that is not the guest's, and name, each with the name and the type that [`PRELUDE`] and handlers use.
const IMPORTS: &[(&str, &str, &str)] = &[
    ("http/types", "[constructor]fields", "$new-fields (result i32)"),
    ("http/types", "[method]fields.append", "$append (param i32 i32 i32 i32 i32 i32)"),
    ("http/types", "[constructor]outgoing-response", "$new-response (param i32) (result i32)"),
    ("http/types", "[method]outgoing-response.set-status-code", "$set-status (param i32 i32) (result i32)"),
    ("http/types", "[method]outgoing-response.body", "$response-body (param i32 i32)"),
    (
        "http/types",
        "[static]response-outparam.set",
        "$set-response (param i32 i32 i32 i32 i64 i32 i32 i32 i32)",
    ),
    ("http/types", "[method]outgoing-body.write", "$body-write (param i32 i32)"),
    ("http/types", "[static]outgoing-body.finish", "$finish-body (param i32 i32 i32 i32)"),
    ("http/types", "[method]incoming-request.consume", "$consume (param i32 i32)"),
    ("http/types", "[method]incoming-request.path-with-query", "$path (param i32 i32)"),
    ("http/types", "[method]incoming-request.authority", "$authority (param i32 i32)"),
    ("http/types", "[method]incoming-request.headers", "$headers (param i32) (result i32)"),
    ("http/types", "[method]fields.get", "$get (param i32 i32 i32 i32)"),
    ("http/types", "[method]incoming-body.stream", "$body-stream (param i32 i32)"),
    ("io/streams", "[method]input-stream.blocking-read", "$stream-read (param i32 i64 i32)"),
    ("io/streams", "[method]output-stream.blocking-write-and-flush", "$stream-write (param i32 i32 i32 i32)"),
    ("io/streams", "[resource-drop]output-stream", "$drop-stream (param i32)"),
    ("io/poll", "[method]pollable.block", "$block (param i32)"),
    ("clocks/monotonic-clock", "subscribe-duration", "$in (param i64) (result i32)"),
    ("cli/stdout", "get-stdout", "$stdout (result i32)"),
    ("random/random", "get-random-u64", "$random (result i64)"),
    ("config/store@0.2.0-rc.1", "get", "$setting (param i32 i32 i32)"),
];

/// Imports of handlers that send requests.
pub const OUTGOING: &[(&str, &str, &str)] = &[
    ("http/types", "[constructor]outgoing-request", "$new-request (param i32) (result i32)"),
    ("http/types", "[method]outgoing-request.set-authority", "$to (param i32 i32 i32 i32) (result i32)"),
    (
        "http/types",
        "[method]outgoing-request.set-path-with-query",
        "$for (param i32 i32 i32 i32) (result i32)",
    ),
    ("http/outgoing-handler", "handle", "$send (param i32 i32 i32 i32)"),
    ("http/types", "[method]future-incoming-response.subscribe", "$subscribe (param i32) (result i32)"),
    ("http/types", "[method]future-incoming-response.get", "$response (param i32 i32)"),
];

/// A component that handles requests.
#[derive(Clone)]
pub struct HttpGuest {
    /// Body of `handle`: gets `$request` and `$out`, and has the locals `$body`, `$stream`, `$at` and `$length`.
    handle: String,
    /// Further fields, such as data; addresses from 1024 on are free.
    fields: String,
    imports: Vec<(&'static str, &'static str, &'static str)>,
    version: &'static str,
}

impl HttpGuest {
    pub fn handling(body: &str) -> Self {
        let imports = IMPORTS.to_vec();
        Self { handle: body.to_owned(), fields: String::new(), imports, version: VERSION }
    }

    /// Answers every request with a status and a text.
    pub fn answering(status: u16, text: &str) -> Self {
        let length = text.len();
        Self::handling(&format!(
            "(local.set $body (call $respond (local.get $out) (i32.const {status}) (call $new-fields)))
             (local.set $stream (call $open (local.get $body)))
             (drop (call $write (local.get $stream) (i32.const 1024) (i32.const {length})))
             (call $finish (local.get $stream) (local.get $body))"
        ))
        .with_data(1024, text)
    }

    /// Answers with the request's body, each piece as it comes.
    pub fn echoing() -> Self {
        Self::handling(
            "(local.set $at (call $input (local.get $request)))
             (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
             (local.set $stream (call $open (local.get $body)))
             (block $end (loop $again
                (local.set $length (call $read (local.get $at)))
                (br_if $end (i32.eq (local.get $length) (i32.const -1)))
                (br_if $end (call $write (local.get $stream) (i32.const 4096) (local.get $length)))
                (br $again)))
             (call $finish (local.get $stream) (local.get $body))",
        )
    }

    /// Answers with a text of its own of the request: what `ask` leaves at address 32 as an optional text.
    pub fn showing(ask: &str) -> Self {
        Self::handling(&format!(
            "(global.set $heap (i32.const 4096))
             {ask}
             (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
             (local.set $stream (call $open (local.get $body)))
             (if (i32.load8_u (i32.const 32))
                (then (drop (call $write (local.get $stream) (i32.load (i32.const 36)) (i32.load (i32.const 40))))))
             (call $finish (local.get $stream) (local.get $body))"
        ))
    }

    /// Answers with the values of a header, of which only the first is shown.
    pub fn showing_header(name: &str) -> Self {
        let length = name.len();
        Self::showing(&format!(
            "(call $get (call $headers (local.get $request)) (i32.const 1024) (i32.const {length}) (i32.const 48))
             (i32.store8 (i32.const 32) (i32.ne (i32.load (i32.const 52)) (i32.const 0)))
             (if (i32.load (i32.const 52))
                (then
                    (i32.store (i32.const 36) (i32.load (i32.load (i32.const 48))))
                    (i32.store (i32.const 40) (i32.load offset=4 (i32.load (i32.const 48))))))"
        ))
        .with_data(1024, name)
    }

    pub fn with_fields(mut self, fields: &str) -> Self {
        self.fields.push_str(fields);
        self
    }

    pub fn with_imports(mut self, imports: &[(&'static str, &'static str, &'static str)]) -> Self {
        self.imports.extend(imports);
        self
    }

    /// Puts a text at an address.
    pub fn with_data(self, at: usize, text: &str) -> Self {
        let bytes: String = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
        self.with_fields(&format!("(data (i32.const {at}) \"{bytes}\")"))
    }

    /// Builds it against another patch of WASI 0.2.
    pub fn with_version(self, version: &'static str) -> Self {
        Self { version, ..self }
    }

    /// The core module as text.
    pub fn text(&self) -> String {
        let Self { handle, fields, imports, version } = self;
        let imports = imports.iter().map(|(module, name, kind)| {
            let version = if module.contains('@') { String::new() } else { format!("@{version}") };
            format!("(import \"wasi:{module}{version}\" \"{name}\" (func {kind}))\n")
        });
        let imports: String = imports.collect();
        format!(
            r#"(module
                {imports}
                (memory (export "memory") 4)
                (global $heap (mut i32) (i32.const 65536))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {BUMP})
                {PRELUDE}
                (func (export "wasi:http/incoming-handler@{version}#handle") (param $request i32) (param $out i32)
                    (local $body i32) (local $stream i32) (local $at i32) (local $length i32)
                    {handle})
                {fields}
            )"#
        )
    }

    /// The component.
    pub fn component(&self) -> Vec<u8> {
        let (mut resolve, wit) = (Resolve::default(), super::wit().join("deps"));
        for package in PACKAGES {
            let text =
                std::fs::read_to_string(wit.join(package).join(package).with_extension("wit")).unwrap();
            resolve.push_str(PathBuf::from(package), &of_version(&text, self.version)).unwrap();
        }
        let world = format!(
            "package test:guest; world guest {{ include wasi:http/proxy@{}; import wasi:config/store@0.2.0-rc.1; \
             import wasi:keyvalue/store@0.2.0-draft; import wasi:cli/exit@{}; }}",
            self.version, self.version
        );
        let package = resolve.push_str(PathBuf::from("guest.wit"), &world).unwrap();
        let world = resolve.select_world(&[package], Some("guest")).unwrap();
        let mut module = wat::parse_str(self.text()).unwrap();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
    }
}

/// The WIT of a package as if it had had this version, without the versions in which each item came.
fn of_version(text: &str, version: &str) -> String {
    let is_gate = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("@since") || line.starts_with("@deprecated")
    };
    let lines = text.lines().filter(|line| !is_gate(line));
    lines.map(|line| line.replace(&format!("@{VERSION}"), &format!("@{version}")) + "\n").collect()
}
