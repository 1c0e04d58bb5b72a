//! `web.yaml`: what a folder of pages says of itself and of its tasks.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use palestra_browser::{Host, action};
use palestra_environment::verifier::rule::{Expected, judge};
use palestra_environment::verifier::rules;
use palestra_protocol::name::NameKind;
use palestra_protocol::problem::Fault;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::live::{StoredHost, safe_methods};
use super::task::{Answer, SiteTask, Wanted};

/// The file that describes an environment.
pub(super) const MANIFEST: &str = "web.yaml";
/// The file with more tasks, one a line.
pub(super) const TASKS: &str = "tasks.jsonl";
/// Time of the pages at the beginning, where none is named.
const NOW: &str = "2031-05-05T09:00:00Z";
/// Bytes of an instruction.
const INSTRUCTION_BYTES_MAX: usize = 16 << 10;
/// Actions of a solution.
const SOLUTION_MAX: usize = 200;
/// Tasks of an environment.
const TASKS_MAX: usize = 100_000;
/// Bytes of a task, as it is stored.
const TASK_BYTES_MAX: usize = 256 << 10;
/// Requests that a task can want.
const REQUESTS_MAX: usize = 100;
/// Hosts with a folder.
const SITES_MAX: usize = 100;
/// Recordings of an environment.
const RECORDINGS_MAX: usize = 100;
/// Real hosts of an environment.
const HOSTS_MAX: usize = 100;
/// Seconds that an episode can be given: more than all its turns take.
const SECONDS_MAX: u32 = 3_600;
/// Methods of requests that a task can want.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Methods of requests that are sent to real hosts.
const LIVE_METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];

/// The manifest as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    description: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    now: Option<String>,
    #[serde(default)]
    start: Option<String>,
    #[serde(default)]
    sites: BTreeMap<String, String>,
    #[serde(default)]
    recordings: Vec<String>,
    #[serde(default)]
    hosts: Vec<WrittenHost>,
    #[serde(default)]
    miniwob: Option<String>,
    #[serde(default)]
    seconds: Option<u32>,
    #[serde(default)]
    tasks: Vec<WrittenTask>,
}

/// A real host as it is written: alone, or with what may be sent to it.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum WrittenHost {
    Plain(String),
    With(StoredHost),
}

/// A task as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTask {
    #[serde(default)]
    id: Option<String>,
    instruction: String,
    #[serde(default)]
    start: Option<String>,
    #[serde(default)]
    split: Option<String>,
    #[serde(default)]
    answer: Option<Value>,
    #[serde(default)]
    requests: Vec<WrittenRequest>,
    #[serde(default)]
    infeasible: bool,
    #[serde(default)]
    solution: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRequest {
    #[serde(default)]
    method: Option<String>,
    address: String,
    #[serde(default)]
    form: BTreeMap<String, Value>,
}

/// A manifest without faults.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) description: String,
    pub(super) tags: Vec<String>,
    /// Time of the pages at the beginning, in milliseconds since 1970.
    pub(super) now_ms: i64,
    pub(super) pages: Pages,
}

/// Where the pages come from.
#[derive(Debug)]
pub(super) enum Pages {
    /// Folders by host, recordings, real hosts, and tasks with their places.
    Sites { sites: BTreeMap<String, String>, recordings: Vec<String>, hosts: Vec<StoredHost>, tasks: Vec<PlacedTask> },
    /// The folder of pages in the layout of MiniWoB++, and the seconds that an episode takes where not each page says so itself.
    Miniwob { folder: String, seconds: Option<u32> },
}

/// A task, its split, and where it is written.
#[derive(Debug)]
pub(super) struct PlacedTask {
    pub(super) split: String,
    pub(super) task: SiteTask,
    pub(super) place: Place,
}

/// Where a task is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// In the manifest, by its number from 0.
    Manifest(usize),
    /// In the file with more tasks, by its line from 1.
    Line(usize),
}

impl Place {
    /// A fault of a field of the task.
    pub(super) fn fault(self, field: &str, detail: impl Into<String>) -> Fault {
        let (file, line, path) = match self {
            Self::Manifest(number) => (MANIFEST, None, format!("tasks[{number}]")),
            Self::Line(line) => (TASKS, u64::try_from(line).ok(), String::new()),
        };
        let field = match (path.is_empty(), field.is_empty()) {
            (true, _) => field.to_owned(),
            (false, true) => path,
            (false, false) => format!("{path}.{field}"),
        };
        let field = Some(field).filter(|field| !field.is_empty());
        Fault { file: Some(file.to_owned()), line, field, detail: detail.into(), ..Fault::default() }
    }
}

