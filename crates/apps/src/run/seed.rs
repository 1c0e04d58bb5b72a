//! Initial databases: made once per variant and then shared by all episodes that begin with it.
//!
//! Bounds on the cost of a seed, whatever its definition says.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::CallError;
use super::draw::Draws;
use super::effect::Transaction;
use crate::app::{App, SeedColumn, SeedCount, SeedValue, TableSeed};
use crate::data::{Data, told};
use crate::expression::EvalError;
use crate::fault::Fault;
use crate::kinds::{ColumnId, Type};
use crate::limits;
use crate::value::Value;

/// Rows that the seed of one table makes.
pub const SEED_ROWS_MAX: usize = 100_000;
/// Values in all rows of an initial database.
pub const SEED_CELLS_MAX: usize = 1_000_000;
/// Bytes of all texts of an initial database.
pub const SEED_TEXT_BYTES_MAX: usize = 16 << 20;
/// Steps that the expressions of one database take.
pub const SEED_STEPS_MAX: u64 = 5_000_000;
/// Number of times that a value that must be new is drawn.
const DISTINCT_ATTEMPTS_MAX: usize = 200;

/// The initial database of a variant, shared by all that ask for it; made when it is asked for first.
///
/// # Errors
/// When the definition's seed fails.
pub fn database(app: &Arc<App>, variant: usize) -> Result<&Data, String> {
    app.variants.get_or_make(variant, |number| {
        let data = initial(app, number).map_err(|fault| fault.to_string())?;
        // All episodes share what is hashed here, and hash again what they edit.
        let _digest = data.document().digest();
        Ok(data)
    })
}

/// Makes the initial database of a variant.
///
/// # Errors
/// When the definition's seed fails, with the place of the table or column.
pub fn initial(app: &Arc<App>, variant: u32) -> Result<Data, Fault> {
    let seed = u64::from(variant);
    let data = given(app, Data::new(Arc::clone(&app.schema), seed))?;
    let mut making = Making { app, data, steps: SEED_STEPS_MAX, cells: SEED_CELLS_MAX, text: SEED_TEXT_BYTES_MAX };
    for table in &app.seed.tables {
        let described = app.schema.table(table.table);
        let draws = Draws::of(&[app.name.as_bytes(), b"seed", &seed.to_be_bytes(), described.name.as_bytes()]);
        making.fill(table, draws).map_err(|failed| {
            let mut path = format!("seed.{}", described.name);
            if let Some(column) = failed.column {
                path = format!("{path}.{}", described.describe(column).name);
            }
            app.positions.fault(&path, failed.message)
        })?;
    }
    for (table, described) in app.schema.ids().filter(|(_, table)| table.single) {
        if making.data.is_empty(table) {
            let mut draws = Draws::of(&[]);
            let mut transaction = Transaction::before(app, &making.data, Vec::new(), &mut draws);
            let inserted = transaction.insert_cells(table, Vec::new());
            inserted.map_err(|stop| app.positions.fault(&format!("tables.{}", described.name), stop.to_string()))?;
            making.data = transaction.into_data();
        }
    }
    Ok(making.data)
}

/// The rows that the definition gives.
fn given(app: &App, empty: Data) -> Result<Data, Fault> {
    let Some(given) = &app.rows else { return Ok(empty) };
    empty.overlaid(&given.rows).map_err(|faults| Fault {
        position: given.position(faults.first().map_or("", |fault| &fault.pointer)),
        path: String::new(),
        message: told(&faults),
    })
}

/// Reason why a table cannot be filled.
struct Failed {
    column: Option<ColumnId>,
    message: String,
}

impl From<CallError> for Failed {
    fn from(stop: CallError) -> Self {
        let message = match stop {
            CallError::Raised(raised) => raised.text,
            CallError::Crashed(EvalError::Budget) => {
                format!("making the rows takes more than {SEED_STEPS_MAX} steps: ask for fewer, or search less")
            }
            CallError::Crashed(EvalError::Index(_)) => "there is nothing to pick from".to_owned(),
            CallError::Crashed(error) => error.to_string(),
        };
        Self { column: None, message }
    }
}

impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self { column: None, message }
    }
}

/// A database while it is made, with what may still be spent on it.
struct Making<'a> {
    app: &'a Arc<App>,
    data: Data,
    steps: u64,
    cells: usize,
    text: usize,
}

/// The rows of one table while they are made.
struct Filling<'a, 't> {
    app: &'a App,
    seed: &'a TableSeed,
    transaction: Transaction<'t>,
    taken: Vec<(ColumnId, BTreeSet<Value>)>,
    number: usize,
    cells: usize,
    text: usize,
}

