//! A company's staff: nested departments, managers, grades, pay, leave, and people assigned to projects.

use std::collections::BTreeMap;

use jiff::civil::date;

use super::draw::{Draw, later};
use super::layout::Need::{May, Must};
use super::rules::{self, Rule};
use super::words;
use super::{Fact, Maker, Settings, World};
use crate::dataset::Sort::{Integer, Text};
use crate::dataset::{Dataset, Sort, Table};
use crate::row;
use crate::value::Value;

pub(super) const MAKER: Maker = Maker { name: "hr", settings: &[("employees", 30, 80, 600)], make };

const RULES: &[Rule] = &[
    Rule::Forbid {
        name: "pay_fits_the_grade",
        table: "employees",
        on: &["INSERT", "UPDATE"],
        when: "NEW.salary_cents NOT BETWEEN (SELECT min_cents FROM grades WHERE level = NEW.grade)
            AND (SELECT max_cents FROM grades WHERE level = NEW.grade)",
        says: "the salary is not within the grade",
    },
    Rule::Forbid {
        name: "raises_are_bounded",
        table: "employees",
        on: &["UPDATE"],
        when: "NEW.salary_cents * 100 > OLD.salary_cents * 110 OR NEW.salary_cents < OLD.salary_cents",
        says: "a salary rises by at most 10 percent at a time, and never falls",
    },
    Rule::Forbid {
        name: "grades_rise_by_one",
        table: "employees",
        on: &["UPDATE"],
        when: "NEW.grade NOT IN (OLD.grade, OLD.grade + 1)",
        says: "a promotion is one grade",
    },
    Rule::Forbid {
        name: "nobody_leads_a_former_employee",
        table: "employees",
        on: &["INSERT", "UPDATE"],
        when: "NEW.left_on IS NULL AND (NEW.manager_id = NEW.id
            OR (SELECT left_on FROM employees WHERE id = NEW.manager_id) IS NOT NULL)",
        says: "the manager must be somebody else who still works here",
    },
    Rule::Forbid {
        name: "leaders_hand_over",
        table: "employees",
        on: &["UPDATE"],
        when: "NEW.left_on IS NOT NULL AND OLD.left_on IS NULL AND (
            EXISTS (SELECT 1 FROM employees e WHERE e.manager_id = NEW.id AND e.left_on IS NULL)
            OR EXISTS (SELECT 1 FROM assignments a WHERE a.employee_id = NEW.id))",
        says: "whoever leaves hands over the team and the assignments first",
    },
    Rule::After {
        name: "pay_is_recorded",
        table: "employees",
        on: "UPDATE",
        when: "NEW.salary_cents <> OLD.salary_cents",
        act: "INSERT INTO pay_changes (id, employee_id, old_cents, new_cents)
            SELECT COALESCE(MAX(id), 0) + 1, NEW.id, OLD.salary_cents, NEW.salary_cents FROM pay_changes;",
    },
    Rule::Forbid {
        name: "nobody_is_overbooked",
        table: "assignments",
        on: &["INSERT", "UPDATE"],
        when: "NEW.percent + (SELECT COALESCE(SUM(percent), 0) FROM assignments
            WHERE employee_id = NEW.employee_id AND project_id <> NEW.project_id) > 100",
        says: "nobody works more than 100 percent",
    },
    Rule::Forbid {
        name: "assigned_people_work_here",
        table: "assignments",
        on: &["INSERT"],
        when: "(SELECT left_on FROM employees WHERE id = NEW.employee_id) IS NOT NULL
            OR (SELECT status FROM projects WHERE id = NEW.project_id) <> 'running'",
        says: "only employees are assigned, to running projects",
    },
    Rule::Forbid {
        name: "projects_keep_people",
        table: "assignments",
        on: &["DELETE"],
        when: "(SELECT status FROM projects WHERE id = OLD.project_id) = 'running'
            AND NOT EXISTS (SELECT 1 FROM assignments a WHERE a.project_id = OLD.project_id AND a.employee_id <> OLD.employee_id)",
        says: "a running project keeps at least one person",
    },
    Rule::Forbid {
        name: "leave_is_bounded",
        table: "leave_requests",
        on: &["UPDATE"],
        when: "NEW.status = 'approved' AND NEW.days + (SELECT COALESCE(SUM(days), 0) FROM leave_requests
            WHERE employee_id = NEW.employee_id AND status = 'approved' AND id <> NEW.id) > 30",
        says: "the employee would have more than 30 days of leave",
    },
    Rule::Forbid {
        name: "requests_stay",
        table: "leave_requests",
        on: &["UPDATE"],
        when: "NEW.employee_id <> OLD.employee_id OR NEW.days <> OLD.days OR NEW.first_day <> OLD.first_day",
        says: "a request is decided on, not rewritten",
    },
    Rule::Steps { table: "leave_requests", column: "status", steps: &[("requested", "approved"), ("requested", "rejected")] },
    Rule::Steps { table: "projects", column: "status", steps: &[("planned", "running"), ("running", "done")] },
    Rule::Stay { table: "employees" },
    Rule::Stay { table: "leave_requests" },
    Rule::Keep { table: "pay_changes" },
];

