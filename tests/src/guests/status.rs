//! A status component in WebAssembly text.

use super::BUMP;

/// A status component whose answers are the same at every call.
pub struct StatusGuest {
    /// The payload, which should be JSON text.
    pub data: String,
    /// What it says of the system's health.
    pub verdict: String,
    /// Runs before each answer.
    pub before: String,
}

impl Default for StatusGuest {
    fn default() -> Self {
        Self { data: "{}".into(), verdict: "OK".into(), before: String::new() }
    }
}

/// Bytes as the text form of WebAssembly has them.
fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:02x}")).collect()
}

impl StatusGuest {
    /// The component.
    pub fn component(&self) -> Vec<u8> {
        let Self { data, verdict, before } = self;
        let export = |name: &str, parameters: &str, body: &str| {
            let name = format!("bulkhead:status/reports@0.1.1#{name}");
            format!("(func (export \"{name}\") {parameters} (result i32) {before} {body})")
        };
        // Where nothing is written stands `ok`: of an empty list at 128, of nothing at 256.
        let text = format!(
            r#"(module
                (memory (export "memory") 4)
                (global $heap (mut i32) (i32.const 65536))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {BUMP})
                {}
                {}
                {}
                (func (export "self-test") (result i32) i32.const 256)
                (data (i32.const 1024) "{}")
                (data (i32.const 32768) "{}")
            )"#,
            export(
                "status",
                "(param i32 i32 i32 i32)",
                &format!(
                    "(i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const {}))
                     (f64.store (i32.const 16) (f64.const 1700000000)) i32.const 0",
                    data.len()
                ),
            ),
            export(
                "health",
                "",
                &format!(
                    "(i32.store (i32.const 72) (i32.const 32768)) (i32.store (i32.const 76) (i32.const {}))
                     i32.const 64",
                    verdict.len()
                ),
            ),
            export("metrics", "(param i32 i32)", "i32.const 128"),
            escaped(data),
            escaped(verdict),
        );
        super::of_service(&text, "status")
    }
}
