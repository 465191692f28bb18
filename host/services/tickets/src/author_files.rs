//! The WIT and the templates of the service, for authors of components.

use bulkhead_runtime::{embedded_files, slots::AuthorFiles};

/// All of them.
pub const AUTHOR_FILES: AuthorFiles = AuthorFiles {
    wit: embedded_files!(
        "../../../wit":
        "answer/answer.wit",
        "answer/items.wit",
        "answer/search.wit",
        "triage/triage.wit",
    ),
    templates: embedded_files!(
        "../../../components/templates":
        "rust/answer/cases.jsonl",
        "rust/answer/src/lib.rs",
        "rust/answer/template",
        "rust/triage/cases.jsonl",
        "rust/triage/src/lib.rs",
        "rust/triage/template",
    ),
};
