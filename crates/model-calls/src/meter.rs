//! Limits of calls, tokens and costs, counted while calls run.

use std::fmt;
use std::sync::Arc;

use palestra_protocol::upstream::Spent;
use parking_lot::Mutex;

/// Most that may be spent: once one of them is reached, no further call begins.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Most {
    pub calls: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
}

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reached {
    Calls(u64),
    Tokens(u64),
    Cost(f64),
}

impl fmt::Display for Reached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(most) => write!(formatter, "{most} model calls"),
            Self::Tokens(most) => write!(formatter, "{most} tokens"),
            Self::Cost(most) => write!(formatter, "a cost of {most}"),
        }
    }
}

/// Counts what calls of a session, or to an upstream, spend.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    spent: Spent,
    running: u64,
}

/// A call that runs. It is counted when it is over, with what it spent; one that did not take place is not.
#[derive(Debug)]
pub(crate) struct Running {
    meter: Arc<Meter>,
    took_place: bool,
    tokens: u64,
    cost: f64,
}

impl Meter {
    /// Goes on from what was spent before.
    pub(crate) fn new(spent: Spent) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Counted { spent, running: 0 })))
    }

    /// Spent so far, by calls that are over.
    pub(crate) fn spent(&self) -> Spent {
        self.0.lock().spent
    }

    /// True while a call runs.
    pub(crate) fn is_running(&self) -> bool {
        self.0.lock().running > 0
    }

    /// Begins a call.
    ///
    /// # Errors
    /// With the limit that is reached.
    pub(crate) fn begin(self: &Arc<Self>, most: &Most) -> Result<Running, Reached> {
        let mut counted = self.0.lock();
        let Spent { calls, tokens, cost } = counted.spent;
        if let Some(most) = most.calls.filter(|most| calls + counted.running >= *most) {
            return Err(Reached::Calls(most));
        }
        if let Some(most) = most.tokens.filter(|most| tokens >= *most) {
            return Err(Reached::Tokens(most));
        }
        if let Some(most) = most.cost.filter(|most| cost >= *most) {
            return Err(Reached::Cost(most));
        }
        counted.running += 1;
        drop(counted);
        Ok(Running { meter: Arc::clone(self), took_place: false, tokens: 0, cost: 0.0 })
    }
}

impl Running {
    /// Counts the call, whatever it spends.
    pub(crate) const fn take_place(&mut self) {
        self.took_place = true;
    }

    /// Counts what the call spent.
    pub(crate) const fn spend(&mut self, tokens: u64, cost: f64) {
        (self.tokens, self.cost) = (tokens, cost);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut counted = self.meter.0.lock();
        counted.running -= 1;
        if !self.took_place {
            return;
        }
        counted.spent.calls += 1;
        counted.spent.tokens += self.tokens;
        counted.spent.cost += self.cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call that takes place.
    fn call(meter: &Arc<Meter>, most: &Most) -> Running {
        let mut running = meter.begin(most).unwrap();
        running.take_place();
        running
    }

    #[test]
    fn calls_that_run_count_and_what_they_spend_counts_when_they_are_over() {
        let meter = Meter::new(Spent::default());
        let most = Most { calls: Some(3), tokens: Some(100), cost: Some(1.0) };
        let mut first = call(&meter, &most);
        let second = call(&meter, &most);
        drop(call(&meter, &most));
        assert_eq!(meter.begin(&most).unwrap_err(), Reached::Calls(3));
        assert_eq!(meter.spent().calls, 1);
        assert!(meter.is_running());
        first.spend(100, 0.5);
        drop((first, second));
        assert_eq!(meter.spent(), Spent { calls: 3, tokens: 100, cost: 0.5 });
        let most = Most { calls: None, ..most };
        assert_eq!(meter.begin(&most).unwrap_err(), Reached::Tokens(100));
        call(&meter, &Most { tokens: Some(101), ..most }).spend(0, 0.5);
        assert_eq!(meter.begin(&Most { tokens: None, ..most }).unwrap_err(), Reached::Cost(1.0));
        let before = meter.spent();
        assert!(meter.begin(&Most::default()).is_ok());
        assert_eq!(
            (meter.spent(), meter.is_running()),
            (before, false),
            "one that is refused elsewhere does not count"
        );
    }
}
