//! The WIT and the templates of the service, for authors of components.

use bulkhead_runtime::{embedded_files, slots::AuthorFiles};

/// All of them.
pub const AUTHOR_FILES: AuthorFiles = AuthorFiles {
    wit: embedded_files!(
        "../../../wit":
        "status/appointments.wit",
        "status/status.wit",
    ),
    templates: embedded_files!(
        "../../../components/templates":
        "javascript/status/app.js",
        "javascript/status/cases.jsonl",
        "javascript/status/template",
        "python/status/app.py",
        "python/status/cases.jsonl",
        "python/status/template",
        "rust/status/cases.jsonl",
        "rust/status/src/lib.rs",
        "rust/status/template",
    ),
};
