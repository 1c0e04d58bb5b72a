//! Tests of single changes, of refusals, and of documents and overrides.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{
    Change, ChangeKind, Data, DataFault, ROWS_DELETED_MAX, Refusal, changes, changes_to_json, changes_to_patch,
};
use crate::calendar::Calendar;
use crate::ids::IdPattern;
use crate::kinds::{ColumnId, TableId, Type};
use crate::limits::Misfit;
use crate::schema::{Column, OnDelete, Schema, Table};
use crate::value::{RowKey, Value};
use palestra_state::State;

pub(super) const MEMBER: TableId = TableId(0);
pub(super) const LOAN: TableId = TableId(1);
pub(super) const NOTE: TableId = TableId(2);
pub(super) const SETTINGS: TableId = TableId(3);
pub(super) const NAME: ColumnId = ColumnId(0);
pub(super) const SPONSOR: ColumnId = ColumnId(2);
const BALANCE: ColumnId = ColumnId(1);

fn table(name: &str, id: &str, columns: Vec<Column>) -> Table {
    let id = IdPattern::parse(id).expect("a pattern");
    Table { name: name.into(), single: id.is_fixed(), id, columns, untracked: false, owner: None }
}

/// Members, sponsored by others (null when those go); their loans, which keep them from going; notes that go with
/// a loan, or with the note that they answer.
pub(super) fn schema() -> Arc<Schema> {
    let nullable = |kind| Type::Opt(Box::new(kind));
    let mut note = table(
        "note",
        "N{4}",
        vec![
            Column { on_delete: OnDelete::Cascade, ..Column::new("loan", Type::Row(LOAN)) },
            Column { default: Some(Value::text("-")), ..Column::new("text", Type::Text) },
            Column { on_delete: OnDelete::Cascade, ..Column::new("answers", nullable(Type::Row(NOTE))) },
        ],
    );
    note.owner = Some(ColumnId(0));
    let tables = vec![
        table(
            "member",
            "M{4}",
            vec![
                Column { unique: true, ..Column::new("name", nullable(Type::Text)) },
                Column { default: Some(Value::Int(0)), ..Column::new("balance", Type::Money("EUR".into())) },
                Column { on_delete: OnDelete::Null, ..Column::new("sponsor", nullable(Type::Row(MEMBER))) },
            ],
        ),
        table(
            "loan",
            "L{1}",
            vec![
                Column::new("member", Type::Row(MEMBER)),
                Column { indexed: true, ..Column::new("due", nullable(Type::Date)) },
            ],
        ),
        note,
        table("settings", "settings", vec![Column::new("open", Type::Bool), Column::new("note", nullable(Type::Text))]),
    ];
    Arc::new(Schema::new(tables, Calendar::new("UTC", false).expect("a zone")).expect("a schema"))
}

pub(super) fn member(name: &str, sponsor: Option<RowKey>) -> Vec<Value> {
    vec![Value::text(name), Value::Int(0), sponsor.map_or(Value::Null, Value::Row)]
}

fn start() -> (Data, RowKey, RowKey, RowKey) {
    let mut data = Data::new(schema(), 7);
    let ada = data.insert_named(MEMBER, "ada", member("Ada", None)).expect("a member");
    let bo = data.insert_named(MEMBER, "bo", member("Bo", Some(ada))).expect("a member");
    let loan = data.insert_named(LOAN, "first", vec![Value::Row(bo), Value::Int(22_404)]).expect("a loan");
    data.insert_named(NOTE, "n", vec![Value::Row(loan), Value::text("~/"), Value::Null]).expect("a note");
    data.insert(SETTINGS, vec![Value::Bool(true), Value::Null]).expect("settings");
    (data, ada, bo, loan)
}

fn document(data: &Data) -> Json {
    data.document().to_value()
}

