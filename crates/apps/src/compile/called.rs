//! Callable actions and views, as types: so that a name that nothing has is a fault wherever it stands.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::CALLS;
use crate::definition::Definition;
use crate::kinds::Type;

/// Parameters of views, beside their own and their filters, of `submit`, and of `wait`.
const PARAMETERS: [&str; 9] = ["id", "search", "sort", "page", "status", "code", "about", "answers", "seconds"];

/// The names of all actions, views and other calls.
pub(crate) fn names(definition: &Definition) -> Type {
    let actions = definition.actions.iter().map(|(name, _)| &name.text);
    let views = definition.views.iter().map(|(name, _)| &name.text);
    words(actions.chain(views).cloned().chain(CALLS.map(Arc::from)))
}

/// The names of all parameters of all calls.
pub(super) fn parameters(definition: &Definition) -> Type {
    let actions = definition.actions.iter().flat_map(|(_, action)| &action.params);
    let views = definition.views.iter().flat_map(|(_, view)| &view.params);
    let filters = definition.views.iter().flat_map(|(_, view)| &view.filter);
    let named = actions.chain(views).map(|(name, _)| &name.text).chain(filters.map(|name| &name.text));
    words(named.cloned().chain(PARAMETERS.map(Arc::from)))
}

fn words(names: impl Iterator<Item = Arc<str>>) -> Type {
    Type::Enum(names.collect::<BTreeSet<_>>().into_iter().collect())
}
