//! Words of the incident world.

pub(super) const FIRST: [&str; 48] = [
    "ada", "bruno", "carla", "dmitri", "elena", "farid", "greta", "hugo", "ines", "jonas", "kaya", "lars", "mina",
    "noah", "olga", "pavel", "quinn", "rosa", "samir", "tara", "ulla", "viktor", "wanda", "xenia", "yusuf", "zora",
    "anton", "beata", "cyril", "dora", "emil", "fanny", "goran", "hanna", "igor", "jana", "karl", "lidia", "marek",
    "nadia", "oskar", "petra", "ralf", "sonja", "theo", "ursa", "vera", "willem",
];

pub(super) const LAST: [&str; 40] = [
    "abel", "berg", "costa", "dahl", "ekman", "ferro", "gallo", "hahn", "ivers", "jansen", "koller", "lund", "moreau",
    "nowak", "olsen", "pinto", "quast", "rossi", "silva", "tomas", "urban", "vogel", "weiss", "yilmaz", "zeman",
    "arndt", "bauer", "chen", "duran", "egger", "frank", "gruber", "horak", "ilic", "kruger", "lopez", "meyer",
    "novak", "peters", "riedel",
];

pub(super) const DEPARTMENTS: [&str; 7] =
    ["finance", "sales", "engineering", "logistics", "legal", "people", "support"];

pub(super) const TITLES: [&str; 5] = ["assistant", "analyst", "specialist", "lead", "director"];

pub(super) const SERVER_ROLES: [&str; 8] = ["db", "files", "web", "build", "erp", "archive", "print", "jump"];

pub(super) const SERVICES: [(&str, &str, i64); 14] = [
    ("catalog", "storefront", 2),
    ("pricing", "storefront", 1),
    ("cart", "storefront", 1),
    ("checkout", "payments", 1),
    ("ledger", "payments", 1),
    ("invoicing", "payments", 2),
    ("identity", "platform", 1),
    ("search", "storefront", 3),
    ("stock", "logistics", 2),
    ("shipping", "logistics", 2),
    ("tracking", "logistics", 3),
    ("mailer", "platform", 3),
    ("reports", "platform", 3),
    ("billing_export", "payments", 3),
];

/// Calls between services.
pub(super) const CALLS: [(&str, &str); 20] = [
    ("catalog", "pricing"),
    ("catalog", "search"),
    ("cart", "catalog"),
    ("cart", "pricing"),
    ("checkout", "cart"),
    ("checkout", "ledger"),
    ("checkout", "identity"),
    ("invoicing", "ledger"),
    ("invoicing", "mailer"),
    ("shipping", "stock"),
    ("shipping", "checkout"),
    ("tracking", "shipping"),
    ("reports", "ledger"),
    ("reports", "stock"),
    ("billing_export", "invoicing"),
    ("search", "stock"),
    ("mailer", "identity"),
    ("stock", "identity"),
    ("ledger", "identity"),
    ("tracking", "mailer"),
];

pub(super) const SITES: [&str; 24] = [
    "maps", "weather", "news", "travel", "recipes", "forum", "photos", "bank", "trains", "tickets", "docs", "mirror",
    "music", "library", "parcel", "hotel", "paper", "tools", "learning", "video", "garden", "sports", "market",
    "fonts",
];

pub(super) const SITE_TAILS: [&str; 12] =
    ["hub", "point", "online", "base", "direct", "cloud", "port", "now", "desk", "plus", "share", "zone"];

pub(super) const SUBJECTS: [&str; 14] = [
    "Invoice for last month",
    "Your parcel is waiting",
    "Minutes of the meeting",
    "Updated travel rules",
    "Question about the order",
    "Shared document",
    "Please confirm your seat",
    "Offer as discussed",
    "Reminder: open item",
    "Survey of suppliers",
    "New price list",
    "Lunch on Thursday",
    "Certificate renewal",
    "Delivery note",
];

pub(super) const PROGRAMS: [&str; 12] = [
    "browser.exe",
    "mailer.exe",
    "writer.exe",
    "sheets.exe",
    "viewer.exe",
    "chat.exe",
    "backup.exe",
    "updater.exe",
    "scanner.exe",
    "notes.exe",
    "calendar.exe",
    "sync.exe",
];

/// Downloads that are started, by the authorised and by others.
pub(super) const DOWNLOADS: [&str; 10] = [
    "setup",
    "reader",
    "codec",
    "invoice_viewer",
    "driver",
    "meeting_client",
    "fonts",
    "converter",
    "label_printer",
    "track_parcel",
];

pub(super) const SHELLS: [&str; 4] = ["shell.exe", "script_host.exe", "task_runner.exe", "rundll.exe"];

pub(super) const COUNTRIES: [&str; 8] = ["DE", "FR", "PL", "SE", "IT", "ES", "NL", "CZ"];

pub(super) const DEVICES: [&str; 6] =
    ["Stick 32", "Stick 64", "Pocket Disk", "Card Reader", "Phone Storage", "Field Recorder"];

pub(super) const ERRORS: [(i64, &str); 6] = [
    (500, "unhandled failure"),
    (502, "bad answer of upstream"),
    (503, "pool exhausted"),
    (504, "upstream took too long"),
    (429, "too many requests"),
    (409, "version conflict"),
];

pub(super) const SETTINGS: [&str; 8] = [
    "pool_size",
    "timeout_ms",
    "retry_limit",
    "log_level",
    "cache_seconds",
    "page_size",
    "feature_banner",
    "batch_size",
];

pub(super) const CHANGE_SUMMARIES: [&str; 8] = [
    "Raise limits before the sale",
    "Planned release",
    "Rotate keys of service accounts",
    "Follow-up of the last review",
    "Reduce noise in logs",
    "Customer complaint about speed",
    "Quarterly maintenance",
    "Clean up after the move",
];