#[test]
fn a_document_shows_every_row_under_its_id() {
    let (data, ada, bo, _) = start();
    let expected = json!({
        "member": {
            "ada": {"name": "Ada", "balance": "0.00", "sponsor": null},
            "bo": {"name": "Bo", "balance": "0.00", "sponsor": "ada"},
        },
        "loan": {"first": {"member": "bo", "due": "2031-05-05"}},
        "note": {"n": {"loan": "first", "text": "~/", "answers": null}},
        "settings": {"open": true, "note": null},
    });
    assert_eq!(document(&data), expected);
    assert_eq!(data.counters(), [2, 1, 1, 1]);
    assert_eq!(data.rows(MEMBER).collect::<Vec<_>>(), [ada, bo]);
    assert_eq!(data.rows(MEMBER).rev().collect::<Vec<_>>(), [bo, ada]);
    let names: Vec<_> = data.scan(MEMBER).map(|(row, content)| (row, &content.cells[0])).collect();
    assert_eq!(names, [(ada, &Value::text("Ada")), (bo, &Value::text("Bo"))]);
    assert_eq!(data.by_id(MEMBER, "bo"), Some(bo));
    assert_eq!(data.cell(data.single(SETTINGS), ColumnId(0)), Some(&Value::Bool(true)));
    assert_eq!(document(&Data::new(schema(), 7))["settings"], json!({}));
}

#[test]
fn rows_are_found_by_value_with_and_without_an_index() {
    let (mut data, ada, bo, _) = start();
    let cy = data.insert(MEMBER, member("Cy", Some(ada))).expect("a member");
    let of_ada = Value::Row(ada);
    assert_eq!(data.matching(MEMBER, SPONSOR, &of_ada).collect::<Vec<_>>(), [bo, cy]);
    assert_eq!(data.matching(MEMBER, SPONSOR, &of_ada).rev().collect::<Vec<_>>(), [cy, bo]);
    assert!(!data.is_indexed(MEMBER, BALANCE) && data.is_indexed(MEMBER, NAME));
    data.update(bo, &[(BALANCE, Value::Int(5)), (SPONSOR, Value::Null)]).expect("an update");
    assert_eq!(data.matching(MEMBER, BALANCE, &Value::Int(0)).collect::<Vec<_>>(), [ada, cy]);
    assert_eq!(data.matching(MEMBER, BALANCE, &Value::Int(0)).rev().collect::<Vec<_>>(), [cy, ada]);
    assert_eq!(data.matching(MEMBER, SPONSOR, &of_ada).collect::<Vec<_>>(), [cy]);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let (mut data, ada, bo, loan) = start();
    let before = data.document().digest();
    let nobody = RowKey { table: MEMBER, number: 99 };
    let wrong = |column, why| Refusal::Value { table: MEMBER, column, why };
    let insert = |data: &mut Data, cells| data.insert(MEMBER, cells).map(|_| ());
    for (result, refusal) in [
        (insert(&mut data, member("Ada", None)), Refusal::Unique { table: MEMBER, column: NAME }),
        (insert(&mut data, member("a\0", None)), wrong(NAME, Misfit::Nul)),
        (insert(&mut data, member("x", Some(nobody))), Refusal::Missing(nobody)),
        (insert(&mut data, member("x", Some(loan))), wrong(SPONSOR, Misfit::Type)),
        (insert(&mut data, vec![Value::Null, Value::Null, Value::Null]), wrong(BALANCE, Misfit::Type)),
        (insert(&mut data, vec![Value::Null]), Refusal::Width { table: MEMBER }),
        (data.update(bo, &[(NAME, Value::text("Ada"))]), Refusal::Unique { table: MEMBER, column: NAME }),
        (data.update(bo, &[(BALANCE, Value::Null)]), wrong(BALANCE, Misfit::Type)),
        (data.update(nobody, &[]), Refusal::Missing(nobody)),
        (data.insert_named(MEMBER, "ada", member("x", None)).map(|_| ()), Refusal::Id { table: MEMBER }),
        (data.insert_named(MEMBER, "$x", member("x", None)).map(|_| ()), Refusal::Id { table: MEMBER }),
        (data.insert(SETTINGS, vec![Value::Bool(true), Value::Null]).map(|_| ()), Refusal::Single { table: SETTINGS }),
        (data.delete(data.single(SETTINGS)), Refusal::Single { table: SETTINGS }),
    ] {
        assert_eq!(result, Err(refusal), "{}", refusal.describe(data.schema()));
    }
    assert_eq!(data.document().digest(), before, "nothing was written");
    // Nulls are no duplicates, and a row may keep its own value.
    for row in [ada, bo] {
        data.update(row, &[(NAME, Value::Null)]).expect("a name may be null");
    }
    data.update(ada, &[(NAME, Value::text("x")), (NAME, Value::text("Ada"))]).expect("the last one counts");
    assert_eq!(data.cell(ada, NAME), Some(&Value::text("Ada")));
}

