//! Random histories against plain maps: the data, its document, its digest and its changes never disagree with them.

use std::collections::BTreeMap;

use palestra_state::{Digest, State};
use proptest::prelude::{Strategy, any, prop_oneof, proptest};
use serde_json::{Map, Value as Json};

use super::tests::{LOAN, MEMBER, NAME, NOTE, SETTINGS, SPONSOR, schema};
use super::{Data, Refusal, changes, changes_to_patch};
use crate::json::Codec;
use crate::kinds::{ColumnId, TableId};
use crate::schema::OnDelete;
use crate::value::{RowKey, Value};

/// One step of a history. Rows are picked by their place among those that there are.
#[derive(Debug, Clone)]
enum Step {
    Member { name: u8, sponsor: Option<usize> },
    Loan { member: usize, due: Option<u8> },
    Note { loan: usize, text: String, answers: Option<usize> },
    Rename { member: usize, name: u8 },
    Sponsor { member: usize, sponsor: Option<usize> },
    Due { loan: usize, due: Option<u8> },
    Settings { open: bool },
    Delete { table: u16, row: usize },
    Keep,
    Reload,
}

fn step() -> impl Strategy<Value = Step> {
    let place = || 0_usize..12;
    let maybe = || proptest::option::of(0_usize..12);
    prop_oneof![
        4 => (any::<u8>(), maybe()).prop_map(|(name, sponsor)| Step::Member { name: name % 24, sponsor }),
        3 => (place(), proptest::option::of(any::<u8>())).prop_map(|(member, due)| Step::Loan { member, due }),
        3 => (place(), ".{0,3}", maybe())
            .prop_map(|(loan, text, answers)| Step::Note { loan, text: text.replace('\0', "0"), answers }),
        2 => (place(), any::<u8>()).prop_map(|(member, name)| Step::Rename { member, name: name % 24 }),
        2 => (place(), maybe()).prop_map(|(member, sponsor)| Step::Sponsor { member, sponsor }),
        2 => (place(), proptest::option::of(any::<u8>())).prop_map(|(loan, due)| Step::Due { loan, due }),
        1 => any::<bool>().prop_map(|open| Step::Settings { open }),
        4 => (0_u16..3, place()).prop_map(|(table, row)| Step::Delete { table, row }),
        1 => proptest::strategy::Just(Step::Keep),
        1 => proptest::strategy::Just(Step::Reload),
    ]
}

/// The same tables as plain maps of cells.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model(BTreeMap<RowKey, Vec<Value>>);

impl Model {
    fn of(&self, table: TableId) -> Vec<RowKey> {
        self.0.keys().filter(|row| row.table == table).copied().collect()
    }

    /// Deletion by its definition: follow cascades to the end, then look who is left behind.
    fn delete(&mut self, data: &Data, row: RowKey) -> Result<(), ()> {
        let mut gone = vec![row];
        let mut place = 0;
        while let Some(target) = gone.get(place).copied() {
            self.0.remove(&target);
            for (table, column) in data.schema().referrers(target.table) {
                let policy = data.schema().table(*table).describe(*column).on_delete;
                let refers = |row: &RowKey, cells: &Vec<Value>| {
                    row.table == *table && cells[usize::from(column.0)] == Value::Row(target)
                };
                match policy {
                    OnDelete::Cascade => {
                        gone.extend(self.0.iter().filter(|(row, cells)| refers(row, cells)).map(|(row, _)| *row));
                    }
                    OnDelete::Null => {
                        for (row, cells) in &mut self.0 {
                            if refers(row, cells) {
                                cells[usize::from(column.0)] = Value::Null;
                            }
                        }
                    }
                    OnDelete::Restrict => {}
                }
            }
            place += 1;
        }
        let left = self.0.values().flatten().any(|cell| gone.iter().any(|gone| *cell == Value::Row(*gone)));
        if left { Err(()) } else { Ok(()) }
    }

