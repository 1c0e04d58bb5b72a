//! The filter of system calls: compiled from `sandboxes/seccomp.toml` for the machine that the server runs on.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, TargetArch};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::profile::Profile;

const LIST: &str = include_str!("../../../sandboxes/seccomp.toml");
/// `clone3` has the same number on every architecture.
const CLONE3: u32 = 435;
/// Filters of the kernel: load a word, jump if equal, return.
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const RETURN_ENOSYS: u32 = 0x0005_0000 | 38;
const RETURN_EAFNOSUPPORT: u32 = 0x0005_0000 | 97;
/// Numbers of `socket`.
const SOCKET: u32 = 198;
const SOCKET_X86_64: u32 = 41;
/// Where the lower halves of a call's arguments lie.
const FIRST_ARGUMENT: u32 = 16;
const THIRD_ARGUMENT: u32 = 32;
/// Arguments of a socket to the kernel's audit.
const NETLINK: u32 = 16;
const NETLINK_AUDIT: u32 = 9;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    allow: Vec<Group>,
}

/// Calls that are allowed for one reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    reason: String,
    names: Vec<String>,
    /// The architecture that has these calls; all where left out.
    only: Option<String>,
    /// True if the agent must run under another user id than commands.
    #[serde(default)]
    other_uid: bool,
    /// True if the profile's programs must be ones that make namespaces of their own.
    #[serde(default)]
    namespaces: bool,
    /// Allowed values of the first argument.
    first_is: Option<Vec<u32>>,
    /// Bits that the first argument must not have.
    first_lacks: Option<u64>,
    /// Refused values of the second argument.
    #[serde(default)]
    second_is_not: Vec<u32>,
    /// Required value of the third argument.
    third_is: Option<u32>,
}

impl Group {
    /// Rules as the compiler reads them: a call is allowed when one of its rules fits.
    fn rules(&self) -> Vec<Value> {
        let alternatives = self.alternatives();
        let rule = |name: &String, conditions: &Vec<Value>| match conditions.as_slice() {
            [] => json!({"syscall": name}),
            conditions => json!({"syscall": name, "args": conditions}),
        };
        self.names.iter().flat_map(|name| alternatives.iter().map(move |conditions| rule(name, conditions))).collect()
    }

    /// Lists of conditions; a call is allowed when all of one list hold. Values are compared by their lower 32 bits, which is what
    /// the kernel looks at in these calls.
    fn alternatives(&self) -> Vec<Vec<Value>> {
        let compare =
            |index: u8, op: &str, value: u32| json!({"index": index, "type": "dword", "op": op, "val": value});
        let mut always = Vec::new();
        if let Some(bits) = self.first_lacks {
            always.push(json!({"index": 0, "type": "qword", "op": {"masked_eq": bits}, "val": 0}));
        }
        always.extend(self.second_is_not.iter().map(|value| compare(1, "ne", *value)));
        always.extend(self.third_is.map(|value| compare(2, "eq", value)));
        match &self.first_is {
            Some(values) => {
                values.iter().map(|value| [vec![compare(0, "eq", *value)], always.clone()].concat()).collect()
            }
            None => vec![always],
        }
    }

    /// True if it says something of arguments: such groups may share a call.
    fn looks_at_arguments(&self) -> bool {
        self.alternatives().iter().all(|conditions| !conditions.is_empty())
    }
}

/// Filters of a back end.
#[derive(Debug, Clone)]
pub struct Filters {
    plain: Vec<u64>,
    with_namespaces: Vec<u64>,
}

impl Filters {
    /// Compiles them. `other_uid` says whether commands run under another user id than the agent.
    ///
    /// # Errors
    /// In words: when the list cannot be read or names a call twice or one that this architecture lacks. A test holds the shipped list
    /// to that.
    pub fn new(other_uid: bool) -> Result<Self, String> {
        let program = |namespaces| compile(LIST, std::env::consts::ARCH, Given { other_uid, namespaces });
        Ok(Self { plain: program(false)?, with_namespaces: program(true)? })
    }

    /// The program that an agent loads for a profile, as [`crate::wire::Setup::seccomp`] carries it.
    #[must_use]
    pub fn of(&self, profile: &Profile) -> Vec<u64> {
        let namespaces = profile.namespaces.as_ref().is_some_and(|line| line.value);
        if namespaces { self.with_namespaces.clone() } else { self.plain.clone() }
    }
}

/// Groups that are given beside those for everybody.
#[derive(Debug, Clone, Copy, Default)]
struct Given {
    other_uid: bool,
    namespaces: bool,
}

