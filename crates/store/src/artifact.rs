//! Files of jobs as rows, and their contents where those are kept in the store.

use palestra_protocol::id::JobId;
use palestra_protocol::job::Artifact;
use palestra_protocol::time::Timestamp;

use super::cell::{Cell, Kind, bound, id, number, text, time};
use super::engine::Reader;
use super::field::Fields;
use super::row::job::{ArtifactRow, ContentRow};
use super::statement::{Bulk, BulkRow, Select, Statement, Table};
use super::{Durability, Store, StoreError, Transaction};

const ARTIFACTS: Table = Table {
    name: "job_artifacts",
    columns: &[
        ("job", Kind::Text),
        ("name", Kind::Text),
        ("tenant", Kind::Text),
        ("digest", Kind::Text),
        ("size_bytes", Kind::Integer),
        ("created_at", Kind::Integer),
    ],
};

const PUT_ARTIFACT: Bulk = ARTIFACTS.insert(
    "ON CONFLICT (job, name) DO UPDATE SET digest = excluded.digest, size_bytes = excluded.size_bytes, \
     created_at = excluded.created_at",
    "artefact",
);

const CONTENTS: Table = Table {
    name: "contents",
    columns: &[
        ("digest", Kind::Text),
        ("pieces", Kind::Text),
        ("size_bytes", Kind::Integer),
        ("created_at", Kind::Integer),
    ],
};

/// Later pieces replace earlier ones, which are then unreferenced.
const PUT_CONTENT: Bulk = CONTENTS
    .insert("ON CONFLICT (digest) DO UPDATE SET pieces = excluded.pieces, created_at = excluded.created_at", "content");

const PIECES: Table = Table {
    name: "content_pieces",
    columns: &[
        ("pieces", Kind::Text),
        ("position", Kind::Integer),
        ("created_at", Kind::Integer),
        ("bytes", Kind::Bytes),
    ],
};

const INSERT_PIECE: Bulk = PIECES.insert("", "piece");

fn encode(row: &ArtifactRow) -> Result<BulkRow<'_>, StoreError> {
    let file = &row.artifact;
    Ok(vec![
        id(row.job),
        text(&file.name),
        text(&row.tenant),
        text(&file.digest),
        number(file.size_bytes)?,
        time(file.created_at),
    ])
}

pub(super) fn decode(row: &dyn Fields) -> Result<Artifact, StoreError> {
    Ok(Artifact {
        name: row.text("name")?,
        digest: row.text("digest")?,
        size_bytes: row.number("size_bytes")?,
        created_at: row.time("created_at")?,
    })
}

fn decode_content(row: &dyn Fields) -> Result<ContentRow, StoreError> {
    Ok(ContentRow {
        digest: row.text("digest")?,
        pieces: row.text("pieces")?,
        size_bytes: row.number("size_bytes")?,
        created_at: row.time("created_at")?,
    })
}

impl dyn Reader {
    /// Files of a job by name.
    pub async fn artifacts(&self, job: JobId) -> Result<Vec<Artifact>, StoreError> {
        self.all(Select::from(&ARTIFACTS).filter("job =", id(job)).then("ORDER BY name").build(), decode).await
    }

    /// A file of a job.
    pub async fn artifact(&self, job: JobId, name: &str) -> Result<Option<Artifact>, StoreError> {
        self.one(Select::from(&ARTIFACTS).filter("job =", id(job)).filter("name =", text(name)).build(), decode).await
    }

    /// The number of files of a job.
    pub async fn count_artifacts(&self, job: JobId) -> Result<u64, StoreError> {
        self.number(Statement::new("SELECT COUNT(*) AS number FROM job_artifacts WHERE job = $1", vec![id(job)])).await
    }

