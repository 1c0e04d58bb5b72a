//! Compose files beside a container file: one service is played as a container, several are not.

use std::collections::BTreeMap;

use serde_json::Value;

/// The one service of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Service {
    /// Image that it names.
    pub(super) image: Option<String>,
    /// Its environment, without what is taken from the host.
    pub(super) env: BTreeMap<String, String>,
    /// Where it starts.
    pub(super) folder: Option<String>,
}

/// Reads a file.
///
/// # Errors
/// In words, when it cannot be read or has several services.
pub(super) fn parse(text: &str) -> Result<Service, String> {
    let file: Value =
        palestra_yaml::read(text).map_err(|error| format!("the compose file must be readable YAML: {error}"))?;
    let services: Vec<(&String, &Value)> = file["services"].as_object().into_iter().flatten().collect();
    let [(_, service)] = services.as_slice() else {
        let names: Vec<&str> = services.iter().map(|(name, _)| name.as_str()).collect();
        return Err(match names.as_slice() {
            [] => "the compose file must have a service".to_owned(),
            names => format!("several services ({}) are not supported: use one container", names.join(", ")),
        });
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    // What is taken from the host is for the harness that the file was written for.
    let own = |(name, value): (String, String)| (!value.contains('$')).then_some((name, value));
    let env: BTreeMap<String, String> = match &service["environment"] {
        Value::Object(map) => map.iter().filter_map(|(name, value)| own((name.clone(), plain(value)?))).collect(),
        Value::Array(list) => list
            .iter()
            .filter_map(|line| line.as_str()?.split_once('='))
            .filter_map(|(name, value)| own((name.to_owned(), value.to_owned())))
            .collect(),
        _ => BTreeMap::new(),
    };
    let image = text(&service["image"]).filter(|image| !image.contains('$'));
    Ok(Service { image, env, folder: text(&service["working_dir"]) })
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_service_is_read_and_several_are_named() {
        let text = "services:\n  client:\n    build: .\n    image: ${NAME}\n    working_dir: /app\n    environment: [TEST_DIR=/tests, \"X=${X}\"]\n";
        let service = parse(text).expect("read");
        assert_eq!((service.image, service.folder.as_deref()), (None, Some("/app")));
        assert_eq!(service.env, [("TEST_DIR".to_owned(), "/tests".to_owned())].into());
        assert_eq!(parse("services: {main: {image: own}}").expect("read").image.as_deref(), Some("own"));
        assert!(parse("services: {a: {}, db: {}}").is_err_and(|why| why.contains("a, db")));
        assert!(parse("services: {}").is_err());
    }
}
