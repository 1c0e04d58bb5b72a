//! Memory of a server that rests, and what sessions and sockets add to it.

use std::path::Path;

use palestra_protocol::id::SessionId;

use super::{GIGABYTE, KILOBYTE, MEGABYTE, Series, Sizes, Values, counters, documents};
use crate::socket::Place;
use crate::subject::{Palestra, SESSIONS_PER_REQUEST};
use crate::targets::Once;

pub(super) const ROWS: [Once; 4] = [Once::AtRest, Once::PerSession, Once::PerSocket, Once::ManyDocuments];

/// Bytes of state of a small document.
const DOCUMENT_BYTES: usize = 10_000;
/// Sessions for which the memory of documents is stated.
const DOCUMENTS_STATED: f64 = 100_000.0;
/// Sockets that are open before any is counted: the first ones allocate what all later ones use.
const FIRST_SOCKETS: usize = 64;
/// Steps in one request.
const STEPS_PER_BATCH: usize = 1_000;

pub(super) async fn measure(program: &Path, sizes: Sizes) -> anyhow::Result<Values> {
    let (rest, session) = sessions(program, sizes.sessions).await?;
    Ok(vec![
        (Once::AtRest, one(rest / MEGABYTE)),
        (Once::PerSession, one(session / KILOBYTE)),
        (Once::PerSocket, one(sockets(program, sizes.sockets).await? / KILOBYTE)),
        (Once::ManyDocuments, one(many_documents(program, sizes.documents).await? / GIGABYTE)),
    ])
}

fn one(value: f64) -> Series {
    [value].into_iter().collect()
}

/// Memory for each of `count` things; nothing where the server found room in what it held already.
fn each(after: u64, before: u64, count: usize) -> f64 {
    after.saturating_sub(before) as f64 / count as f64
}

/// Bytes of a server at rest, and what an idle session adds.
async fn sessions(program: &Path, count: usize) -> anyhow::Result<(f64, f64)> {
    let palestra = Palestra::start(program, None).await?;
    let rest = palestra.server().resident_bytes()?;
    // The first request of a kind allocates what all later ones use.
    palestra.open(&counters("group"), SESSIONS_PER_REQUEST).await?;
    let before = palestra.server().resident_bytes()?;
    palestra.open(&counters("group"), count).await?;
    Ok((rest as f64, each(palestra.server().resident_bytes()?, before, count)))
}

/// Bytes that an open socket of the stream adds.
async fn sockets(program: &Path, count: usize) -> anyhow::Result<f64> {
    let palestra = Palestra::start(program, None).await?;
    let mut open = Vec::new();
    let mut before = 0;
    for number in 0..count + FIRST_SOCKETS {
        if number == FIRST_SOCKETS {
            before = palestra.server().resident_bytes()?;
        }
        open.push(Place::stream(palestra.address(), palestra.key()).open().await?);
    }
    Ok(each(palestra.server().resident_bytes()?, before, count))
}

/// Bytes of the whole server, stated for 100,000 sessions with a document each that was edited once.
async fn many_documents(program: &Path, count: usize) -> anyhow::Result<f64> {
    let palestra = Palestra::start(program, None).await?;
    let rest = palestra.server().resident_bytes()?;
    let sessions = palestra.open(&documents(DOCUMENT_BYTES), count).await?;
    for some in sessions.chunks(STEPS_PER_BATCH) {
        let items: Vec<String> = some.iter().map(edit).collect();
        let answer =
            palestra.call("POST", "/v1/sessions:step", &format!(r#"{{"items":[{}]}}"#, items.join(","))).await?;
        let refused = answer["data"].as_array().into_iter().flatten().find(|outcome| outcome.get("ok").is_none());
        anyhow::ensure!(refused.is_none(), "an edit was refused: {refused:?}");
    }
    Ok(rest as f64 + each(palestra.server().resident_bytes()?, rest, count) * DOCUMENTS_STATED)
}

fn edit(session: &SessionId) -> String {
    format!(
        r#"{{"session":"{session}","seq":1,"action":{{"tool":"set","arguments":{{"path":"/sections/0/records/3/count","value":7}}}}}}"#
    )
}
