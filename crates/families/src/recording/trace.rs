//! A trace in the form of Playwright, version 6, which its viewers from 1.44 on open: actions, console, pictures, requests.

use std::io::{self, Cursor, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use palestra_protocol::action::Action;
use palestra_protocol::episode::{StepRecord, Trajectory};
use palestra_protocol::observation::Observation;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Contents, IMAGE, digest_of, error_of, requests_of, words};

/// Version of the form.
const VERSION: u64 = 6;
/// The only page that actions belong to.
const PAGE: &str = "page@1";
/// Milliseconds that an action takes in the viewer, where the next one is not earlier.
const ACTION_MS: i64 = 100;

/// The archive `trace.zip`. Steps stand at the times at which they were answered; the view before an action is that after the one before.
///
/// # Errors
/// When the archive would be larger than its form allows.
pub fn trace(trajectory: &Trajectory, contents: &Contents) -> io::Result<Vec<u8>> {
    let begun = trajectory.episode.started_at.milliseconds();
    let missing = super::named(trajectory).iter().filter(|digest| !contents.contains_key(**digest)).count();
    let left_out = if missing == 0 { String::new() } else { format!(" ({missing} pictures and logs left out)") };
    let mut events = vec![json!({
        "version": VERSION,
        "type": "context-options",
        "origin": "library",
        "browserName": "chromium",
        "platform": "linux",
        "wallTime": begun,
        "sdkLanguage": "python",
        "title": format!("{} {}{left_out}", trajectory.episode.environment, trajectory.episode.id),
        "options": {},
    })];
    let (mut network, mut before) = (Vec::new(), None);
    if let Some(seen) = &trajectory.opening {
        events.extend(console(seen, 0));
        network.extend(requests_of(seen, contents).into_iter().map(|entry| request(entry, 0)));
        before = digest_of(seen, IMAGE).filter(|digest| contents.contains_key(*digest));
        events.extend(before.map(|digest| frame(seen, digest, contents, 0)));
    }
    for step in &trajectory.steps {
        let call = format!("call@{}", step.seq);
        let end = step.at.milliseconds() - begun;
        let start = end - ACTION_MS.min(end.max(0));
        let seen = &step.answer.observation;
        let picture = digest_of(seen, IMAGE).filter(|digest| contents.contains_key(*digest));
        events.push(begin(step, &call, start, begun, before.is_some()));
        if let Some(digest) = before {
            events.push(snapshot(&call, "before", digest, contents, start));
        }
        events.extend(console(seen, end));
        let requests = requests_of(seen, contents);
        network.extend(requests.into_iter().map(|entry| request(entry, start)));
        if let Some(digest) = picture {
            events.push(frame(seen, digest, contents, end));
            events.push(snapshot(&call, "after", digest, contents, end));
        }
        events.push(finish(step, &call, end, picture.is_some()));
        before = picture.or(before);
    }
    archive(&events, &network, trajectory, contents)
}

fn begin(step: &StepRecord, call: &str, start: i64, begun: i64, has_view: bool) -> Value {
    let name = match &step.action {
        Some(Action::Text(text)) => text.split('(').next().unwrap_or(text).to_owned(),
        Some(Action::Tool { tool, .. }) => tool.clone(),
        _ => "step".to_owned(),
    };
    let mut event = json!({
        "type": "before", "callId": call, "startTime": start, "wallTime": begun + start, "pageId": PAGE,
        "apiName": words(step.action.as_ref()), "class": "Page", "method": name, "params": step.action,
    });
    if has_view {
        event["beforeSnapshot"] = format!("before@{call}").into();
    }
    event
}

fn finish(step: &StepRecord, call: &str, end: i64, has_view: bool) -> Value {
    let result = json!({"reward": step.answer.reward, "observation": step.answer.observation.text});
    let mut event = json!({"type": "after", "callId": call, "endTime": end, "result": result});
    if let Some(error) = error_of(&step.answer.observation) {
        event["error"] = json!({"name": "Error", "message": error});
    }
    if has_view {
        event["afterSnapshot"] = format!("after@{call}").into();
    }
    event
}

/// Lines that pages printed.
fn console(seen: &Observation, at: i64) -> Vec<Value> {
    let lines = seen.data["console"].as_array().into_iter().flatten();
    let line = |line: &Value| {
        json!({
            "type": "console", "time": at, "pageId": PAGE, "messageType": line["level"], "text": line["text"],
            "args": [], "location": {"url": "", "lineNumber": 0, "columnNumber": 0},
        })
    };
    lines.map(line).collect()
}

/// The picture in the strip over time.
fn frame(seen: &Observation, digest: &str, contents: &Contents, at: i64) -> Value {
    let block = seen.content.iter().find(|block| block["blob"] == digest);
    let side = |name: &str| block.map_or(Value::Null, |block| block[name].clone());
    json!({
        "type": "screencast-frame", "pageId": PAGE, "sha1": resource(digest, contents),
        "width": side("width"), "height": side("height"), "timestamp": at,
    })
}

/// The view of a page: its picture.
fn snapshot(call: &str, side: &str, digest: &str, contents: &Contents, at: i64) -> Value {
    let (media_type, bytes) = contents.get(digest).cloned().unwrap_or_default();
    let picture = format!("data:{media_type};base64,{}", STANDARD.encode(bytes));
    json!({"type": "frame-snapshot", "snapshot": {
        "callId": call, "snapshotName": format!("{side}@{call}"), "pageId": PAGE, "frameId": "frame@1", "isMainFrame": true,
        "frameUrl": "about:blank", "doctype": "html", "timestamp": at, "collectionTime": 0, "resourceOverrides": [],
        "viewport": {"width": 1_280, "height": 720},
        "html": ["HTML", {}, ["BODY", {"style": "margin:0"}, ["IMG", {"src": picture, "style": "width:100%", "alt": "the page"}]]],
    }})
}

/// A request, as the viewer lists it.
fn request(mut entry: Value, at: i64) -> Value {
    entry["pageref"] = PAGE.into();
    entry["_monotonicTime"] = at.into();
    json!({"type": "resource-snapshot", "snapshot": entry})
}

/// Name of a picture among the resources.
fn resource(digest: &str, contents: &Contents) -> String {
    let kind = contents.get(digest).and_then(|(media_type, _)| media_type.strip_prefix("image/")).unwrap_or("bin");
    format!("{}.{kind}", digest.trim_start_matches("sha256:"))
}

fn archive(events: &[Value], network: &[Value], trajectory: &Trajectory, contents: &Contents) -> io::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // Pictures are compressed already.
    let plain = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, lines) in [("trace.trace", events), ("trace.network", network)] {
        archive.start_file(name, plain)?;
        for line in lines {
            writeln!(archive, "{line}")?;
        }
    }
    for digest in super::named(trajectory) {
        let picture = contents.get(digest).filter(|(media_type, _)| media_type.starts_with("image/"));
        let Some((_, bytes)) = picture else { continue };
        archive.start_file(format!("resources/{}", resource(digest, contents)), plain)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}
