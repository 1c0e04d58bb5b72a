//! Elements of a page: found by their ids or by what is known of them, and what is done with them in the page's own process.

use futures::join;
use serde_json::{Value, json};

use super::Context;
use super::failure::ActionFailure;
use crate::cdp::CdpError;
use crate::tree::Tree;

/// Name of the world in which our functions run, where no script of a page can change what they use.
pub(super) const WORLD: &str = "palestra";
/// Elements that are told where several fit.
const TOLD_MAX: usize = 5;

/// An element that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) backend: i64,
    /// The frame that it is in; empty for the page itself.
    frame: String,
    /// As the action named it.
    name: String,
}

/// An element in the page's process.
pub(super) struct Handle {
    object: String,
}

impl Context {
    /// The element that an action names.
    ///
    /// # Errors
    /// [`ActionFailure::Told`] where there is none, or more than one.
    pub(super) async fn find(&self, name: &str) -> Result<Found, ActionFailure> {
        let found = |backend, frame: &str| Found { backend, frame: frame.to_owned(), name: name.to_owned() };
        if let Some(role) = name.strip_prefix("role=") {
            let wanted = Wanted::read(role).ok_or_else(|| {
                ActionFailure::told(format!("{name:?} cannot be read: write role=button[name=\"Save\"]"))
            })?;
            let tree = self.tree().await?;
            let nodes: Vec<_> = tree.find(wanted.role, wanted.name.as_deref()).collect();
            let node = wanted.choose(name, &nodes, |node| node.id.clone().unwrap_or_default())?;
            return node.backend.map(|backend| found(backend, &node.frame)).ok_or_else(|| missing(name));
        }
        if let Some(text) = name.strip_prefix("text=") {
            let tree = self.tree().await?;
            let holder = holder_of(&tree, text).ok_or_else(|| missing(name))?;
            let node = &tree.nodes[holder];
            return node.backend.map(|backend| found(backend, &node.frame)).ok_or_else(|| missing(name));
        }
        if let Some(selector) = name.strip_prefix("css=") {
            return self.select(selector).await?.map(|backend| found(backend, "")).ok_or_else(|| missing(name));
        }
        let element = self.ids.lock().element(name).cloned();
        element.map(|element| found(element.backend, &element.frame)).ok_or_else(|| {
            ActionFailure::told(format!("there is no element {name:?}: use an id in brackets of the present tree"))
        })
    }

    /// The first element of the page that a selector fits.
    async fn select(&self, selector: &str) -> Result<Option<i64>, ActionFailure> {
        let channel = self.front()?;
        let document = channel.call("DOM.getDocument", json!({"depth": 0})).await?;
        let query = json!({"nodeId": document["root"]["nodeId"], "selector": selector});
        let chosen = match channel.call("DOM.querySelector", query).await {
            Ok(chosen) => chosen,
            Err(CdpError::Refused { message, .. }) => {
                return Err(ActionFailure::told(format!("css={selector} cannot be looked for: {message}")));
            }
            Err(error) => return Err(error.into()),
        };
        if chosen["nodeId"].as_i64().is_none_or(|id| id == 0) {
            return Ok(None);
        }
        let described = channel.call("DOM.describeNode", json!({"nodeId": chosen["nodeId"]})).await?;
        Ok(described["node"]["backendNodeId"].as_i64())
    }

    /// The element as an object of our world in its frame.
    pub(super) async fn hold(&self, found: &Found) -> Result<Handle, ActionFailure> {
        let channel = self.front()?;
        let main = self.shared.state.lock().front().map(|tab| tab.target.clone()).unwrap_or_default();
        let frame = if found.frame.is_empty() { main } else { found.frame.clone() };
        let world = json!({"frameId": frame, "worldName": WORLD});
        let gone = |error: CdpError| match error {
            CdpError::Refused { .. } => missing(&found.name),
            error => error.into(),
        };
        let world = channel.call("Page.createIsolatedWorld", world).await.map_err(gone)?;
        let node = json!({"backendNodeId": found.backend, "executionContextId": world["executionContextId"]});
        let resolved = channel.call("DOM.resolveNode", node).await.map_err(gone)?;
        let object = resolved["object"]["objectId"].as_str().ok_or_else(|| missing(&found.name))?;
        Ok(Handle { object: object.to_owned() })
    }

