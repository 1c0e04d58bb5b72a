//! A clinic: departments, doctors with shifts, patients with allergies, appointments, prescriptions and laboratory results.

use std::collections::BTreeMap;

use jiff::civil::{Date, date};

use super::draw::{Draw, later};
use super::layout::Need::{May, Must};
use super::rules::{self, Rule};
use super::words::{self, CITIES};
use super::{Fact, Maker, Settings, World};
use crate::dataset::Sort::{Integer, Text};
use crate::dataset::{Dataset, Sort, Table};
use crate::row;
use crate::value::Value;

pub(super) const MAKER: Maker =
    Maker { name: "clinic", settings: &[("patients", 20, 70, 500), ("appointments", 60, 420, 5_000)], make };

/// The first day that has appointments.
const START: Date = date(2024, 6, 3);

/// Days that have appointments, the last ten of them ahead.
const DAYS: i64 = 120;

const RULES: &[Rule] = &[
    Rule::Forbid {
        name: "appointments_are_in_shifts",
        table: "appointments",
        on: &["INSERT", "UPDATE"],
        when: "NEW.status = 'booked' AND NOT EXISTS (SELECT 1 FROM shifts WHERE doctor_id = NEW.doctor_id AND day = NEW.day)",
        says: "the doctor does not work on that day",
    },
    Rule::Forbid {
        name: "slots_are_taken_once",
        table: "appointments",
        on: &["INSERT", "UPDATE"],
        when: "NEW.status = 'booked' AND EXISTS (SELECT 1 FROM appointments a WHERE a.status = 'booked' AND a.id <> NEW.id
            AND a.day = NEW.day AND a.slot = NEW.slot AND (a.doctor_id = NEW.doctor_id OR a.patient_id = NEW.patient_id))",
        says: "the doctor or the patient has another appointment then",
    },
    Rule::Forbid {
        name: "patients_and_departments_stay",
        table: "appointments",
        on: &["UPDATE"],
        when: "NEW.patient_id <> OLD.patient_id OR (SELECT department_id FROM doctors WHERE id = NEW.doctor_id)
            <> (SELECT department_id FROM doctors WHERE id = OLD.doctor_id)",
        says: "an appointment stays with the patient and the department",
    },
    Rule::Forbid {
        name: "allergies_count",
        table: "prescriptions",
        on: &["INSERT"],
        when: "EXISTS (SELECT 1 FROM allergies a JOIN drugs d ON d.substance = a.substance
            WHERE a.patient_id = NEW.patient_id AND d.id = NEW.drug_id)",
        says: "the patient is allergic to the substance",
    },
    Rule::Forbid {
        name: "interactions_count",
        table: "prescriptions",
        on: &["INSERT"],
        when: "EXISTS (SELECT 1 FROM prescriptions p JOIN drugs d ON d.id = p.drug_id JOIN drugs n ON n.id = NEW.drug_id
            JOIN interactions i ON (i.substance = d.substance AND i.other = n.substance)
                OR (i.other = d.substance AND i.substance = n.substance)
            WHERE p.patient_id = NEW.patient_id AND p.state = 'active')",
        says: "it interacts with a drug that the patient takes",
    },
    Rule::Forbid {
        name: "controlled_drugs_need_a_permit",
        table: "prescriptions",
        on: &["INSERT"],
        when: "(SELECT controlled FROM drugs WHERE id = NEW.drug_id) = 1
            AND (NEW.days > 7 OR (SELECT permit FROM doctors WHERE id = NEW.doctor_id) = 0)",
        says: "a controlled drug takes a doctor with a permit, and at most 7 days",
    },
    Rule::Forbid {
        name: "prescriptions_begin_active",
        table: "prescriptions",
        on: &["INSERT"],
        when: "NEW.state <> 'active' OR EXISTS (SELECT 1 FROM prescriptions p JOIN drugs d ON d.id = p.drug_id
            JOIN drugs n ON n.id = NEW.drug_id AND n.substance = d.substance
            WHERE p.patient_id = NEW.patient_id AND p.state = 'active')",
        says: "a prescription begins active, once per substance",
    },
    Rule::Forbid {
        name: "prescriptions_only_end",
        table: "prescriptions",
        on: &["UPDATE"],
        when: "NEW.patient_id <> OLD.patient_id OR NEW.drug_id <> OLD.drug_id OR NEW.doctor_id <> OLD.doctor_id
            OR NEW.days <> OLD.days OR NEW.prescribed_on <> OLD.prescribed_on",
        says: "a prescription is stopped, and nothing else",
    },
    Rule::Steps { table: "prescriptions", column: "state", steps: &[("active", "stopped")] },
    Rule::Steps { table: "appointments", column: "status", steps: &[("booked", "done"), ("booked", "cancelled"), ("booked", "missed")] },
    Rule::Stay { table: "prescriptions" },
    Rule::Stay { table: "appointments" },
    Rule::Keep { table: "allergies" },
    Rule::Keep { table: "interactions" },
    Rule::Keep { table: "drugs" },
];