fn compile(list: &str, architecture: &str, given: Given) -> Result<Vec<u64>, String> {
    let list: List = toml::from_str(list).map_err(|error| error.to_string())?;
    let target = TargetArch::try_from(architecture).map_err(|error| error.to_string())?;
    let mut seen = BTreeMap::new();
    let mut rules = Vec::new();
    for group in &list.allow {
        if group.reason.trim().is_empty() {
            return Err(format!("{:?} are allowed without a reason: write one", group.names));
        }
        for name in &group.names {
            let before = seen.insert(name.clone(), group.looks_at_arguments());
            if before.is_some_and(|looked| !looked || !group.looks_at_arguments()) {
                return Err(format!("{name} is listed twice: list it once"));
            }
        }
        let here = group.only.as_deref().is_none_or(|only| only == architecture);
        let is_given = (given.other_uid || !group.other_uid) && (given.namespaces || !group.namespaces);
        if here && is_given {
            rules.extend(group.rules());
        }
    }
    let filter =
        json!({"calls": {"mismatch_action": {"errno": 1}, "match_action": "allow", "filter": rules}}).to_string();
    let mut compiled = seccompiler::compile_from_json(filter.as_bytes(), target).map_err(|error| error.to_string())?;
    let program = compiled.remove("calls").unwrap_or_default();
    let socket = if architecture == "x86_64" { SOCKET_X86_64 } else { SOCKET };
    Ok(with_absent_calls(&program, socket))
}

