//! The form of the API document: each schema is written once and named, so that generators of clients make one type of it.

use std::collections::HashMap;
use std::mem;

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";
/// Properties whose only value tells variants apart.
const TAGS: &[&str] = &["type", "kind", "is", "name"];

/// The document in its final form:
/// - bytes are `{"type": "string", "format": "binary"}`;
/// - an object of any members says so: without it, generators take it for one that must be empty;
/// - a schema that has a name is referred to, not repeated;
/// - an object joined with variants (`allOf` of an object and a `oneOf`) is written as variants of whole objects;
/// - each object that is a variant is a schema with a name;
/// - members are in alphabetical order.
pub(super) fn shape(mut api: Value) -> Value {
    binary_bodies(&mut api);
    open_objects(&mut api);
    refer(&mut api);
    join(&mut api);
    name_all_variants(&mut api);
    sorted(api)
}

fn name_all_variants(api: &mut Value) {
    let mut schemas = match api.pointer_mut("/components/schemas").map(Value::take) {
        Some(Value::Object(schemas)) => schemas,
        _ => return,
    };
    let names: Vec<String> = schemas.keys().cloned().collect();
    for name in names {
        let mut schema = schemas[&name].take();
        name_variants(&mut schema, &camel(&name), &mut schemas);
        schemas[&name] = schema;
    }
    let operations = api["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in operations.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut()) {
        let name = operation["operationId"].as_str().map(camel).unwrap_or_default();
        name_variants(operation, &name, &mut schemas);
    }
    api["components"]["schemas"] = Value::Object(schemas);
}