/// Name, substance, group, whether it is controlled.
const DRUGS: [(&str, &str, &str, i64); 14] = [
    ("Amolex", "amoxan", "antibiotic", 0),
    ("Brocin", "brocin", "antibiotic", 0),
    ("Cefatrin", "cefatrin", "antibiotic", 0),
    ("Dolorel", "dolorel", "painkiller", 0),
    ("Dolorel Forte", "dolorel", "painkiller", 0),
    ("Ibrotan", "ibrotan", "painkiller", 0),
    ("Morvane", "morvane", "painkiller", 1),
    ("Fexil", "fexil", "antihistamine", 0),
    ("Lorat", "lorat", "antihistamine", 0),
    ("Sedatel", "sedatel", "sleep", 1),
    ("Nocturin", "nocturin", "sleep", 0),
    ("Tensolol", "tensolol", "blood pressure", 0),
    ("Vasopran", "vasopran", "blood pressure", 0),
    ("Zeloride", "zeloride", "blood pressure", 0),
];

const INTERACTIONS: [(&str, &str); 6] = [
    ("brocin", "tensolol"),
    ("ibrotan", "vasopran"),
    ("morvane", "sedatel"),
    ("fexil", "nocturin"),
    ("amoxan", "zeloride"),
    ("dolorel", "sedatel"),
];

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let mut departments =
        Table::of("departments", &[("id", Integer, Must), ("name", Text, Must), ("floor", Integer, May)]);
    for (id, name) in (1..).zip(["Cardiology", "Dermatology", "Neurology", "Orthopaedics", "Paediatrics", "Radiology"])
    {
        departments.rows.push(row![id, name, (!draw.chance(20)).then(|| draw.between(0, 4))]);
    }
    let mut doctors = Table::of(
        "doctors",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("department_id", Integer, Must),
            ("permit", Integer, Must),
            ("supervisor_id", Integer, May),
        ],
    )
    .refers("department_id", "departments")
    .refers("supervisor_id", "doctors");
    for (id, name) in (1..=14).zip(words::people(draw, 14)) {
        // Nobody works in radiology; each other department has two doctors or more.
        let department = (id - 1) % 5 + 1;
        let supervisor = (id > 5).then_some(department);
        doctors.rows.push(row![id, name, department, id % 2, supervisor]);
    }
    let count = settings["patients"];
    let mut patients = Table::of(
        "patients",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("born_on", Sort::Date, Must),
            ("city", Text, May),
            ("insurer", Text, May),
        ],
    );
    for (id, name) in (1..=count).zip(words::people(draw, count as usize)) {
        let city = (!draw.chance(12)).then(|| draw.pick_skewed(&CITIES).0);
        let insurer = (!draw.chance(25)).then(|| *draw.pick(&["Alma", "Borea", "Civitas"]));
        patients.rows.push(row![id, name, draw.day(date(1935, 1, 1), 32_000), city, insurer]);
    }
    let mut drugs = Table::of(
        "drugs",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("substance", Text, Must),
            ("drug_group", Text, Must),
            ("controlled", Integer, Must),
        ],
    )
    .distinct(&["name"]);
    drugs.rows = (1..)
        .zip(DRUGS)
        .map(|(id, (name, substance, group, controlled))| row![id, name, substance, group, controlled])
        .collect();
    let mut interactions =
        Table::of("interactions", &[("substance", Text, Must), ("other", Text, Must)]).key(&["substance", "other"]);
    interactions.rows = INTERACTIONS.iter().map(|(one, other)| row![one, other]).collect();
    let mut allergies = Table::of(
        "allergies",
        &[("patient_id", Integer, Must), ("substance", Text, Must), ("noted_on", Sort::Date, May)],
    )
    .key(&["patient_id", "substance"])
    .refers("patient_id", "patients");
    for patient in 1..=count {
        let substances: Vec<&str> =
            DRUGS.iter().map(|drug| drug.1).filter(|substance| *substance != "dolorel").collect();
        let many = *draw.pick_weighted(&[(0, 6), (1, 4), (2, 2)]);
        for substance in draw.sample(&substances, many) {
            let noted = (!draw.chance(30)).then(|| draw.day(date(2019, 1, 1), 1_900));
            allergies.rows.push(row![patient, substance, noted]);
        }
    }
    let (shifts, appointments) = calendar(draw, count, settings["appointments"]);
    let prescriptions = prescriptions(draw, count, &allergies);
    let results = results(draw, count);
    let facts = facts(count, &allergies, &prescriptions, &shifts, &appointments);
    let tables = vec![
        departments,
        doctors,
        patients,
        drugs,
        interactions,
        allergies,
        shifts,
        appointments,
        prescriptions,
        results,
    ];
    let after = rules::compile(RULES, &tables);
    World { dataset: Dataset { tables, after }, facts }
}

