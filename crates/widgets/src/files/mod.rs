//! Files: chosen, uploaded, named, read.

mod attachments;
mod drop_zone;
mod file_by_content;
mod file_slots;
mod import_columns;
mod rename_files;
mod upload_one;
mod upload_several;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        attachments::WIDGET,
        drop_zone::WIDGET,
        file_by_content::WIDGET,
        file_slots::WIDGET,
        import_columns::WIDGET,
        rename_files::WIDGET,
        upload_one::WIDGET,
        upload_several::WIDGET,
    ]
}

/// The content of a file that matters by its name alone.
fn plain(name: &str) -> (String, Vec<u8>) {
    (name.to_owned(), format!("This is {name}.\n").into_bytes())
}
