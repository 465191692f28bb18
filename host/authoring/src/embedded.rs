//! The files that every binary has for authors: WIT and templates that belong to no service, and the source of
//! `components/guest`.

use bulkhead_runtime::slots::EmbeddedFile;

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