    /// Calls a function of ours on an element. It answers `{"error": WORDS}` where it refuses.
    pub(super) async fn run_on(&self, found: &Found, function: &str, arguments: Value) -> Result<Value, ActionFailure> {
        let handle = self.hold(found).await?;
        let arguments: Vec<Value> =
            arguments.as_array().into_iter().flatten().map(|value| json!({"value": value})).collect();
        let call = json!({
            "functionDeclaration": function,
            "objectId": handle.object,
            "arguments": arguments,
            "returnByValue": true,
            "silent": true,
        });
        self.call_function(&found.name, call).await
    }

    async fn call_function(&self, name: &str, call: Value) -> Result<Value, ActionFailure> {
        let answer = match self.front()?.call("Runtime.callFunctionOn", call).await {
            Ok(mut answer) => answer["result"]["value"].take(),
            Err(CdpError::Refused { .. }) => return Err(missing(name)),
            Err(error) => return Err(error.into()),
        };
        match answer["error"].as_str() {
            Some(error) => Err(ActionFailure::told(format!("{name}: {error}"))),
            None => Ok(answer),
        }
    }

    /// The place in the middle of an element, once it is in sight and nothing else lies over it.
    pub(super) async fn middle(&self, found: &Found) -> Result<(f64, f64), ActionFailure> {
        let channel = self.front()?;
        let (middle, metrics) =
            join!(self.middle_of_what_shows(found), channel.call("Page.getLayoutMetrics", json!({})));
        // It counts from the top of the document, and clicks from that of the window.
        let ((x, y), metrics) = (middle?, metrics?);
        let scrolled = |side: &str| metrics["cssVisualViewport"][side].as_f64().unwrap_or_default();
        #[expect(clippy::cast_possible_truncation, reason = "places on a page are small numbers")]
        let [left, top] = [x + scrolled("pageX"), y + scrolled("pageY")].map(|place| place as i64);
        let place = json!({"x": left, "y": top, "includeUserAgentShadowDOM": false});
        let hit = match channel.call("DOM.getNodeForLocation", place).await {
            Ok(hit) => hit,
            // It is folded away, or lies beyond what can be scrolled to.
            Err(CdpError::Refused { .. }) => return Err(hidden(&found.name)),
            Err(error) => return Err(error.into()),
        };
        let hit_backend = hit["backendNodeId"].as_i64().unwrap_or_default();
        if hit_backend == found.backend {
            return Ok((x, y));
        }
        let over = Found { backend: hit_backend, frame: found.frame.clone(), name: found.name.clone() };
        let (Ok(own), Ok(over)) = join!(self.hold(found), self.hold(&over)) else { return Ok((x, y)) };
        let call = json!({
            "functionDeclaration": COVERED,
            "objectId": own.object,
            "arguments": [{"objectId": over.object}],
            "returnByValue": true,
            "silent": true,
        });
        self.call_function(&found.name, call).await.map(|_| (x, y))
    }

    async fn middle_of_what_shows(&self, found: &Found) -> Result<(f64, f64), ActionFailure> {
        let channel = self.front()?;
        let node = json!({"backendNodeId": found.backend});
        let refused = |error: CdpError| match error {
            CdpError::Refused { message, .. } if message.contains("No node") => missing(&found.name),
            CdpError::Refused { .. } => hidden(&found.name),
            error => error.into(),
        };
        let scroll = channel.call("DOM.scrollIntoViewIfNeeded", node.clone());
        let (scrolled, quads) = join!(scroll, channel.call("DOM.getContentQuads", node));
        scrolled.map_err(refused)?;
        let quads = quads.map_err(refused)?;
        let corners =
            |quad: &Value| -> Vec<f64> { quad.as_array().into_iter().flatten().filter_map(Value::as_f64).collect() };
        let shown = quads["quads"].as_array().into_iter().flatten().map(corners).find(|quad| area(quad) >= 1.0);
        let quad = shown.ok_or_else(|| hidden(&found.name))?;
        let mean = |from: usize| quad.iter().skip(from).step_by(2).sum::<f64>() / 4.0;
        Ok((mean(0), mean(1)))
    }
}

/// Area of a quad of eight numbers.
fn area(quad: &[f64]) -> f64 {
    let [x1, y1, x2, y2, x3, y3, x4, y4] = *quad else { return 0.0 };
    ((x1 * y2 - x2 * y1) + (x2 * y3 - x3 * y2) + (x3 * y4 - x4 * y3) + (x4 * y1 - x1 * y4)).abs() / 2.0
}

fn missing(name: &str) -> ActionFailure {
    ActionFailure::told(format!("{name} is not there (any more): look at the present tree"))
}

fn hidden(name: &str) -> ActionFailure {
    ActionFailure::told(format!("{name} cannot be seen: wait until it shows, or scroll or open what hides it"))
}