fn calendar(draw: &mut Draw, patients: i64, count: i64) -> (Table, Table) {
    let mut shifts = Table::of("shifts", &[("doctor_id", Integer, Must), ("day", Sort::Date, Must)])
        .key(&["doctor_id", "day"])
        .refers("doctor_id", "doctors");
    for doctor in 1..=14 {
        for day in (0..DAYS).filter(|day| day % 7 < 5) {
            if draw.chance(60) {
                shifts.rows.push(row![doctor, later(START, day)]);
            }
        }
    }
    let mut appointments = Table::of(
        "appointments",
        &[
            ("id", Integer, Must),
            ("patient_id", Integer, Must),
            ("doctor_id", Integer, Must),
            ("day", Sort::Date, Must),
            ("slot", Integer, Must),
            ("status", Text, Must),
        ],
    )
    .refers("patient_id", "patients")
    .refers("doctor_id", "doctors")
    .check("slot BETWEEN 1 AND 8")
    .check("status IN ('booked', 'done', 'cancelled', 'missed')");
    let mut taken = std::collections::BTreeSet::new();
    let ahead = later(START, DAYS - 10).to_string();
    let known: Vec<i64> = (1..=patients * 9 / 10).collect();
    for _ in 0..count {
        let shift = draw.pick(&shifts.rows).clone();
        let (patient, slot) = (*draw.pick_skewed(&known), draw.between(1, 8));
        let Value::Text(day) = &shift[1] else { continue };
        if !taken.insert((whole(&shift[0]), day.clone(), slot)) || !taken.insert((-patient, day.clone(), slot)) {
            continue;
        }
        let status =
            if *day >= ahead { "booked" } else { *draw.pick_weighted(&[("done", 7), ("missed", 1), ("cancelled", 2)]) };
        let id = appointments.rows.len() as i64 + 1;
        appointments.rows.push(row![id, patient, shift[0].clone(), day, slot, status]);
    }
    (shifts, appointments)
}

fn prescriptions(draw: &mut Draw, patients: i64, allergies: &Table) -> Table {
    let mut table = Table::of(
        "prescriptions",
        &[
            ("id", Integer, Must),
            ("patient_id", Integer, Must),
            ("doctor_id", Integer, Must),
            ("drug_id", Integer, Must),
            ("prescribed_on", Sort::Date, Must),
            ("days", Integer, Must),
            ("state", Text, Must),
        ],
    )
    .refers("patient_id", "patients")
    .refers("doctor_id", "doctors")
    .refers("drug_id", "drugs")
    .check("days > 0")
    .check("state IN ('active', 'stopped')");
    for _ in 0..150 {
        let (patient, place) = (draw.between(1, patients), draw.below(DRUGS.len()));
        let (_, substance, _, controlled) = DRUGS[place];
        let allergic = allergies.rows.iter().any(|row| whole(&row[0]) == patient && row[1] == Value::from(substance));
        let taken = active(&table, patient).any(|other| interact(other, substance) || other == substance);
        if allergic || taken {
            continue;
        }
        let doctor = if controlled == 1 { 2 * draw.between(1, 7) - 1 } else { draw.between(1, 14) };
        let days = if controlled == 1 { 7 } else { *draw.pick(&[5, 7, 10, 14, 30]) };
        let state = *draw.pick_weighted(&[("active", 3), ("stopped", 2)]);
        let id = table.rows.len() as i64 + 1;
        table.rows.push(row![id, patient, doctor, place as i64 + 1, draw.day(START, 100), days, state]);
    }
    table
}

