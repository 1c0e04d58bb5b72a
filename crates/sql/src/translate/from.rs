//! FROM: tables, subqueries and joins.

use sqlparser::ast::{Expr, Join, JoinConstraint, JoinOperator, ObjectName, Query, TableFactor, TableWithJoins};

use super::Untranslatable;
use super::build::{fold, last};
use super::scope::{Output, Relation, Scope, Translator, Typed};

impl<'d> Translator<'d> {
    /// Translates what stands in FROM, adds it to the scope, and gives the equalities that hold in every row.
    ///
    /// A comma becomes a cross join: SQLite lets a later ON see everything before it, PostgreSQL only within one chain of joins.
    pub(super) fn from(
        &mut self,
        from: &mut Vec<TableWithJoins>,
        scope: &mut Scope<'_, 'd>,
    ) -> Result<Vec<Expr>, Untranslatable> {
        let mut chains = std::mem::take(from).into_iter();
        let Some(mut chain) = chains.next() else { return Ok(Vec::new()) };
        for next in chains {
            chain.joins.push(Join {
                relation: next.relation,
                global: false,
                join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
            });
            chain.joins.extend(next.joins);
        }
        let conditions = self.chain(&mut chain, scope)?;
        from.push(chain);
        Ok(conditions)
    }

    fn chain(&mut self, chain: &mut TableWithJoins, scope: &mut Scope<'_, 'd>) -> Result<Vec<Expr>, Untranslatable> {
        let mut conditions = self.factor(&mut chain.relation, scope)?;
        for join in &mut chain.joins {
            let before = scope.relations.len();
            conditions.extend(self.factor(&mut join.relation, scope)?);
            self.join(join, before, scope, &mut conditions)?;
        }
        Ok(conditions)
    }

    fn join(
        &mut self,
        join: &mut Join,
        before: usize,
        scope: &mut Scope<'_, 'd>,
        conditions: &mut Vec<Expr>,
    ) -> Result<(), Untranslatable> {
        use JoinOperator as Op;
        let (left_null, right_null) = match &join.join_operator {
            Op::Join(_) | Op::Inner(_) | Op::CrossJoin(_) => (false, false),
            Op::Left(_) | Op::LeftOuter(_) => (false, true),
            Op::Right(_) | Op::RightOuter(_) => (true, false),
            Op::FullOuter(_) => (true, true),
            other => return Err(Untranslatable::Construct(format!("join {other:?}"))),
        };
        for (place, relation) in scope.relations.iter_mut().enumerate() {
            if if place < before { left_null } else { right_null } {
                relation.columns.iter_mut().for_each(|column| column.typed.nullable = true);
            }
        }
        match &mut join.join_operator {
            Op::Join(constraint) | Op::Inner(constraint) | Op::CrossJoin(constraint) => match constraint {
                JoinConstraint::None => join.join_operator = Op::CrossJoin(JoinConstraint::None),
                JoinConstraint::On(condition) => {
                    self.condition(condition, scope)?;
                    conditions.push(condition.clone());
                    join.join_operator = Op::Join(constraint.clone());
                }
                other => constrain(other),
            },
            Op::Left(constraint)
            | Op::LeftOuter(constraint)
            | Op::Right(constraint)
            | Op::RightOuter(constraint)
            | Op::FullOuter(constraint) => match constraint {
                JoinConstraint::On(condition) => self.condition(condition, scope)?,
                JoinConstraint::None => return Err(Untranslatable::Construct("outer join without a condition".into())),
                other => constrain(other),
            },
            _ => {}
        }
        Ok(())
    }

    fn factor(&mut self, factor: &mut TableFactor, scope: &mut Scope<'_, 'd>) -> Result<Vec<Expr>, Untranslatable> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let mut relation = self.relation(name)?;
                name.0.iter_mut().for_each(|part| {
                    if let sqlparser::ast::ObjectNamePart::Identifier(ident) = part {
                        fold(ident);
                    }
                });
                if let Some(alias) = alias {
                    fold(&mut alias.name);
                    relation.name.clone_from(&alias.name.value);
                }
                scope.relations.push(relation);
                Ok(Vec::new())
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let columns = self.derived(subquery, scope)?;
                let name = match alias {
                    Some(alias) => {
                        fold(&mut alias.name);
                        alias.name.value.clone()
                    }
                    None => {
                        let name = format!("derived_{}", scope.relations.len() + 1);
                        *alias = Some(sqlparser::ast::TableAlias {
                            explicit: true,
                            name: sqlparser::ast::Ident::new(name.clone()),
                            columns: Vec::new(),
                            at: None,
                        });
                        name
                    }
                };
                scope.relations.push(Relation { name, columns, table: None });
                Ok(Vec::new())
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.chain(table_with_joins, scope),
            other => Err(Untranslatable::Construct(format!("in FROM: {other}"))),
        }
    }

    fn derived(&mut self, query: &mut Query, scope: &Scope<'_, 'd>) -> Result<Vec<Output>, Untranslatable> {
        self.query(query, scope.outer)
    }

    fn relation(&self, name: &ObjectName) -> Result<Relation<'d>, Untranslatable> {
        let folded = last(name);
        if name.0.len() == 1
            && let Some((_, columns)) = self.common.iter().rev().find(|(common, _)| *common == folded)
        {
            return Ok(Relation { name: folded, columns: columns.clone(), table: None });
        }
        let table = self.dataset.table(&folded).ok_or_else(|| Untranslatable::Name(name.to_string()))?;
        let columns = table
            .columns
            .iter()
            .map(|column| Output {
                name: column.name.to_ascii_lowercase(),
                typed: Typed {
                    sort: Some(column.sort),
                    affinity: Some(column.affinity()),
                    nullable: !column.not_null && !table.primary_key.contains(&column.name),
                },
            })
            .collect();
        Ok(Relation { name: folded, columns, table: Some(table) })
    }
}

/// Writes the names of USING as the scripts do; NATURAL has none.
fn constrain(constraint: &mut JoinConstraint) {
    if let JoinConstraint::Using(names) = constraint {
        for part in names.iter_mut().flat_map(|name| &mut name.0) {
            if let sqlparser::ast::ObjectNamePart::Identifier(ident) = part {
                fold(ident);
            }
        }
    }
}
