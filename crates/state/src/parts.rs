//! The digest of a large object: a trie over its keys, so that an edit hashes one path of it again.

use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};

use crate::Digest;

/// Most members of an object, or of a part of one, that are hashed together.
pub(crate) const TOGETHER_MAX: usize = 32;

/// Parts of a branch, told apart by four bits of a key's digest.
const BRANCHES: usize = 16;

const TAG_LEAF: u8 = b'l';
const TAG_BRANCH: u8 = b'b';

/// A member by the digests of its key and of its value.
type Member = (Digest, Digest);

/// Members whose keys' digests begin alike. Its shape follows from which keys there are, not from how they came.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Few members, in the order of their keys' digests.
    Leaf(Arc<Leaf>),
    /// Many members, by the next four bits of their keys' digests.
    Branch(Arc<Branch>),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Leaf {
    members: Vec<Member>,
    digest: OnceLock<Digest>,
}

#[derive(Debug, Clone)]
pub(crate) struct Branch {
    parts: [Part; BRANCHES],
    members: usize,
    digest: OnceLock<Digest>,
}

impl Default for Part {
    fn default() -> Self {
        Self::Leaf(Arc::default())
    }
}

impl Part {
    /// The digest of the members.
    pub(crate) fn digest(&self) -> Digest {
        match self {
            Self::Leaf(leaf) => *leaf.digest.get_or_init(|| {
                let mut hasher = Sha256::new_with_prefix([TAG_LEAF]);
                for (key, value) in &leaf.members {
                    hasher.update(key.0);
                    hasher.update(value.0);
                }
                Digest(hasher.finalize().into())
            }),
            Self::Branch(branch) => *branch.digest.get_or_init(|| {
                let mut hasher = Sha256::new_with_prefix([TAG_BRANCH]);
                for part in &branch.parts {
                    hasher.update(part.digest().0);
                }
                Digest(hasher.finalize().into())
            }),
        }
    }

    /// Adds a member of the whole, or gives it another value.
    pub(crate) fn insert(&mut self, key: Digest, value: Digest) {
        self.insert_below(key, value, 0);
    }

    /// Takes a member of the whole away, if it is there.
    pub(crate) fn remove(&mut self, key: &Digest) {
        self.remove_below(key, 0);
    }

    fn insert_below(&mut self, key: Digest, value: Digest, depth: usize) {
        match self {
            Self::Leaf(leaf) => {
                let leaf = Arc::make_mut(leaf);
                leaf.digest = OnceLock::new();
                match leaf.members.binary_search_by(|(known, _)| known.0.cmp(&key.0)) {
                    Ok(place) => leaf.members[place].1 = value,
                    Err(place) => leaf.members.insert(place, (key, value)),
                }
                // Digests of different keys differ somewhere: no branch is deeper than they are long.
                if leaf.members.len() > TOGETHER_MAX {
                    *self = Self::split(std::mem::take(&mut leaf.members), depth);
                }
            }
            Self::Branch(branch) => {
                let branch = Arc::make_mut(branch);
                branch.digest = OnceLock::new();
                let part = &mut branch.parts[nibble(&key, depth)];
                let before = part.len();
                part.insert_below(key, value, depth + 1);
                branch.members = branch.members - before + part.len();
            }
        }
    }

    fn remove_below(&mut self, key: &Digest, depth: usize) {
        match self {
            Self::Leaf(leaf) => {
                let found = leaf.members.binary_search_by(|(known, _)| known.0.cmp(&key.0));
                if let Ok(place) = found {
                    let leaf = Arc::make_mut(leaf);
                    leaf.digest = OnceLock::new();
                    leaf.members.remove(place);
                }
            }
            Self::Branch(branch) => {
                let branch = Arc::make_mut(branch);
                branch.digest = OnceLock::new();
                let part = &mut branch.parts[nibble(key, depth)];
                let before = part.len();
                part.remove_below(key, depth + 1);
                branch.members = branch.members - before + part.len();
                if branch.members <= TOGETHER_MAX {
                    let mut members = Vec::with_capacity(TOGETHER_MAX);
                    self.collect(&mut members);
                    *self = Self::Leaf(Arc::new(Leaf { members, digest: OnceLock::new() }));
                }
            }
        }
    }

    /// A branch of members in order; branches below it where they begin alike.
    fn split(members: Vec<Member>, depth: usize) -> Self {
        let count = members.len();
        let mut parts: [Vec<Member>; BRANCHES] = Default::default();
        for member in members {
            parts[nibble(&member.0, depth)].push(member);
        }
        let parts = parts.map(|members| match members.len() {
            0..=TOGETHER_MAX => Self::Leaf(Arc::new(Leaf { members, digest: OnceLock::new() })),
            _ => Self::split(members, depth + 1),
        });
        Self::Branch(Arc::new(Branch { parts, members: count, digest: OnceLock::new() }))
    }

    fn len(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.members.len(),
            Self::Branch(branch) => branch.members,
        }
    }

    fn collect(&self, members: &mut Vec<Member>) {
        match self {
            Self::Leaf(leaf) => members.extend_from_slice(&leaf.members),
            Self::Branch(branch) => branch.parts.iter().for_each(|part| part.collect(members)),
        }
    }
}

/// Four bits of a digest, the high ones of each byte first.
fn nibble(digest: &Digest, depth: usize) -> usize {
    let byte = digest.0[depth / 2];
    usize::from(if depth.is_multiple_of(2) { byte >> 4 } else { byte & 0x0f })
}

impl FromIterator<Member> for Part {
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Self {
        let mut members: Vec<Member> = members.into_iter().collect();
        members.sort_unstable_by_key(|(key, _)| key.0);
        match members.len() {
            0..=TOGETHER_MAX => Self::Leaf(Arc::new(Leaf { members, digest: OnceLock::new() })),
            _ => Self::split(members, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(number: u32) -> Member {
        (Digest::of(&number.to_be_bytes()), Digest::of(b"value"))
    }

    fn leaves(part: &Part) -> Vec<Arc<Leaf>> {
        match part {
            Part::Leaf(leaf) => vec![Arc::clone(leaf)],
            Part::Branch(branch) => branch.parts.iter().flat_map(leaves).collect(),
        }
    }

    #[test]
    fn an_edit_leaves_all_but_one_leaf_as_they_are() {
        let before: Part = (0..1_000).map(member).collect();
        let mut after = before.clone();
        after.insert(member(7).0, Digest::of(b"another value"));
        let (old, new) = (leaves(&before), leaves(&after));
        let changed = old.iter().zip(&new).filter(|(old, new)| !Arc::ptr_eq(old, new)).count();
        assert_eq!((old.len(), new.len(), changed), (old.len(), old.len(), 1));
        assert_ne!(before.digest(), after.digest());
    }

    #[test]
    fn one_member_more_makes_a_branch_and_one_less_a_leaf() {
        let few = u32::try_from(TOGETHER_MAX).expect("a small number");
        let mut part: Part = (0..few).map(member).collect();
        let digest = part.digest();
        assert!(matches!(part, Part::Leaf(_)));
        part.insert(member(few).0, member(few).1);
        assert!(matches!(part, Part::Branch(_)));
        assert_eq!(part.len(), TOGETHER_MAX + 1);
        part.remove(&member(few).0);
        part.remove(&member(few).0);
        assert!(matches!(part, Part::Leaf(_)));
        assert_eq!((part.len(), part.digest()), (TOGETHER_MAX, digest));
    }
}
