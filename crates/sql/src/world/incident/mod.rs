//! An organisation and the logs of eleven days, in which some things went wrong: chains of events whose traces lie in many tables,
//! among ordinary ones and among beginnings of chains that lead nowhere. The facts are what really happened.

mod estate;
mod intrusions;
mod journal;
mod noise;
mod operations;
mod words;

use jiff::civil::{DateTime, date};

use super::{Draw, Maker, Need, Settings, World};
use crate::dataset::{Dataset, Sort, Table};
use crate::value::Value;
use estate::Estate;
use journal::{Journal, later};
use noise::Outside;

/// The world `incident`.
pub(super) const MAKER: Maker =
    Maker { name: "incident", settings: &[("noise", 20, 100, 400), ("chains", 2, 3, 4)], make };

const DAYS: i64 = 11;

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let setting = |name: &str, usual: i64| settings.get(name).copied().unwrap_or(usual);
    let (percent, chains) = (setting("noise", 100), setting("chains", 3));
    let mut journal = Journal::new();
    let mut estate = Estate::make(draw, &mut journal);
    let outside = Outside::make(draw, &mut journal);
    for number in 0..chains + 1 {
        // The last one of each shape breaks off.
        let whole = number < chains;
        let start = working_hour(draw);
        intrusions::phishing(draw, &mut journal, &mut estate, start, whole);
        let start = working_hour(draw);
        intrusions::stolen_vpn(draw, &mut journal, &mut estate, start, whole);
        let start = working_hour(draw);
        intrusions::carried(draw, &mut journal, &mut estate, start, whole);
        if whole {
            // Two bad releases never overlap, since their services may be the same.
            let start = hour_of(2 * number, draw);
            operations::bad_release(draw, &mut journal, &mut estate, start);
            let start = working_hour(draw);
            operations::stale_key(draw, &mut journal, &mut estate, start);
        }
    }
    noise::at_desks(draw, &mut journal, (&estate, &outside), percent, &working_hour);
    noise::on_servers(draw, &mut journal, (&estate, &outside), percent, &working_hour);
    operations::ordinary(draw, &mut journal, &estate, &working_hour);
    let tables = schema().into_iter().map(|table| filled(table, &mut journal)).collect();
    World { dataset: Dataset { tables, ..Dataset::default() }, facts: journal.facts }
}

/// A moment of the days that are logged, by day.
fn working_hour(draw: &mut Draw) -> DateTime {
    let day = draw.between(0, DAYS - 4);
    hour_of(day, draw)
}

/// A moment of one of the days, by day.
fn hour_of(day: i64, draw: &mut Draw) -> DateTime {
    let midnight = date(2031, 3, 3).at(0, 0, 0, 0);
    later(midnight, day * 86_400 + draw.between(7 * 3_600, 19 * 3_600))
}

/// The table with its rows: logs by time, as they were written.
fn filled(table: Table, journal: &mut Journal) -> Table {
    let mut rows = journal.rows.remove(table.name.as_str()).unwrap_or_default();
    let by = usize::from(table.columns.first().is_some_and(|first| first.sort == Sort::Integer));
    let place = |row: &Vec<Value>| match row.get(by) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    };
    rows.sort_by_cached_key(|row| (place(row), format!("{row:?}")));
    Table { rows, ..table }
}

