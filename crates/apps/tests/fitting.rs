//! The texts of shipped apps fit what they are about: no blanket has a display, no five stars send it back, and mails continue their
//! subject. The former versions, whose texts did not, are read too: a checker that finds nothing there would see nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::run::initial;
use serde_json::Value;

/// Texts of an app that are read at least, over all variants together.
const READ_MIN: usize = 200;

/// Variants of the initial data that are read.
const VARIANTS: u32 = 3;

/// Findings of a reader in the data of one app.
#[derive(Default)]
struct Found {
    read: usize,
    contradictions: Vec<String>,
}

impl Found {
    /// Counts a text as read, and as a contradiction if it does not fit.
    fn expect(&mut self, fits: bool, told: impl FnOnce() -> String) {
        self.read += 1;
        if !fits {
            self.contradictions.push(told());
        }
    }
}

/// The initial data of an app: rows by table and id.
struct Tables(Value);

impl Tables {
    fn rows(&self, table: &str) -> impl Iterator<Item = Row<'_>> {
        let rows = self.0[table].as_object().expect("a table");
        rows.values().map(|row| Row { tables: self, row })
    }
}

#[derive(Clone, Copy)]
struct Row<'a> {
    tables: &'a Tables,
    row: &'a Value,
}

impl<'a> Row<'a> {
    /// A text; empty for none.
    fn text(self, column: &str) -> &'a str {
        self.row[column].as_str().unwrap_or_default()
    }

    fn number(self, column: &str) -> i64 {
        self.row[column].as_i64().expect("a number")
    }

    /// The row that a column points at.
    fn of(self, column: &str, table: &str) -> Option<Self> {
        let row = self.tables.0[table].get(self.row[column].as_str()?)?;
        Some(Row { tables: self.tables, row })
    }
}

