//! Progress of `palestra run`: a bar on a terminal, a line now and then elsewhere, nothing where a script reads.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::{errors, is_watched, visible};

/// Time after which a bar is drawn again although nothing was finished, in milliseconds.
const DRAW_MS: u64 = 200;
/// Time between two lines where there is no terminal, in milliseconds.
const LINE_MS: u64 = 5_000;

/// Progress of a run.
pub(super) struct Progress {
    shown: Shown,
    began: Instant,
    episodes: u64,
    finished: AtomicU64,
    turns: AtomicU64,
}

enum Shown {
    Nothing,
    Bar(ProgressBar),
    Lines,
}

impl Progress {
    /// Shows that `episodes` are about to be played; nothing at all where it is `hidden`.
    pub(super) fn begin(episodes: u64, hidden: bool) -> Self {
        let shown = match (hidden, is_watched()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Bar(bar(episodes)),
            (false, false) => Shown::Lines,
        };
        let (finished, turns) = (AtomicU64::new(0), AtomicU64::new(0));
        let progress = Self { shown, began: Instant::now(), episodes, finished, turns };
        progress.write_line(None);
        progress
    }

    /// One turn more was taken.
    pub(super) fn count_turn(&self) {
        let turns = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        if let Shown::Bar(bar) = &self.shown {
            bar.set_message(format!("{turns} turns"));
        }
    }

    /// One episode more is over.
    pub(super) fn count_episode(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        if let Shown::Bar(bar) = &self.shown {
            bar.inc(1);
        }
    }

    /// Episodes that are over.
    pub(super) fn finished(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }

    /// Its duration so far, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Writes a line now and then, for ever; a bar draws itself.
    /// Both say what the policy waits for, if it does.
    pub(super) async fn keep_writing(&self, waiting: impl Fn() -> Option<String>) {
        loop {
            tokio::time::sleep(Duration::from_millis(LINE_MS)).await;
            let waiting = waiting().map(|waiting| visible(&waiting));
            if let (Shown::Bar(bar), Some(waiting)) = (&self.shown, &waiting) {
                bar.set_message(waiting.clone());
            }
            self.write_line(waiting);
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }

    fn write_line(&self, waiting: Option<String>) {
        if matches!(self.shown, Shown::Lines) {
            let waiting = waiting.map(|waiting| format!(", {waiting}")).unwrap_or_default();
            // Nothing is left to tell when standard error is closed.
            let _ = writeln!(errors(), "{}{waiting}", self.line());
        }
    }

    fn line(&self) -> String {
        let (finished, turns) = (self.finished.load(Ordering::Relaxed), self.turns.load(Ordering::Relaxed));
        format!("{finished} of {} episodes, {turns} turns, {:.0} s", self.episodes, self.seconds())
    }
}

fn bar(episodes: u64) -> ProgressBar {
    let bar = ProgressBar::new(episodes);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} episodes, {msg}, {eta} left") {
        bar.set_style(style);
    }
    bar.set_message("0 turns");
    bar.enable_steady_tick(Duration::from_millis(DRAW_MS));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_and_what_is_to_do() {
        let progress = Progress::begin(3, true);
        assert_eq!(progress.line(), "0 of 3 episodes, 0 turns, 0 s");
        progress.count_turn();
        progress.count_turn();
        progress.count_episode();
        assert!(progress.line().starts_with("1 of 3 episodes, 2 turns, "));
    }
}
