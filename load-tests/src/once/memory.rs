//! Memory of a server that rests, and what sessions and sockets add to it.

use std::path::Path;

use palestra_protocol::id::SessionId;
use palestra_protocol::stream::SUBPROTOCOL;

use super::{KILOBYTE, MEGABYTE, Series, Sizes, Values, counters, documents};
use crate::socket::Socket;
use crate::subject::{Palestra, SESSIONS_PER_REQUEST};
use crate::targets::Once;

pub(super) const ROWS: [Once; 4] = [Once::AtRest, Once::PerSession, Once::PerSocket, Once::ManyDocuments];

/// Bytes of state of a small document.
const DOCUMENT_BYTES: usize = 10_000;
/// Sessions for which the memory of documents is stated.
const DOCUMENTS_STATED: f64 = 100_000.0;
/// Steps in one request.
const STEPS_PER_BATCH: usize = 1_000;

pub(super) async fn measure(program: &Path, sizes: Sizes) -> anyhow::Result<Values> {
    let palestra = Palestra::start(program, None).await?;
    let rest = palestra.server().resident_bytes()?;
    // The first request of a kind allocates what all later ones use.
    palestra.open(&counters("group"), SESSIONS_PER_REQUEST).await?;
    let warm = palestra.server().resident_bytes()?;
    palestra.open(&counters("group"), sizes.sessions).await?;
    let sessions = palestra.server().resident_bytes()?;
    let mut sockets = Vec::with_capacity(sizes.sockets);
    for _ in 0..sizes.sockets {
        let socket = Socket::open(palestra.address(), "/v1/stream", Some(SUBPROTOCOL), Some(palestra.key())).await?;
        sockets.push(socket);
    }
    let open = palestra.server().resident_bytes()?;
    drop(sockets);
    let each = |after: u64, before: u64, count: usize| after.saturating_sub(before) as f64 / count as f64;
    let documents = memory_of_documents(program, sizes.documents).await?;
    Ok(vec![
        (Once::AtRest, one(rest as f64 / MEGABYTE)),
        (Once::PerSession, one(each(sessions, warm, sizes.sessions) / KILOBYTE)),
        (Once::PerSocket, one(each(open, sessions, sizes.sockets) / KILOBYTE)),
        (Once::ManyDocuments, one(documents)),
    ])
}

fn one(value: f64) -> Series {
    [value].into_iter().collect()
}

/// Gigabytes of the whole server, stated for 100,000 sessions with a document each that was edited once.
async fn memory_of_documents(program: &Path, count: usize) -> anyhow::Result<f64> {
    let palestra = Palestra::start(program, None).await?;
    let sessions = palestra.open(&documents(DOCUMENT_BYTES), count).await?;
    for some in sessions.chunks(STEPS_PER_BATCH) {
        let items: Vec<String> = some.iter().map(edit).collect();
        let answer =
            palestra.call("POST", "/v1/sessions:step", &format!(r#"{{"items":[{}]}}"#, items.join(","))).await?;
        let refused = answer["data"].as_array().into_iter().flatten().find(|outcome| outcome.get("ok").is_none());
        anyhow::ensure!(refused.is_none(), "an edit was refused: {refused:?}");
    }
    Ok(palestra.server().resident_bytes()? as f64 / count as f64 * DOCUMENTS_STATED / 1e9)
}

fn edit(session: &SessionId) -> String {
    format!(
        r#"{{"session":"{session}","seq":1,"action":{{"tool":"set","arguments":{{"path":"/sections/0/records/3/count","value":7}}}}}}"#
    )
}
