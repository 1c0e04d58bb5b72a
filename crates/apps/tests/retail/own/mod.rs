//! A reference of our own, in every checkout: a shop from a seed, and the answers of a plain model of its tools.

mod documents;
mod draw;
mod model;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use self::documents::{Members, Shop, written};
use self::draw::Draw;
use crate::digest;
use crate::import::{KINDS, STATES};
use crate::reference::{Reference, list, object, text};

/// The app is told it whole. It holds what a reader of YAML may stumble over.
const POLICY: &str = r##"# Rules of the shop

You act for **one** customer at a time: "who are you?" comes before all else.

- cancel: only what is pending; the reason is 'no longer needed' or 'ordered by mistake'
- change: once per order, # and never after it was sent
- return and exchange: only what was delivered {and only once}

Ask for a clear "yes" before you change anything, and hand over what these rules leave no way to do.
"##;

const SEED: u64 = 11;
const TASKS: usize = 40;

/// The shop and all that is called there.
pub(crate) fn reference() -> Reference {
    let mut draw = Draw::new(SEED);
    let shop = draw.shop();
    let mut reference = Reference::of(written(&shop));
    POLICY.clone_into(&mut reference.policy);
    let recorder = || Recorder { before: &shop, shop: shop.clone(), calls: Vec::new() };
    reference.calls = draw.calls(&shop).iter().map(|(tool, given)| recorder().single(tool, given)).collect();
    for number in 0..TASKS {
        let mut recorder = recorder();
        draw.task(&mut recorder, &shop.users.0[number % shop.users.0.len()].1);
        let id = number.to_string();
        let action = |call: &Value| json!({"name": call["name"], "arguments": call["arguments"]});
        let actions: Vec<Value> = recorder.calls.iter().map(action).collect();
        let instructions = json!({"reason_for_call": format!("Task {id}: you want {} things done.", actions.len())});
        reference.scenarios.push(json!({
            "id": id, "user_scenario": {"instructions": instructions}, "evaluation_criteria": {"actions": actions},
        }));
        reference.tasks.push(json!({"task": id, "state_patch": recorder.patch(), "calls": recorder.calls}));
    }
    reference
}

/// A shop at work, and its calls as the reference's files hold them.
struct Recorder<'s> {
    before: &'s Shop,
    shop: Shop,
    calls: Vec<Value>,
}

impl Recorder<'_> {
    /// A call with its whole result and what it changed.
    fn single(mut self, tool: &str, given: &Value) -> Value {
        let (error, result) = self.answer(tool, given);
        json!({"name": tool, "arguments": given, "error": error, "result": result, "state_patch": self.patch()})
    }

    /// Notes a call down; of documents that it answers with, the digest alone.
    fn call(&mut self, tool: &str, given: &Value) {
        let (error, result) = self.answer(tool, given);
        let told = (!result.starts_with('{')).then_some(&result);
        let call =
            json!({"name": tool, "arguments": given, "error": error, "result": told, "result_sha256": digest(&result)});
        self.calls.push(call);
    }

    fn answer(&mut self, tool: &str, given: &Value) -> (bool, String) {
        match self.shop.call(tool, given) {
            Ok(result) => (false, result),
            Err(message) => (true, format!("Error: {message}")),
        }
    }

    /// The changes of all calls so far.
    fn patch(&self) -> Vec<Value> {
        let mut changes = Vec::new();
        changed("users", &self.before.users, &self.shop.users, &mut changes);
        changed("orders", &self.before.orders, &self.shop.orders, &mut changes);
        changes
    }
}

fn changed<T: PartialEq + Serialize>(part: &str, before: &Members<T>, after: &Members<T>, changes: &mut Vec<Value>) {
    for ((id, before), (_, after)) in before.0.iter().zip(&after.0).filter(|(before, after)| before != after) {
        compare(&json!(before), &json!(after), &format!("/{part}/{id}"), changes);
    }
}

/// Collects what makes one document the other: members that differ are replaced, lists as a whole.
fn compare(before: &Value, after: &Value, path: &str, changes: &mut Vec<Value>) {
    if let (Value::Object(before), Value::Object(after)) = (before, after) {
        for (name, value) in after {
            compare(&before[name], value, &format!("{path}/{name}"), changes);
        }
    } else if before != after {
        changes.push(json!({"op": "replace", "path": path, "value": after}));
    }
}

#[test]
fn our_shop_has_orders_in_every_state_and_each_tool_succeeds_with_every_kind_of_method() {
    let Reference { data, calls, tasks, .. } = reference();
    let orders = object(&data["orders"]).values().map(|order| text(order, "status"));
    assert_eq!(orders.collect::<BTreeSet<_>>(), STATES.iter().map(|(_, theirs)| *theirs).collect());
    let calls = calls.iter().chain(tasks.iter().flat_map(|task| list(task, "calls")));
    let succeeded = calls.filter(|call| call["error"] == json!(false)).filter_map(|call| {
        let kind = call["arguments"]["payment_method_id"].as_str()?.split_once('-')?.0;
        Some((text(call, "name"), kind))
    });
    let succeeded: BTreeSet<_> = succeeded.collect();
    assert_eq!(succeeded.len(), 4 * KINDS.len(), "{succeeded:?}");
}
