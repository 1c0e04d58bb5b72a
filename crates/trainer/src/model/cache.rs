//! Keys and values of tokens that were read, so that no token is read twice.

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::config::TransformerConfig;
use crate::failure::TrainerError;

/// Least number of tokens that slots have room for.
const TOKENS_MIN: usize = 64;

/// Keys and values of some sequences: per layer `[slots, kv_heads, tokens, head_dim]` each, which grow with what is played.
#[derive(Debug)]
pub struct Cache {
    pub(super) layers: Vec<LayerCache>,
    lengths: Vec<usize>,
    capacity: usize,
}

impl Cache {
    pub(super) fn new(config: &TransformerConfig, slots: usize, capacity: usize, device: &Device) -> Self {
        let shape = [slots.min(1), config.kv_heads, capacity.min(TOKENS_MIN), config.head_dim];
        let layer = || LayerCache { keys: Tensor::zeros(shape, device), values: Tensor::zeros(shape, device) };
        Self { layers: (0..config.layers).map(|_| layer()).collect(), lengths: vec![0; slots], capacity }
    }

    /// Tokens that a slot holds; 0 where there is no such slot.
    pub fn length(&self, slot: usize) -> usize {
        self.lengths.get(slot).copied().unwrap_or(0)
    }

    /// Tokens that a slot can hold.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of sequences that it can hold.
    pub const fn slots(&self) -> usize {
        self.lengths.len()
    }

    /// Forgets what a slot holds.
    pub fn clear(&mut self, slot: usize) {
        if let Some(length) = self.lengths.get_mut(slot) {
            // What stays in memory lies behind the length and is masked.
            *length = 0;
        }
    }

    /// Checks what is to be appended, and says where it goes.
    ///
    /// # Errors
    /// `Internal` where rows are empty, slots repeat or do not exist, or a slot's capacity is exceeded.
    pub(super) fn plan(&self, slots: &[usize], counts: &[usize], device: &Device) -> Result<Appended, TrainerError> {
        let refused = |detail: String| Err(TrainerError::Internal(detail));
        if slots.is_empty() || slots.len() != counts.len() {
            return refused(format!("{} rows of tokens for {} slots of the cache", counts.len(), slots.len()));
        }
        let mut rows = Vec::with_capacity(slots.len());
        for (slot, count) in slots.iter().zip(counts) {
            let Some(start) = self.lengths.get(*slot) else {
                return refused(format!("the cache has {} slots, none with the number {slot}", self.slots()));
            };
            if *count == 0 || start + count > self.capacity {
                let capacity = self.capacity;
                return refused(format!("slot {slot} holds {start} of {capacity} tokens and cannot take {count} more"));
            }
            rows.push(Row { slot: *slot, start: *start, count: *count });
        }
        let mut sorted = slots.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return refused("a slot of the cache stands twice in one call".to_owned());
        }
        let seen = rows.iter().map(|row| row.start + row.count).max().unwrap_or(0);
        let time = counts.iter().copied().max().unwrap_or(0);
        let consecutive = slots.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let selected = (!consecutive).then(|| {
            let slots: Vec<i64> = slots.iter().map(|slot| *slot as i64).collect();
            Tensor::from_data(TensorData::new(slots, [rows.len()]), device)
        });
        Ok(Appended { rows, seen, time, selected })
    }

    /// Makes room for what is appended: twice as much as before where there is too little, so that each token is copied a few times at most.
    pub(super) fn reserve(&mut self, appended: &Appended) {
        let Some([slots, kv_heads, tokens, head_dim]) = self.layers.first().map(|layer| layer.keys.dims()) else {
            return;
        };
        let wanted = appended.rows.iter().map(|row| row.slot + 1).max().unwrap_or(0);
        if wanted <= slots && appended.seen <= tokens {
            return;
        }
        let grown =
            |now: usize, wanted: usize, most: usize| if wanted <= now { now } else { wanted.max(2 * now).min(most) };
        let slots = grown(slots, wanted, self.lengths.len());
        let tokens = grown(tokens, appended.seen, self.capacity);
        for layer in &mut self.layers {
            for held in [&mut layer.keys, &mut layer.values] {
                held.inplace(|held| {
                    let place = held.dims().map(|length| 0..length);
                    Tensor::zeros([slots, kv_heads, tokens, head_dim], &held.device()).slice_assign(place, held)
                });
            }
        }
    }

    /// Counts what was appended.
    pub(super) fn grow(&mut self, appended: &Appended) {
        for row in &appended.rows {
            if let Some(length) = self.lengths.get_mut(row.slot) {
                *length = row.start + row.count;
            }
        }
    }
}

/// Where new tokens go.
#[derive(Debug)]
pub(super) struct Appended {
    pub(super) rows: Vec<Row>,
    /// Most tokens that any of these rows holds afterwards.
    pub(super) seen: usize,
    /// Most new tokens of a row; shorter rows are padded at the right.
    pub(super) time: usize,
    /// The slots, where they do not follow each other.
    selected: Option<Tensor<1, Int>>,
}

/// New tokens of one slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    slot: usize,
    pub(super) start: usize,
    pub(super) count: usize,
}

/// Keys and values of one layer.
#[derive(Debug)]
pub(super) struct LayerCache {
    keys: Tensor<4>,
    values: Tensor<4>,
}

impl LayerCache {
    /// Writes `[rows, kv_heads, time, head_dim]`, without the padding. In place: no other handle of the tensor lives.
    pub(super) fn write(&mut self, keys: &Tensor<4>, values: &Tensor<4>, appended: &Appended) {
        for (index, row) in appended.rows.iter().enumerate() {
            for (held, new) in [(&mut self.keys, keys), (&mut self.values, values)] {
                let [_, kv_heads, _, head_dim] = new.dims();
                let new = new.clone().slice([index..index + 1, 0..kv_heads, 0..row.count, 0..head_dim]);
                let target = [row.slot..row.slot + 1, 0..kv_heads, row.start..row.start + row.count, 0..head_dim];
                held.inplace(|held| held.slice_assign(target, new));
            }
        }
    }

    /// Keys and values of the rows, `[rows, kv_heads, seen, head_dim]`: without a copy where slots follow each other.
    pub(super) fn read(&self, appended: &Appended) -> (Tensor<4>, Tensor<4>) {
        let read = |held: &Tensor<4>| {
            let [_, kv_heads, _, head_dim] = held.dims();
            let seen = 0..appended.seen;
            match (&appended.selected, appended.rows.first()) {
                (None, Some(first)) => {
                    let slots = first.slot..first.slot + appended.rows.len();
                    held.clone().slice([slots, 0..kv_heads, seen, 0..head_dim])
                }
                (Some(selected), _) => {
                    let [slots, ..] = held.dims();
                    held.clone().slice([0..slots, 0..kv_heads, seen, 0..head_dim]).select(0, selected.clone())
                }
                (None, None) => held.clone(),
            }
        };
        (read(&self.keys), read(&self.values))
    }
}