const DEPARTMENTS: [(&str, Option<i64>); 11] = [
    ("Company", None),
    ("Engineering", Some(1)),
    ("Sales", Some(1)),
    ("Operations", Some(1)),
    ("Platform", Some(2)),
    ("Products", Some(2)),
    ("Field Sales", Some(3)),
    ("Support", Some(4)),
    ("Data", Some(5)),
    ("Mobile", Some(6)),
    ("Archive", Some(4)),
];

const PROJECTS: [&str; 12] =
    ["Aurora", "Beacon", "Cobalt", "Drift", "Ember", "Fathom", "Glide", "Harbor", "Ion", "Jade", "Krill", "Lattice"];

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let mut departments = Table::of(
        "departments",
        &[("id", Integer, Must), ("name", Text, Must), ("parent_id", Integer, May), ("budget_cents", Integer, May)],
    )
    .refers("parent_id", "departments");
    for (id, (name, parent)) in (1..).zip(DEPARTMENTS) {
        departments.rows.push(row![id, name, parent, (!draw.chance(15)).then(|| 1_000_000 * draw.between(20, 90))]);
    }
    let mut grades =
        Table::of("grades", &[("level", Integer, Must), ("min_cents", Integer, Must), ("max_cents", Integer, Must)])
            .key(&["level"]);
    grades.rows = (1..=6).map(|level| row![level, band(level).0, band(level).1]).collect();
    let employees = employees(draw, settings["employees"]);
    let mut pay = Table::of(
        "pay_changes",
        &[
            ("id", Integer, Must),
            ("employee_id", Integer, Must),
            ("old_cents", Integer, Must),
            ("new_cents", Integer, Must),
        ],
    )
    .refers("employee_id", "employees");
    for _ in 0..90 {
        let employee = draw.pick(&employees.rows);
        let salary = whole(&employee[6]);
        let id = pay.rows.len() as i64 + 1;
        pay.rows.push(row![id, employee[0].clone(), salary - 10_000 * draw.between(1, 40), salary]);
    }
    let (projects, assignments) = projects(draw, &employees);
    let leave = leave(draw, &employees);
    let facts = facts(&employees, &projects, &assignments, &leave);
    let tables = vec![departments, grades, employees, pay, projects, assignments, leave];
    let after = rules::compile(RULES, &tables);
    World { dataset: Dataset { tables, after }, facts }
}

/// The least and the most that a grade earns. Grades overlap.
fn band(level: i64) -> (i64, i64) {
    (1_500_000 + 1_000_000 * level, 3_200_000 + 1_300_000 * level)
}