/// The filter behind some calls that are answered as if the kernel lacked them, since it has one answer only for what it refuses: some
/// programs go on where the kernel lacks something, and give up where it is forbidden.
fn with_absent_calls(program: &BpfProgram, socket: u32) -> Vec<u64> {
    let first = [
        (LOAD_WORD, 0, 0, 0),
        (JUMP_IF_EQUAL, 0, 1, CLONE3),
        (RETURN, 0, 0, RETURN_ENOSYS),
        // Tools that add users want to say so to the kernel's audit, where there is one.
        (JUMP_IF_EQUAL, 0, 5, socket),
        (LOAD_WORD, 0, 0, FIRST_ARGUMENT),
        (JUMP_IF_EQUAL, 0, 3, NETLINK),
        (LOAD_WORD, 0, 0, THIRD_ARGUMENT),
        (JUMP_IF_EQUAL, 0, 1, NETLINK_AUDIT),
        (RETURN, 0, 0, RETURN_EAFNOSUPPORT),
    ];
    let rest = program.iter().map(|line| (line.code, line.jt, line.jf, line.k));
    let word = |(code, jt, jf, k): (u16, u8, u8, u32)| {
        u64::from(code) << 48 | u64::from(jt) << 40 | u64::from(jf) << 32 | u64::from(k)
    };
    first.into_iter().chain(rest).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verdict of the kernel's machine for filters, for the instructions that the compiler uses.
    fn answer(program: &[u64], number: u32, first: u64) -> u32 {
        answer_to_all(program, number, [first, 0, 0])
    }

    fn answer_to_all(program: &[u64], number: u32, arguments: [u64; 3]) -> u32 {
        let mut data = [0_u8; 64];
        data[..4].copy_from_slice(&number.to_le_bytes());
        data[4..8].copy_from_slice(&0xc000_003e_u32.to_le_bytes());
        for (place, argument) in data[16..40].chunks_exact_mut(8).zip(arguments) {
            place.copy_from_slice(&argument.to_le_bytes());
        }
        let (mut at, mut accumulator) = (0, 0_u32);
        loop {
            let word = program[at];
            let [jt, jf] =
                [(word >> 40) & 0xff, (word >> 32) & 0xff].map(|jump| usize::try_from(jump).expect("a byte"));
            let k = u32::try_from(word & 0xffff_ffff).expect("32 bits");
            at += 1;
            let taken = match word >> 48 {
                0x20 => {
                    let offset = usize::try_from(k).expect("an offset");
                    accumulator = u32::from_le_bytes(data[offset..offset + 4].try_into().expect("four bytes"));
                    continue;
                }
                0x54 => {
                    accumulator &= k;
                    continue;
                }
                0x05 => {
                    at += usize::try_from(k).expect("a jump");
                    continue;
                }
                0x06 => return k,
                0x15 => accumulator == k,
                0x25 => accumulator > k,
                0x35 => accumulator >= k,
                other => panic!("instruction {other:#x}"),
            };
            at += if taken { jt } else { jf };
        }
    }

    const ALLOW: u32 = 0x7fff_0000;
    const EPERM: u32 = 0x0005_0001;

    #[test]
    fn the_shipped_list_compiles_for_every_architecture() {
        for architecture in ["x86_64", "aarch64"] {
            for (other_uid, namespaces) in [(true, true), (true, false), (false, true), (false, false)] {
                let program = compile(LIST, architecture, Given { other_uid, namespaces }).expect("a program");
                assert!((100..4_096).contains(&program.len()), "{} instructions", program.len());
            }
        }
    }

    #[test]
    fn ordinary_calls_pass_and_others_do_not() {
        let program = compile(LIST, "x86_64", Given::default()).expect("a program");
        for (name, number, first, expected) in [
            ("read", 0, 0, ALLOW),
            ("execve", 59, 0, ALLOW),
            ("clone of a process", 56, 17, ALLOW),
            ("clone of a thread", 56, 0x003d_0f00, ALLOW),
            ("clone with a user namespace", 56, 0x1000_0011, EPERM),
            ("clone with a mount namespace", 56, 0x0002_0011, EPERM),
            ("clone3", 435, 0, RETURN_ENOSYS),
            ("unix socket", 41, 1, ALLOW),
            ("netlink socket", 41, 16, ALLOW),
            ("packet socket", 41, 17, EPERM),
            ("vsock", 41, 40, EPERM),
            ("ptrace", 101, 0, EPERM),
            ("mount", 165, 0, EPERM),
            ("unshare", 272, 0, EPERM),
            ("setns", 308, 0, EPERM),
            ("bpf", 321, 0, EPERM),
            ("userfaultfd", 323, 0, EPERM),
            ("io_uring_setup", 425, 0, EPERM),
            ("keyctl", 250, 0, EPERM),
            ("perf_event_open", 298, 0, EPERM),
            ("a call of the 32-bit pointer kind", 0x4000_0000, 0, EPERM),
            ("a call of the future", 9_999, 0, EPERM),
        ] {
            assert_eq!(answer(&program, number, first), expected, "{name}");
        }
        let with_debuggers = compile(LIST, "x86_64", Given { other_uid: true, ..Given::default() }).expect("a program");
        assert_eq!(answer(&with_debuggers, 101, 0), ALLOW, "ptrace");
    }

    #[test]
    fn browsers_make_some_namespaces_and_others_stay_closed() {
        let program = compile(LIST, "x86_64", Given { namespaces: true, ..Given::default() }).expect("a program");
        for (name, number, first, expected) in [
            ("clone of a process", 56, 17, ALLOW),
            ("clone with user, pid and network namespaces", 56, 0x7000_0011, ALLOW),
            ("unshare of a user namespace", 272, 0x1000_0000, ALLOW),
            ("clone with a mount namespace", 56, 0x1002_0011, EPERM),
            ("unshare of a mount namespace", 272, 0x0002_0000, EPERM),
            ("unshare of a cgroup namespace", 272, 0x0200_0000, EPERM),
            ("mount", 165, 0, EPERM),
            ("setns", 308, 0, EPERM),
        ] {
            assert_eq!(answer(&program, number, first), expected, "{name}");
        }
    }

    #[test]
    fn calls_are_told_apart_by_what_they_ask_for() {
        let program = compile(LIST, "x86_64", Given { other_uid: true, ..Given::default() }).expect("a program");
        let high = 1_u64 << 40;
        for (name, number, arguments, expected) in [
            ("size of a terminal", 16, [0, 0x5413, 0], ALLOW),
            ("typing into a terminal", 16, [0, 0x5412, 0], EPERM),
            ("the same with bits that the kernel does not look at", 16, [0, 0x5412 | high, 0], EPERM),
            ("the console's selection", 16, [0, 0x541c, 0], EPERM),
            ("routes by netlink", 41, [16, 3, 0], ALLOW),
            ("filters by netlink", 41, [16, 3, 12], EPERM),
            ("audit by netlink, as if the kernel had none", 41, [16, 3, 9], RETURN_EAFNOSUPPORT),
            ("TCP", 41, [2, 1, 6], ALLOW),
            ("asking for the personality", 135, [0xffff_ffff, 0, 0], ALLOW),
            ("memory that is all executable", 135, [0x0040_0000, 0, 0], EPERM),
        ] {
            assert_eq!(answer_to_all(&program, number, arguments), expected, "{name}");
        }
    }

    #[test]
    fn a_list_with_a_mistake_does_not_compile() {
        for (list, why) in [
            ("[[allow]]\nreason = \"x\"\nnames = [\"raed\"]", "raed"),
            ("[[allow]]\nreason = \"x\"\nnames = [\"read\", \"read\"]", "twice"),
            (
                "[[allow]]\nreason = \"x\"\nnames = [\"read\"]\n[[allow]]\nreason = \"x\"\nnames = [\"read\"]\nthird_is = 1",
                "twice",
            ),
            ("[[allow]]\nreason = \" \"\nnames = [\"read\"]", "without a reason"),
        ] {
            let refused = compile(list, "x86_64", Given::default()).expect_err("refused");
            assert!(refused.contains(why), "{refused}");
        }
    }
}
