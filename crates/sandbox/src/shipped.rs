//! The profiles that are part of the program.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::profile::Profile;

const PROFILES: [&str; 6] = [
    include_str!("../../../sandboxes/build/profile.toml"),
    include_str!("../../../sandboxes/terminal/profile.toml"),
    include_str!("../../../sandboxes/root/profile.toml"),
    include_str!("../../../sandboxes/judge/profile.toml"),
    include_str!("../../../sandboxes/code/profile.toml"),
    include_str!("../../../sandboxes/browser/profile.toml"),
];

/// The shipped profiles by name.
///
/// # Errors
/// In words, when one cannot be read; a test holds them to that.
pub fn profiles() -> Result<BTreeMap<String, Arc<Profile>>, String> {
    PROFILES.iter().map(|text| Profile::parse(text).map(|profile| (profile.name.clone(), profile))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_profile_has_a_value_and_a_reason() {
        let profiles = profiles().expect("profiles");
        assert_eq!(profiles.keys().collect::<Vec<_>>(), ["browser", "build", "code", "judge", "root", "terminal"]);
        for (name, profile) in &profiles {
            let value = serde_json::to_value(profile.as_ref()).expect("JSON");
            let reasons = value.as_object().expect("an object").values().filter_map(|line| line.get("reason"));
            for reason in reasons {
                assert!(reason.as_str().is_some_and(|words| words.len() > 10), "{name}: {reason}");
            }
            assert!(profile.env.value.iter().any(|(name, _)| name == "PATH"), "{name} sets no PATH");
        }
    }
}
