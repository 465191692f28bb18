//! The SQL that both databases share, as macros because their types differ.

/// Implements a `$snapshot` with a `lease`. `$numbers` is the query of the numbers in a JSON list.
macro_rules! impl_snapshot {
    ($snapshot:ident, $database:ty, begin: $begin:literal, numbers: $numbers:literal) => {
        pub(crate) struct $snapshot {
            lease: Lease<$database>,
            /// The file of the snapshot, where the database is one.
            file: Option<FileIdentity>,
        }

        impl $snapshot {
            pub(super) async fn begin(
                pool: &sqlx::Pool<$database>,
                file: Option<FileIdentity>,
            ) -> Result<Self, Error> {
                let mut lease = Lease::new(pool).await?;
                in_time(sqlx::raw_sql($begin).execute(&mut *lease.connection)).await?;
                Ok(Self { lease, file })
            }

            pub(crate) async fn end(mut self) -> Result<(), Error> {
                in_time(sqlx::raw_sql("ROLLBACK").execute(&mut *self.lease.connection)).await?;
                self.lease.done();
                Ok(())
            }

            pub(crate) async fn header(&mut self) -> Result<BaseHeader, Error> {
                let sql =
                    "SELECT format, generation, model, weights_sha256, dtype, prompt, dims, late_interaction
                    FROM knowledge_base";
                let row = in_time(sqlx::query_as(sql).fetch_one(&mut *self.lease.connection)).await?;
                BaseHeader::from_row(row, self.file)
            }

            pub(crate) async fn sources(&mut self) -> Result<Vec<SourceCounts>, Error> {
                let sql = "SELECT d.source, count(DISTINCT d.number), count(p.number)
                    FROM knowledge_document d LEFT JOIN knowledge_passage p ON p.document = d.number
                    GROUP BY d.source";
                let rows: Vec<(String, i64, i64)> = self.all(sqlx::query_as(sql)).await?;
                Ok(rows.into_iter().map(SourceCounts::from).collect())
            }

            /// Reads row by row and waits for each: a large base takes longer than one answer may.
            pub(crate) async fn entries(&mut self) -> Result<Vec<IndexEntry>, Error> {
                let sql = "SELECT number, document, terms, vector FROM knowledge_passage ORDER BY number";
                let mut rows = sqlx::query_as::<_, IndexEntryRow>(sql).fetch(&mut *self.lease.connection);
                let mut entries = Vec::new();
                while let Some(row) = in_time(futures_util::TryStreamExt::try_next(&mut rows)).await? {
                    entries.push(IndexEntry::from(row));
                }
                Ok(entries)
            }

            pub(crate) async fn categories(&mut self) -> Result<Vec<(i64, String)>, Error> {
                self.all(sqlx::query_as("SELECT document, name FROM knowledge_category")).await
            }

            pub(crate) async fn languages(&mut self) -> Result<Vec<(i64, String)>, Error> {
                let sql = "SELECT number, language FROM knowledge_document WHERE language IS NOT NULL";
                self.all(sqlx::query_as(sql)).await
            }

            pub(crate) async fn found(&mut self, numbers: &[i64]) -> Result<Vec<FoundPassage>, Error> {
                let sql = concat!(
                    "SELECT p.number, p.id, d.source, d.id AS document, d.title, d.url, d.language,
                        p.text, p.terms, p.vector, p.word_vectors, p.item_vectors
                    FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document
                    WHERE p.number IN (",
                    $numbers,
                    ")"
                );
                let rows: Vec<FoundPassageRow> = self.all(sqlx::query_as(sql).bind(json(numbers)?)).await?;
                Ok(rows.into_iter().map(FoundPassage::from).collect())
            }

            pub(crate) async fn known(
                &mut self,
                source: &str,
            ) -> Result<HashMap<String, StoredDocument>, Error> {
                let sql = "SELECT id, title, url, language FROM knowledge_document WHERE source = $1";
                let documents = self.all(sqlx::query_as(sql).bind(source)).await?;
                let sql = "SELECT d.id, c.name
                    FROM knowledge_category c JOIN knowledge_document d ON d.number = c.document
                    WHERE d.source = $1";
                let categories = self.all(sqlx::query_as(sql).bind(source)).await?;
                let sql = "SELECT d.id, p.id
                    FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document
                    WHERE d.source = $1 ORDER BY d.number, p.place";
                let passages = self.all(sqlx::query_as(sql).bind(source)).await?;
                Ok(known(documents, categories, passages))
            }

            pub(crate) async fn texts(&mut self) -> Result<Vec<StoredPassage>, Error> {
                let sql = "SELECT d.source, d.id AS document, p.id, d.title, p.text
                    FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document";
                let rows: Vec<StoredPassageRow> = self.all(sqlx::query_as(sql)).await?;
                Ok(rows.into_iter().map(StoredPassage::from).collect())
            }

            async fn all<'q, T>(&mut self, query: Query<'q, $database, T>) -> Result<Vec<T>, Error>
            where
                T: Send + Unpin + for<'r> sqlx::FromRow<'r, <$database as sqlx::Database>::Row>,
            {
                in_time(query.fetch_all(&mut *self.lease.connection)).await
            }
        }

        type Query<'q, DB, T> = sqlx::query::QueryAs<'q, DB, T, <DB as sqlx::Database>::Arguments>;
    };
}