fn whole(value: &Value) -> i64 {
    if let Value::Integer(number) = value { *number } else { 0 }
}

fn employees(draw: &mut Draw, count: i64) -> Table {
    let mut table = Table::of(
        "employees",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("department_id", Integer, Must),
            ("manager_id", Integer, May),
            ("title", Text, May),
            ("grade", Integer, Must),
            ("salary_cents", Integer, Must),
            ("hired_on", Sort::Date, Must),
            ("left_on", Sort::Date, May),
        ],
    )
    .refers("department_id", "departments")
    .refers("manager_id", "employees");
    for (id, name) in (1..=count).zip(words::people(draw, count as usize)) {
        let manager = match id {
            1 => None,
            2..=6 => Some(1),
            // Teams of uneven size, up to five levels deep.
            _ => Some(draw.between((id / 4).max(2), (id / 2).max(2))),
        };
        let department = if id == 1 { 1 } else { draw.between(2, DEPARTMENTS.len() as i64 - 1) };
        let grade = match id {
            1 => 6,
            2..=6 => 5,
            _ => *draw.pick_weighted(&[(1, 3), (2, 5), (3, 4), (4, 2)]),
        };
        let (least, most) = band(grade);
        // In steps of 1,000, so that some earn the same.
        let salary = (least + draw.between(0, (most - least) / 100_000) * 100_000).min(most);
        let title = (!draw.chance(10)).then(|| *draw.pick(&["analyst", "designer", "developer", "engineer", "agent"]));
        let hired = draw.day(date(2016, 1, 1), 3_000);
        // Nobody who leads a team has left.
        let left = (id > count * 2 / 3 && draw.chance(25)).then(|| later(hired, draw.between(100, 900)));
        table.rows.push(row![id, name, department, manager, title, grade, salary, hired, left]);
    }
    let leaders: Vec<i64> = table.rows.iter().map(|row| whole(&row[3])).collect();
    for row in &mut table.rows {
        if leaders.contains(&whole(&row[0])) {
            row[8] = Value::Null;
        }
    }
    table
}

fn projects(draw: &mut Draw, employees: &Table) -> (Table, Table) {
    let mut projects = Table::of(
        "projects",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("department_id", Integer, Must),
            ("status", Text, Must),
            ("starts_on", Sort::Date, Must),
            ("ends_on", Sort::Date, May),
        ],
    )
    .refers("department_id", "departments");
    let mut assignments = Table::of(
        "assignments",
        &[
            ("employee_id", Integer, Must),
            ("project_id", Integer, Must),
            ("percent", Integer, Must),
            ("role", Text, May),
        ],
    )
    .key(&["employee_id", "project_id"])
    .refers("employee_id", "employees")
    .refers("project_id", "projects")
    .check("percent BETWEEN 5 AND 100");
    let mut booked = vec![0; employees.rows.len()];
    for (id, name) in (1..).zip(PROJECTS) {
        let status = if id <= 7 { "running" } else { *draw.pick(&["planned", "done"]) };
        let starts = draw.day(date(2023, 1, 1), 500);
        let ends = (!draw.chance(25)).then(|| later(starts, draw.between(60, 400)));
        projects.rows.push(row![id, name, draw.between(2, 9), status, starts, ends]);
        if status == "planned" {
            continue;
        }
        let people: Vec<usize> =
            (0..employees.rows.len()).filter(|place| employees.rows[*place][8] == Value::Null).collect();
        let team = draw.between(1, 12) as usize;
        for place in draw.sample(&people, team) {
            let percent = 10 * draw.between(1, 5);
            if booked[place] + percent <= 100 {
                booked[place] += percent;
                let role = (!draw.chance(15)).then(|| *draw.pick(&["lead", "member", "reviewer"]));
                assignments.rows.push(row![place as i64 + 1, id, percent, role]);
            }
        }
    }
    (projects, assignments)
}