/// The tables, empty.
fn schema() -> Vec<Table> {
    use Need::{May, Must};
    use Sort::{Integer, Text, Timestamp};
    vec![
        Table::of(
            "users",
            &[("login", Text, Must), ("kind", Text, Must), ("department", Text, Must), ("title", Text, May)],
        )
        .key(&["login"]),
        Table::of(
            "hosts",
            &[
                ("host_name", Text, Must),
                ("address", Text, Must),
                ("kind", Text, Must),
                ("owner", Text, May),
                ("system", Text, Must),
            ],
        )
        .key(&["host_name"])
        .distinct(&["address"]),
        Table::of(
            "services",
            &[("service", Text, Must), ("team", Text, Must), ("tier", Integer, Must), ("host_name", Text, Must)],
        )
        .key(&["service"]),
        Table::of("service_calls", &[("caller", Text, Must), ("called", Text, Must)]).key(&["caller", "called"]),
        Table::of(
            "mails",
            &[
                ("mail_id", Integer, Must),
                ("sent_at", Timestamp, Must),
                ("sender", Text, Must),
                ("recipient", Text, Must),
                ("subject", Text, Must),
                ("link_domain", Text, May),
                ("verdict", Text, Must),
            ],
        )
        .key(&["mail_id"]),
        Table::of(
            "web_requests",
            &[
                ("request_id", Integer, Must),
                ("requested_at", Timestamp, Must),
                ("host_name", Text, Must),
                ("login", Text, Must),
                ("method", Text, Must),
                ("domain", Text, Must),
                ("download", Text, May),
                ("bytes_in", Integer, Must),
            ],
        )
        .key(&["request_id"]),
        Table::of(
            "dns_queries",
            &[
                ("query_id", Integer, Must),
                ("asked_at", Timestamp, Must),
                ("host_name", Text, Must),
                ("name", Text, Must),
                ("answer", Text, Must),
            ],
        )
        .key(&["query_id"]),
        Table::of(
            "processes",
            &[
                ("process_id", Integer, Must),
                ("started_at", Timestamp, Must),
                ("host_name", Text, Must),
                ("login", Text, Must),
                ("image", Text, Must),
                ("parent_id", Integer, May),
                ("file_hash", Text, Must),
            ],
        )
        .key(&["process_id"]),
        Table::of(
            "file_events",
            &[
                ("event_id", Integer, Must),
                ("happened_at", Timestamp, Must),
                ("host_name", Text, Must),
                ("process_id", Integer, Must),
                ("action", Text, Must),
                ("path", Text, Must),
                ("file_hash", Text, May),
            ],
        )
        .key(&["event_id"]),
        Table::of(
            "network_flows",
            &[
                ("flow_id", Integer, Must),
                ("started_at", Timestamp, Must),
                ("source_address", Text, Must),
                ("target_address", Text, Must),
                ("target_port", Integer, Must),
                ("bytes_out", Integer, Must),
                ("process_id", Integer, May),
            ],
        )
        .key(&["flow_id"]),
        Table::of(
            "sign_ins",
            &[
                ("sign_in_id", Integer, Must),
                ("tried_at", Timestamp, Must),
                ("login", Text, Must),
                ("host_name", Text, Must),
                ("source_address", Text, Must),
                ("method", Text, Must),
                ("credential", Text, May),
                ("outcome", Text, Must),
            ],
        )
        .key(&["sign_in_id"]),
        Table::of(
            "vpn_sessions",
            &[
                ("session_id", Integer, Must),
                ("started_at", Timestamp, Must),
                ("ended_at", Timestamp, Must),
                ("login", Text, Must),
                ("remote_address", Text, Must),
                ("country", Text, Must),
                ("assigned_address", Text, Must),
            ],
        )
        .key(&["session_id"]),
        Table::of(
            "device_events",
            &[
                ("event_id", Integer, Must),
                ("happened_at", Timestamp, Must),
                ("host_name", Text, Must),
                ("login", Text, Must),
                ("serial", Text, Must),
                ("product", Text, Must),
                ("action", Text, Must),
            ],
        )
        .key(&["event_id"]),
        Table::of(
            "alerts",
            &[
                ("alert_id", Integer, Must),
                ("raised_at", Timestamp, Must),
                ("rule", Text, Must),
                ("severity", Text, Must),
                ("status", Text, Must),
                ("host_name", Text, May),
                ("login", Text, May),
                ("process_id", Integer, May),
                ("flow_id", Integer, May),
                ("service", Text, May),
                ("request", Text, May),
            ],
        )
        .key(&["alert_id"]),
        Table::of(
            "tickets",
            &[
                ("ticket_id", Integer, Must),
                ("opened_at", Timestamp, Must),
                ("opened_by", Text, Must),
                ("kind", Text, Must),
                ("summary", Text, Must),
                ("status", Text, Must),
            ],
        )
        .key(&["ticket_id"]),
        Table::of(
            "deployments",
            &[
                ("deployment_id", Integer, Must),
                ("deployed_at", Timestamp, Must),
                ("service", Text, Must),
                ("version", Text, Must),
                ("commit_id", Text, Must),
                ("author", Text, Must),
                ("approved_by", Text, Must),
                ("ticket_id", Integer, May),
            ],
        )
        .key(&["deployment_id"]),
        Table::of(
            "service_errors",
            &[
                ("error_id", Integer, Must),
                ("logged_at", Timestamp, Must),
                ("service", Text, Must),
                ("version", Text, Must),
                ("request", Text, Must),
                ("upstream", Text, May),
                ("code", Integer, Must),
                ("message", Text, Must),
            ],
        )
        .key(&["error_id"]),
        Table::of(
            "queue_samples",
            &[
                ("sample_id", Integer, Must),
                ("sampled_at", Timestamp, Must),
                ("service", Text, Must),
                ("depth", Integer, Must),
                ("oldest_seconds", Integer, Must),
            ],
        )
        .key(&["sample_id"]),
        Table::of(
            "config_changes",
            &[
                ("change_id", Integer, Must),
                ("changed_at", Timestamp, Must),
                ("login", Text, Must),
                ("service", Text, Must),
                ("setting", Text, Must),
                ("old_value", Text, Must),
                ("new_value", Text, Must),
                ("ticket_id", Integer, May),
            ],
        )
        .key(&["change_id"]),
    ]
}
