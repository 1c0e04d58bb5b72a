//! The rules of a crossing, and its shortest plan.

/// Some of the passengers: bit `i` stands for passenger `i`.
pub(super) type Group = u16;

/// Banks of all passengers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Banks {
    /// Passengers on the far bank; the others are on the near one.
    pub(super) far: Group,
    /// True if the boat is on the far bank.
    pub(super) boat_far: bool,
}

impl Banks {
    /// The same after some have crossed.
    fn after(self, load: Group) -> Self {
        Self { far: self.far ^ load, boat_far: !self.boat_far }
    }
}

/// Where everybody begins.
pub(super) const BEGINNING: Banks = Banks { far: 0, boat_far: false };

/// Reason why a crossing is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Somebody who should cross is on the other bank.
    Elsewhere(usize),
    /// More passengers than seats.
    Full,
    /// They are too heavy together: so many kilograms.
    Heavy(u32),
    /// Two who would be left alone together.
    Together(usize, usize),
}

/// Rules.
#[derive(Debug, Clone)]
pub(super) struct River {
    /// In kilograms.
    pub(super) weights: Vec<u32>,
    /// Passengers in the boat beside the ferryman.
    pub(super) seats: u32,
    /// Largest load, in kilograms.
    pub(super) load_max: u32,
    /// Pairs that may not be on a bank without the ferryman.
    pub(super) apart: Vec<(usize, usize)>,
}

/// Result of the search for a plan.
pub(super) struct Search {
    /// Passengers of each crossing; `None` when there is no plan.
    pub(super) plan: Option<Vec<Group>>,
    /// Crossings that were tried.
    pub(super) tried: u32,
}

impl River {
    /// Everybody.
    pub(super) fn all(&self) -> Group {
        ((1_u32 << self.weights.len()) - 1).try_into().unwrap_or(Group::MAX)
    }

    /// The passengers on the bank where the boat is.
    pub(super) fn here(&self, banks: Banks) -> Group {
        if banks.boat_far { banks.far } else { self.all() & !banks.far }
    }

    /// The banks after a crossing.
    ///
    /// # Errors
    /// When the rules forbid it.
    pub(super) fn cross(&self, banks: Banks, load: Group) -> Result<Banks, Refusal> {
        let here = self.here(banks);
        if let Some(absent) = self.members(load & !here).next() {
            return Err(Refusal::Elsewhere(absent));
        }
        if load.count_ones() > self.seats {
            return Err(Refusal::Full);
        }
        let weight = self.members(load).map(|one| self.weights[one]).sum();
        if weight > self.load_max {
            return Err(Refusal::Heavy(weight));
        }
        match self.quarrel(here & !load) {
            Some((one, other)) => Err(Refusal::Together(one, other)),
            None => Ok(banks.after(load)),
        }
    }

    /// Two of a group that may not be left alone together.
    fn quarrel(&self, left: Group) -> Option<(usize, usize)> {
        self.apart.iter().copied().find(|(one, other)| left >> one & left >> other & 1 == 1)
    }

    /// The numbers of a group's members.
    pub(super) fn members(&self, group: Group) -> impl Iterator<Item = usize> {
        (0..self.weights.len()).filter(move |one| group >> one & 1 == 1)
    }

    /// Searches breadth first for a plan with the fewest crossings.
    pub(super) fn search(&self) -> Search {
        let slot = |banks: Banks| usize::from(banks.far) * 2 + usize::from(banks.boat_far);
        let goal = Banks { far: self.all(), boat_far: true };
        let quiet: Vec<bool> = (0..=self.all()).map(|left| self.quarrel(left).is_none()).collect();
        let loads: Vec<Group> = (0..=self.all())
            .filter(|load| load.count_ones() <= self.seats)
            .filter(|load| self.members(*load).map(|one| self.weights[one]).sum::<u32>() <= self.load_max)
            .collect();
        // For each state that was reached, the load that led to it.
        let mut led = vec![None; slot(goal) + 1];
        led[slot(BEGINNING)] = Some(0);
        let (mut reached, mut next, mut tried) = (vec![BEGINNING], 0, 0);
        while let Some(banks) = reached.get(next).copied().filter(|banks| *banks != goal) {
            next += 1;
            let here = self.here(banks);
            for load in loads.iter().filter(|load| **load & !here == 0) {
                tried += 1;
                let after = banks.after(*load);
                if quiet[usize::from(here & !load)] && led[slot(after)].is_none() {
                    led[slot(after)] = Some(*load);
                    reached.push(after);
                }
            }
        }
        let mut plan = Vec::new();
        let mut banks = goal;
        while let Some(load) = led[slot(banks)].filter(|_| banks != BEGINNING) {
            plan.push(load);
            banks = banks.after(load);
        }
        plan.reverse();
        Search { plan: led[slot(goal)].map(|_| plan), tried }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wolf, goat and cabbage.
    fn classic() -> River {
        River { weights: vec![40, 30, 2], seats: 1, load_max: 40, apart: vec![(0, 1), (1, 2)] }
    }

    #[test]
    fn the_classic_takes_seven_crossings_and_more_is_impossible() {
        assert_eq!(classic().search().plan.map(|plan| plan.len()), Some(7));
        let impossible = River { apart: vec![(0, 1), (1, 2), (0, 2)], ..classic() };
        assert_eq!(impossible.search().plan, None);
        let light = River { load_max: 39, ..classic() };
        assert_eq!(light.search().plan, None, "the wolf cannot cross");
        let wide = River { seats: 3, load_max: 72, ..classic() };
        assert_eq!(wide.search().plan, Some(vec![0b111]));
    }

    #[test]
    fn crossings_against_the_rules_are_refused_with_the_reason() {
        let river = classic();
        assert_eq!(river.cross(BEGINNING, 0b001), Err(Refusal::Together(1, 2)));
        assert_eq!(river.cross(BEGINNING, 0b011), Err(Refusal::Full));
        assert_eq!(River { load_max: 29, ..classic() }.cross(BEGINNING, 0b010), Err(Refusal::Heavy(30)));
        let after = river.cross(BEGINNING, 0b010).expect("a crossing");
        assert_eq!(after, Banks { far: 0b010, boat_far: true });
        assert_eq!(river.cross(after, 0b001), Err(Refusal::Elsewhere(0)));
        assert_eq!(river.cross(after, 0), Ok(Banks { far: 0b010, boat_far: false }));
    }
}
