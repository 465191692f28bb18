//! Words, patterns and texts by subject, from the files in `words`: a module a table, a list a key, all languages in one.

include!(concat!(env!("OUT_DIR"), "/lists.rs"));
