//! Demands of tasks on sandboxes beyond their profile, and the allowance of the operator.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::profile::{Line, Network, Profile};

/// Demand of a task on its sandbox beyond the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Demand {
    /// Bytes of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Thousandths of a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_thousandths: Option<u64>,
    /// Bytes of what differs from the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// True if it would use a network. Where sandboxes have none, it is played without.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
}

/// Allowance of the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Most bytes of memory; the profile's where left out.
    pub memory_bytes_max: Option<u64>,
    /// Most thousandths of a core; the profile's where left out.
    pub cpu_thousandths_max: Option<u64>,
    /// Most bytes of what differs from the image; the profile's where left out.
    pub disk_bytes_max: Option<u64>,
    /// Which sandboxes have a network.
    pub network: NetworkAllowance,
    /// True if user 0 of sandboxes that are acted in as root has rights over their files and users, as in usual containers.
    pub root_rights: bool,
}

impl Allowance {
    /// A profile with what a task asks for beyond it.
    ///
    /// # Errors
    /// When the operator does not allow that much, in words.
    pub fn profile(&self, profile: &Profile, demand: &Demand) -> Result<Profile, String> {
        if let Some((_, why)) = demand.beyond(profile, self).into_iter().next() {
            return Err(why);
        }
        let mut profile = profile.clone();
        let lines = [
            (&mut profile.memory_bytes, demand.memory_bytes),
            (&mut profile.cpu_thousandths, demand.cpu_thousandths),
            (&mut profile.disk_bytes, demand.disk_bytes),
        ];
        for (line, asked) in lines {
            line.value = asked.unwrap_or(line.value);
        }
        // No single file needs more than half of the disk.
        profile.file_bytes.value = profile.file_bytes.value.max(profile.disk_bytes.value / 2);
        if demand.network && self.network == NetworkAllowance::All {
            profile.network.value = Network::Host;
            profile.require.retain(|line| line != "net");
        }
        Ok(profile)
    }

    /// A profile as it is used under this allowance.
    pub(crate) fn adapted(&self, profile: Arc<Profile>) -> Arc<Profile> {
        if !self.root_rights || profile.user.value.uid != 0 || profile.owns_files.is_some() {
            return profile;
        }
        let mut profile = Arc::unwrap_or_clone(profile);
        let reason = "The operator lets root own files and users inside, as containers do.".to_owned();
        profile.owns_files = Some(Line { value: true, reason });
        profile.require.retain(|line| line != "capabilities");
        Arc::new(profile)
    }
}

/// Sandboxes that may reach what this machine reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkAllowance {
    /// No sandbox.
    #[default]
    None,
    /// Those in which images of tasks are built.
    Build,
    /// Those of tasks that ask for it too.
    All,
}

/// A limit that a task may ask for.
struct Limit {
    name: &'static str,
    asked: Option<u64>,
    given: u64,
    most: Option<u64>,
    unit: u64,
    words: &'static str,
    flag: &'static str,
}

impl Demand {
    /// True if nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The limits that are asked for beyond what a profile and the operator allow, each with its name and words about it.
    #[must_use]
    pub fn beyond(&self, profile: &Profile, allowance: &Allowance) -> Vec<(&'static str, String)> {
        let limits = [
            Limit {
                name: "memory",
                asked: self.memory_bytes,
                given: profile.memory_bytes.value,
                most: allowance.memory_bytes_max,
                unit: 1 << 20,
                words: "MB of memory",
                flag: "--sandbox-memory-max",
            },
            Limit {
                name: "cores",
                asked: self.cpu_thousandths,
                given: profile.cpu_thousandths.value,
                most: allowance.cpu_thousandths_max,
                unit: 1_000,
                words: "cores",
                flag: "--sandbox-cores-max",
            },
            Limit {
                name: "disk",
                asked: self.disk_bytes,
                given: profile.disk_bytes.value,
                most: allowance.disk_bytes_max,
                unit: 1 << 20,
                words: "MB of disk",
                flag: "--sandbox-disk-max",
            },
        ];
        limits.iter().filter_map(Limit::refused).collect()
    }
}

impl Limit {
    fn refused(&self) -> Option<(&'static str, String)> {
        let most = self.most.unwrap_or(self.given).max(self.given);
        let asked = self.asked.filter(|asked| *asked > most)?;
        let number = |value: u64| value as f64 / self.unit as f64;
        let why = format!(
            "sandboxes have at most {} {}, and the task asks for {}: ask for less, or start the server with {} {}",
            number(most),
            self.words,
            number(asked),
            self.flag,
            number(asked).ceil()
        );
        Some((self.name, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;

    #[test]
    fn rights_are_given_to_roots_profiles_alone() {
        let profiles = shipped::profiles().expect("profiles");
        let allowance = Allowance { root_rights: true, ..Allowance::default() };
        let has_rights = |name: &str, allowance: &Allowance| {
            let profile = allowance.adapted(Arc::clone(&profiles[name]));
            profile.owns_files.is_some() && !profile.require.iter().any(|line| line == "capabilities")
        };
        assert!(
            has_rights("root", &allowance) && !has_rights("terminal", &allowance) && !has_rights("judge", &allowance)
        );
        assert!(!has_rights("root", &Allowance::default()));
    }

    #[test]
    fn what_is_asked_for_is_given_up_to_the_ceilings() {
        let profile = shipped::profiles().expect("profiles").remove("root").expect("there");
        let demand =
            Demand { memory_bytes: Some(4 << 30), cpu_thousandths: Some(500), network: true, ..Demand::default() };
        let refused = demand.beyond(&profile, &Allowance::default());
        assert_eq!(refused.len(), 1);
        assert!(
            refused[0].1.contains("at most 2048 MB of memory") && refused[0].1.contains("--sandbox-memory-max 4096")
        );
        assert!(Allowance::default().profile(&profile, &demand).is_err());
        let mut allowance = Allowance { memory_bytes_max: Some(8 << 30), ..Allowance::default() };
        let adapted = allowance.profile(&profile, &demand).expect("allowed");
        assert_eq!((adapted.memory_bytes.value, adapted.cpu_thousandths.value), (4 << 30, 500));
        assert_eq!(adapted.network.value, Network::None);
        allowance.network = NetworkAllowance::All;
        let adapted = allowance.profile(&profile, &demand).expect("allowed");
        assert_eq!(adapted.network.value, Network::Host);
        assert!(!adapted.require.iter().any(|line| line == "net"));
        assert_eq!(allowance.profile(&profile, &Demand::default()).as_ref(), Ok(profile.as_ref()));
    }
}