/// A fault of a field of the manifest.
pub(super) fn fault(field: &str, detail: impl Into<String>) -> Fault {
    Fault { file: Some(MANIFEST.to_owned()), field: Some(field.to_owned()), detail: detail.into(), ..Fault::default() }
}

/// Reads manifest and tasks.
///
/// # Errors
/// With every fault.
pub(super) fn read(manifest: &[u8], more_tasks: Option<&[u8]>) -> Result<Manifest, Vec<Fault>> {
    let written = written(manifest).map_err(|fault| vec![fault])?;
    let now = written.now.as_deref().unwrap_or(NOW).parse::<Timestamp>();
    let mut faults = Vec::new();
    let now_ms = now.map(Timestamp::as_millisecond).unwrap_or_else(|error| {
        faults.push(fault("now", format!("must be a time such as {NOW}: {error}")));
        0
    });
    for tag in &written.tags {
        if let Err(why) = NameKind::Label.check(tag) {
            faults.push(fault("tags", format!("{tag:?} does not fit, correct it: {why}")));
        }
    }
    let pages = match &written.miniwob {
        Some(folder) => miniwob(&written, folder, more_tasks.is_some(), &mut faults),
        None => sites(&written, more_tasks, &mut faults),
    };
    let Written { description, tags, .. } = written;
    if faults.is_empty() { Ok(Manifest { description, tags, now_ms, pages }) } else { Err(faults) }
}

/// The manifest of a folder that has none: pages in the layout of MiniWoB++.
pub(super) fn of_miniwob(folder: &str) -> Manifest {
    let now_ms = NOW.parse::<Timestamp>().map(Timestamp::as_millisecond).unwrap_or_default();
    let pages = Pages::Miniwob { folder: folder.to_owned(), seconds: None };
    let description = "Pages in the layout of MiniWoB++, each with a small task of its own.".to_owned();
    Manifest { description, tags: Vec::new(), now_ms, pages }
}

fn written(manifest: &[u8]) -> Result<Written, Fault> {
    let whole = |detail: String| Fault { file: Some(MANIFEST.to_owned()), detail, ..Fault::default() };
    let text = std::str::from_utf8(manifest).map_err(|_| whole("is no UTF-8 text: save it as UTF-8".to_owned()))?;
    palestra_yaml::read(text).map_err(|error| {
        let (line, column) = error.place.unzip();
        Fault { line, column, ..whole(format!("cannot be read, correct it: {error}")) }
    })
}

fn miniwob(written: &Written, folder: &str, has_more_tasks: bool, faults: &mut Vec<Fault>) -> Pages {
    let alone = [
        ("sites", !written.sites.is_empty()),
        ("recordings", !written.recordings.is_empty()),
        ("hosts", !written.hosts.is_empty()),
        ("tasks", !written.tasks.is_empty() || has_more_tasks),
        ("start", written.start.is_some()),
    ];
    for (field, _) in alone.into_iter().filter(|(_, is_given)| *is_given) {
        faults.push(fault(field, "does not go with `miniwob`, whose pages bring their tasks: leave it out"));
    }
    if written.seconds.is_some_and(|seconds| !(1..=SECONDS_MAX).contains(&seconds)) {
        let detail = format!("must be 1 to {SECONDS_MAX}: leave it out for the time that each page gives");
        faults.push(fault("seconds", detail));
    }
    Pages::Miniwob { folder: folder.trim_end_matches('/').to_owned(), seconds: written.seconds }
}

fn sites(written: &Written, more_tasks: Option<&[u8]>, faults: &mut Vec<Fault>) -> Pages {
    if written.seconds.is_some() {
        faults.push(fault("seconds", "goes with `miniwob` alone: leave it out"));
    }
    if written.sites.is_empty() && written.recordings.is_empty() && written.hosts.is_empty() {
        faults.push(fault("sites", "there are no pages: name a host with its folder, `recordings` or `hosts`"));
    }
    for (field, count, most) in [
        ("sites", written.sites.len(), SITES_MAX),
        ("recordings", written.recordings.len(), RECORDINGS_MAX),
        ("hosts", written.hosts.len(), HOSTS_MAX),
    ] {
        if count > most {
            faults.push(fault(field, format!("there are {count}, and at most {most} fit: leave some out")));
        }
    }
    for host in written.sites.keys() {
        let is_host = Url::parse(&format!("http://{host}/")).is_ok_and(|url| url.host_str() == Some(host.as_str()));
        if !is_host {
            let detail =
                format!("{host:?} is no host: name one such as shop.test, in small letters and without a port");
            faults.push(fault("sites", detail));
        }
    }
    let only = written.sites.keys().next().filter(|_| written.sites.len() == 1);
    let start = written.start.clone().or_else(|| only.map(|host| format!("http://{host}/")));
    let (lines, broken) = more_tasks.map(lines).unwrap_or_default();
    faults.extend(broken);
    let of_manifest = written.tasks.iter().enumerate().map(|(number, task)| (Place::Manifest(number), task));
    let of_lines = lines.iter().map(|(line, task)| (Place::Line(*line), task));
    let all: Vec<(Place, &WrittenTask)> = of_manifest.chain(of_lines).collect();
    if faults.is_empty() && (all.is_empty() || all.len() > TASKS_MAX) {
        let detail = format!("there must be 1 to {TASKS_MAX} tasks, not {}: write them here or in {TASKS}", all.len());
        faults.push(fault("tasks", detail));
    }
    let mut tasks: Vec<PlacedTask> = Vec::new();
    let mut ids = BTreeSet::new();
    for (place, written) in all {
        if written.id.as_ref().is_some_and(|id| !ids.insert(id)) {
            faults.push(place.fault("id", "another task has this id: choose another one"));
        }
        match task(written, start.as_deref()) {
            Ok(task) => {
                let split = written.split.clone().unwrap_or_else(|| "train".to_owned());
                tasks.push(PlacedTask { split, task, place });
            }
            Err(found) => faults.extend(found.into_iter().map(|(field, detail)| place.fault(&field, detail))),
        }
    }
    let hosts = hosts(&written.hosts, faults);
    Pages::Sites { sites: written.sites.clone(), recordings: written.recordings.clone(), hosts, tasks }
}

