//! Looks of an app: templates, style sheets, scripts and pictures of its folder `theme/`, over those that every app has.

mod check;
mod looks;
mod names;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior, Value};

use crate::fault::{Fault, Faults, Position};

pub use crate::definition::THEME_FOLDER as FOLDER;
pub use check::is_file_name;
pub(crate) use looks::{ListLooks, Looks, NavEntry, Panel, ROW, Suggest};
pub(crate) use names::Names;

/// The file of a theme that says what stands where.
pub const LOOKS_FILE: &str = "theme/theme.yaml";
/// Files of a theme.
pub const FILES_MAX: usize = 40;
/// Bytes of all files of a theme together.
pub const BYTES_MAX: usize = 512 << 10;
/// Bytes of a page.
pub(crate) const PAGE_BYTES_MAX: usize = 4 << 20;
/// Steps that the rendering of a page may take.
const FUEL: u64 = 20_000_000;
/// Templates within templates.
const RECURSION_MAX: usize = 400;
/// The style sheet of an app, behind that of all apps.
const STYLE: &str = "app.css";

/// Style sheet, script or picture beside a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// The media type.
    pub media: &'static str,
    /// The text.
    pub text: Arc<str>,
}

/// Looks of an app. Immutable and shared by all its sessions.
#[derive(Debug)]
pub struct Theme {
    pub(crate) looks: Looks,
    templates: Environment<'static>,
    assets: BTreeMap<Box<str>, Asset>,
    /// Names of the app's own templates.
    own: Vec<Box<str>>,
}

/// Templates that every app has.
const TEMPLATES: [&str; 4] = ["layout.html", "parts.html", "lists.html", "screen.html"];
/// Style sheets, scripts and pictures that every app has.
const ASSETS: [&str; 4] = ["base.css", "lists.css", "base.js", "icon.svg"];

/// The text of each, as the build packed them.
static TEXTS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let looks = palestra_pack::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/looks.json.lzma")));
    serde_json::from_slice(&looks.expect("the build packed it")).expect("the build packed it")
});

static DEFAULTS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(escaped);
    environment.remove_filter("safe");
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(false);
    environment.set_recursion_limit(RECURSION_MAX);
    environment.add_function("icon", icon);
    for name in TEMPLATES {
        environment.add_template(name, &TEXTS[name]).expect("the templates of all apps are well formed");
    }
    environment
});

/// Writes a value so that it stays text, whatever a template says; only what templates themselves wrote is markup.
fn escaped(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() || value.is_none() {
        return Ok(());
    }
    let text = value.to_string();
    if value.is_safe() {
        return out.write_str(&text).map_err(Error::from);
    }
    for letter in text.chars() {
        match letter {
            '&' => out.write_str("&amp;")?,
            '<' => out.write_str("&lt;")?,
            '>' => out.write_str("&gt;")?,
            '"' => out.write_str("&quot;")?,
            '\'' => out.write_str("&#39;")?,
            // Not allowed in markup at all.
            letter if letter.is_control() && !letter.is_whitespace() => out.write_str("\u{fffd}")?,
            letter => out.write_str(letter.encode_utf8(&mut [0; 4]))?,
        }
    }
    Ok(())
}

/// A picture of the set of icons, as markup.
fn icon(name: &str) -> Value {
    let Some(path) = names::icon(name) else { return Value::from("") };
    Value::from_safe_string(format!(
        "<svg class=\"icon\" viewBox=\"0 0 24 24\" aria-hidden=\"true\" focusable=\"false\">{path}</svg>"
    ))
}

impl Theme {
    /// Reads the theme of an app from its files, those whose names begin with [`FOLDER`].
    ///
    /// # Errors
    /// Every fault, with its position.
    pub(crate) fn load(files: &BTreeMap<String, String>, names: &Names<'_>) -> Result<Self, Faults> {
        let files: BTreeMap<&str, &str> =
            files.iter().filter(|(name, _)| name.starts_with(FOLDER)).map(|(name, text)| (&**name, &**text)).collect();
        let mut faults = check::bounds(&files);
        let looks = match files.get(LOOKS_FILE) {
            Some(text) if faults.is_empty() => Looks::read(text, names).unwrap_or_else(|found| {
                faults.extend(found);
                Looks::default()
            }),
            _ => Looks::default(),
        };
        let mut theme = Self { looks, templates: DEFAULTS.clone(), assets: defaults(), own: Vec::new() };
        for (name, text) in &files {
            if let Err(fault) = theme.add(name, text, names) {
                faults.extend(fault);
            }
        }
        theme.style(files.get("theme/app.css").copied().unwrap_or_default());
        if faults.is_empty() { Ok(theme) } else { Err(faults) }
    }

    fn add(&mut self, name: &str, text: &str, names: &Names<'_>) -> Result<(), Faults> {
        let plain = name.strip_prefix(FOLDER).unwrap_or(name);
        let media = match plain.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => {
                check::template_name(name, plain, names)?;
                self.templates
                    .add_template_owned(plain.to_owned(), text.to_owned())
                    .map_err(|error| vec![fault(name, &error)])?;
                let template = self.templates.get_template(plain).map_err(|error| vec![fault(name, &error)])?;
                check::variables(name, &template, names)?;
                self.own.push(plain.into());
                return Ok(());
            }
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            // The looks were read before.
            _ => return Ok(()),
        };
        self.assets.insert(plain.into(), Asset { media, text: text.into() });
        Ok(())
    }

    /// Puts the app's colours before its style sheet.
    fn style(&mut self, own: &str) {
        let text = format!("{}{own}", self.looks.colours());
        self.assets.insert(STYLE.into(), Asset { media: "text/css; charset=utf-8", text: text.into() });
    }

    /// A style sheet, script or picture by its name.
    #[must_use]
    pub fn asset(&self, name: &str) -> Option<&Asset> {
        self.assets.get(name)
    }

    /// True if the app has a script of its own.
    pub(crate) fn has_script(&self) -> bool {
        self.assets.contains_key("app.js")
    }

    /// The page of a screen.
    ///
    /// # Errors
    /// When its template runs too long, writes too much, or fails.
    pub(crate) fn render(&self, screen: &str, context: Value) -> Result<String, Error> {
        let own = format!("{screen}.html");
        let name = if self.own.iter().any(|known| **known == own) { &*own } else { "screen.html" };
        let mut page = Bounded { text: Vec::new() };
        self.templates.get_template(name)?.render_captured_to(context, &mut page)?;
        String::from_utf8(page.text)
            .map_err(|_| Error::new(minijinja::ErrorKind::WriteFailure, "a template wrote what is no text"))
    }

    /// The page of a screen as every app has it.
    pub(crate) fn render_default(context: Value) -> Result<String, Error> {
        DEFAULTS.get_template("screen.html")?.render(context)
    }
}

fn defaults() -> BTreeMap<Box<str>, Asset> {
    let media = |name: &str| match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        _ => "image/svg+xml",
    };
    ASSETS
        .into_iter()
        .map(|name| (name.into(), Asset { media: media(name), text: TEXTS[name].as_str().into() }))
        .collect()
}

/// Fault of a template.
fn fault(file: &str, error: &Error) -> Fault {
    let line = u32::try_from(error.line().unwrap_or(1)).unwrap_or(1);
    let detail =
        error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
    Fault { position: Position { file: file.into(), line, column: 1 }, path: String::new(), message: detail }
}

/// Text up to the most bytes of a page.
struct Bounded {
    text: Vec<u8>,
}

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.text.len() + bytes.len() > PAGE_BYTES_MAX {
            return Err(std::io::Error::other("the page is too long"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
