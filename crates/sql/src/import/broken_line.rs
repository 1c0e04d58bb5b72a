//! The line of a script from which on no database can be made of it.

use crate::engine::{Engine, EngineError};
use crate::script;
use crate::value::Dialect;

use super::database::open;
use super::files;

/// The line, from 1, on which the first statement begins that the engine refuses; none where every beginning of the script is taken.
/// Statements are refused one by one, so that all beginnings up to that statement are taken and all longer ones are not.
pub(super) async fn broken_line(engine: &dyn Engine, text: &str) -> Option<usize> {
    let statements = script::split(text, Dialect::Sqlite);
    let (mut taken, mut refused) = (0, statements.len());
    while taken < refused {
        let middle = taken.midpoint(refused);
        let last = statements.get(middle)?;
        let beginning = text.get(..last.start + last.text.len())?;
        match open(engine, &files::script(&format!("{beginning};")).into()).await {
            Ok(database) => {
                database.close().await;
                taken = middle + 1;
            }
            Err(EngineError::Source(_)) => refused = middle,
            Err(_) => return None,
        }
    }
    let broken = statements.get(taken)?;
    Some(text.get(..broken.start)?.matches('\n').count() + 1)
}
