//! Initial databases: made once per variant and then shared by all episodes that begin with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Stop;
use super::draw::Draws;
use super::effect::Transaction;
use crate::app::{App, SeedColumn, SeedCount, SeedValue, TableSeed};
use crate::data::Data;
use crate::expression::EvalError;
use crate::kinds::{ColumnId, TableId, Type};
use crate::limits;
use crate::value::Value;

/// Rows that the seed of one table makes.
const ROWS_MAX: usize = 100_000;
/// How often a value that must be new is drawn.
const DISTINCT_ATTEMPTS_MAX: usize = 200;

/// The initial database of a variant.
///
/// # Errors
/// When the definition's seed fails, with the table's name.
pub fn initial(app: &Arc<App>, variant: u32) -> Result<Data, String> {
    let seed = u64::from(variant);
    let mut data = Data::new(Arc::clone(&app.schema), seed);
    for table in &app.seed.tables {
        let name = &app.schema.table(table.table).name;
        let mut draws = Draws::of(&[app.name.as_bytes(), b"seed", &seed.to_be_bytes(), name.as_bytes()]);
        data = fill(app, &data, table, &mut draws).map_err(|stop| format!("seed.{name}: {stop}"))?;
    }
    for (table, described) in app.schema.ids().filter(|(_, table)| table.single) {
        if data.is_empty(table) {
            let mut draws = Draws::of(&[]);
            let mut transaction = Transaction::before(app, &data, Vec::new(), &mut draws);
            let inserted = transaction.insert_cells(table, Vec::new());
            inserted.map_err(|stop| format!("seed.{}: {stop}", described.name))?;
            data = transaction.into_data();
        }
    }
    Ok(data)
}

/// Adds the rows of one table.
fn fill(app: &Arc<App>, data: &Data, seed: &TableSeed, draws: &mut Draws) -> Result<Data, Stop> {
    let mut transaction = Transaction::before(app, data, Vec::new(), draws);
    let mut taken: Vec<(ColumnId, BTreeSet<Value>)> = Vec::new();
    let mut number = 0_i64;
    let mut row = |transaction: &mut Transaction<'_>, first: Option<Value>, columns: &[SeedColumn]| {
        if number >= ROWS_MAX as i64 {
            return Err(Stop::Crashed(EvalError::Budget));
        }
        let locals = first.into_iter().chain([Value::Int(number)]).collect();
        number += 1;
        insert(app, transaction, seed.table, locals, columns, &mut taken)
    };
    match &seed.count {
        SeedCount::Listed => {
            seed.rows.iter().try_for_each(|columns| row(&mut transaction, None, columns))?;
        }
        SeedCount::Number(count) => {
            for _ in 0..size(transaction.value(count)?) {
                seed.rows.iter().try_for_each(|columns| row(&mut transaction, None, columns))?;
            }
        }
        SeedCount::Each(of) => {
            let Value::List(values) = transaction.value(of)? else { return Ok(transaction.into_data()) };
            for value in values.iter() {
                seed.rows.iter().try_for_each(|columns| row(&mut transaction, Some(value.clone()), columns))?;
            }
        }
        SeedCount::Per { table, number } => {
            for parent in data.rows(*table) {
                transaction.set_locals(vec![Value::Row(parent)]);
                for _ in 0..size(transaction.value(number)?) {
                    let first = Some(Value::Row(parent));
                    seed.rows.iter().try_for_each(|columns| row(&mut transaction, first.clone(), columns))?;
                }
            }
        }
    }
    Ok(transaction.into_data())
}

fn size(value: Value) -> i64 {
    if let Value::Int(count) = value { count.clamp(0, ROWS_MAX as i64) } else { 0 }
}

fn insert(
    app: &Arc<App>,
    transaction: &mut Transaction<'_>,
    table: TableId,
    locals: Vec<Value>,
    columns: &[SeedColumn],
    taken: &mut Vec<(ColumnId, BTreeSet<Value>)>,
) -> Result<(), Stop> {
    let described = app.schema.table(table);
    transaction.set_locals(locals);
    let mut cells = Vec::with_capacity(columns.len());
    for column in columns {
        let kind = &described.describe(column.column).kind;
        let mut attempts = 0;
        let value = loop {
            let value = match &column.value {
                SeedValue::Uniform => transaction.uniform(kind)?,
                SeedValue::Expression(checked) => transaction.value(checked)?,
            };
            if limits::check(&value, kind).is_err() {
                return Err(Stop::Crashed(EvalError::OutOfRange("a drawn value of a column")));
            }
            if !column.distinct || new(taken, column.column, &value) {
                break value;
            }
            attempts += 1;
            if attempts >= DISTINCT_ATTEMPTS_MAX {
                return Err(Stop::Crashed(EvalError::OutOfRange("a distinct value")));
            }
        };
        transaction.push_local(value.clone());
        cells.push((column.column, value));
    }
    transaction.insert_cells(table, cells).map(|_| ())
}

/// Whether a value is new in its column; it is taken from then on.
fn new(taken: &mut Vec<(ColumnId, BTreeSet<Value>)>, column: ColumnId, value: &Value) -> bool {
    match taken.iter_mut().find(|(known, _)| *known == column) {
        Some((_, values)) => values.insert(value.clone()),
        None => {
            taken.push((column, BTreeSet::from([value.clone()])));
            true
        }
    }
}

impl Transaction<'_> {
    /// Any word of an enum.
    fn uniform(&mut self, kind: &Type) -> Result<Value, Stop> {
        let Type::Enum(words) = kind.present() else { return Err(Stop::Crashed(EvalError::Mismatch)) };
        let words: Vec<Value> = words.iter().map(|word| Value::Text(Arc::clone(word))).collect();
        self.call_host(crate::functions::id::PICK, &[Value::List(words.into())])
    }
}
