//! Names that the files of a theme may use: screens, views and their columns, actions, icons.

use std::collections::BTreeSet;

use crate::app::{Action, Embed, Role, Screens, ShownFields, View};
use crate::kinds::TableId;
use crate::schema::Schema;

/// Names of an app.
pub(crate) struct Names<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) screens: &'a Screens,
    pub(crate) views: &'a [View],
    pub(crate) actions: &'a [Action],
}

impl Names<'_> {
    /// The place of a screen.
    pub(crate) fn screen(&self, name: &str) -> Option<usize> {
        self.screens.screens.iter().position(|screen| *screen.name == *name)
    }

    /// The view of a name.
    pub(crate) fn view(&self, name: &str) -> Option<&View> {
        self.views.iter().find(|view| *view.name == *name)
    }

    /// True if the agent may call the action of a name.
    pub(crate) fn is_action(&self, name: &str) -> bool {
        self.actions.iter().any(|action| *action.name == *name && action.who.contains(&Role::AGENT))
    }

    /// Keys of the values that a view shows of a row; of a row that it refers to, with the column before a dot.
    pub(crate) fn keys(&self, view: &View) -> BTreeSet<String> {
        self.keys_of(view.table, &view.shown)
    }

    /// Keys of the values of rows that some view embeds under a name; none where no view does.
    pub(crate) fn child_keys(&self, name: &str) -> Option<BTreeSet<String>> {
        let embeds = self.views.iter().flat_map(|view| &view.shown.embed).filter(|(known, _)| **known == *name);
        let keys = embeds.filter_map(|(_, embed)| match embed {
            Embed::Children { table, shown, .. } => Some(self.keys_of(*table, shown)),
            Embed::Referred { .. } => None,
        });
        keys.reduce(|mut all, keys| {
            all.extend(keys);
            all
        })
    }

    fn keys_of(&self, of: TableId, shown: &ShownFields) -> BTreeSet<String> {
        let describe = |table, column| self.schema.table(table).describe(column);
        let mut keys: BTreeSet<String> =
            shown.columns.iter().map(|column| describe(of, *column).name.to_string()).collect();
        keys.extend(shown.derive.iter().map(|(name, _)| name.to_string()));
        for (name, embed) in &shown.embed {
            match embed {
                Embed::Referred { column, shown } => {
                    let kind = &describe(of, *column).kind;
                    if let crate::kinds::Type::Row(table) = kind.present() {
                        keys.extend(shown.iter().map(|column| format!("{name}.{}", describe(*table, *column).name)));
                    }
                }
                Embed::Children { .. } => {
                    keys.insert(name.to_string());
                }
            }
        }
        keys
    }
}

/// The drawing of an icon, on a field of 24 by 24.
pub(crate) fn icon(name: &str) -> Option<&'static str> {
    ICONS.iter().find(|(known, _)| *known == name).map(|(_, path)| *path)
}