#[test]
fn ids_go_on_until_there_are_no_more() {
    let (mut data, _, bo, _) = start();
    // The next id is taken by a name of its own: it is skipped.
    let taken = data.clone().insert(LOAN, vec![Value::Row(bo), Value::Null]).expect("a loan");
    let taken = data.schema().table(LOAN).id.show(taken.number + 1, crate::ids::id_key(7, "loan")).expect("an id");
    data.insert_named(LOAN, &taken, vec![Value::Row(bo), Value::Null]).expect("a loan");
    let mut rows = 2;
    let refusal = loop {
        match data.insert(LOAN, vec![Value::Row(bo), Value::Null]) {
            Ok(_) => rows += 1,
            Err(refusal) => break refusal,
        }
    };
    assert_eq!((refusal, rows, data.len(LOAN)), (Refusal::Full { table: LOAN }, 9, 9));
}

#[test]
fn deletion_follows_the_references() {
    let (mut data, ada, bo, loan) = start();
    assert_eq!(data.clone().delete(bo), Err(Refusal::Restricted { table: LOAN, column: ColumnId(0) }));
    data.delete(ada).expect("bo only loses the sponsor");
    assert_eq!(data.cell(bo, SPONSOR), Some(&Value::Null));
    let note = data.by_id(NOTE, "n").expect("a note");
    let other = data.insert(LOAN, vec![Value::Row(bo), Value::Null]).expect("a loan");
    data.insert(NOTE, vec![Value::Row(other), Value::text("yes"), Value::Row(note)]).expect("an answer");
    data.delete(other).expect("the answer goes along");
    let other = data.insert(LOAN, vec![Value::Row(bo), Value::Null]).expect("a loan");
    data.insert(NOTE, vec![Value::Row(other), Value::text("yes"), Value::Row(note)]).expect("an answer");
    data.delete(loan).expect("its note goes along, and so does the answer");
    assert!(data.is_empty(NOTE));
    data.delete(other).expect("nothing is left of it");
    assert!(data.is_empty(LOAN) && data.is_empty(NOTE));
    data.delete(bo).expect("nothing refers to bo any more");
    assert_eq!(document(&data)["member"], json!({}));
    assert_eq!(data.delete(bo), Err(Refusal::Missing(bo)));
    assert_eq!(data.insert(MEMBER, member("Cy", None)).map(|row| row.number), Ok(2), "numbers are never given again");
}

#[test]
fn a_deletion_reaches_a_bounded_number_of_rows() {
    let (mut data, ada, ..) = start();
    for _ in 0..ROWS_DELETED_MAX - 2 {
        data.insert(MEMBER, vec![Value::Null, Value::Int(0), Value::Row(ada)]).expect("a member");
    }
    data.clone().delete(ada).expect("one less than the bound");
    for name in ["x", "y"] {
        data.insert_named(MEMBER, name, vec![Value::Null, Value::Int(0), Value::Row(ada)]).expect("a member");
    }
    assert_eq!(data.delete(ada), Err(Refusal::TooMany));
}

#[test]
fn changes_are_told_by_row_and_column() {
    let (before, ada, bo, loan) = start();
    let mut after = before.clone();
    assert_eq!(changes(&before, &after), []);
    after.delete(loan).expect("a deletion");
    after.update(ada, &[(BALANCE, Value::Int(150))]).expect("an update");
    after.update(after.single(SETTINGS), &[(ColumnId(0), Value::Bool(false))]).expect("an update");
    let cy = after.insert_named(MEMBER, "c/y", member("Cy", Some(bo))).expect("a member");
    let found = changes(&before, &after);
    let columns = vec![(BALANCE, Value::Int(0), Value::Int(150))];
    assert_eq!(found[0], Change { row: ada, id: "ada".into(), kind: ChangeKind::Updated { columns } });
    assert_eq!(found[1], Change { row: cy, id: "c/y".into(), kind: ChangeKind::Created });
    assert_eq!(
        changes_to_json(&found, &before, &after),
        json!({
            "created": [{"table": "member", "id": "c/y", "row": {"name": "Cy", "balance": "0.00", "sponsor": "bo"}}],
            "updated": [
                {"table": "member", "id": "ada", "changed": {"balance": {"before": "0.00", "after": "1.50"}}},
                {"table": "settings", "id": "settings", "changed": {"open": {"before": true, "after": false}}},
            ],
            "deleted": [
                {"table": "loan", "id": "first", "row": {"member": "bo", "due": "2031-05-05"}},
                {"table": "note", "id": "n", "row": {"loan": "first", "text": "~/", "answers": null}},
            ],
        })
    );
    assert_eq!(
        changes_to_patch(&found, &after),
        json!([
            {"op": "remove", "path": "/loan/first"},
            {"op": "remove", "path": "/note/n"},
            {"op": "replace", "path": "/member/ada/balance", "value": "1.50"},
            {"op": "add", "path": "/member/c~1y", "value": {"name": "Cy", "balance": "0.00", "sponsor": "bo"}},
            {"op": "replace", "path": "/settings/open", "value": false},
        ])
    );
}