fn leave(draw: &mut Draw, employees: &Table) -> Table {
    let mut table = Table::of(
        "leave_requests",
        &[
            ("id", Integer, Must),
            ("employee_id", Integer, Must),
            ("first_day", Sort::Date, Must),
            ("days", Integer, Must),
            ("status", Text, Must),
        ],
    )
    .refers("employee_id", "employees")
    .check("days > 0")
    .check("status IN ('requested', 'approved', 'rejected')");
    let mut approved = vec![0; employees.rows.len()];
    for id in 1..=320 {
        let place = draw.below(employees.rows.len());
        let days = draw.between(2, 14);
        let mut status = *draw.pick_weighted(&[("approved", 5), ("requested", 3), ("rejected", 1)]);
        if status == "approved" && approved[place] + days > 30 {
            status = "requested";
        }
        if status == "approved" {
            approved[place] += days;
        }
        table.rows.push(row![id, place as i64 + 1, draw.day(date(2024, 1, 1), 366), days, status]);
    }
    table
}

fn facts(employees: &Table, projects: &Table, assignments: &Table, leave: &Table) -> BTreeMap<String, Vec<Fact>> {
    let fact = |fields: &[(&str, i64)]| -> Fact {
        fields.iter().map(|(name, number)| ((*name).to_owned(), Value::Integer(*number))).collect()
    };
    let mut facts: BTreeMap<String, Vec<Fact>> = BTreeMap::new();
    for row in employees.rows.iter().filter(|row| row[8] == Value::Null) {
        let (id, grade, salary) = (whole(&row[0]), whole(&row[5]), whole(&row[6]));
        // 15 percent more takes two raises, and the next grade.
        let wanted = salary * 115 / 100;
        if grade < 6 && wanted > band(grade).1 && wanted <= band(grade + 1).1 && salary >= band(grade + 1).0 {
            facts.entry("raise".to_owned()).or_default().push(fact(&[
                ("id", id),
                ("salary", salary),
                ("wanted", wanted),
                ("between", salary * 108 / 100),
            ]));
        }
        let own = assignments.rows.iter().filter(|assignment| assignment[0] == row[0]).collect::<Vec<_>>();
        let booked: i64 = own.iter().map(|assignment| whole(&assignment[2])).sum();
        let running = |assignment: &&&Vec<Value>| whole(&assignment[1]) <= 7 && whole(&assignment[2]) >= 30;
        if booked > 60
            && let Some(large) = own.iter().find(running)
            && let Some(other) = (1..=7).find(|project| !own.iter().any(|assignment| whole(&assignment[1]) == *project))
        {
            let fields = [
                ("id", id),
                ("old_project", whole(&large[1])),
                ("old_percent", whole(&large[2])),
                ("new_project", other),
                ("percent", 100 - booked + 20),
            ];
            facts.entry("booked".to_owned()).or_default().push(fact(&fields));
        }
        let team = employees.rows.iter().filter(|other| other[3] == row[0] && other[8] == Value::Null).count();
        if id > 6 && team > 0 {
            let alone = own.iter().any(|assignment| {
                projects.rows[whole(&assignment[1]) as usize - 1][3] == Value::from("running")
                    && assignments.rows.iter().filter(|other| other[1] == assignment[1]).count() == 1
            });
            if !alone {
                facts.entry("leader".to_owned()).or_default().push(fact(&[("id", id), ("manager_id", whole(&row[3]))]));
            }
        }
        let of = |status: &str| {
            leave
                .rows
                .iter()
                .filter(|request| request[1] == row[0] && request[4] == Value::from(status))
                .map(|request| whole(&request[3]))
                .collect::<Vec<_>>()
        };
        let (approved, requested) = (of("approved").iter().sum::<i64>(), of("requested"));
        if (2..=8).contains(&requested.len()) && approved + requested.iter().sum::<i64>() > 30 {
            facts.entry("leave".to_owned()).or_default().push(fact(&[("id", id), ("approved", approved)]));
        }
    }
    facts
}