    fn document(&self, data: &Data) -> Json {
        let codec = Codec::new(data.schema());
        let mut document: Map<String, Json> =
            data.schema().tables.iter().map(|table| (table.name.to_string(), Json::Object(Map::new()))).collect();
        for (key, cells) in &self.0 {
            let table = data.schema().table(key.table);
            let row = table
                .columns
                .iter()
                .zip(cells)
                .map(|(column, cell)| (column.name.to_string(), codec.to_json(cell, &column.kind, data)))
                .collect();
            if table.single {
                document[&*table.name] = Json::Object(row);
            } else {
                document[&*table.name][&**data.id(*key).expect("the row exists")] = Json::Object(row);
            }
        }
        Json::Object(document)
    }
}

fn name(number: u8) -> Value {
    // Some have none: null is never a duplicate.
    if number < 4 { Value::Null } else { Value::text(&format!("name {number}")) }
}

fn due(day: Option<u8>) -> Value {
    day.map_or(Value::Null, |day| Value::Int(i64::from(day % 4)))
}

/// Makes a step on both; a refusal must be one that the model explains.
fn apply(data: &mut Data, model: &mut Model, step: &Step) {
    let pick = |model: &Model, table, place: usize| {
        let rows = model.of(table);
        (!rows.is_empty()).then(|| rows[place % rows.len()])
    };
    let (row, column, value) = match step {
        Step::Member { name: number, sponsor } => {
            let sponsor = sponsor.and_then(|place| pick(model, MEMBER, place)).map_or(Value::Null, Value::Row);
            return insert(data, model, MEMBER, vec![name(*number), Value::Int(i64::from(*number)), sponsor]);
        }
        Step::Loan { member, due: day } => {
            let Some(member) = pick(model, MEMBER, *member) else { return };
            return insert(data, model, LOAN, vec![Value::Row(member), due(*day)]);
        }
        Step::Note { loan, text, answers } => {
            let Some(loan) = pick(model, LOAN, *loan) else { return };
            let answers = answers.and_then(|place| pick(model, NOTE, place)).map_or(Value::Null, Value::Row);
            return insert(data, model, NOTE, vec![Value::Row(loan), Value::text(text), answers]);
        }
        Step::Delete { table, row } => {
            let Some(row) = pick(model, TableId(*table), *row) else { return };
            let (mut next, mut expected) = (data.clone(), model.clone());
            let result = next.delete(row);
            assert_eq!(result.is_err(), expected.delete(data, row).is_err(), "{result:?}");
            if result.is_ok() {
                (*data, *model) = (next, expected);
            } else {
                assert!(matches!(result, Err(Refusal::Restricted { .. })), "{result:?}");
            }
            return;
        }
        Step::Rename { member, name: number } => (pick(model, MEMBER, *member), NAME, name(*number)),
        Step::Sponsor { member, sponsor } => {
            let sponsor = sponsor.and_then(|place| pick(model, MEMBER, place)).map_or(Value::Null, Value::Row);
            (pick(model, MEMBER, *member), SPONSOR, sponsor)
        }
        Step::Due { loan, due: day } => (pick(model, LOAN, *loan), ColumnId(1), due(*day)),
        Step::Settings { open } => (Some(data.single(SETTINGS)), ColumnId(0), Value::Bool(*open)),
        Step::Keep | Step::Reload => return,
    };
    let Some(row) = row else { return };
    match data.update(row, &[(column, value.clone())]) {
        Ok(()) => {
            model.0.get_mut(&row).expect("a row of the model")[usize::from(column.0)] = value;
        }
        Err(refusal) => assert_taken(model, row, column, &value, refusal),
    }
}

fn insert(data: &mut Data, model: &mut Model, table: TableId, cells: Vec<Value>) {
    match data.insert(table, cells.clone()) {
        Ok(row) => assert_eq!(model.0.insert(row, cells), None, "a new row"),
        Err(Refusal::Full { table: LOAN }) => assert_eq!(data.counters()[1], 10),
        Err(refusal) => assert_taken(model, RowKey { table, number: u32::MAX }, NAME, &cells[0], refusal),
    }
}

