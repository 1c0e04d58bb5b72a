//! Views.

use std::sync::Arc;

use super::names::{Names, sentence};
use super::{Compiler, kinds};
use crate::app::{Embed, RowSelection, ShownFields, View};
use crate::definition::Name;
use crate::definition::view::{EmbedDefinition, ShownFields as Written, ViewDefinition};
use crate::expression::Roots;
use crate::fault::Faults;
use crate::kinds::{ColumnId, TableId, Type};

/// Rows of a page where a view does not say.
const PAGE: u32 = 20;
/// Parameters that every list view has.
const LIST_PARAMETERS: [&str; 3] = ["search", "sort", "page"];

/// Parameters that every view of its sort has.
const fn standard(one: bool) -> &'static [&'static str] {
    if one { &["id"] } else { &LIST_PARAMETERS }
}

impl Compiler<'_> {
    pub(super) fn views(&self, faults: &mut Faults) -> Vec<View> {
        self.definition.views.iter().filter_map(|(name, view)| self.view(name, view, faults)).collect()
    }

    fn view(&self, name: &Name, written: &ViewDefinition, faults: &mut Faults) -> Option<View> {
        let table = self.shared.table(&written.from, faults)?;
        let parameters = kinds::parameters(&written.params, self.shared, faults);
        for (param, _) in &written.params {
            let taken = standard(written.one);
            if taken.contains(&&*param.text) || written.filter.iter().any(|column| column.text == param.text) {
                faults.push(param.fault(format!("the view has a parameter `{}` already", param.text)));
            }
        }
        for column in written.filter.iter().filter(|column| standard(written.one).contains(&&*column.text)) {
            faults.push(column.fault(format!("the view has a parameter `{}` already", column.text)));
        }
        let mut names = Names::new(self.shared, &self.of_actions, Roots::default());
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
            let sort = written.sort.first().map(|sort| &sort.column);
            for (first, what) in
                [(written.search.first(), "search"), (written.filter.first(), "filter"), (sort, "sort")]
            {
                if let Some(name) = first {
                    faults.push(name.fault(format!("a view of one row has no `{what}`")));
                }
            }
            match &written.condition {
                None => RowSelection::One(None),
                Some(condition) => RowSelection::One(Some(inner.condition(condition, faults)?)),
            }
        } else {
            RowSelection::Many(names.rows_where(table, row, written.condition.as_ref(), faults)?)
        };
        let columns = |names: &[Name], faults: &mut Faults| -> Vec<ColumnId> {
            names.iter().filter_map(|name| self.shared.column(table, name, faults)).collect()
        };
        let search = columns(&written.search, faults);
        for (name, column) in written.search.iter().zip(&search) {
            if !matches!(self.shared.schema.table(table).describe(*column).kind.present(), Type::Text) {
                faults.push(name.fault(format!("words are looked for in text, `{}` is none", name.text)));
            }
        }
        self.hidden(written, table, faults);
        let sort = written
            .sort
            .iter()
            .filter_map(|sort| Some((self.shared.column(table, &sort.column, faults)?, sort.descending)))
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

    /// Reports columns that a reader of the view cannot see, or that no view shows, where they tell rows apart: an answer
    /// to such a call would show what they hold.
    fn hidden(&self, written: &ViewDefinition, table: TableId, faults: &mut Faults) {
        let readers = Self::who(&written.who, &mut Faults::new());
        let hides = |name: &Name| {
            self.definition.permissions.iter().any(|permission| {
                permission.table.text == written.from.text
                    && permission.hide.iter().any(|hidden| hidden.text == name.text)
                    && Self::who(&permission.roles, &mut Faults::new()).iter().any(|role| readers.contains(role))
            })
        };
        let told = written.filter.iter().chain(written.sort.iter().map(|sort| &sort.column)).chain(&written.search);
        for name in told {
            let described = self.shared.schema.table(table);
            let secret = described.column(&name.text).is_some_and(|column| described.describe(column).secret);
            if secret || hides(name) {
                faults.push(
                    name.fault(format!("`{}` is hidden from who reads this, so it tells no rows apart", name.text)),
                );
            }
        }
    }

    /// A column that is shown.
    fn shown_column(&self, table: TableId, name: &Name, faults: &mut Faults) -> Option<ColumnId> {
        let column = self.shared.column(table, name, faults)?;
        if self.shared.schema.table(table).describe(column).secret {
            faults.push(name.fault(format!("`{}` is secret: no view shows it", name.text)));
        }
        Some(column)
    }

    fn shown(&self, table: TableId, written: &Written, names: &Names<'_>, faults: &mut Faults) -> ShownFields {
        let described = self.shared.schema.table(table);
        let columns = match &written.columns {
            None => described.columns().filter(|(_, column)| !column.secret).map(|(id, _)| id).collect(),
            Some(columns) => columns.iter().filter_map(|name| self.shown_column(table, name, faults)).collect(),
        };
        let columns: Vec<ColumnId> = columns;
        for (name, _) in &written.derive {
            let column = described.column(&name.text).is_some_and(|column| columns.contains(&column));
            if &*name.text == "id" || column || written.embed.iter().any(|(embed, _)| embed.text == name.text) {
                faults.push(name.fault(format!("`{}` is shown already: choose another name", name.text)));
            }
        }
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
        ShownFields { columns, derive, embed }
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
                let column = self.shared.column(table, name, faults)?;
                let Type::Row(other) = *self.shared.schema.table(table).describe(column).kind.present() else {
                    faults.push(name.fault(format!("`{}` refers to no table", name.text)));
                    return None;
                };
                let shown = shown.iter().filter_map(|name| self.shown_column(other, name, faults)).collect();
                Some(Embed::Referred { column, shown })
            }
            EmbedDefinition::Children { from, by, shown } => {
                let child = self.shared.table(from, faults)?;
                let column = self.shared.column(child, by, faults)?;
                if *self.shared.schema.table(child).describe(column).kind.present() != Type::Row(table) {
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