/// Implements the writing of a publication in a transaction of `$database`; `remove` and `insert` are the database's
/// own.
macro_rules! impl_publish {
    ($database:ty) => {
        type Changes<'t> = sqlx::Transaction<'t, $database>;

        async fn write(changes: &mut Changes<'_>, publication: &Publication<'_>) -> Result<(), Error> {
            let provenance = publication.provenance;
            // The row's lock makes another import wait, and then find another generation.
            let raised = sqlx::query(
                "UPDATE knowledge_base SET generation = generation + 1,
                    model = $2, weights_sha256 = $3, dtype = $4, prompt = $5, dims = $6, late_interaction = $7
                WHERE generation = $1",
            )
            .bind(publication.generation)
            .bind(provenance.map(|provenance| &provenance.model))
            .bind(provenance.map(|provenance| &provenance.weights_sha256))
            .bind(provenance.map(|provenance| &provenance.dtype))
            .bind(provenance.and_then(|provenance| provenance.prompt.as_ref()))
            .bind(provenance.map(|provenance| i64::try_from(provenance.dims).unwrap_or(i64::MAX)))
            .bind(provenance.and_then(|provenance| provenance.late_interaction.as_ref()))
            .execute(&mut **changes)
            .await?;
            if raised.rows_affected() != 1 {
                return Err(Error::Changed);
            }
            remove(changes, publication).await?;
            for document in &publication.documents {
                put(changes, publication.source, document).await?;
            }
            for passage in &publication.passages {
                insert(changes, publication.source, passage).await?;
            }
            for (id, place) in &publication.moved {
                let sql = "UPDATE knowledge_passage SET place = $2 WHERE id = $1";
                sqlx::query(sql).bind(*id).bind(*place).execute(&mut **changes).await?;
            }
            for (id, vectors) in &publication.vectors {
                let sql = "UPDATE knowledge_passage SET vector = $2, word_vectors = $3, item_vectors = $4
                    WHERE id = $1";
                let query = sqlx::query(sql).bind(*id).bind(vectors.text.as_slice());
                let query = query.bind(vectors.words.as_slice()).bind(vectors.items.as_slice());
                query.execute(&mut **changes).await?;
            }
            sqlx::query("DELETE FROM knowledge_staged").execute(&mut **changes).await?;
            Ok(())
        }

        async fn put(changes: &mut Changes<'_>, source: &str, document: &Document) -> Result<(), Error> {
            let number: i64 = sqlx::query_scalar(
                "INSERT INTO knowledge_document (id, source, title, url, language) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (source, id) DO UPDATE SET title = excluded.title, url = excluded.url,
                    language = excluded.language
                RETURNING number",
            )
            .bind(&document.id)
            .bind(source)
            .bind(&document.title)
            .bind(&document.url)
            .bind(&document.language)
            .fetch_one(&mut **changes)
            .await?;
            let sql = "DELETE FROM knowledge_category WHERE document = $1";
            sqlx::query(sql).bind(number).execute(&mut **changes).await?;
            for category in &document.categories {
                let sql = "INSERT INTO knowledge_category (document, name) VALUES ($1, $2)";
                sqlx::query(sql).bind(number).bind(category).execute(&mut **changes).await?;
            }
            Ok(())
        }
    };
}
