//! A small app to test with: tools that members borrow, held in plain lists.

use std::sync::Arc;

use crate::calendar::Calendar;
use crate::expression::{
    Checked, DEFAULT_BUDGET, EvalError, Frame, Function, Host, Roots, Rows, Scope, Signature, Tables, Wrong, check,
};
use crate::kinds::{ColumnId, TableId, Type};
use crate::value::{RowKey, Value};

pub(super) struct World {
    columns: Vec<Vec<(&'static str, Type)>>,
    /// For each table the cells of each row; none for a deleted one.
    pub(super) rows: Vec<Vec<Option<Vec<Value>>>>,
    pub(super) calendar: Calendar,
    functions: Vec<Function>,
}

const TABLES: [&str; 5] = ["member", "tool", "loan", "settings", "order"];
pub(super) const MEMBER: TableId = TableId(0);
pub(super) const TOOL: TableId = TableId(1);
pub(super) const LOAN: TableId = TableId(2);
const SETTINGS: TableId = TableId(3);

pub(super) fn words(list: &[&str]) -> Type {
    Type::Enum(list.iter().map(|word| Arc::from(*word)).collect())
}

pub(super) fn euro() -> Type {
    Type::Money("EUR".into())
}

pub(super) fn row(table: TableId, number: u32) -> Value {
    Value::Row(RowKey { table, number })
}

impl World {
    /// Three members, four tools, two loans. Member 2 has no phone; loan 0 is open, loan 1 is back.
    pub(super) fn new() -> Self {
        let opt = |kind: Type| kind.or_null();
        let columns = vec![
            vec![
                ("name", Type::Text),
                ("balance", euro()),
                ("blocked", Type::Bool),
                ("phone", opt(Type::Text)),
                ("friend", opt(Type::Row(MEMBER))),
            ],
            vec![
                ("name", Type::Text),
                ("kind", words(&["drill", "saw", "ladder"])),
                ("day_fee", euro()),
                ("state", words(&["in", "out", "repair"])),
                ("rate", Type::Decimal(2)),
            ],
            vec![
                ("tool", Type::Row(TOOL)),
                ("member", Type::Row(MEMBER)),
                ("due", Type::Date),
                ("back", opt(Type::Date)),
                ("fee", euro()),
                ("at", Type::Instant),
                ("length", Type::Duration),
            ],
            vec![("limit", Type::Int), ("tags", Type::List(Box::new(Type::Text)))],
            Vec::new(),
        ];
        let member = |name: &str, cents, blocked, phone: Option<&str>, friend: Option<u32>| {
            let phone = phone.map_or(Value::Null, Value::text);
            let friend = friend.map_or(Value::Null, |number| row(MEMBER, number));
            Some(vec![Value::text(name), Value::Int(cents), Value::Bool(blocked), phone, friend])
        };
        let tool = |name: &str, kind: &str, fee, state: &str, rate| {
            Some(vec![Value::text(name), Value::text(kind), Value::Int(fee), Value::text(state), Value::Int(rate)])
        };
        // 2031-05-05 is day 22404; loans begin at 09:00 in Paris.
        let loan = |tool, member, due, back: Option<i64>, fee, at| {
            let back = back.map_or(Value::Null, Value::Int);
            Some(vec![
                row(TOOL, tool),
                row(MEMBER, member),
                Value::Int(due),
                back,
                Value::Int(fee),
                Value::Int(at),
                Value::Int(5400),
            ])
        };
        let tags: Value = Value::List([Value::text("new"), Value::text("old")].as_slice().into());
        let rows = vec![
            vec![
                member("Ada", 5000, false, Some("123"), Some(1)),
                member("Ben", 120, true, Some("456"), None),
                member("Zoë", 800, false, None, Some(0)),
            ],
            vec![
                tool("Drill one", "drill", 250, "out", 125),
                tool("Big saw", "saw", 400, "in", 50),
                tool("Ladder", "ladder", 250, "in", 300),
                tool("Drill two", "drill", 900, "repair", 75),
            ],
            vec![loan(0, 0, 22_404, None, 500, 1_935_730_800), loan(1, 2, 22_400, Some(22_399), 400, 1_935_385_200)],
            vec![Some(vec![Value::Int(3), tags])],
            Vec::new(),
        ];
        let calendar = Calendar::new("Europe/Paris", false).expect("a zone");
        let twice = Signature::Fixed { arguments: vec![Type::Int], result: Type::Int };
        let pick = |kinds: &[Type], _: Option<&Type>| match kinds {
            [Type::List(element)] => Ok((**element).clone()),
            _ => Err("takes one list".to_owned()),
        };
        let weights = |_: &[Type], wanted: Option<&Type>| wanted.cloned().ok_or_else(|| "needs a column".to_owned());
        let functions = vec![
            Function { name: "twice".into(), id: 1, signature: twice },
            Function {
                name: "pick".into(),
                id: 2,
                signature: Signature::Generic { judge: Arc::new(pick), alike: false },
            },
            Function {
                name: "weights".into(),
                id: 3,
                signature: Signature::Generic { judge: Arc::new(weights), alike: true },
            },
        ];
        Self { columns, rows, calendar, functions }
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        let record = |fields: &[(&str, Type)]| {
            Type::Record(fields.iter().map(|(name, kind)| (Arc::from(*name), kind.clone())).collect())
        };
        let pair = record(&[("item", Type::Row(TOOL)), ("count", Type::Int), ("note", Type::Text.or_null())]);
        let params = record(&[("who", Type::Row(MEMBER)), ("days", Type::Int), ("spare", Type::Row(MEMBER).or_null())]);
        let locals = [
            ("tool", Type::Row(TOOL)),
            ("member", Type::Row(MEMBER)),
            ("loan", Type::Row(LOAN)),
            ("days", Type::Int),
            ("pairs", Type::List(Box::new(pair))),
            ("t", params),
            ("note", Type::Text.or_null()),
            ("sizes", Type::List(Box::new(Type::Int))),
            ("kind", words(&["drill", "saw", "ladder"])),
            ("least", Type::Int),
            ("gone", Type::Row(TOOL)),
            ("price", euro().or_null()),
        ];
        Scope {
            tables: self,
            calendar: &self.calendar,
            locals: locals.into_iter().map(|(name, kind)| (Arc::from(name), kind)).collect(),
            functions: &self.functions,
            roots: Roots { old: true, init: true },
            now: true,
            assume: Vec::new(),
        }
    }