/// The nearest node with an element around the text.
fn holder_of(tree: &Tree, text: &str) -> Option<usize> {
    let is_it = |name: &Option<String>| name.as_deref().is_some_and(|name| name.trim() == text);
    let named = tree.nodes.iter().position(|node| node.id.is_some() && is_it(&node.name));
    named.or_else(|| {
        let inner = tree.nodes.iter().position(|node| {
            node.name.as_deref().is_some_and(|name| name.contains(text)) && node.role == "StaticText"
        })?;
        let mut parents = vec![None; tree.nodes.len()];
        for (place, node) in tree.nodes.iter().enumerate() {
            node.children.iter().for_each(|child| parents[*child] = Some(place));
        }
        // Up to the nearest that stands for an element. A tree that a page makes up may go round.
        std::iter::successors(parents[inner], |place| parents[*place])
            .take(tree.nodes.len())
            .find(|place| tree.nodes[*place].backend.is_some())
    })
}

/// Description of an element: `button[name="Save"][nth=1]`.
struct Wanted<'t> {
    role: &'t str,
    name: Option<String>,
    nth: Option<usize>,
}

impl<'t> Wanted<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let (role, mut rest) = text.find('[').map_or((text, ""), |at| text.split_at(at));
        let mut wanted = Self { role, name: None, nth: None };
        while !rest.is_empty() {
            let part = rest.strip_prefix('[')?;
            if let Some(quoted) = part.strip_prefix("name=") {
                let mut values = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
                wanted.name = Some(values.next()?.ok()?);
                rest = quoted[values.byte_offset()..].strip_prefix(']')?;
            } else {
                let (number, behind) = part.strip_prefix("nth=")?.split_once(']')?;
                wanted.nth = Some(number.parse().ok()?);
                rest = behind;
            }
        }
        (!role.is_empty()).then_some(wanted)
    }

    /// The one that is meant.
    fn choose<'n, T>(&self, name: &str, nodes: &[&'n T], id: impl Fn(&T) -> String) -> Result<&'n T, ActionFailure> {
        match (nodes, self.nth) {
            ([], _) => Err(missing(name)),
            ([one], None) => Ok(one),
            (nodes, Some(nth)) => nodes.get(nth).copied().ok_or_else(|| missing(name)),
            (nodes, None) => {
                let ids: Vec<String> = nodes.iter().take(TOLD_MAX).map(|node| id(node)).collect();
                Err(ActionFailure::told(format!(
                    "{} elements are {name} (ids {}): use an id, or add [nth=0]",
                    nodes.len(),
                    ids.join(", ")
                )))
            }
        }
    }
}

/// True if what lies at a place belongs to the element: it is within it, the host of its shadow tree, or a label of it.
const COVERED: &str = "function (over) {
  const shown = this.nodeType === 1 ? this : this.parentElement;
  if (shown && !shown.checkVisibility({ visibilityProperty: true })) {
    return { error: 'it cannot be seen: open or wait for what hides it' };
  }
  for (let node = over; node; node = node.assignedSlot || node.parentNode || node.host) if (node === this) return true;
  for (let root = this.getRootNode(); root.host; root = root.host.getRootNode()) if (root.host === over) return true;
  const label = over.nodeType === 1 ? over.closest('label') : over.parentElement?.closest('label');
  if (label && (label.control === this || label.contains(this))) return true;
  const frame = over.ownerDocument !== this.ownerDocument;
  const element = over.nodeType === 1 ? over : over.parentElement;
  const word = element ? element.tagName.toLowerCase() + (element.id ? '#' + element.id : '') : 'something';
  return frame ? true : { error: `<${word}> lies over it: close or move that first` };
}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_an_element_is_read() {
        let read = |text| Wanted::read(text).map(|wanted| (wanted.role.to_owned(), wanted.name, wanted.nth));
        assert_eq!(read("button"), Some(("button".to_owned(), None, None)));
        let name = Some("Save ] \"all\"".to_owned());
        assert_eq!(read("link[name=\"Save ] \\\"all\\\"\"][nth=2]"), Some(("link".to_owned(), name, Some(2))));
        for wrong in ["", "[name=\"x\"]", "button[", "button[name=x]", "button[nth=-1]", "button[name=\"x\"", "a[b=c]"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn areas_are_those_of_quads() {
        assert!((area(&[0.0, 0.0, 10.0, 0.0, 10.0, 5.0, 0.0, 5.0]) - 50.0).abs() < 1e-9);
        assert!(area(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).abs() < 1e-9);
        assert!(area(&[]).abs() < 1e-9);
    }
}