impl Making<'_> {
    /// Adds the rows of one table.
    fn fill(&mut self, seed: &TableSeed, mut draws: Draws) -> Result<(), Failed> {
        let transaction = Transaction::before(self.app, &self.data, Vec::new(), &mut draws).with_budget(self.steps);
        let (app, cells, text) = (self.app, self.cells, self.text);
        let mut filling = Filling { app, seed, transaction, taken: Vec::new(), number: 0, cells, text };
        match &seed.count {
            SeedCount::Listed => filling.rows(None)?,
            SeedCount::Number(count) => {
                let count = size(&filling.transaction.value(count)?)?;
                (0..count).try_for_each(|_| filling.rows(None))?;
            }
            SeedCount::Each(of) => {
                if let Value::List(values) = filling.transaction.value(of)? {
                    values.iter().try_for_each(|value| filling.rows(Some(value)))?;
                }
            }
            SeedCount::Per { table, number } => {
                for parent in self.data.rows(*table) {
                    let parent = Value::Row(parent);
                    filling.transaction.set_locals(vec![parent.clone()]);
                    let count = size(&filling.transaction.value(number)?)?;
                    (0..count).try_for_each(|_| filling.rows(Some(&parent)))?;
                }
            }
        }
        (self.cells, self.text, self.steps) = (filling.cells, filling.text, filling.transaction.budget());
        self.data = filling.transaction.into_data();
        Ok(())
    }
}

/// Number of rows that are asked for.
fn size(value: &Value) -> Result<usize, Failed> {
    let count = if let Value::Int(count) = value { usize::try_from(*count).ok() } else { None };
    count
        .filter(|count| *count <= SEED_ROWS_MAX)
        .ok_or_else(|| format!("a table begins with 0 to {SEED_ROWS_MAX} rows").into())
}

impl Filling<'_, '_> {
    /// Each of the listed rows once, or the one pattern.
    fn rows(&mut self, first: Option<&Value>) -> Result<(), Failed> {
        let seed = self.seed;
        seed.rows.iter().try_for_each(|columns| self.row(first, columns))
    }

    fn row(&mut self, first: Option<&Value>, columns: &[SeedColumn]) -> Result<(), Failed> {
        if self.number >= SEED_ROWS_MAX {
            return Err(format!("a table begins with at most {SEED_ROWS_MAX} rows").into());
        }
        let width = self.app.schema.table(self.seed.table).columns.len();
        self.cells = self.cells.checked_sub(width).ok_or_else(|| {
            format!("the tables begin with more than {SEED_CELLS_MAX} values together: ask for fewer rows")
        })?;
        let number = Value::Int(i64::try_from(self.number).unwrap_or(i64::MAX));
        self.number += 1;
        self.transaction.set_locals(first.cloned().into_iter().chain([number]).collect());
        let mut cells = Vec::with_capacity(columns.len());
        for column in columns {
            let value =
                self.cell(column).map_err(|failed| Failed { column: Some(column.column), message: failed.message })?;
            self.transaction.push_local(value.clone());
            cells.push((column.column, value));
        }
        self.transaction.insert_cells(self.seed.table, cells)?;
        Ok(())
    }

    fn cell(&mut self, column: &SeedColumn) -> Result<Value, Failed> {
        let app = self.app;
        let kind = &app.schema.table(self.seed.table).describe(column.column).kind;
        for _ in 0..DISTINCT_ATTEMPTS_MAX {
            let value = match &column.value {
                SeedValue::Uniform => self.transaction.uniform(kind)?,
                SeedValue::Expression(checked) => self.transaction.value(checked)?,
            };
            limits::check(&value, kind).map_err(|why| format!("a drawn value does not fit the column: {why}"))?;
            if !column.distinct || self.is_new(column.column, &value) {
                self.text = self.text.checked_sub(bytes(&value)).ok_or_else(|| {
                    format!("the texts at the beginning have more than {SEED_TEXT_BYTES_MAX} bytes together")
                })?;
                return Ok(value);
            }
        }
        let message = format!("{DISTINCT_ATTEMPTS_MAX} draws gave no new value: more are asked for than there are");
        Err(message.into())
    }

    /// True if a value is new in its column; it is taken from then on.
    fn is_new(&mut self, column: ColumnId, value: &Value) -> bool {
        match self.taken.iter_mut().find(|(known, _)| *known == column) {
            Some((_, values)) => values.insert(value.clone()),
            None => {
                self.taken.push((column, BTreeSet::from([value.clone()])));
                true
            }
        }
    }
}

fn bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(values) | Value::Record(values) => values.iter().map(bytes).sum(),
        _ => 0,
    }
}

impl Transaction<'_> {
    /// Any word of an enum.
    fn uniform(&mut self, kind: &Type) -> Result<Value, CallError> {
        let Type::Enum(words) = kind.present() else { return Err(CallError::Crashed(EvalError::Mismatch)) };
        let words: Vec<Value> = words.iter().map(|word| Value::Text(Arc::clone(word))).collect();
        self.call_host(crate::functions::id::PICK, &[Value::List(words.into())])
    }
}