#[test]
fn a_number_that_went_to_different_rows_is_no_update() {
    let (base, ..) = start();
    let (mut one, mut two) = (base.clone(), base);
    let row = one.insert_named(MEMBER, "x", member("X", None)).expect("a member");
    assert_eq!(two.insert_named(MEMBER, "y", member("Y", None)), Ok(row));
    let kinds: Vec<_> = changes(&one, &two).into_iter().map(|change| (change.id.to_string(), change.kind)).collect();
    assert_eq!(kinds, [("x".to_owned(), ChangeKind::Deleted), ("y".to_owned(), ChangeKind::Created)]);
}

fn faults(result: Result<Data, Vec<DataFault>>) -> Vec<String> {
    result.expect_err("it is wrong").into_iter().map(|fault| fault.to_string()).collect()
}

#[test]
fn a_document_is_read_strictly() {
    let (data, ..) = start();
    let with = |edit: &dyn Fn(&mut Json)| {
        let mut document = document(&data);
        edit(&mut document);
        faults(data.revised(&State::from(document), None))
    };
    for (found, expected) in [
        (with(&|d| d["x"] = json!({})), "/x: there is no such table: leave it out, or correct its name"),
        (with(&|d| *d = json!([])), ": expected an object of tables"),
        (with(&|d| d["loan"] = json!([])), "/loan: expected an object of rows"),
        (with(&|d| d["loan"]["first"] = json!(1)), "/loan/first: expected an object of columns"),
        (with(&|d| d["settings"]["x"] = json!(1)), "/settings/x: there is no such column; expected open, note"),
        (with(&|d| d["settings"] = json!({})), "/settings/open: the column is missing: add it"),
        (with(&|d| d["note"]["n"] = json!({"loan": "first"})), "/note/n/text: the column is missing: add it"),
        (
            with(&|d| d["loan"]["first"]["due"] = json!("soon")),
            "/loan/first/due: expected a date such as \"2031-05-05\", or null, got \"soon\"",
        ),
        (
            with(&|d| d["loan"]["first"]["member"] = json!("cy")),
            "/loan/first/member: there is no member with the id \"cy\": name one that exists",
        ),
        (
            with(&|d| d["loan"] = json!({})),
            "/note/n/loan: the reference names a row that doesn't exist: name one that does",
        ),
        (
            with(&|d| d["member"]["bo"]["name"] = json!("Ada")),
            "/member/bo/name: another row has the same value: choose another one",
        ),
        (
            with(&|d| d["member"]["$x"] = json!({"balance": 0})),
            "/member/$x: the id is empty, too long or begins with `$`: choose another one",
        ),
    ] {
        assert_eq!(found, [expected]);
    }
    let mut document = document(&data);
    document.as_object_mut().expect("an object").remove("note");
    assert_eq!(faults(data.revised(&State::from(document), None)), ["/note: the table is missing: add it"]);
    assert_eq!(faults(data.revised(&data.document(), Some(&[1]))), [": there must be one counter for each table"]);
}

#[test]
fn a_document_may_swap_unique_values_and_refer_forward() {
    let (data, ada, bo, _) = start();
    let mut document = document(&data);
    document["member"]["ada"] = json!({"name": "Bo", "balance": "1.00", "sponsor": "zoe"});
    document["member"]["bo"]["name"] = json!("Ada");
    document["member"]["zoe"] = json!({"balance": 2.5});
    let revised = data.revised(&State::from(document), None).expect("it is right");
    let zoe = RowKey { table: MEMBER, number: 2 };
    assert_eq!(revised.by_id(MEMBER, "zoe"), Some(zoe));
    assert_eq!(revised.cell(ada, SPONSOR), Some(&Value::Row(zoe)));
    assert_eq!(revised.cell(bo, NAME), Some(&Value::text("Ada")));
    assert_eq!(
        revised.document().to_value()["member"]["zoe"],
        json!({"name": null, "balance": "2.50", "sponsor": null})
    );
}

