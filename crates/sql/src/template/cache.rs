//! Cache of recent values, up to a total weight.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Things by key. What follows from its key alone may be forgotten and made again.
#[derive(Debug)]
pub(super) struct Cache<K, V> {
    kept: Mutex<Kept<K, V>>,
    room: usize,
}

#[derive(Debug)]
struct Kept<K, V> {
    entries: BTreeMap<K, Entry<V>>,
    weight: usize,
    uses: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K: Ord + Clone, V: Clone> Cache<K, V> {
    /// One that holds things up to a total weight, and always the newest.
    pub(super) fn new(room: usize) -> Self {
        Self { kept: Mutex::new(Kept { entries: BTreeMap::new(), weight: 0, uses: 0 }), room }
    }

    /// The thing of a key, made where it is not kept. `make` also says what it weighs.
    ///
    /// # Errors
    /// Whatever `make` says.
    pub(super) fn get<E>(&self, key: &K, make: impl FnOnce() -> Result<(V, usize), E>) -> Result<V, E> {
        if let Some(value) = self.kept.lock().find(key) {
            return Ok(value);
        }
        // Made without the lock: two that make the same at once make equal things.
        let (value, weight) = make()?;
        self.kept.lock().keep(key.clone(), value.clone(), weight, self.room);
        Ok(value)
    }
}

impl<K: Ord + Clone, V: Clone> Kept<K, V> {
    fn find(&mut self, key: &K) -> Option<V> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.uses;
        Some(entry.value.clone())
    }

    fn keep(&mut self, key: K, value: V, weight: usize, room: usize) {
        if let Some(old) = self.entries.remove(&key) {
            self.weight -= old.weight;
        }
        while self.weight + weight > room
            && let Some(oldest) = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone())
            && let Some(old) = self.entries.remove(&oldest)
        {
            self.weight -= old.weight;
        }
        self.weight += weight;
        self.entries.insert(key, Entry { value, weight, used: self.uses });
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn recently_used_entries_stay() {
        let cache = Cache::new(2);
        let made = std::cell::Cell::new(0);
        let get = |key: u32| {
            let make = || {
                made.set(made.get() + 1);
                Ok::<_, Infallible>((key * 10, 1))
            };
            cache.get(&key, make).expect("never fails")
        };
        assert_eq!([get(1), get(2), get(1), get(3)], [10, 20, 10, 30]);
        assert_eq!(made.get(), 3);
        get(1);
        assert_eq!(made.get(), 3, "1 was used after 2, so 2 had to go");
        get(2);
        assert_eq!(made.get(), 4);
    }
}
