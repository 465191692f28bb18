//! The WIT and the templates of the service, for authors of components.

use bulkhead_runtime::{embedded_files, slots::AuthorFiles};

/// All of them.
pub const AUTHOR_FILES: AuthorFiles = AuthorFiles {
    wit: embedded_files!(
        "../../../wit":
        "captcha/captcha.wit",
        "captcha/ledger.wit",
        "captcha/pow.wit",
    ),
    templates: embedded_files!(
        "../../../components/templates":
        "javascript/captcha/app.js",
        "javascript/captcha/cases.jsonl",
        "javascript/captcha/template",
        "python/captcha/app.py",
        "python/captcha/cases.jsonl",
        "python/captcha/template",
        "rust/captcha/cases.jsonl",
        "rust/captcha/src/lib.rs",
        "rust/captcha/template",
    ),
};
