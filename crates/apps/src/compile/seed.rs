//! Initial rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Compiler;
use super::names::Names;
use crate::app::{Seed, SeedColumn, SeedCount, SeedValue, TableSeed};
use crate::definition::seed::{Count, TableSeed as Written};
use crate::definition::{Bindings, Name};
use crate::expression::Roots;
use crate::fault::Faults;
use crate::kinds::{ColumnId, TableId, Type};
use crate::syntax::source::Source;

/// In front of an expression: the value must differ from all earlier ones.
const DISTINCT: &str = "distinct ";

impl Compiler<'_> {
    pub(super) fn seed(&self, faults: &mut Faults) -> Seed {
        let written = &self.definition.seed;
        let tables = written.tables.iter().filter_map(|(name, seed)| self.table_seed(name, seed, faults)).collect();
        for (id, table) in self.shared.schema.ids().filter(|(_, table)| table.single) {
            let seeded = written.tables.iter().any(|(name, _)| name.text == table.name);
            let missing = table
                .columns()
                .find(|(column, described)| !described.kind.may_be_null() && self.default(id, *column).is_none());
            if let (false, Some((_, column))) = (seeded, missing)
                && let Some((name, _)) = self.definition.tables.iter().find(|(name, _)| name.text == table.name)
            {
                faults.push(name.fault(format!("`seed` must set the column `{}` of its one row", column.name)));
            }
        }
        Seed { variants: written.variants, tables }
    }

    fn default(&self, table: TableId, column: ColumnId) -> Option<&crate::expression::Checked> {
        self.defaults.get(usize::from(table.0))?.get(usize::from(column.0))?.as_ref()
    }

    fn table_seed(&self, name: &Name, written: &Written, faults: &mut Faults) -> Option<TableSeed> {
        let table = self.shared.table(name, faults)?;
        let single = self.shared.schema.table(table).single;
        if single != matches!(written.count, Count::Single) {
            let message =
                if single { "has exactly one row: no count is needed" } else { "needs `n`, `rows`, `each` or `per`" };
            faults.push(name.fault(format!("`{}` {message}", name.text)));
            return None;
        }
        let mut names = Names::new(self.shared, &self.of_draws, Roots::default());
        names.lenient = true;
        let mut owner = None;
        let count = match &written.count {
            Count::Single | Count::Rows(_) => SeedCount::Listed,
            Count::Number(number) => SeedCount::Number(names.check(number, Some(&Type::Int), faults)?),
            Count::Each { variable, of } => {
                let (of, element) = names.list(of, faults)?;
                names.push(&variable.text, element);
                SeedCount::Each(of)
            }
            Count::Per { table: parent, number } => {
                let parent_table = self.shared.table(parent, faults)?;
                names.push(&parent.text, Type::Row(parent_table));
                owner = Some((parent, parent_table));
                SeedCount::Per { table: parent_table, number: names.check(number, Some(&Type::Int), faults)? }
            }
        };
        names.push(&Arc::from("n"), Type::Int);
        let none = Bindings::new();
        let lists: Vec<&Bindings> = match &written.count {
            Count::Rows(rows) => rows.iter().collect(),
            _ => vec![&none],
        };
        let rows = lists
            .into_iter()
            .map(|own| self.seed_row(name, table, owner, own, &written.columns, &names, faults))
            .collect();
        Some(TableSeed { table, count, rows })
    }

    #[expect(clippy::too_many_arguments, reason = "all of them are parts of one row")]
    fn seed_row(
        &self,
        name: &Name,
        table: TableId,
        owner: Option<(&Name, TableId)>,
        own: &Bindings,
        shared: &Bindings,
        names: &Names<'_>,
        faults: &mut Faults,
    ) -> Vec<SeedColumn> {
        let mut names = names.clone();
        let mut columns: Vec<SeedColumn> = Vec::new();
        let described = self.shared.schema.table(table);
        let given = |column: &Arc<str>| own.iter().chain(shared).any(|(name, _)| name.text == *column);
        if let Some((parent, parent_table)) = owner {
            let refers = described
                .columns()
                .find(|(_, column)| !given(&column.name) && *column.kind.present() == Type::Row(parent_table));
            if let Some((column, described)) = refers
                && let Ok(checked) = names.check_text(&parent.text, None)
            {
                names.push(&described.name, described.kind.clone());
                columns.push(SeedColumn { column, value: SeedValue::Expression(checked), distinct: false });
            }
        }
        let common = shared.iter().filter(|(name, _)| !own.iter().any(|(mine, _)| mine.text == name.text));
        for (name, source) in own.iter().chain(common) {
            let Some(column) = self.shared.column(table, name, faults) else { continue };
            let kind = &described.describe(column).kind;
            let drawn = seed_value(source, kind, &names, faults);
            names.push(&name.text, kind.clone());
            columns.extend(drawn.map(|(value, distinct)| SeedColumn { column, value, distinct }));
        }
        let set: BTreeSet<ColumnId> = columns.iter().map(|column| column.column).collect();
        for (column, described) in described.columns() {
            let bad = given(&described.name);
            if !set.contains(&column) && !bad && !described.kind.may_be_null() && self.default(table, column).is_none()
            {
                faults.push(name.fault(format!("the column `{}` has no default and must be set", described.name)));
            }
        }
        columns
    }
}

/// A column's value, and whether it must differ from all earlier ones.
fn seed_value(source: &Source, kind: &Type, names: &Names<'_>, faults: &mut Faults) -> Option<(SeedValue, bool)> {
    if source.text.trim() == "uniform" && matches!(kind.present(), Type::Enum(_)) {
        return Some((SeedValue::Uniform, false));
    }
    let distinct = source.text.starts_with(DISTINCT);
    let skip = if distinct { DISTINCT.chars().count() } else { 0 };
    let checked = names.assigned_behind(source, skip, kind, faults)?;
    Some((SeedValue::Expression(checked), distinct))
}
