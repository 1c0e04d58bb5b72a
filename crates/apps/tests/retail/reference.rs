//! A reference: the documents of a back office, the calls there, and the patches that they come to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::own;

/// A back office, and the answers of its tools.
pub(crate) struct Reference {
    /// The initial data, with optional fields that are absent read as null.
    pub(crate) data: Value,
    /// One line per task.
    pub(crate) tasks: Vec<Value>,
    /// The tasks as users have them: their words, and the calls that are wanted.
    pub(crate) scenarios: Vec<Value>,
    /// Policy for the agent.
    pub(crate) policy: String,
    /// Single calls on the initial data.
    pub(crate) calls: Vec<Value>,
    /// `db.json`.
    text: String,
    /// Where the members of an object stand in that file, for those named by an id.
    places: BTreeMap<String, usize>,
}

/// Fields that an order has only after some action.
const OPTIONAL: [&str; 7] = [
    "cancel_reason",
    "exchange_items",
    "exchange_new_items",
    "exchange_payment_method_id",
    "exchange_price_difference",
    "return_items",
    "return_payment_method_id",
];

impl Reference {
    /// Our own, and that of the files.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        std::iter::once(own::reference()).chain(Self::load())
    }

    /// The files; `None`, said aloud, where they are not there.
    fn load() -> Option<Self> {
        let folder = palestra_test_support::data("tau2-retail")?;
        let lines = |name: &str| -> Vec<Value> {
            read(&folder, name).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
        };
        Some(Self {
            tasks: lines("expected.jsonl"),
            calls: lines("calls.jsonl"),
            scenarios: serde_json::from_str(&read(&folder, "tasks.json")).expect("the tasks are JSON"),
            policy: read(&folder, "policy.md"),
            ..Self::of(read(&folder, "db.json"))
        })
    }

    /// Data alone, from the text of such a file.
    pub(crate) fn of(text: String) -> Self {
        let mut data: Value = serde_json::from_str(&text).expect("the data is JSON");
        for order in object_mut(&mut data["orders"]).values_mut() {
            for field in OPTIONAL {
                object_mut(order).entry(field).or_insert(Value::Null);
            }
        }
        let (tasks, calls, scenarios) = (Vec::new(), Vec::new(), Vec::new());
        Self { data, tasks, calls, scenarios, policy: String::new(), places: places(&text), text }
    }

    /// Where a member with this name stands in the file.
    pub(crate) fn place(&self, name: &str) -> usize {
        self.places.get(name).copied().unwrap_or(usize::MAX)
    }

    /// The names of options in the order of the file: of a variant, or of the item at a line of an order.
    pub(crate) fn option_names(&self, id: &str, line: usize) -> Vec<&str> {
        let options = self.text.get(self.place(id)..).and_then(|text| text.split("\"options\"").nth(line + 1));
        let options = options.and_then(|options| options.split('}').next()).unwrap_or_default();
        options.split('"').skip(1).step_by(4).collect()
    }

    /// The users whose data or orders a patch changes. No patch changes a product.
    pub(crate) fn touched<'p>(&'p self, patch: &'p Value) -> BTreeSet<&'p str> {
        let changes = patch.as_array().expect("a patch is a list").iter();
        let users = changes.map(|change| match text(change, "path").split('/').collect::<Vec<_>>()[..] {
            ["", "users", user, ..] => user,
            ["", "orders", order, ..] => text(&self.data["orders"][order], "user_id"),
            _ => panic!("a patch changes something else: {change}"),
        });
        users.collect()
    }

    /// The initial data with these users and their orders alone.
    pub(crate) fn of_users(&self, users: &BTreeSet<&str>) -> Value {
        let kept = |part: &str, user: &str| -> Map<String, Value> {
            let members = object(&self.data[part]).iter().filter(|(_, member)| users.contains(text(member, user)));
            members.map(|(id, member)| (id.clone(), member.clone())).collect()
        };
        json!({"products": self.data["products"], "users": kept("users", "user_id"), "orders": kept("orders", "user_id")})
    }

    /// The initial data of these users after a patch.
    pub(crate) fn patched(&self, users: &BTreeSet<&str>, patch: &Value) -> Value {
        let mut data = self.of_users(users);
        for change in patch.as_array().expect("a patch is a list") {
            let path = text(change, "path");
            match text(change, "op") {
                "replace" => *data.pointer_mut(path).expect("what is replaced exists") = change["value"].clone(),
                "add" => {
                    let (parent, name) = path.rsplit_once('/').expect("a path");
                    let name = name.replace("~1", "/").replace("~0", "~");
                    let parent = data.pointer_mut(parent).expect("what is added to exists");
                    object_mut(parent).insert(name, change["value"].clone());
                }
                other => panic!("a patch does {other}"),
            }
        }
        data
    }
}

/// The text at a member.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("no text {name} in {value}"))
}

/// The elements at a member.
pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value}"))
}

/// The members of an object.
pub(crate) fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}"))
}

fn object_mut(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().expect("an object")
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The place of the first member with each name whose value is an object.
fn places(text: &str) -> BTreeMap<String, usize> {
    let mut places = BTreeMap::new();
    for (place, _) in text.match_indices('{') {
        let before = text[..place].trim_end().strip_suffix(':').map(str::trim_end);
        let name = before.and_then(|before| before.strip_suffix('"')).and_then(|before| before.rsplit('"').next());
        if let Some(name) = name {
            places.entry(name.to_owned()).or_insert(place);
        }
    }
    places
}
