//! Files of jobs as rows, and their contents where those are kept in the store.

use palestra_protocol::id::JobId;
use palestra_protocol::job::Artifact;
use palestra_protocol::time::Timestamp;

use super::StoreError;
use super::cell::{Cell, Kind, bound, id, number, text, time};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::job::{ArtifactRow, ContentRow};

pub(super) const ARTIFACTS: Table = Table {
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

/// A later file of the same name takes the place of the earlier one.
pub(super) const REPLACE: &str = "ON CONFLICT (job, name) DO UPDATE SET digest = excluded.digest, \
                                  size_bytes = excluded.size_bytes, created_at = excluded.created_at";

pub(super) const CONTENTS: Table = Table {
    name: "contents",
    columns: &[
        ("digest", Kind::Text),
        ("pieces", Kind::Text),
        ("size_bytes", Kind::Integer),
        ("created_at", Kind::Integer),
    ],
};

/// Pieces that came later take the place of earlier ones, which go with what nothing names.
pub(super) const RENEW: &str =
    "ON CONFLICT (digest) DO UPDATE SET pieces = excluded.pieces, created_at = excluded.created_at";

pub(super) const PIECES: Table = Table {
    name: "content_pieces",
    columns: &[
        ("pieces", Kind::Text),
        ("position", Kind::Integer),
        ("created_at", Kind::Integer),
        ("bytes", Kind::Bytes),
    ],
};

pub(super) fn encode(row: &ArtifactRow) -> Result<BulkRow<'_>, StoreError> {
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

pub(super) fn decode<F: Fields>(row: &F) -> Result<Artifact, StoreError> {
    Ok(Artifact {
        name: row.text("name")?,
        digest: row.text("digest")?,
        size_bytes: row.number("size_bytes")?,
        created_at: row.time("created_at")?,
    })
}

pub(super) fn of_job(job: JobId) -> Statement<'static> {
    Select::from(&ARTIFACTS).only("job =", id(job)).then("ORDER BY name").build()
}

pub(super) fn one(job: JobId, name: &str) -> Statement<'_> {
    Select::from(&ARTIFACTS).only("job =", id(job)).only("name =", text(name)).build()
}

pub(super) fn count(job: JobId) -> Statement<'static> {
    Statement::new("SELECT COUNT(*) AS number FROM job_artifacts WHERE job = $1", vec![id(job)])
}

pub(super) fn delete(job: JobId, name: &str) -> Statement<'_> {
    Statement::new("DELETE FROM job_artifacts WHERE job = $1 AND name = $2", vec![id(job), text(name)])
}

/// Bytes of everything that a tenant keeps, equal contents counted once.
pub(super) fn kept_bytes(tenant: &str) -> Statement<'_> {
    let sql = "SELECT CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT) AS number FROM \
               (SELECT digest, size_bytes FROM job_artifacts WHERE tenant = $1 \
               UNION SELECT digest, size_bytes FROM policy_files WHERE tenant = $1 \
               UNION SELECT digest, size_bytes FROM files WHERE tenant = $1) AS kept";
    Statement::new(sql, vec![text(tenant)])
}

/// Whether anything names a digest.
pub(super) fn names(digest: &str) -> Statement<'_> {
    let sql = "SELECT 1 AS named WHERE EXISTS (SELECT 1 FROM job_artifacts WHERE digest = $1) \
               OR EXISTS (SELECT 1 FROM policy_files WHERE digest = $1) OR EXISTS (SELECT 1 FROM files WHERE digest = $1)";
    Statement::new(sql, vec![text(digest)])
}

pub(super) fn encode_content(row: &ContentRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![text(&row.digest), text(&row.pieces), number(row.size_bytes)?, time(row.created_at)])
}

pub(super) fn decode_content<F: Fields>(row: &F) -> Result<ContentRow, StoreError> {
    Ok(ContentRow {
        digest: row.text("digest")?,
        pieces: row.text("pieces")?,
        size_bytes: row.number("size_bytes")?,
        created_at: row.time("created_at")?,
    })
}

pub(super) fn content(digest: &str) -> Statement<'_> {
    Select::from(&CONTENTS).only("digest =", text(digest)).build()
}

pub(super) fn encode_piece<'a>(
    pieces: &'a str,
    position: u64,
    at: Timestamp,
    bytes: &'a [u8],
) -> Result<BulkRow<'a>, StoreError> {
    Ok(vec![text(pieces), number(position)?, time(at), Cell::Bytes(bytes.into())])
}

pub(super) fn piece(pieces: &str, position: u64) -> Statement<'_> {
    Select::from(&PIECES).only("pieces =", text(pieces)).only("position =", bound(position)).build()
}

/// Removes pieces that became no content.
pub(super) fn delete_pieces(pieces: &str) -> Statement<'_> {
    Statement::new("DELETE FROM content_pieces WHERE pieces = $1", vec![text(pieces)])
}

/// Forgets contents that nothing names, then pieces that are no content's; each only where it is older. Pieces go together: while
/// younger ones of their name come, all stay.
pub(super) fn forget_unnamed(before: Timestamp) -> [Statement<'static>; 2] {
    let contents = "DELETE FROM contents WHERE created_at < $1 \
                    AND NOT EXISTS (SELECT 1 FROM job_artifacts WHERE job_artifacts.digest = contents.digest) \
                    AND NOT EXISTS (SELECT 1 FROM policy_files WHERE policy_files.digest = contents.digest) \
                    AND NOT EXISTS (SELECT 1 FROM files WHERE files.digest = contents.digest)";
    let pieces = "DELETE FROM content_pieces WHERE created_at < $1 \
                  AND NOT EXISTS (SELECT 1 FROM contents WHERE contents.pieces = content_pieces.pieces) \
                  AND NOT EXISTS (SELECT 1 FROM content_pieces AS younger \
                  WHERE younger.pieces = content_pieces.pieces AND younger.created_at >= $1)";
    [Statement::new(contents, vec![time(before)]), Statement::new(pieces, vec![time(before)])]
}