/// Small letters of a text, with a blank for every other sign and at both ends.
fn plain(text: &str) -> String {
    let spread: String =
        text.to_lowercase().chars().map(|sign| if sign.is_alphanumeric() { sign } else { ' ' }).collect();
    format!(" {} ", spread.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn says(text: &str, words: &str) -> bool {
    plain(text).contains(&plain(words))
}

/// Parts that only some kinds of products have, and the kinds.
const PARTS: [(&str, &[&str]); 22] = [
    ("display", &[]),
    ("motor", &[]),
    ("hinge", &[]),
    ("instruction sheet", &[]),
    ("wall mount", &[]),
    ("child safe lock", &[]),
    ("tilt", &[]),
    ("zip", &["jacket", "backpack"]),
    ("strap", &["backpack"]),
    ("seam", &["jacket"]),
    ("double stitching", &["jacket", "blanket"]),
    ("lid", &["kettle"]),
    ("handle", &["kettle"]),
    ("spout", &["kettle"]),
    ("cable", &["keyboard", "headphones"]),
    ("battery", &["keyboard", "headphones"]),
    ("two year battery", &[]),
    ("storage bag", &["backpack", "blanket"]),
    ("lumens", &["lamp"]),
    ("backrest", &["chair"]),
    ("carrying handle", &[]),
    ("one size up", &["jacket"]),
];

/// Words of buyers who are content.
const CONTENT: [&str; 6] = [
    "i would buy it again",
    "recommended",
    "good value",
    "a good choice",
    "the best that i have had",
    "i cannot find a fault",
];
/// Words of buyers who are not.
const UPSET: [&str; 7] = [
    "sending it back",
    "not buy it again",
    "wait for a sale",
    "waste of money",
    "keep away",
    "money back",
    "cannot recommend",
];

fn shop(tables: &Tables, found: &mut Found) {
    let fits = |kind: &str, text: &str| PARTS.iter().find(|(part, kinds)| says(text, part) && !kinds.contains(&kind));
    for product in tables.rows("product") {
        let (kind, description) = (product.text("kind"), product.text("description"));
        found.expect(product.text("name").starts_with(product.text("brand")), || {
            format!("{} by {}", product.text("name"), product.text("brand"))
        });
        let foreign = fits(kind, description);
        found.expect(foreign.is_none(), || format!("a {kind}: {description}"));
    }
    for review in tables.rows("review") {
        let kind = review.of("product", "product").expect("a product").text("kind");
        let (stars, text) = (review.number("stars"), review.text("text"));
        let counted = ["one", "two", "three", "four", "five"].iter().zip(1..);
        let miscounted =
            counted.into_iter().any(|(word, count)| says(text, &format!("{word} stars")) && count != stars);
        let content = CONTENT.iter().any(|words| says(text, words)) && !says(text, "cannot recommend");
        let upset = UPSET.iter().any(|words| says(text, words));
        let strange = fits(kind, text).is_some() || miscounted || stars <= 2 && content || stars >= 4 && upset;
        found.expect(!strange, || format!("{stars} stars for a {kind}: {text}"));
    }
}

/// Words that are said of things that one holds in the hand, and of nothing else.
const OF_DEVICES: [&str; 10] =
    ["serial number", "scratch", "dent", "switch on", "blinks", "battery", "gets hot", "noise", "plug", "handle"];

fn helpdesk(tables: &Tables, found: &mut Found) {
    let devices = ["router", "phone", "tablet", "headset", "printer", "camera", "smart lock"];
    let (mut sorted, mut tickets) = (0, 0);
    for ticket in tables.rows("ticket") {
        let (product, subject) = (ticket.text("product"), ticket.text("subject"));
        let foreign = !devices.contains(&product) && OF_DEVICES.iter().any(|words| says(subject, words));
        found.expect(!foreign, || format!("{product}: {subject}"));
        tickets += 1;
        let queue = ticket.of("queue", "queue").expect("a queue").text("name");
        let right = match product {
            "router" => "Network",
            "subscription" | "invoice" => "Billing",
            "sign-in" => "Accounts",
            "mobile app" => "Mobile app",
            "parcel" => "Deliveries",
            _ => "Hardware",
        };
        sorted += usize::from(queue == right);
    }
    found.expect(sorted * 4 >= tickets * 3, || {
        format!("{sorted} of {tickets} tickets are in the queue of their product")
    });
    for comment in tables.rows("comment") {
        let ticket = comment.of("ticket", "ticket").expect("a ticket");
        let (product, text) = (ticket.text("product"), comment.text("text"));
        let foreign = !devices.contains(&product) && OF_DEVICES.iter().any(|words| says(text, words));
        let author = comment.text("author");
        let signed = ["Thank you,", "Best regards", "Yours sincerely"]
            .iter()
            .find_map(|end| text.split_once(&format!("{end}\n")));
        let stranger = signed.is_some_and(|(_, name)| !name.starts_with(author));
        let fit = !foreign && !stranger && says(text, product) && continues(ticket.text("subject"), text);
        found.expect(fit, || format!("{author} on {product}, {}: {text}", ticket.text("subject")));
    }
    for tagging in tables.rows("tagging") {
        let product = tagging.of("ticket", "ticket").expect("a ticket").text("product");
        let tag = tagging.of("tag", "tag").expect("a tag").text("name");
        let fit = match tag {
            "lost parcel" => product == "parcel",
            "password" => product == "sign-in",
            "double charge" => ["subscription", "invoice"].contains(&product),
            "warranty" => devices.contains(&product),
            _ => true,
        };
        found.expect(fit, || format!("{product} is tagged {tag}"));
    }
}

/// True if a text continues a subject: the numbers and codes of the subject stand in it.
fn continues(subject: &str, text: &str) -> bool {
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).count();
    let numbers = subject.split_whitespace().map(|word| word.trim_matches(|sign: char| !sign.is_alphanumeric()));
    numbers.filter(|word| digits(word) >= 3).all(|number| text.contains(number))
}

/// True if a text speaks of what a subject names: one of its names or longer words stands in it.
fn speaks_of(subject: &str, text: &str) -> bool {
    let said = plain(text);
    let subject = plain(subject);
    let words =
        subject.split_whitespace().filter(|word| word.len() >= 4 && !["your", "about", "from", "with"].contains(word));
    let words: Vec<&str> = words.collect();
    words.is_empty() || words.iter().any(|word| said.contains(&format!(" {word}")))
}

fn mails(tables: &Tables, found: &mut Found, topic: &str) {
    for mail in tables.rows("mail") {
        let (subject, body) = (mail.text("subject"), mail.text("body"));
        let fit = continues(subject, body) && speaks_of(subject, body);
        found.expect(fit, || format!("{}, {subject}: {body}", mail.text(topic)));
        let hurry = says(body, "there is no hurry") && (says(body, "before") || says(body, "by"));
        found.expect(!hurry, || format!("no hurry, and a day: {body}"));
    }
}

fn mail(tables: &Tables, found: &mut Found) {
    mails(tables, found, "category");
}

fn workspace(tables: &Tables, found: &mut Found) {
    mails(tables, found, "topic");
    for event in tables.rows("event") {
        if let Some(project) = event.of("project", "project") {
            found.expect(event.text("title").contains(project.text("name")), || {
                format!("{} belongs to {}", event.text("title"), project.text("name"))
            });
        }
    }
    for message in tables.rows("message") {
        let channel = message.of("channel", "channel");
        if let Some(project) = channel.and_then(|channel| channel.of("project", "project"))
            && message.text("parent").is_empty()
        {
            found.expect(message.text("text").contains(project.text("name")), || {
                format!("{} in the channel of {}", message.text("text"), project.text("name"))
            });
        }
    }
    for todo in tables.rows("todo") {
        found.expect(!says(todo.text("title"), "the a"), || todo.text("title").to_owned());
    }
}

fn bank(tables: &Tables, found: &mut Found) {
    for entry in tables.rows("entry") {
        let (kind, text) = (entry.text("kind"), entry.text("text"));
        let fit = match kind {
            "fee" => says(text, "fee") || says(text, "interest"),
            "income" => !["rent", "invoice", "contract", "customer"]
                .iter()
                .any(|word| plain(text).starts_with(&format!(" {word} "))),
            "transfer" => !says(text, "rent"),
            _ => true,
        };
        found.expect(fit, || format!("{kind} of {}: {text}", entry.text("amount")));
    }
    for standing in tables.rows("standing") {
        let reference = standing.text("reference");
        let once = ["invoice", "order", "thanks", "deposit"].iter().any(|word| says(reference, word));
        found.expect(!once, || format!("{} pays {reference}", standing.text("rhythm")));
    }
    for dispute in tables.rows("dispute") {
        let (reason, text) = (dispute.text("reason"), dispute.text("text"));
        let fit = match reason {
            "not_delivered" => says(text, "never came") || says(text, "has closed"),
            "charged_twice" => says(text, "twice") || says(text, "two lines"),
            "wrong_amount" => says(text, "another amount") || says(text, "less"),
            _ => says(text, "at home") || says(text, "do not know"),
        };
        found.expect(fit, || format!("{reason}: {text}"));
    }
}

fn calendar(tables: &Tables, found: &mut Found) {
    for event in tables.rows("event") {
        let (kind, title) = (event.text("kind"), event.text("title"));
        let plans = ["meeting", "review", "workshop"].contains(&kind)
            && !["Choir", "Coaching", "Reading circle"].contains(&title);
        found.expect(plans || event.text("note").is_empty(), || {
            format!("{title} has the agenda {}", event.text("note"))
        });
        let calendar = event.of("calendar", "calendar").expect("a calendar").text("name");
        let fit = match calendar {
            "Training offers" => kind == "workshop",
            "Company dates" => kind == "meeting",
            _ => true,
        };
        found.expect(fit, || format!("{title} ({kind}) in {calendar}"));
    }
}

fn files(tables: &Tables, found: &mut Found) {
    for file in tables.rows("file") {
        let (kind, name, text) = (file.text("kind"), file.text("name"), file.text("text"));
        let parts = plain(name.rsplit_once('.').map_or(name, |(stem, _)| stem));
        let told = parts
            .split_whitespace()
            .any(|part| part.len() >= 3 && says(text, part) || continues(part, text) && part.len() >= 4);
        found.expect(told, || format!("{name}: {text}"));
        let folder = file.of("folder", "folder").expect("a folder").text("name");
        let fit = match folder {
            "Invoices" | "Bills" | "Receipts" | "Unpaid" | "Open" | "To pay" => kind == "invoice",
            "Contracts" | "Agreements" | "Leases" | "Signed" | "In force" | "Final" => kind == "contract",
            "Pictures" | "Photos" | "Images" => kind == "photo",
            "Talks" | "Lectures" | "Slides" => kind == "slides",
            _ => true,
        };
        found.expect(fit, || format!("{name} in {folder}"));
    }
}

fn sheet(tables: &Tables, found: &mut Found) {
    for entry in tables.rows("entry") {
        let (line, label) = (entry.of("line", "line").expect("a line").text("name"), entry.text("label"));
        let home = [
            ("Travel", ["hotel", "taxi", "train tickets"].as_slice()),
            ("Catering", &["lunch", "coffee and cake"]),
            ("Equipment", &["cables", "projector", "batteries"]),
            ("Printing", &["posters", "flyers", "name badges", "paper"]),
            ("Speakers", &["speaker"]),
        ];
        let foreign =
            home.iter().any(|(of, labels)| *of != line && labels.iter().any(|label_of| says(label, label_of)));
        found.expect(!foreign, || format!("{label} under {line}"));
    }
}

fn phone(tables: &Tables, found: &mut Found) {
    let work = [
        "agenda",
        "notes from today",
        "price list",
        "safety manual",
        "meeting moved",
        "proposal",
        "launch plan",
        "contract",
    ];
    for sms in tables.rows("sms") {
        let group = sms.of("contact", "contact").expect("a contact").text("group");
        let (text, mine) = (sms.text("text"), sms.row["mine"] == true);
        let office = group != "work" && work.iter().any(|words| says(text, words));
        let strange = office || group == "services" && mine;
        found.expect(!strange, || format!("{group}, mine: {mine}: {text}"));
    }
    let tools = ["notes", "scanner", "timer", "calculator", "translate"];
    for app in tables.rows("app") {
        let (kind, name) = (app.text("kind"), app.text("name"));
        let tool = tools.iter().any(|word| name.to_lowercase().ends_with(word));
        found.expect(!tool || kind == "tool", || format!("{name} is an app for {kind}"));
    }
}

fn chat(tables: &Tables, found: &mut Found) {
    let topics = [
        (
            "What is there to eat",
            ["customer", "agenda", "ticket", "version", "refund", "budget", "safety manual", "risk register"]
                .as_slice(),
        ),
        (
            "After work",
            &["customer", "agenda", "ticket", "refund", "retro", "stand up", "budget", "order form", "sits next to"],
        ),
        ("Keys, parcels, coffee", &["customer", "ticket", "refund", "standup", "retro", "expense policy", "budget"]),
        ("What is broken now", &["birthday", "dinner", "lunch", "brochure", "expense policy"]),
    ];
    for message in tables.rows("message") {
        let Some(channel) = message.of("channel", "channel") else { continue };
        let foreign =
            topics.iter().find(|(topic, _)| *topic == channel.text("topic")).map_or(&[][..], |(_, words)| words);
        let strange = foreign.iter().any(|words| says(message.text("text"), words));
        found.expect(!strange, || format!("{}: {}", channel.text("topic"), message.text("text")));
    }
}

fn travel(tables: &Tables, found: &mut Found) {
    for hotel in tables.rows("hotel") {
        let (name, stars) = (hotel.text("name"), hotel.number("stars"));
        let plain = ["Hostel", "Pension", "Guesthouse"].iter().any(|word| name.contains(word));
        found.expect(!(plain && stars > 3), || format!("{name} has {stars} stars"));
    }
    // Flights, seats and rooms have no texts of their own: that their numbers fit is read instead.
    for seat in tables.rows("seat") {
        let (label, kind) = (seat.text("label"), seat.text("kind"));
        let fit = (kind == "window") == label.ends_with(['A', 'F']);
        found.expect(fit, || format!("{label} is at the {kind}"));
    }
    for room in tables.rows("room") {
        let fit = (room.text("kind") == "single") == (room.number("sleeps") == 1);
        found.expect(fit, || format!("a {} sleeps {}", room.text("kind"), room.number("sleeps")));
    }
}

fn environments() -> PathBuf {
    palestra_test_support::workspace().join("environments")
}

fn read(files: &BTreeMap<String, String>, reader: fn(&Tables, &mut Found)) -> Found {
    let app: Arc<App> = App::load(files).unwrap_or_else(|faults| panic!("{faults:?}"));
    let mut found = Found::default();
    for variant in 0..VARIANTS {
        let data = initial(&app, variant).unwrap_or_else(|fault| panic!("{fault:?}"));
        reader(&Tables(data.document().to_value()), &mut found);
    }
    found
}

/// The app as it is, and as it was before its texts fitted: the former version of that number.
fn compare(name: &str, former: u32, reader: fn(&Tables, &mut Found)) {
    let mut files = palestra_test_support::texts(&environments().join("app").join(name));
    let now = read(&files, reader);
    assert!(now.read >= READ_MIN, "{name}: {} texts are read", now.read);
    assert!(
        now.contradictions.is_empty(),
        "{name}: {} contradictions\n{}",
        now.contradictions.len(),
        now.contradictions.join("\n")
    );

    files.extend(palestra_test_support::texts(&environments().join("former/app").join(name).join(former.to_string())));
    let before = read(&files, reader);
    assert!(!before.contradictions.is_empty(), "{name}: the reader finds nothing wrong with version {former}");
}

macro_rules! fits {
    ($($name:ident $former:literal),*) => {
        $(mod $name {
            #[test]
            fn its_texts_fit_what_they_are_about() {
                super::compare(stringify!($name), $former, super::$name);
            }
        })*
    };
}

fits!(bank 1, calendar 2, chat 2, files 1, helpdesk 1, mail 1, phone 1, sheet 2, shop 3, travel 1, workspace 2);