    /// Bytes of all artefacts, policies and files of a tenant, equal contents counted once.
    pub async fn kept_bytes(&self, tenant: &str) -> Result<u64, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT) AS number FROM \
                   (SELECT digest, size_bytes FROM job_artifacts WHERE tenant = $1 \
                   UNION SELECT digest, size_bytes FROM policy_files WHERE tenant = $1 \
                   UNION SELECT digest, size_bytes FROM files WHERE tenant = $1) AS kept";
        self.number(Statement::new(sql, vec![text(tenant)])).await
    }

    /// True when a file of a tenant, a job or a policy has the content of this digest.
    pub async fn is_referenced(&self, digest: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 WHERE EXISTS (SELECT 1 FROM job_artifacts WHERE digest = $1) \
                   OR EXISTS (SELECT 1 FROM policy_files WHERE digest = $1) \
                   OR EXISTS (SELECT 1 FROM files WHERE digest = $1)";
        self.exists(Statement::new(sql, vec![text(digest)])).await
    }

    /// The content of a digest, where its bytes are in the store.
    pub async fn content(&self, digest: &str) -> Result<Option<ContentRow>, StoreError> {
        self.one(Select::from(&CONTENTS).filter("digest =", text(digest)).build(), decode_content).await
    }

    /// The bytes of one piece of a content.
    pub async fn piece(&self, pieces: &str, position: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let query = Select::from(&PIECES).filter("pieces =", text(pieces)).filter("position =", bound(position));
        self.one(query.build(), |row| row.bytes("bytes")).await
    }
}

impl Store {
    /// Inserts a piece of a content that is being uploaded.
    pub async fn insert_piece(
        &self,
        pieces: &str,
        position: u64,
        at: Timestamp,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let row = vec![text(pieces), number(position)?, time(at), Cell::Bytes(bytes.into())];
        // The commit that stores the content makes its pieces durable too.
        self.bulk(&INSERT_PIECE, &[row], Durability::Process).await
    }

    /// Deletes the pieces of an upload that became no content.
    pub async fn delete_pieces(&self, pieces: &str) -> Result<(), StoreError> {
        let delete = Statement::new("DELETE FROM content_pieces WHERE pieces = $1", vec![text(pieces)]);
        self.execute(delete, Durability::Process).await.map(drop)
    }

    /// Deletes unreferenced contents, then pieces that belong to no content, both older than `before`; answers how many rows were
    /// deleted. While an upload adds pieces under a name, none of that name is deleted.
    pub async fn delete_unreferenced(&self, before: Timestamp) -> Result<u64, StoreError> {
        let contents = "DELETE FROM contents WHERE created_at < $1 \
                        AND NOT EXISTS (SELECT 1 FROM job_artifacts WHERE job_artifacts.digest = contents.digest) \
                        AND NOT EXISTS (SELECT 1 FROM policy_files WHERE policy_files.digest = contents.digest) \
                        AND NOT EXISTS (SELECT 1 FROM files WHERE files.digest = contents.digest)";
        let pieces = "DELETE FROM content_pieces WHERE created_at < $1 \
                      AND NOT EXISTS (SELECT 1 FROM contents WHERE contents.pieces = content_pieces.pieces) \
                      AND NOT EXISTS (SELECT 1 FROM content_pieces AS younger \
                      WHERE younger.pieces = content_pieces.pieces AND younger.created_at >= $1)";
        // With the lock of the queue, no upload references a content between the look and the deletion.
        let mut transaction = self.lock_jobs(Durability::Process).await?;
        let deleted = async {
            let contents = transaction.execute(Statement::new(contents, vec![time(before)])).await?;
            Ok(contents + transaction.execute(Statement::new(pieces, vec![time(before)])).await?)
        }
        .await;
        transaction.settle(deleted).await
    }
}

impl Transaction<'_> {
    /// Stores a file of a job, in place of an earlier one of its name.
    pub async fn put_artifact(&mut self, row: &ArtifactRow) -> Result<(), StoreError> {
        self.bulk(&PUT_ARTIFACT, &[encode(row)?]).await
    }

    /// Deletes a file of a job; false when there is none.
    pub async fn delete_artifact(&mut self, job: JobId, name: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM job_artifacts WHERE job = $1 AND name = $2";
        Ok(self.execute(Statement::new(sql, vec![id(job), text(name)])).await? > 0)
    }

    /// Makes pieces the content of a digest, in place of earlier ones: those may be damaged, these have just been received.
    pub async fn put_content(&mut self, row: &ContentRow) -> Result<(), StoreError> {
        let row = vec![text(&row.digest), text(&row.pieces), number(row.size_bytes)?, time(row.created_at)];
        self.bulk(&PUT_CONTENT, &[row]).await
    }
}