/// Calls `visit` for every value below this one, the outermost first.
fn walk(value: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Object(members) => members.values_mut().for_each(|member| walk(member, visit)),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

fn binary_bodies(api: &mut Value) {
    walk(api, &mut |value| {
        let media = value.get_mut("content").and_then(Value::as_object_mut);
        for media in media.into_iter().flat_map(|media| media.values_mut()) {
            if media.pointer("/schema/items/minimum").is_some() && media["schema"]["items"]["format"] == "int32" {
                media["schema"] = json!({"type": "string", "format": "binary"});
            }
        }
    });
}

fn open_objects(api: &mut Value) {
    walk(api, &mut |value| {
        let any_members = ["properties", "additionalProperties"].iter().all(|key| value.get(key).is_none());
        let object = value.get("type").is_some_and(|kind| kind == "object" || kind == &json!(["object", "null"]));
        if object && any_members {
            value["additionalProperties"] = true.into();
        }
    });
}

/// Puts references in the places of copies of named schemas. Copies come from generic types.
fn refer(api: &mut Value) {
    let Some(schemas) = api.pointer("/components/schemas").and_then(Value::as_object) else { return };
    let structured =
        |schema: &Value| ["properties", "oneOf", "anyOf", "allOf"].iter().any(|key| schema.get(key).is_some());
    let names: HashMap<String, String> = schemas
        .iter()
        .filter(|(_, schema)| structured(schema))
        .map(|(name, schema)| (schema.to_string(), name.clone()))
        .collect();
    let mut replace = |value: &mut Value| {
        if value.is_object()
            && structured(value)
            && let Some(name) = names.get(&value.to_string())
        {
            *value = json!({"$ref": format!("{SCHEMAS}{name}")});
        }
    };
    if let Some(schemas) = api.pointer_mut("/components/schemas").and_then(Value::as_object_mut) {
        let members = schemas.values_mut().filter_map(Value::as_object_mut).flat_map(|schema| schema.values_mut());
        members.for_each(|member| walk(member, &mut replace));
    }
    walk(&mut api["paths"], &mut replace);
}

/// Writes an object that is joined with a `oneOf` as a `oneOf` of whole objects.
fn join(api: &mut Value) {
    let schemas = api.pointer("/components/schemas").cloned().unwrap_or_default();
    let resolved = |part: &Value| {
        let name = part["$ref"].as_str().and_then(|reference| reference.strip_prefix(SCHEMAS));
        name.and_then(|name| schemas.get(name)).unwrap_or(part).clone()
    };
    let Some(named) = api.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else { return };
    for schema in named.values_mut() {
        let Some(parts) = schema["allOf"].as_array() else { continue };
        let (variants, objects): (Vec<Value>, Vec<Value>) =
            parts.iter().map(resolved).partition(|part| part.get("oneOf").is_some());
        let [variants] = variants.as_slice() else { continue };
        let joined: Vec<Value> = variants["oneOf"]
            .as_array()
            .into_iter()
            .flatten()
            .cloned()
            .map(|variant| {
                objects.iter().fold(variant, |mut whole, object| {
                    extend(&mut whole, object);
                    whole
                })
            })
            .collect();
        let description = schema["description"].take();
        *schema = json!({"description": description, "oneOf": joined});
    }
}

/// Adds the properties of an object to another.
fn extend(whole: &mut Value, object: &Value) {
    for (name, property) in object["properties"].as_object().into_iter().flatten() {
        whole["properties"][name] = property.clone();
    }
    let required = object["required"].as_array().into_iter().flatten().cloned();
    match whole["required"].as_array_mut() {
        Some(names) => names.extend(required),
        None => whole["required"] = required.collect(),
    }
}

/// Moves the objects that are variants below a schema to `named`, and refers to them. The name is that of the schema.
fn name_variants(schema: &mut Value, name: &str, named: &mut Map<String, Value>) {
    for (key, member) in schema.as_object_mut().into_iter().flatten() {
        match (key.as_str(), member) {
            ("oneOf" | "anyOf", Value::Array(variants)) => {
                for variant in variants {
                    let own = format!("{name}{}", camel(&variant_name(variant)));
                    name_variants(variant, &own, named);
                    if variant.get("properties").is_some() && !named.contains_key(&own) {
                        let reference = json!({"$ref": format!("{SCHEMAS}{own}")});
                        named.insert(own, mem::replace(variant, reference));
                    }
                }
            }
            ("properties", Value::Object(properties)) => {
                for (property, schema) in properties {
                    name_variants(schema, &format!("{name}{}", camel(property)), named);
                }
            }
            ("items", items) => name_variants(items, &format!("{name}Item"), named),
            (_, member) => name_variants(member, name, named),
        }
    }
}

/// The word that tells a variant from others: the value of its tag, the one property that it must have, or its type.
fn variant_name(variant: &Value) -> String {
    let tag = TAGS.iter().find_map(|tag| variant["properties"][tag]["enum"][0].as_str());
    let required = variant["required"][0].as_str();
    tag.or(required).or(variant["type"].as_str()).unwrap_or("other").to_owned()
}

/// `snake_case`, `kebab-case` or a path in `CamelCase`.
fn camel(words: &str) -> String {
    let parts = words.split(|letter: char| !letter.is_ascii_alphanumeric());
    parts.filter_map(|part| part.split_at_checked(1)).map(|(first, rest)| first.to_ascii_uppercase() + rest).collect()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(members.into_iter().map(|(name, member)| (name, sorted(member))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_become_references_and_joined_variants_whole_objects() {
        let kind =
            json!({"oneOf": [{"type": "object", "required": ["type"], "properties": {"type": {"enum": ["began"]}}}]});
        let row = json!({"type": "object", "properties": {"a": {"type": "object"}}});
        let event = json!({"allOf": [{"$ref": "#/components/schemas/Kind"},
            {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}], "description": "An event."});
        let page = json!({"type": "object", "properties": {"data": {"type": "array", "items": row}}});
        let byte = json!({"type": "integer", "format": "int32", "minimum": 0});
        let bytes = json!({"application/octet-stream": {"schema": {"type": "array", "items": byte}}});
        let api =
            shape(json!({"components": {"schemas": {"Kind": kind, "Row": row, "Event": event, "Page_Row": page}},
            "paths": {"/a": {"get": {"operationId": "get_it", "content": bytes}}}}));
        let schemas = &api["components"]["schemas"];
        assert_eq!(schemas["Page_Row"]["properties"]["data"]["items"], json!({"$ref": "#/components/schemas/Row"}));
        assert_eq!(
            schemas["Row"]["properties"]["a"],
            json!({"type": "object", "additionalProperties": true}),
            "a schema does not refer to itself"
        );
        assert_eq!(
            schemas["Event"],
            json!({"description": "An event.", "oneOf": [{"$ref": "#/components/schemas/EventBegan"}]})
        );
        assert_eq!(
            schemas["EventBegan"],
            json!({"type": "object", "required": ["type", "id"],
                "properties": {"type": {"enum": ["began"]}, "id": {"type": "string"}}})
        );
        assert_eq!(
            api.pointer("/paths/~1a/get/content/application~1octet-stream/schema/format"),
            Some(&json!("binary"))
        );
    }
}