    pub(super) fn locals() -> Vec<Value> {
        let pair = |item, count, note: Option<&str>| {
            Value::Record([row(TOOL, item), Value::Int(count), note.map_or(Value::Null, Value::text)].into())
        };
        let sizes = [3, 1, 2, 3].map(Value::Int);
        vec![
            row(TOOL, 1),
            row(MEMBER, 0),
            row(LOAN, 0),
            Value::Int(3),
            Value::List([pair(0, 2, None), pair(2, 1, Some("heavy"))].into()),
            Value::Record([row(MEMBER, 2), Value::Int(5), Value::Null].into()),
            Value::Null,
            Value::List(sizes.into()),
            Value::text("saw"),
            Value::Int(i64::MIN),
            row(TOOL, 77),
            Value::Int(250),
        ]
    }

    pub(super) fn check(&self, source: &str, expected: Option<&Type>) -> Result<Checked, Vec<Wrong>> {
        check(source, &self.scope(), expected)
    }

    /// Value of an expression, with a world that was the same before, but for tools that all were in.
    pub(super) fn evaluate(&self, checked: &Checked, budget: &mut u64) -> Result<Value, EvalError> {
        self.with_frame(budget, |frame| checked.evaluate(frame))
    }

    pub(super) fn with_frame<T>(&self, budget: &mut u64, run: impl FnOnce(&mut Frame<'_>) -> T) -> T {
        let mut before = Self::new();
        for tool in before.rows[1].iter_mut().flatten() {
            tool[3] = Value::text("in");
        }
        before.rows[0][0].as_mut().expect("Ada")[1] = Value::Int(7000);
        let locals = Self::locals();
        let frame = &mut Frame {
            rows: self,
            old: Some(&before),
            init: Some(&before),
            locals: &locals,
            now: 1_935_730_800,
            init_now: 1_935_644_400,
            calendar: &self.calendar,
            host: &mut Answers,
            budget,
        };
        run(frame)
    }

    /// Value of a source.
    pub(super) fn run(&self, source: &str) -> Result<Value, EvalError> {
        let checked = self.check(source, None).unwrap_or_else(|wrong| panic!("{source}: {wrong:?}"));
        self.evaluate(&checked, &mut DEFAULT_BUDGET.clone())
    }

    fn cells(&self, key: RowKey) -> Option<&Vec<Value>> {
        self.rows.get(usize::from(key.table.0))?.get(usize::try_from(key.number).ok()?)?.as_ref()
    }
}

struct Answers;

impl Host for Answers {
    fn call(&mut self, id: u16, arguments: &[Value]) -> Result<Value, EvalError> {
        match (id, arguments) {
            (1, [Value::Int(number)]) => Ok(Value::Int(number * 2)),
            (2, [Value::List(list)]) => list.first().cloned().ok_or_else(|| EvalError::Host("nothing to pick".into())),
            (3, [first, ..]) => Ok(first.clone()),
            _ => Err(EvalError::Mismatch),
        }
    }
}

impl Tables for World {
    fn find(&self, name: &str) -> Option<TableId> {
        TABLES.iter().position(|table| *table == name).map(|at| TableId(u16::try_from(at).expect("few tables")))
    }