#[test]
fn overrides_update_insert_delete_and_replace() {
    let (data, _, bo, _) = start();
    let patch = json!({
        "member": {"bo": {"balance": "3.00"}, "ada": null, "cy": {"name": "Cy", "sponsor": "bo"}},
        "note": {"$replace": true, "n": {"loan": "first", "answers": "m"}, "m": {"loan": "first", "text": "new"}},
        "settings": {"note": "closed on Mondays"},
    });
    let overlaid = data.overlaid(&patch).expect("it is right");
    assert_eq!(
        document(&overlaid),
        json!({
            "member": {
                "bo": {"name": "Bo", "balance": "3.00", "sponsor": null},
                "cy": {"name": "Cy", "balance": "0.00", "sponsor": "bo"},
            },
            "loan": {"first": {"member": "bo", "due": "2031-05-05"}},
            "note": {"n": {"loan": "first", "text": "-", "answers": "m"}, "m": {"loan": "first", "text": "new", "answers": null}},
            "settings": {"open": true, "note": "closed on Mondays"},
        })
    );
    assert_eq!(overlaid.by_id(MEMBER, "bo"), Some(bo));
    assert_eq!(overlaid.counters(), [3, 1, 2, 1]);
    assert_eq!(document(&data.overlaid(&json!({})).expect("nothing to do")), document(&data));
    let gone = data.overlaid(&json!({"loan": {"first": null}})).expect("its note goes along");
    assert!(gone.is_empty(NOTE));
    let both = json!({"member": {"$replace": true}, "loan": {"$replace": true}, "note": {"$replace": true}});
    assert!(data.overlaid(&both).expect("nobody is left to refer to").is_empty(MEMBER));
}

#[test]
fn overrides_that_make_no_sense_are_refused() {
    let (data, ..) = start();
    for (patch, expected) in [
        (json!(1), ": expected an object of tables"),
        (json!({"x": {}}), "/x: there is no such table: leave it out, or correct its name"),
        (json!({"member": null}), "/member: expected an object of rows"),
        (json!({"settings": null}), "/settings: expected an object of columns"),
        (json!({"settings": {"$replace": true}}), "/settings/$replace: there is no such column; expected open, note"),
        (json!({"member": {"$replace": 1}}), "/member/$replace: expected true or false"),
        (json!({"member": {"x": null}}), "/member/x: there is no such row to delete: leave it out"),
        (json!({"member": {"bo": null}}), ": loan.member: a row refers to it"),
        (json!({"loan": {"x": {}}}), "/loan/x/member: the column is missing: add it"),
        (
            json!({"member": {"ada": null, "bo": {"sponsor": "ada"}}}),
            "/member/bo/sponsor: there is no member with the id \"ada\": name one that exists",
        ),
    ] {
        assert_eq!(faults(data.overlaid(&patch)), [expected], "{patch}");
    }
    let many: serde_json::Map<String, Json> = (0..500).map(|number| (format!("x{number}"), json!({"y": 1}))).collect();
    assert_eq!(faults(data.overlaid(&json!({"member": many}))).len(), super::FAULTS_MAX);
}

#[test]
fn hostile_counters_end_in_a_refusal() {
    let (data, ..) = start();
    let mut document = document(&data);
    for id in ["x", "y"] {
        document["member"][id] = json!({"balance": "0"});
    }
    let most = [u32::MAX; 4];
    assert_eq!(
        faults(data.revised(&State::from(document), Some(&most))),
        ["/member: the table has too many rows: keep at most 1000000"]
    );
    let mut full = data.revised(&data.document(), Some(&most)).expect("nothing is new");
    assert_eq!(full.insert(MEMBER, member("x", None)), Err(Refusal::Full { table: MEMBER }));
    assert_eq!(full.insert_named(MEMBER, "x", member("x", None)), Err(Refusal::Full { table: MEMBER }));
}