/// Every icon by its name.
pub(crate) const ICONS: &[(&str, &str)] = &[
    ("inbox", r#"<path d="M4 13h4l2 3h4l2-3h4M5 5h14l2 8v6H3v-6z"/>"#),
    ("mail", r#"<path d="M3 6h18v12H3zM3 7l9 7 9-7"/>"#),
    ("send", r#"<path d="M4 12 20 4l-5 16-3-7z"/>"#),
    ("edit", r#"<path d="M4 20h4L19 9l-4-4L4 16zM13 7l4 4"/>"#),
    ("folder", r#"<path d="M3 6h6l2 2h10v11H3z"/>"#),
    ("file", r#"<path d="M6 3h8l4 4v14H6zM14 3v4h4"/>"#),
    ("star", r#"<path d="m12 4 2.5 5 5.5.8-4 3.9 1 5.5-5-2.7-5 2.7 1-5.5-4-3.9 5.500-.8z"/>"#),
    ("label", r#"<path d="M4 6h10l6 6-6 6H4z"/>"#),
    ("person", r#"<circle cx="12" cy="8" r="4"/><path d="M4 21c1-5 15-5 16 0"/>"#),
    (
        "people",
        r#"<circle cx="9" cy="8" r="3"/><path d="M3 20c.6-5 11.400-5 12 0M16 6a3 3 0 0 1 0 5.500M17 14c2.500.5 3.700 3 4 6"/>"#,
    ),
    ("calendar", r#"<path d="M4 6h16v14H4zM4 10h16M8 3v4M16 3v4"/>"#),
    ("clock", r#"<circle cx="12" cy="12" r="9"/><path d="M12 7v5l4 2"/>"#),
    ("room", r#"<path d="M5 21V4h11v17M16 8h3v13M3 21h18M12 12h1"/>"#),
    (
        "cart",
        r#"<path d="M3 4h2l3 11h10l3-8H7"/><circle cx="10" cy="19" r="1.500"/><circle cx="17" cy="19" r="1.500"/>"#,
    ),
    ("bag", r#"<path d="M5 8h14l1 13H4zM9 10V6a3 3 0 0 1 6 0v4"/>"#),
    ("box", r#"<path d="m4 8 8-4 8 4v9l-8 4-8-4zM4 8l8 4 8-4M12 12v9"/>"#),
    ("heart", r#"<path d="M12 20S4 15 4 9.500A4 4 0 0 1 12 8a4 4 0 0 1 8 1.500C20 15 12 20 12 20z"/>"#),
    ("ticket", r#"<path d="M3 8h18v3a2 2 0 0 0 0 4v3H3v-3a2 2 0 0 0 0-4z"/>"#),
    ("card", r#"<path d="M3 6h18v12H3zM3 10h18M6 15h4"/>"#),
    ("bank", r#"<path d="m4 9 8-5 8 5zM6 10v8M10 10v8M14 10v8M18 10v8M4 20h16"/>"#),
    ("transfer", r#"<path d="M4 9h14l-4-4M20 15H6l4 4"/>"#),
    ("chat", r#"<path d="M4 5h16v11H10l-5 4v-4H4z"/>"#),
    ("hash", r#"<path d="M9 4 7 20M17 4l-2 16M5 9h15M4 15h15"/>"#),
    ("bell", r#"<path d="M6 17V11a6 6 0 0 1 12 0v6l2 1H4zM10 21h4"/>"#),
    (
        "gear",
        r#"<circle cx="12" cy="12" r="3"/><path d="M12 3v3M12 18v3M3 12h3M18 12h3M6 6l2 2M16 16l2 2M18 6l-2 2M8 16l-2 2"/>"#,
    ),
    ("home", r#"<path d="m4 11 8-7 8 7v9h-5v-6H9v6H4z"/>"#),
    ("search", r#"<circle cx="11" cy="11" r="6"/><path d="m16 16 5 5"/>"#),
    ("plus", r#"<path d="M12 5v14M5 12h14"/>"#),
    ("check", r#"<path d="m5 12 5 5 9-10"/>"#),
    ("trash", r#"<path d="M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13"/>"#),
    ("plane", r#"<path d="m3 13 18-7-5 13-4-6zM12 13l9-7"/>"#),
    ("bed", r#"<path d="M3 18V6M3 14h18v4M21 14v-2a3 3 0 0 0-3-3h-7v5"/><circle cx="7" cy="11" r="1.500"/>"#),
    ("map", r#"<path d="m4 6 5-2 6 2 5-2v14l-5 2-6-2-5 2zM9 4v14M15 6v14"/>"#),
    ("book", r#"<path d="M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11"/>"#),
    ("phone", r#"<path d="M7 3h10v18H7zM11 18h2"/>"#),
    (
        "call",
        r#"<path d="M5 4h4l2 5-2.500 2a12 12 0 0 0 4.500 4.500L15 13l5 2v4a1 1 0 0 1-1 1A15 15 0 0 1 4 5a1 1 0 0 1 1-1z"/>"#,
    ),
    ("wifi", r#"<path d="M3 9a13 13 0 0 1 18 0M6 13a8 8 0 0 1 12 0M9 16a4 4 0 0 1 6 0M12 20h.01"/>"#),
    ("apps", r#"<path d="M5 5h5v5H5zM14 5h5v5h-5zM5 14h5v5H5zM14 14h5v5h-5z"/>"#),
    ("moon", r#"<path d="M19 15A8 8 0 0 1 9 5a8 8 0 1 0 10 10z"/>"#),
    ("chart", r#"<path d="M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6"/>"#),
    ("table", r#"<path d="M4 5h16v14H4zM4 10h16M4 15h16M10 5v14"/>"#),
    ("list", r#"<path d="M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01"/>"#),
    (
        "share",
        r#"<circle cx="6" cy="12" r="2.500"/><circle cx="17" cy="6" r="2.500"/><circle cx="17" cy="18" r="2.500"/><path d="m8 11 7-4M8 13l7 4"/>"#,
    ),
    ("link", r#"<path d="M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1"/>"#),
    ("pin", r#"<path d="M9 4h6l-1 7 3 3H7l3-3zM12 14v7"/>"#),
    ("shield", r#"<path d="m12 3 8 3c0 8-3 12-8 15-5-3-8-7-8-15z"/>"#),
    ("back", r#"<path d="M20 12H5l6-6M5 12l6 6"/>"#),
    ("more", r#"<path d="M5 12h.01M12 12h.01M19 12h.01"/>"#),
    ("lamp", r#"<path d="M8 4h8l4 9H4zM12 13v6M8 20h8"/>"#),
    ("chair", r#"<path d="M7 4v9M17 4v9M6 13h12v3H6zM8 16v5M16 16v5M7 7h10"/>"#),
    ("kettle", r#"<path d="M7 9h9l2 11H5zM16 11l4-3M9 9V6h5v3"/>"#),
    ("jacket", r#"<path d="m8 4 4 3 4-3 4 4-2 4v9H6v-9L4 8zM12 7v14"/>"#),
    ("backpack", r#"<path d="M6 21V11a6 6 0 0 1 12 0v10zM9 5V3h6v2M8 14h8v5H8z"/>"#),
    ("keyboard", r#"<path d="M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8"/>"#),
    ("blanket", r#"<path d="M5 4h14v16H5zM5 9h14M5 14h14M9 4v16"/>"#),
    ("headphones", r#"<path d="M4 14v-2a8 8 0 0 1 16 0v2M4 14h3v6H5a1 1 0 0 1-1-1zM20 14h-3v6h2a1 1 0 0 0 1-1z"/>"#),
    (
        "truck",
        r#"<path d="M3 6h11v10H3zM14 10h4l3 3v3h-7"/><circle cx="7" cy="18" r="1.500"/><circle cx="17" cy="18" r="1.500"/>"#,
    ),
];