/// Substances that a patient takes.
fn active(prescriptions: &Table, patient: i64) -> impl Iterator<Item = &'static str> {
    let mine =
        prescriptions.rows.iter().filter(move |row| whole(&row[1]) == patient && row[6] == Value::from("active"));
    mine.map(|row| DRUGS[whole(&row[3]) as usize - 1].1)
}

fn interact(one: &str, other: &str) -> bool {
    INTERACTIONS.contains(&(one, other)) || INTERACTIONS.contains(&(other, one))
}

fn results(draw: &mut Draw, patients: i64) -> Table {
    let mut table = Table::of(
        "lab_results",
        &[
            ("id", Integer, Must),
            ("patient_id", Integer, Must),
            ("test", Text, Must),
            ("value", Integer, May),
            ("taken_on", Sort::Date, Must),
        ],
    )
    .refers("patient_id", "patients");
    for id in 1..=260 {
        let test = *draw.pick(&["glucose", "iron", "sodium"]);
        let value = (!draw.chance(8)).then(|| draw.between(60, 190));
        table.rows.push(row![id, draw.between(1, patients), test, value, draw.day(START, 115)]);
    }
    table
}

fn whole(value: &Value) -> i64 {
    if let Value::Integer(number) = value { *number } else { 0 }
}

fn facts(
    patients: i64,
    allergies: &Table,
    prescriptions: &Table,
    shifts: &Table,
    appointments: &Table,
) -> BTreeMap<String, Vec<Fact>> {
    let mut facts: BTreeMap<String, Vec<Fact>> = BTreeMap::new();
    let allergic = |patient: i64, substance: &str| {
        allergies.rows.iter().any(|row| whole(&row[0]) == patient && row[1] == Value::from(substance))
    };
    for patient in 1..=patients {
        let takes: Vec<&str> = active(prescriptions, patient).collect();
        let fits = |place: &usize| {
            let substance = DRUGS[*place].1;
            !allergic(patient, substance)
                && !takes.iter().any(|other| *other == substance || interact(other, substance))
        };
        // Of a group exactly one drug can be given, and it is not the one that is tried first.
        for group in ["antibiotic", "antihistamine", "blood pressure"] {
            let members: Vec<usize> = (0..DRUGS.len()).filter(|place| DRUGS[*place].2 == group).collect();
            let able: Vec<usize> = members.iter().copied().filter(fits).collect();
            if let [only] = able.as_slice() {
                facts.entry("one_drug".to_owned()).or_default().push(Fact::from([
                    ("patient_id".to_owned(), Value::Integer(patient)),
                    ("group".to_owned(), Value::from(group)),
                    ("drug_id".to_owned(), Value::Integer(*only as i64 + 1)),
                ]));
            }
        }
        // A drug that only an active prescription stands against.
        for place in (0..DRUGS.len()).filter(|place| DRUGS[*place].3 == 0 && !allergic(patient, DRUGS[*place].1)) {
            let against: Vec<&&str> = takes.iter().filter(|other| interact(other, DRUGS[place].1)).collect();
            if let ([against], false) = (against.as_slice(), takes.contains(&DRUGS[place].1)) {
                facts.entry("interacting".to_owned()).or_default().push(Fact::from([
                    ("patient_id".to_owned(), Value::Integer(patient)),
                    ("drug_id".to_owned(), Value::Integer(place as i64 + 1)),
                    ("drug".to_owned(), Value::from(DRUGS[place].0)),
                    ("against".to_owned(), Value::from(**against)),
                ]));
            }
        }
        let morvane = 6;
        if fits(&morvane) {
            facts.entry("controlled".to_owned()).or_default().push(Fact::from([
                ("patient_id".to_owned(), Value::Integer(patient)),
                ("drug_id".to_owned(), Value::Integer(morvane as i64 + 1)),
            ]));
        }
    }
    for row in appointments.rows.iter().filter(|row| row[5] == Value::from("booked")) {
        let later_shift = shifts.rows.iter().any(|shift| shift[0] == row[2] && text(&shift[1]) > text(&row[3]));
        if later_shift {
            facts.entry("movable".to_owned()).or_default().push(Fact::from([
                ("id".to_owned(), row[0].clone()),
                ("doctor_id".to_owned(), row[2].clone()),
                ("patient_id".to_owned(), row[1].clone()),
                ("day".to_owned(), row[3].clone()),
                ("slot".to_owned(), row[4].clone()),
            ]));
        }
    }
    facts
}

fn text(value: &Value) -> &str {
    if let Value::Text(text) = value { text } else { "" }
}
