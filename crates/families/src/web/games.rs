//! `web/games`: small games in a canvas. Their pages pass on inputs, and this process plays by the rules and judges the board.

use palestra_games::{Board, Game, Outcome, Progress, Task};
use palestra_protocol::verdict::Check;
use palestra_widgets::Draw;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::game_pages::GamePages;
use super::kind::{Content, Facts};
use palestra_environment::ConfigError;
use palestra_environment::verifier::VerifierError;

/// The setting that tells the board in words, beside the picture.
const TEXT: &str = "text";

/// Every game.
pub(super) struct Games(Vec<Game>);

impl Games {
    pub(super) fn new() -> Self {
        Self(palestra_games::all())
    }
}

impl Content for Games {
    type Drawn = Task;
    type Pages = GamePages;

    const FACTS: Facts = Facts {
        environment: "web/games",
        about: "Small games that are drawn in a canvas, some of them with time, played by keys and the pointer in a real browser.",
        // The longest solutions take about 150.
        steps_max: 250,
        system: "You play a game on a web page in a browser. Reach the goal that the user names. The task ends when the game is won \
                 or lost, and there is one try.",
        verifier: "board",
        heavy: true,
    };

    fn templates(&self) -> Vec<&'static str> {
        self.0.iter().map(|game| game.name).collect()
    }

    fn draw(&self, template: &str, draw: &mut Draw) -> Option<Task> {
        let game = self.0.iter().find(|game| game.name == template)?;
        Some((game.draw)(draw))
    }

    fn instruction(drawn: &Task) -> &str {
        &drawn.instruction
    }

    fn content(_template: &str, drawn: &Task) -> Value {
        json!(drawn.board)
    }

    fn pages(drawn: Task, config: &Map<String, Value>) -> Result<GamePages, ConfigError> {
        Ok(GamePages::new(drawn, with_words(config)?))
    }

    fn solution(drawn: &Task) -> Option<Vec<String>> {
        Some(drawn.board.solution()?.iter().map(palestra_games::Step::action).collect())
    }

    fn judge(drawn: &Task, state: &Value) -> Result<Vec<Check>, VerifierError> {
        let board = Board::deserialize(&state["board"])
            .map_err(|error| VerifierError(format!("the state has no board of a game: {error}")))?;
        if !board.is_of(&drawn.board) {
            return Err(VerifierError(
                "the board of the state is none of this task: judge a state of the task itself".to_owned(),
            ));
        }
        let won = board.outcome() == Outcome::Won;
        let Progress { done, goal } = board.progress();
        let whole = Check {
            name: "won".to_owned(),
            weight: 1.0,
            score: if won { 1.0 } else { 0.0 },
            passed: won,
            evidence: json!(board.outcome()).as_str().unwrap_or_default().to_owned(),
        };
        // A part of the goal is told and earns nothing: moves at chance reach a part of many goals.
        let part = Check {
            name: "progress".to_owned(),
            weight: 0.0,
            score: f64::from(done.min(goal)) / f64::from(goal.max(1)),
            passed: won,
            evidence: format!("{done} of {goal}"),
        };
        Ok(vec![whole, part])
    }
}

/// The setting of whether the board is told in words.
fn with_words(config: &Map<String, Value>) -> Result<bool, ConfigError> {
    let mut others = config.clone();
    let text = others.remove(TEXT);
    ConfigError::refuse_all(&others)?;
    match text {
        None => Ok(true),
        Some(Value::Bool(with_words)) => Ok(with_words),
        Some(other) => Err(ConfigError {
            field: Some(TEXT.to_owned()),
            detail: format!(
                "{TEXT} is {other}: use true for the board in words beside the picture, false for the picture only"
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use palestra_widgets::Level;

    use super::*;

    #[test]
    fn settings_other_than_text_are_refused_with_their_name() {
        let read = |config: Value| with_words(config.as_object().expect("settings"));
        assert_eq!(
            (read(json!({})), read(json!({"text": true})), read(json!({"text": false}))),
            (Ok(true), Ok(true), Ok(false))
        );
        for (config, field) in
            [(json!({"text": "no"}), "text"), (json!({"text": null}), "text"), (json!({"speed": 2}), "speed")]
        {
            assert_eq!(read(config).expect_err("a wrong setting").field.as_deref(), Some(field));
        }
    }

    #[test]
    fn a_board_that_is_not_won_scores_nothing_whatever_else_the_state_says() {
        let games = Games::new();
        for template in games.templates() {
            let task = games.draw(template, &mut Draw::new(Level::Two, 3)).expect("a game");
            let state = json!({"board": task.board, "outcome": "won", "done": 9, "goal": 9});
            let checks = Games::judge(&task, &state).expect("checks");
            assert_eq!((checks[0].score, checks[0].passed, checks[1].weight), (0.0, false, 0.0), "{template}");
            assert!(Games::judge(&task, &json!({"outcome": "won"})).is_err(), "{template}");
        }
    }

    #[test]
    fn a_board_of_another_task_is_refused() {
        let games = Games::new();
        let [task, other] = [3, 4].map(|seed| games.draw("merge", &mut Draw::new(Level::Two, seed)).expect("a game"));
        assert!(Games::judge(&task, &json!({"board": other.board})).is_err());
        let mut short = json!({"board": task.board});
        assert!(Games::judge(&task, &short).is_ok());
        short["board"]["merge"]["cells"] = json!([2, 2]);
        assert!(Games::judge(&task, &short).is_err());
    }
}
