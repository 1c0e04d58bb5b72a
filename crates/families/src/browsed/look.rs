//! Settings of a session about what its observations show of pages beyond the tree.

use palestra_browser::{PictureFormat, PictureSettings};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use palestra_environment::ConfigError;

/// Which setting asks for a picture with each observation.
pub(crate) const SCREENSHOT: &str = "screenshot";

/// Which setting records pictures and requests, for replays.
pub(crate) const RECORD: &str = "record";

/// View of pages beyond the tree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Look {
    /// The picture of each observation.
    pub(crate) screenshot: Option<PictureSettings>,
    /// True if each observation names the requests of its pages.
    pub(crate) requests: bool,
}

impl Look {
    /// Reads `screenshot`: true, or settings of the picture; and `record`, which asks for a picture too where none is asked for.
    ///
    /// # Errors
    /// When they are something else, or a picture cannot have these settings.
    pub(crate) fn read(config: &Map<String, Value>) -> Result<Self, ConfigError> {
        let wrong = |detail: String| ConfigError { field: Some(SCREENSHOT.to_owned()), detail };
        let requests = match config.get(RECORD) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(asked)) => *asked,
            Some(_) => {
                let detail = "record must be true or false".to_owned();
                return Err(ConfigError { field: Some(RECORD.to_owned()), detail });
            }
        };
        let screenshot = match config.get(SCREENSHOT) {
            None | Some(Value::Null | Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(PictureSettings::default()),
            Some(settings) => {
                let settings = PictureSettings::deserialize(settings)
                    .map_err(|error| wrong(format!("screenshot cannot be read, correct it: {error}")))?;
                settings.check().map_err(wrong)?;
                Some(settings)
            }
        };
        let recorded = PictureSettings { format: PictureFormat::Webp, ..PictureSettings::default() };
        Ok(Self { screenshot: screenshot.or(requests.then_some(recorded)), requests })
    }

    /// Reads them, and answers the other settings beside.
    ///
    /// # Errors
    /// As [`Look::read`].
    pub(crate) fn split(config: &Map<String, Value>) -> Result<(Self, Map<String, Value>), ConfigError> {
        let others = config.iter().filter(|(name, _)| ![SCREENSHOT, RECORD].contains(&name.as_str()));
        Ok((Self::read(config)?, others.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(config: &Value) -> Result<Look, ConfigError> {
        Look::read(config.as_object().expect("an object"))
    }

    #[test]
    fn a_picture_is_asked_for_with_or_without_settings() {
        assert_eq!(read(&json!({})), Ok(Look::default()));
        assert_eq!(read(&json!({"screenshot": false})), Ok(Look::default()));
        assert_eq!(
            read(&json!({"screenshot": true})),
            Ok(Look { screenshot: Some(PictureSettings::default()), requests: false })
        );
        let settings = PictureSettings { format: PictureFormat::Webp, scale: 0.5, marks: true, whole_page: false };
        let config = json!({"screenshot": {"format": "webp", "scale": 0.5, "marks": true}});
        assert_eq!(read(&config), Ok(Look { screenshot: Some(settings), requests: false }));
        let recorded = read(&json!({"record": true})).expect("settings");
        assert!(recorded.requests && recorded.screenshot.is_some_and(|picture| picture.format == PictureFormat::Webp));
    }

    #[test]
    fn other_settings_are_left_to_the_environment() {
        let config = json!({"screenshot": true, "record": true, "text": false});
        let (look, others) = Look::split(config.as_object().expect("an object")).expect("settings");
        assert!(look.requests && look.screenshot.is_some());
        assert_eq!(Value::Object(others), json!({"text": false}));
    }

    #[test]
    fn what_no_picture_can_have_is_refused() {
        for (config, field, why) in [
            (json!({"screenshot": 3}), "screenshot", "cannot be read"),
            (json!({"screenshot": {"scale": 5}}), "screenshot", "0.1 to 2"),
            (json!({"screenshot": {"format": "gif"}}), "screenshot", "png"),
            (json!({"screenshot": {"mark": true}}), "screenshot", "mark"),
            (json!({"record": "yes"}), "record", "true or false"),
        ] {
            let error = read(&config).expect_err("it is wrong");
            assert!(error.field.as_deref() == Some(field) && error.detail.contains(why), "{config}: {error:?}");
        }
    }
}