    fn name(&self, table: TableId) -> &str {
        TABLES[usize::from(table.0)]
    }

    fn names(&self) -> Vec<&str> {
        TABLES.to_vec()
    }

    fn column(&self, table: TableId, name: &str) -> Option<(ColumnId, &Type)> {
        let columns = &self.columns[usize::from(table.0)];
        let at = columns.iter().position(|(column, _)| *column == name)?;
        Some((ColumnId(u16::try_from(at).expect("few columns")), &columns[at].1))
    }

    fn columns(&self, table: TableId) -> Vec<&str> {
        self.columns[usize::from(table.0)].iter().map(|(name, _)| *name).collect()
    }

    fn is_indexed(&self, table: TableId, column: ColumnId) -> bool {
        // loan.tool, loan.member, loan.back, member.name
        (table == LOAN && matches!(column.0, 0 | 1 | 3)) || (table, column) == (MEMBER, ColumnId(0))
    }

    fn is_single(&self, table: TableId) -> bool {
        table == SETTINGS
    }
}

impl Rows for World {
    fn cell(&self, row: RowKey, column: ColumnId) -> Option<&Value> {
        self.cells(row)?.get(usize::from(column.0))
    }

    fn rows(&self, table: TableId) -> Box<dyn Iterator<Item = RowKey> + '_> {
        let rows = (0_u32..).zip(&self.rows[usize::from(table.0)]);
        Box::new(rows.filter(|(_, cells)| cells.is_some()).map(move |(number, _)| RowKey { table, number }))
    }

    fn matching(
        &self,
        table: TableId,
        column: ColumnId,
        value: &Value,
    ) -> Option<Box<dyn Iterator<Item = RowKey> + '_>> {
        let value = value.clone();
        let rows = self.rows(table).filter(move |row| self.cell(*row, column) == Some(&value));
        self.is_indexed(table, column).then(|| Box::new(rows) as Box<dyn Iterator<Item = RowKey>>)
    }

    fn count(&self, table: TableId) -> usize {
        self.rows(table).count()
    }

    fn single(&self, table: TableId) -> Option<RowKey> {
        self.is_single(table).then_some(RowKey { table, number: 0 })
    }

    fn exists(&self, row: RowKey) -> bool {
        self.cells(row).is_some()
    }

    fn id(&self, row: RowKey) -> Option<Arc<str>> {
        let name = TABLES[usize::from(row.table.0)];
        self.exists(row).then(|| format!("{}{}", name[..1].to_uppercase(), row.number).into())
    }

    fn by_id(&self, table: TableId, id: &str) -> Option<RowKey> {
        self.rows(table).find(|row| self.id(*row).is_some_and(|known| *known == *id))
    }
}
