//! Pictures of pages, with marks on the elements that can be acted on.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use super::element::WORLD;
use super::failure::ActionFailure;
use crate::error::BrowserError;
use crate::picture::{PictureFormat, PictureSettings};
use crate::tree::{Node, Tree};

/// Longest side of a picture in its own pixels: more is beyond what Chromium draws at once.
const SIDE_MAX: f64 = 16_384.0;
/// Width of the widest page that is drawn whole, in pixels of the page.
const WIDTH_MAX: f64 = 4_096.0;
/// Quality of WebP, of 100.
const QUALITY: u32 = 80;
/// Most marks in a picture.
const MARKS_MAX: usize = 300;
/// Elements that are looked for, in the order of the tree.
const ACTIVE_MAX: usize = 5_000;
/// Elements whose places are asked for at once.
const ASKED_AT_ONCE: usize = 250;
/// Roles of elements that one acts on, whether they take the focus or not.
const ACTIVE: [&str; 16] = [
    "button",
    "checkbox",
    "combobox",
    "link",
    "listbox",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
];

/// A picture of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Encoding of its bytes.
    pub format: PictureFormat,
    /// The encoded picture.
    pub bytes: Vec<u8>,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Pixels of it for each pixel of the page.
    pub scale: f64,
    /// The marks in it.
    pub marks: Vec<Mark>,
    /// Elements beyond the bound, for which nobody looked.
    pub marks_left_out: usize,
}

/// The frame around an element in a picture, in pixels of the page from the picture's left upper corner.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// Id of the element.
    pub id: String,
    /// Its left side.
    pub x: f64,
    /// Its upper side.
    pub y: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// The part of a page that a picture shows, in pixels from the left upper corner of its document.
#[derive(Debug, Clone, Copy)]
struct Part {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Context {
    /// A picture of the page in front.
    ///
    /// # Errors
    /// When the browser fails, or the page in front waits for a dialog or crashed.
    pub async fn picture(&self, settings: &PictureSettings) -> Result<Picture, ActionFailure> {
        if self.is_held_up() {
            return Err(ActionFailure::told("the page cannot be drawn now: end its dialog, or reload it".to_owned()));
        }
        settings.check().map_err(ActionFailure::told)?;
        let channel = self.front()?;
        let metrics = channel.call("Page.getLayoutMetrics", json!({})).await?;
        let number = |part: &str, side: &str| metrics[part][side].as_f64().unwrap_or_default();
        let (left, top) = (number("cssVisualViewport", "pageX"), number("cssVisualViewport", "pageY"));
        let (width, height) = (number("cssVisualViewport", "clientWidth"), number("cssVisualViewport", "clientHeight"));
        let seen = Part { x: left, y: top, width, height };
        let part = if settings.whole_page {
            let (width, height) = (number("cssContentSize", "width"), number("cssContentSize", "height"));
            let height_max = SIDE_MAX / settings.scale.max(1.0);
            Part { x: 0.0, y: 0.0, width: width.min(WIDTH_MAX), height: height.min(height_max) }
        } else {
            seen
        };
        // Marks are drawn into an exact picture.
        let format = if settings.marks { PictureFormat::Png } else { settings.format };
        let clip =
            json!({"x": part.x, "y": part.y, "width": part.width, "height": part.height, "scale": settings.scale});
        let shot = json!({
            "format": format, "quality": QUALITY, "clip": clip, "captureBeyondViewport": settings.whole_page, "optimizeForSpeed": true,
        });
        let mut shot = channel.call("Page.captureScreenshot", shot).await?;
        let (marks, marks_left_out) = if settings.marks { self.marks(seen, part).await? } else { (Vec::new(), 0) };
        let data =
            if settings.marks { self.draw(shot["data"].take(), settings, &marks).await? } else { shot["data"].take() };
        let unread =
            |why: String| BrowserError::Gone(format!("its picture cannot be read ({why}): open a new session"));
        let bytes = STANDARD.decode(data.as_str().unwrap_or_default()).map_err(|error| unread(error.to_string()))?;
        let (width, height) = size_of(&bytes).ok_or_else(|| unread("it is neither PNG nor WebP".to_owned()))?;
        Ok(Picture { format: settings.format, bytes, width, height, scale: settings.scale, marks, marks_left_out })
    }

