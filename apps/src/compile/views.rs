//! Views.

use std::sync::Arc;

use super::names::Names;
use super::{Compiler, kinds, sentence};
use crate::app::{Embed, Shown, Shows, View};
use crate::definition::Name;
use crate::definition::view::{EmbedDefinition, Shown as Written, ViewDefinition};
use crate::expression::Roots;
use crate::fault::Faults;
use crate::kinds::{ColumnId, TableId, Type};

/// Rows of a page where a view does not say.
const PAGE: u32 = 20;
/// Parameters that every list view has.
const LIST_PARAMETERS: [&str; 3] = ["search", "sort", "page"];

impl Compiler<'_> {
    pub(super) fn views(&self, faults: &mut Faults) -> Vec<View> {
        self.definition.views.iter().filter_map(|(name, view)| self.view(name, view, faults)).collect()
    }

    fn view(&self, name: &Name, written: &ViewDefinition, faults: &mut Faults) -> Option<View> {
        let table = self.ground.table(&written.from, faults)?;
        let parameters = kinds::parameters(&written.params, self.ground, faults);
        for (param, _) in &written.params {
            let taken = if written.one { &["id"][..] } else { &LIST_PARAMETERS[..] };
            if taken.contains(&&*param.text) || written.filter.iter().any(|column| column.text == param.text) {
                faults.push(param.fault(format!("the view has a parameter `{}` already", param.text)));
            }
        }
        let mut names = Names::new(self.ground, &self.of_actions, Roots::default());
        for parameter in &parameters {
            names.push(&parameter.name, parameter.kind.clone());
        }
        let row = &written.variable.as_ref().unwrap_or(&written.from).text;
        let mut inner = names.clone();
        match &written.variable {
            Some(variable) => inner.introduce(variable, Type::Row(table), faults),
            None => {
                inner.push(row, Type::Row(table));
            }
        }
        let rows = if written.one {
            for (list, what) in [(&written.search, "search"), (&written.filter, "filter")] {
                if let Some(name) = list.first() {
                    faults.push(name.fault(format!("a view of one row has no `{what}`")));
                }
            }
            match &written.condition {
                None => Shows::One(None),
                Some(condition) => Shows::One(Some(inner.condition(condition, faults)?)),
            }
        } else {
            Shows::Many(names.rows_where(table, row, written.condition.as_ref(), faults)?)
        };
        let columns = |names: &[Name], faults: &mut Faults| -> Vec<ColumnId> {
            names.iter().filter_map(|name| self.ground.column(table, name, faults)).collect()
        };
        let search = columns(&written.search, faults);
        for (name, column) in written.search.iter().zip(&search) {
            if !matches!(self.ground.schema.table(table).describe(*column).kind.present(), Type::Text) {
                faults.push(name.fault(format!("words are looked for in text, `{}` is none", name.text)));
            }
        }
        let sort = written
            .sort
            .iter()
            .filter_map(|sort| Some((self.ground.column(table, &sort.column, faults)?, sort.descending)))
            .collect();
        Some(View {
            name: Arc::clone(&name.text),
            about: written.about.clone().unwrap_or_else(|| sentence(&name.text)),
            who: Self::who(&written.who, faults),
            parameters,
            table,
            rows,
            search,
            filter: columns(&written.filter, faults),
            sort,
            page: written.page.unwrap_or(PAGE),
            shown: self.shown(table, &written.shown, &inner, faults),
        })
    }

    fn shown(&self, table: TableId, written: &Written, names: &Names<'_>, faults: &mut Faults) -> Shown {
        let described = self.ground.schema.table(table);
        let columns = match &written.columns {
            None => described.columns().filter(|(_, column)| !column.secret).map(|(id, _)| id).collect(),
            Some(columns) => columns.iter().filter_map(|name| self.ground.column(table, name, faults)).collect(),
        };
        let derive = written
            .derive
            .iter()
            .filter_map(|(name, source)| Some((Arc::clone(&name.text), names.check(source, None, faults)?)))
            .collect();
        let embed = written
            .embed
            .iter()
            .filter_map(|(name, written)| {
                Some((Arc::clone(&name.text), self.embed(table, name, written, names, faults)?))
            })
            .collect();
        Shown { columns, derive, embed }
    }

    fn embed(
        &self,
        table: TableId,
        name: &Name,
        written: &EmbedDefinition,
        names: &Names<'_>,
        faults: &mut Faults,
    ) -> Option<Embed> {
        match written {
            EmbedDefinition::Referred(shown) => {
                let column = self.ground.column(table, name, faults)?;
                let Type::Row(other) = *self.ground.schema.table(table).describe(column).kind.present() else {
                    faults.push(name.fault(format!("`{}` refers to no table", name.text)));
                    return None;
                };
                let shown = shown.iter().filter_map(|name| self.ground.column(other, name, faults)).collect();
                Some(Embed::Referred { column, shown })
            }
            EmbedDefinition::Children { from, by, shown } => {
                let child = self.ground.table(from, faults)?;
                let column = self.ground.column(child, by, faults)?;
                if *self.ground.schema.table(child).describe(column).kind.present() != Type::Row(table) {
                    faults.push(by.fault(format!("`{}` does not refer to the rows that are shown", by.text)));
                    return None;
                }
                let mut inner = names.clone();
                inner.push(&from.text, Type::Row(child));
                let shown = Box::new(self.shown(child, shown, &inner, faults));
                Some(Embed::Children { table: child, by: column, shown })
            }
        }
    }
}
