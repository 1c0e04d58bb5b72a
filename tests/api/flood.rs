//! A client that sends and never reads.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::sessions::counter;
use super::stream::{ask, open};
use crate::support::server::TestServer;

const FRAMES: u64 = 100_000;
/// Bytes by which this process, server and client together, may grow meanwhile.
const GROWTH_BYTES_MAX: u64 = 96 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of this process in memory.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_frames_without_reading_cost_nobody_else_anything() {
    let server = TestServer::start_with(|config| config.send_timeout_ms = 500).await;
    let session = counter(&server).await["id"].clone();
    let (mut sink, mut stream) = open(&server).await.split();
    let mut other = open(&server).await;
    let before = resident_bytes();

    let mut flood = JoinSet::new();
    flood.spawn(async move {
        let pad = "x".repeat(200);
        for id in 0..FRAMES {
            let frame = json!({"id": id, "op": "step", "session": session, "seq": 9, "action": {"text": pad}});
            if sink.send(Message::text(frame.to_string())).await.is_err() {
                return id;
            }
        }
        FRAMES
    });

    // Others are served until the flood is over; which it is when the server has given the peer up.
    let mut most = before;
    let is_over = || server.app.metrics().render().contains("palestra_stream_ends_total{reason=\"slow\"}");
    let begun = Instant::now();
    let mut served = 0;
    while !is_over() {
        assert!(begun.elapsed() < PATIENCE, "the peer is never given up");
        let answer =
            timeout(PATIENCE, ask(&mut other, json!({"id": served, "op": "create", "environment": "bench/counter"})));
        assert!(answer.await.expect("others are answered")["ok"].is_object());
        served += 1;
        most = most.max(resident_bytes());
    }
    assert!(served > 10, "{served}");
    let growth = most - before;
    assert!(growth < GROWTH_BYTES_MAX, "{growth} bytes more for a peer that reads nothing");

    // A peer that begins to read finds the reason behind what was under way.
    let reason = timeout(PATIENCE, async {
        loop {
            match stream.next().await {
                Some(Ok(Message::Close(Some(frame)))) => return (u16::from(frame.code), frame.reason.to_string()),
                Some(Ok(_)) => {}
                other => panic!("no reason came: {other:?}"),
            }
        }
    });
    let (code, reason) = reason.await.expect("an end");
    assert_eq!(code, 1008);
    assert!(reason.contains("not read"), "{reason}");
    drop(stream);
    let sent = timeout(PATIENCE, flood.join_next()).await.expect("the flood ends").unwrap().unwrap();
    assert!(sent < FRAMES, "every frame was taken from a peer that reads nothing");
    server.stop().await;
}