    /// Frames of the elements in a part of the page that can be acted on, in the order of the tree, and how many elements were not
    /// looked for. Of what is in sight, those are left out over which something else lies.
    async fn marks(&self, seen: Part, part: Part) -> Result<(Vec<Mark>, usize), BrowserError> {
        let tree = self.tree().await?;
        let active: Vec<usize> = (0..tree.nodes.len()).filter(|place| is_active(&tree.nodes[*place])).collect();
        let channel = self.front()?;
        let (mut framed, mut looked) = (Vec::new(), 0);
        for some in active[..active.len().min(ACTIVE_MAX)].chunks(ASKED_AT_ONCE) {
            if framed.len() >= MARKS_MAX {
                break;
            }
            let asked = some.iter().map(|place| json!({"backendNodeId": tree.nodes[*place].backend})).collect();
            let quads = channel.call_all("DOM.getContentQuads", asked).await?;
            looked += some.len();
            framed.extend(some.iter().zip(quads).filter_map(|(place, told)| {
                let frame = told.ok().and_then(|told| around(&told["quads"][0]))?;
                // They are told from the corner of the window.
                let frame = Part { x: frame.x + seen.x, y: frame.y + seen.y, ..frame };
                within(frame, part).map(|frame| (*place, frame))
            }));
        }
        let beyond = framed.len().saturating_sub(MARKS_MAX);
        framed.truncate(MARKS_MAX);
        let middles = framed.iter().map(|(_, frame)| middle(*frame)).collect();
        let hits = channel.call_all("DOM.getNodeForLocation", middles).await?;
        let owners = owners(&tree);
        let shown = framed.into_iter().zip(hits).filter(|((place, _), hit)| {
            let hit = hit.as_ref().ok().and_then(|hit| hit["backendNodeId"].as_i64());
            // What the tree does not tell of is a part of something that it tells of.
            hit.and_then(|hit| owners.get(&hit)).is_none_or(|at| tree.is_within(*at, *place))
        });
        let mark = |((place, frame), _): ((usize, Part), _)| Mark {
            id: tree.nodes[place].id.clone().unwrap_or_default(),
            x: frame.x - part.x,
            y: frame.y - part.y,
            width: frame.width,
            height: frame.height,
        };
        Ok((shown.map(mark).collect(), active.len() - looked + beyond))
    }

    /// Draws marks into a picture, in a world of the page that no script of it sees.
    async fn draw(&self, data: Value, settings: &PictureSettings, marks: &[Mark]) -> Result<Value, ActionFailure> {
        let channel = self.front()?;
        let main = self.shared.state.lock().front().map(|tab| tab.target.clone());
        let world = channel.call("Page.createIsolatedWorld", json!({"frameId": main, "worldName": WORLD})).await?;
        let media_type = settings.format.media_type();
        let arguments =
            [data, media_type.into(), (f64::from(QUALITY) / 100.0).into(), settings.scale.into(), json!(marks)];
        let arguments: Vec<Value> = arguments.into_iter().map(|value| json!({"value": value})).collect();
        let call = json!({
            "functionDeclaration": DRAW,
            "executionContextId": world["executionContextId"],
            "arguments": arguments,
            "awaitPromise": true,
            "returnByValue": true,
            "silent": true,
        });
        let mut drawn = channel.call("Runtime.callFunctionOn", call).await?;
        if drawn["exceptionDetails"].is_null() {
            return Ok(drawn["result"]["value"].take());
        }
        let why = drawn["result"]["description"].as_str().unwrap_or("no reason was given").to_owned();
        Err(ActionFailure::told(format!("marks cannot be drawn into the picture ({why}): ask for one without marks")))
    }
}

fn is_active(node: &Node) -> bool {
    let acts = ACTIVE.iter().any(|role| node.role.eq_ignore_ascii_case(role)) || node.is("focusable");
    // The main part takes the focus so that one can skip to it, and does nothing.
    let passive = ["Iframe", "main"].contains(&&*node.role);
    acts && node.id.is_some() && node.backend.is_some() && !node.is("disabled") && !passive
}

/// The upright rectangle around a quad of eight numbers, where it has an area.
fn around(quad: &Value) -> Option<Part> {
    let corners: Vec<f64> = quad.as_array()?.iter().filter_map(Value::as_f64).collect();
    let side = |from: usize| {
        let places = corners.iter().skip(from).step_by(2).copied();
        (places.clone().fold(f64::INFINITY, f64::min), places.fold(f64::NEG_INFINITY, f64::max))
    };
    let ((left, right), (top, bottom)) = (side(0), side(1));
    let frame = Part { x: left, y: top, width: right - left, height: bottom - top };
    (frame.width >= 1.0 && frame.height >= 1.0).then_some(frame)
}

/// The part of a frame that lies within a part of the page.
fn within(frame: Part, part: Part) -> Option<Part> {
    let (x, y) = (frame.x.max(part.x), frame.y.max(part.y));
    let width = (frame.x + frame.width).min(part.x + part.width) - x;
    let height = (frame.y + frame.height).min(part.y + part.height) - y;
    (width >= 1.0 && height >= 1.0).then_some(Part { x, y, width, height })
}

fn middle(frame: Part) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "places on a page are small numbers")]
    let [x, y] = [frame.x + frame.width / 2.0, frame.y + frame.height / 2.0].map(|place| place as i64);
    json!({"x": x, "y": y, "includeUserAgentShadowDOM": false})
}

