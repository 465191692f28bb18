//! One state of the base: a read transaction.

use std::collections::HashMap;

use super::super::file::FileIdentity;
use super::super::lease::{Lease, in_time};
use super::super::rows::{
    BaseHeader, FoundPassage, FoundPassageRow, IndexEntry, IndexEntryRow, SourceCounts, StoredDocument,
    StoredPassage, StoredPassageRow, json, known,
};
use crate::error::Error;

impl_snapshot!(SqliteSnapshot, sqlx::Sqlite, begin: "BEGIN", numbers: "SELECT value FROM json_each($1)");

impl SqliteSnapshot {
    /// Quotes the terms, which are letters and digits, so that none of them is query syntax. FTS5 weighs them itself.
    pub(crate) async fn matches(
        &mut self,
        terms: &[(&str, f32)],
        categories: &[String],
        limit: i64,
    ) -> Result<Vec<(i64, String)>, Error> {
        let query = terms.iter().map(|(term, _)| format!("\"{term}\"")).collect::<Vec<_>>().join(" OR ");
        let sql = if categories.is_empty() {
            "SELECT p.number, p.terms FROM (
                SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH $1 ORDER BY rank LIMIT $2) w
            JOIN knowledge_passage p ON p.number = w.rowid"
        } else {
            "SELECT p.number, p.terms FROM (
                SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH $1 AND EXISTS (
                SELECT 1 FROM knowledge_passage p WHERE p.number = knowledge_words.rowid AND (
                    NOT EXISTS (SELECT 1 FROM knowledge_category c WHERE c.document = p.document)
                    OR EXISTS (SELECT 1 FROM knowledge_category c WHERE c.document = p.document
                        AND c.name IN (SELECT value FROM json_each($3)))))
                ORDER BY rank LIMIT $2) w
            JOIN knowledge_passage p ON p.number = w.rowid"
        };
        let mut query = sqlx::query_as(sql).bind(query).bind(limit);
        if !categories.is_empty() {
            query = query.bind(json(categories)?);
        }
        self.all(query).await
    }
}