/// The real hosts, with what may be sent to each.
fn hosts(written: &[WrittenHost], faults: &mut Vec<Fault>) -> Vec<StoredHost> {
    let mut hosts = Vec::new();
    for (number, written) in written.iter().enumerate() {
        let mut wrong = |field: &str, detail: String| faults.push(fault(&format!("hosts[{number}]{field}"), detail));
        let stored = match written {
            WrittenHost::Plain(host) => StoredHost { host: host.clone(), methods: safe_methods() },
            WrittenHost::With(stored) => stored.clone(),
        };
        match stored.host.parse::<Host>() {
            Err(why) => wrong("", why),
            Ok(host) if host.address().is_some() => {
                wrong("", format!("{host} cannot be given an address here: leave it to the server's operator"));
            }
            Ok(_) => {}
        }
        if let Some(other) = stored.methods.iter().find(|method| !LIVE_METHODS.contains(&method.as_str())) {
            wrong(".methods", format!("{other:?} is none that is sent: use some of {}", LIVE_METHODS.join(", ")));
        }
        if stored.methods.is_empty() {
            wrong(".methods", "there must be one at least: leave it out for GET and HEAD".to_owned());
        }
        hosts.push(stored);
    }
    hosts
}

/// The tasks of a file of lines, each with its line, and the faults of those that cannot be read.
fn lines(bytes: &[u8]) -> (Vec<(usize, WrittenTask)>, Vec<Fault>) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return (Vec::new(), vec![Place::Line(1).fault("", "is no UTF-8 text: save it as UTF-8")]);
    };
    let (mut tasks, mut faults) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(task) => tasks.push((number + 1, task)),
            Err(error) => {
                faults.push(Place::Line(number + 1).fault("", format!("is no task, correct it: {error}")));
            }
        }
    }
    (tasks, faults)
}

/// Faults of a task: field and detail.
type TaskFaults = Vec<(String, String)>;

fn task(written: &WrittenTask, start: Option<&str>) -> Result<SiteTask, TaskFaults> {
    let mut faults = TaskFaults::new();
    let mut wrong = |field: &str, detail: &str| faults.push((field.to_owned(), detail.to_owned()));
    if written.instruction.trim().is_empty() || written.instruction.len() > INSTRUCTION_BYTES_MAX {
        wrong("instruction", &format!("must be a text of 1 to {INSTRUCTION_BYTES_MAX} bytes"));
    }
    let names = [(NameKind::Label, "id", &written.id), (NameKind::Split, "split", &written.split)];
    for (kind, field, name) in names.into_iter().filter_map(|(kind, field, name)| Some((kind, field, name.as_ref()?))) {
        if let Err(why) = kind.check(name) {
            wrong(field, &format!("{name:?} does not fit, correct it: {why}"));
        }
    }
    let start = written.start.as_deref().or(start);
    if start.is_none() {
        wrong("start", "the first page is missing: name its address here or for all tasks");
    }
    let ends = written.answer.is_some() || !written.requests.is_empty();
    if !ends && !written.infeasible {
        wrong("answer", "nothing says what is right: give `answer`, `requests`, or `infeasible: true`");
    }
    if ends && written.infeasible {
        wrong("infeasible", "goes neither with `answer` nor with `requests`: leave it or those out");
    }
    let answer = written.answer.as_ref().map(answer).transpose();
    let answer = answer.unwrap_or_else(|(field, detail)| {
        wrong(&field, &detail);
        None
    });
    if written.requests.len() > REQUESTS_MAX {
        wrong("requests", &format!("there are more than {REQUESTS_MAX}: leave some out"));
    }
    let mut requests = Vec::new();
    for (number, written) in written.requests.iter().enumerate() {
        match wanted(written) {
            Ok(wanted) => requests.push(wanted),
            Err((field, detail)) => wrong(&format!("requests[{number}].{field}"), &detail),
        }
    }
    if let Err((field, detail)) = check_solution(written.solution.as_deref()) {
        wrong(&field, &detail);
    }
    let start = start.unwrap_or_default().to_owned();
    if !faults.is_empty() {
        return Err(faults);
    }
    let task = SiteTask {
        id: written.id.clone(),
        instruction: written.instruction.trim().to_owned(),
        start,
        answer,
        requests,
        infeasible: written.infeasible,
        solution: written.solution.clone(),
        trainable: written.solution.is_some(),
    };
    let bytes = serde_json::to_string(&task).map_or(usize::MAX, |text| text.len());
    if bytes > TASK_BYTES_MAX {
        let detail = format!("the task has {bytes} bytes, and at most {TASK_BYTES_MAX} fit: shorten it");
        return Err(vec![(String::new(), detail)]);
    }
    Ok(task)
}