/// Place of the node of each element.
fn owners(tree: &Tree) -> HashMap<i64, usize> {
    let places = tree.nodes.iter().enumerate();
    places.rev().filter_map(|(place, node)| Some((node.backend?, place))).collect()
}

/// Width and height of a picture, from its first bytes.
fn size_of(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let small = |at: usize| Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    if bytes.starts_with(b"\x89PNG") {
        return Some((big(16)?, big(20)?));
    }
    let three = |at: usize| Some(u32::from(*bytes.get(at)?) | small(at + 1)? << 8);
    match bytes.get(12..16)? {
        b"VP8 " => Some((small(26)? & 0x3fff, small(28)? & 0x3fff)),
        b"VP8L" => {
            let packed = small(21)? | small(23)? << 16;
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((three(24)? + 1, three(27)? + 1)),
        _ => None,
    }
}

/// Draws frames with ids into a picture. Colours take turns, so that neighbours differ.
const DRAW: &str = "async function (data, type, quality, scale, marks) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const pen = canvas.getContext('2d');
  pen.drawImage(bitmap, 0, 0);
  const colours = ['#c2185b', '#1565c0', '#2e7d32', '#6a1b9a', '#bf360c', '#00695c'];
  const size = Math.max(9, Math.round(12 * Math.min(1, scale)));
  pen.font = `bold ${size}px sans-serif`;
  pen.textBaseline = 'top';
  marks.forEach((mark, place) => {
    const [x, y, width, height] = [mark.x, mark.y, mark.width, mark.height].map((side) => Math.round(side * scale));
    pen.strokeStyle = colours[place % colours.length];
    pen.lineWidth = 2;
    pen.strokeRect(x + 1, y + 1, Math.max(1, width - 2), Math.max(1, height - 2));
    const wide = Math.ceil(pen.measureText(mark.id).width) + 4;
    const left = Math.max(0, Math.min(x, canvas.width - wide));
    const top = Math.max(0, y - (height < 2 * size ? size + 2 : 0));
    pen.fillStyle = pen.strokeStyle;
    pen.fillRect(left, top, wide, size + 2);
    pen.fillStyle = '#ffffff';
    pen.fillText(mark.id, left + 2, top + 1);
  });
  const blob = await canvas.convertToBlob({ type, quality });
  const drawn = new Uint8Array(await blob.arrayBuffer());
  let letters = '';
  for (let at = 0; at < drawn.length; at += 32768) letters += String.fromCharCode(...drawn.subarray(at, at + 32768));
  return btoa(letters);
}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_to_what_is_shown() {
        let part = Part { x: 0.0, y: 100.0, width: 200.0, height: 100.0 };
        let frame = around(&json!([10, 90, 60, 90, 60, 120, 10, 120])).expect("it has an area");
        let cut = within(frame, part).expect("it is partly in sight");
        assert_eq!((cut.x, cut.y, cut.width, cut.height), (10.0, 100.0, 50.0, 20.0));
        assert!(within(Part { y: 300.0, ..frame }, part).is_none());
        for empty in [json!([10, 10, 10, 10, 10, 10, 10, 10]), json!([]), json!(null)] {
            assert!(around(&empty).is_none(), "{empty}");
        }
    }

    #[test]
    fn what_is_no_picture_has_no_size() {
        for bytes in [
            &b""[..],
            b"\x89PNG",
            b"RIFF....WEBPVP8 ",
            b"RIFF....WEBPVP8X",
            b"RIFF....WEBPVP8L",
            b"GIF89a...............",
        ] {
            assert_eq!(size_of(bytes), None, "{bytes:?}");
        }
    }
}