fn assert_taken(model: &Model, row: RowKey, column: ColumnId, value: &Value, refusal: Refusal) {
    assert_eq!(refusal, Refusal::Unique { table: row.table, column });
    let other = |(other, cells): (&RowKey, &Vec<Value>)| {
        other.table == row.table && *other != row && cells[usize::from(column.0)] == *value
    };
    assert!(model.0.iter().any(other), "{value:?} is free");
}

fn assert_same(data: &Data, model: &Model) {
    for (table, description) in data.schema().ids() {
        assert_eq!(data.rows(table).collect::<Vec<_>>(), model.of(table));
        assert_eq!(data.len(table), model.of(table).len());
        for row in data.rows(table) {
            let (content, cells) = (data.row(row).expect("a row"), &model.0[&row]);
            assert_eq!(&*content.cells, &**cells);
            assert_eq!(data.by_id(table, &content.id), Some(row));
            for (column, _) in description.columns() {
                let value = &cells[usize::from(column.0)];
                let expected =
                    model.of(table).into_iter().filter(|other| model.0[other][usize::from(column.0)] == *value);
                assert_eq!(data.matching(table, column, value).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            }
        }
    }
    let document = data.document();
    assert_eq!(document.to_value(), model.document(data), "the document is the one built from scratch");
    assert_eq!(document.digest(), State::from(document.to_value()).digest(), "no digest is stale");
}

fn start() -> (Data, Model) {
    let mut data = Data::new(schema(), 11);
    let mut model = Model::default();
    insert(&mut data, &mut model, SETTINGS, vec![Value::Bool(true), Value::Null]);
    for (id, number) in [("zed", 7), ("ada", 8)] {
        let cells = vec![name(number), Value::Int(0), Value::Null];
        let row = data.insert_named(MEMBER, id, cells.clone()).expect("a member");
        model.0.insert(row, cells);
    }
    (data, model)
}

/// Everything that can be seen, with the numbers of rows.
fn seen(data: &Data) -> (Json, Vec<u32>, Vec<(RowKey, String)>) {
    let rows = data.schema().ids().flat_map(|(table, _)| data.rows(table).collect::<Vec<_>>());
    let ids = rows.map(|row| (row, data.id(row).expect("a row").to_string())).collect();
    (data.document().to_value(), data.counters(), ids)
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    #[test]
    fn any_history_agrees_with_plain_maps(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut data, mut model) = start();
        let mut kept = vec![(data.clone(), model.clone())];
        for step in &steps {
            match step {
                Step::Keep => kept.push((data.clone(), model.clone())),
                // As after a restart: from the initial data and what was stored as text.
                Step::Reload => {
                    let text = data.document().to_value();
                    let revised = kept[0].0.revised(&State::from(text), Some(&data.counters())).expect("a document");
                    assert_eq!(seen(&revised), seen(&data));
                    data = revised;
                }
                _ => apply(&mut data, &mut model, step),
            }
            // After each step, so that a digest that outlives an edit is noticed.
            assert_eq!(data.document().digest(), Digest::of_json(&model.document(&data)));
        }
        kept.push((data, model));
        for (data, model) in &kept {
            assert_same(data, model);
        }
        for (earlier, (before, _)) in kept.iter().enumerate() {
            for (later, (after, _)) in kept.iter().enumerate() {
                let found = changes(before, after);
                let patch: json_patch::Patch =
                    serde_json::from_value(changes_to_patch(&found, after)).expect("a patch");
                let mut document = before.document().to_value();
                json_patch::patch(&mut document, &patch).expect("it applies");
                assert_eq!(document, after.document().to_value());
                assert_eq!(found.is_empty(), before.document() == after.document());
                let revised = before.revised(&after.document(), Some(&after.counters())).expect("a document");
                assert_eq!(revised.document(), after.document());
                if earlier <= later {
                    assert_eq!(seen(&revised), seen(after));
                }
            }
        }
    }
}