/// An answer: a value alone, or with the rule that compares it.
fn answer(written: &Value) -> Result<Answer, (String, String)> {
    let wrong = |field: &str, detail: String| (field.to_owned(), detail);
    let answer = match written {
        Value::Object(members) => {
            if let Some(other) = members.keys().find(|name| !["is", "by"].contains(&name.as_str())) {
                return Err(wrong("answer", format!("has no field {other:?}: leave it out, and use `is` and `by`")));
            }
            let is = members.get("is").cloned();
            let is =
                is.ok_or_else(|| wrong("answer.is", "the expected answer is missing: write it here".to_owned()))?;
            Answer { is, by: members.get("by").cloned().unwrap_or_else(|| "text".into()) }
        }
        value => Answer { is: value.clone(), by: "text".into() },
    };
    let rule = rules::parse(&answer.by).map_err(|error| wrong("answer.by", error.to_string()))?;
    let expected = Expected::answer(&answer.is);
    let own = rule.own_answer(&expected).map_err(|error| wrong("answer.is", error.to_string()))?;
    let passes = |given: &str| {
        let judged = judge(&*rule, &expected, given).map_err(|error| wrong("answer.is", error.to_string()))?;
        Ok::<bool, (String, String)>(judged.checks.iter().all(|check| check.passed))
    };
    if !passes(&own)? {
        return Err(wrong("answer.is", format!("does not pass its own rule {}: correct one of them", rule.name())));
    }
    if passes("")? {
        return Err(wrong("answer.is", "an empty answer passes: ask for something that has to be found".to_owned()));
    }
    Ok(answer)
}

fn wanted(written: &WrittenRequest) -> Result<Wanted, (String, String)> {
    let wrong = |field: &str, detail: String| (field.to_owned(), detail);
    let method = written.method.as_deref().unwrap_or("GET").to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        return Err(wrong("method", format!("{method:?} is none: use one of {}", METHODS.join(", "))));
    }
    if !["http://", "https://"].iter().any(|scheme| written.address.starts_with(scheme)) {
        let detail = "must be an address that begins with http:// or https://; * stands for anything in it";
        return Err(wrong("address", detail.to_owned()));
    }
    if method == "GET" && !written.form.is_empty() {
        return Err(wrong("form", "a GET has no form: write its fields into the query of `address`".to_owned()));
    }
    let mut form = BTreeMap::new();
    for (name, value) in &written.form {
        let values = match value {
            Value::Array(values) => values.iter().map(scalar).collect::<Option<Vec<_>>>(),
            value => scalar(value).map(|value| vec![value]),
        };
        let values = values
            .filter(|values| !values.is_empty())
            .ok_or_else(|| wrong("form", format!("{name} must be a text or a number, or a list of accepted ones")))?;
        form.insert(name.clone(), values);
    }
    Ok(Wanted { method, address: written.address.clone(), form })
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn check_solution(solution: Option<&[String]>) -> Result<(), (String, String)> {
    let Some(actions) = solution else { return Ok(()) };
    if actions.is_empty() || actions.len() > SOLUTION_MAX {
        return Err(("solution".to_owned(), format!("must have 1 to {SOLUTION_MAX} actions: write them as text")));
    }
    for (number, text) in actions.iter().enumerate() {
        action::parse(text)
            .map_err(|error| (format!("solution[{number}]"), format!("is no action, correct it: {error}")))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
