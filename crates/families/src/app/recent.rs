//! A cache of the entries used most recently, up to a bound.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Values by key. When it is full, the one that was not used for the longest time makes room.
pub(super) struct Recent<K, V> {
    most: usize,
    values: HashMap<K, (u64, V)>,
    /// Keys by the time of their last use.
    order: BTreeMap<u64, K>,
    uses: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> Recent<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { most, values: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// A value, which is then the most recent one.
    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        let (used, value) = self.values.get_mut(key)?;
        self.order.remove(used);
        self.uses += 1;
        *used = self.uses;
        self.order.insert(self.uses, key.clone());
        Some(value.clone())
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        self.uses += 1;
        if let Some((used, _)) = self.values.insert(key.clone(), (self.uses, value)) {
            self.order.remove(&used);
        }
        self.order.insert(self.uses, key);
        if self.values.len() > self.most
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.values.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_makes_room() {
        let mut recent = Recent::new(2);
        recent.put("a", 1);
        recent.put("b", 2);
        assert_eq!(recent.get(&"a"), Some(1));
        recent.put("c", 3);
        assert_eq!((recent.get(&"a"), recent.get(&"b"), recent.get(&"c")), (Some(1), None, Some(3)));
        recent.put("a", 4);
        recent.put("d", 5);
        assert_eq!((recent.get(&"a"), recent.get(&"c"), recent.get(&"d")), (Some(4), None, Some(5)));
        assert_eq!((recent.values.len(), recent.order.len()), (2, 2));
    }
}
