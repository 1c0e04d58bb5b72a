//! An ordinary week: what everybody does all day, among which chains do not stand out.

use jiff::civil::DateTime;

use super::estate::Estate;
use super::journal::{Flow, Journal, Pointer, Process, SignIn, Workstation, hex, later};
use super::words;
use crate::world::Draw;

/// Objects that everybody shares: sites that are visited, addresses that are talked to, programs with their hashes.
pub(super) struct Outside {
    sites: Vec<(String, String)>,
    senders: Vec<String>,
    programs: Vec<(&'static str, String)>,
}

impl Outside {
    pub(super) fn make(draw: &mut Draw, journal: &mut Journal) -> Self {
        let sites: Vec<(String, String)> = (0..60).map(|_| (journal.domain(draw), journal.address(draw))).collect();
        let senders = (0..90).map(|_| format!("{}@{}", draw.pick(&words::FIRST), draw.pick(&sites).0)).collect();
        let programs = words::PROGRAMS.iter().chain(&words::SHELLS).map(|program| (*program, hex(draw, 16))).collect();
        Self { sites, senders, programs }
    }
}

/// Activities of people at their desks.
pub(super) fn at_desks(
    draw: &mut Draw,
    journal: &mut Journal,
    (estate, outside): (&Estate, &Outside),
    percent: i64,
    moment: &dyn Fn(&mut Draw) -> DateTime,
) {
    let times = |count: i64| 0..count * percent / 100;
    for _ in times(320) {
        let (at, workstation) = (moment(draw), draw.pick(&estate.workstations).clone());
        let sender = if draw.chance(40) {
            format!("{}@corp.example", draw.pick(&estate.workstations).login)
        } else {
            draw.pick(&outside.senders).clone()
        };
        let link = draw.chance(45).then(|| draw.pick(&outside.sites).0.clone());
        let verdict = if draw.chance(85) { "delivered" } else { "quarantined" };
        journal.mail(at, (&sender, &workstation.login), link.as_deref(), verdict, draw);
    }
    for _ in times(700) {
        let (at, workstation) = (moment(draw), draw.pick(&estate.workstations).clone());
        let (domain, address) = draw.pick(&outside.sites).clone();
        if draw.chance(70) {
            journal.dns(later(at, -1), &workstation.host.name, &domain, &address, draw);
        }
        journal.web(at, &workstation, &domain, None, draw);
    }
    for _ in times(70) {
        fetched_program(draw, journal, (estate, outside), moment);
    }
    for _ in times(500) {
        let (at, workstation) = (moment(draw), draw.pick(&estate.workstations).clone());
        let (image, hash) = draw.pick(&outside.programs).clone();
        let process =
            Process { host: &workstation.host.name, login: &workstation.login, image, parent: None, hash: &hash };
        let process = journal.process(at, &process, draw);
        if draw.chance(50) {
            let path = format!("/home/{}/documents/{}.doc", workstation.login, hex(draw, 5));
            let action = *draw.pick(&["create", "modify", "read", "delete"]);
            journal.file(later(at, 40), (&workstation.host.name, process), (action, &path), None, draw);
        }
        if draw.chance(60) {
            let target = draw.pick(&outside.sites).1.clone();
            let bytes = draw.between(300, 3_000_000);
            let flow =
                Flow { source: &workstation.host.address, target: &target, port: 443, bytes, process: Some(process) };
            journal.flow(later(at, draw.between(1, 600)), &flow, draw);
        }
    }
    for _ in times(60) {
        device(draw, journal, (estate, outside), moment);
    }
}

/// A device goes from desk to desk, with documents on it.
fn device(
    draw: &mut Draw,
    journal: &mut Journal,
    (estate, outside): (&Estate, &Outside),
    moment: &dyn Fn(&mut Draw) -> DateTime,
) {
    let (at, workstation) = (moment(draw), draw.pick(&estate.workstations).clone());
    let serial = journal.name("SN", 8, draw).to_uppercase();
    let product = *draw.pick(&words::DEVICES);
    for visit in 0..draw.between(1, 6) {
        let holder = if draw.chance(40) { workstation.clone() } else { draw.pick(&estate.workstations).clone() };
        let from = later(at, visit * 15_000);
        journal.device((from, later(from, draw.between(300, 9_000))), &holder, (&serial, product), draw);
        if draw.chance(45) {
            let (image, hash) = draw.pick(&outside.programs).clone();
            let process = Process { host: &holder.host.name, login: &holder.login, image, parent: None, hash: &hash };
            let process = journal.process(later(from, 20), &process, draw);
            let folder = if draw.chance(70) { format!("/media/{serial}") } else { "/share/public".to_owned() };
            let path = format!("{folder}/{}.doc", hex(draw, 5));
            let content = hex(draw, 16);
            journal.file(later(from, 90), (&holder.host.name, process), ("create", &path), Some(&content), draw);
        }
    }
    if draw.chance(15) {
        let target = draw.pick(&outside.sites).1.clone();
        let bytes = draw.between(20_000_000, 300_000_000);
        let flow = Flow { source: &workstation.host.address, target: &target, port: 443, bytes, process: None };
        let flow = journal.flow(later(at, 900), &flow, draw);
        let pointer = Pointer { host: Some(&workstation.host.name), flow: Some(flow), ..Pointer::default() };
        journal.alert(later(at, 1_000), "Large upload from a workstation", &pointer, draw);
    }
}

/// Somebody fetches and starts a program that is what it says.
fn fetched_program(
    draw: &mut Draw,
    journal: &mut Journal,
    (estate, outside): (&Estate, &Outside),
    moment: &dyn Fn(&mut Draw) -> DateTime,
) {
    let (at, workstation) = (moment(draw), draw.pick(&estate.workstations).clone());
    let domain = draw.pick(&outside.sites).0.clone();
    let (program, hash, browser_hash) = (journal.download(draw), hex(draw, 16), hex(draw, 16));
    journal.web(at, &workstation, &domain, Some(&program), draw);
    let browser = Process {
        host: &workstation.host.name,
        login: &workstation.login,
        image: "browser.exe",
        parent: None,
        hash: &browser_hash,
    };
    let browser = journal.process(later(at, -draw.between(60, 4_000)), &browser, draw);
    let path = format!("/home/{}/downloads/{program}", workstation.login);
    journal.file(later(at, 3), (&workstation.host.name, browser), ("create", &path), Some(&hash), draw);
    let started = later(at, draw.between(30, 900));
    let process = Process {
        host: &workstation.host.name,
        login: &workstation.login,
        image: &program,
        parent: Some(browser),
        hash: &hash,
    };
    let process = journal.process(started, &process, draw);
    let (shell, shell_hash) = draw.pick(&outside.programs).clone();
    let child = Process {
        host: &workstation.host.name,
        login: &workstation.login,
        image: shell,
        parent: Some(process),
        hash: &shell_hash,
    };
    let child = journal.process(later(started, 20), &child, draw);
    let target = draw.pick(&outside.sites).1.clone();
    for _ in 0..draw.between(1, 4) {
        let bytes = draw.between(300, 900_000);
        let flow = Flow { source: &workstation.host.address, target: &target, port: 443, bytes, process: Some(child) };
        journal.flow(later(started, draw.between(60, 3_000)), &flow, draw);
    }
    if draw.chance(30) {
        let server = draw.pick(&estate.servers).clone();
        let bytes = draw.between(2_000, 30_000);
        let flow =
            Flow { source: &workstation.host.address, target: &server.address, port: 445, bytes, process: Some(child) };
        journal.flow(later(started, draw.between(60, 3_000)), &flow, draw);
    }
}

/// Activities of people and accounts on servers and over the tunnel.
pub(super) fn on_servers(
    draw: &mut Draw,
    journal: &mut Journal,
    (estate, outside): (&Estate, &Outside),
    percent: i64,
    moment: &dyn Fn(&mut Draw) -> DateTime,
) {
    let times = |count: i64| 0..count * percent / 100;
    for _ in times(420) {
        let (at, workstation) = (moment(draw), draw.pick(&estate.workstations).clone());
        let server = draw.pick(&estate.servers).clone();
        let success = draw.chance(93);
        let sign_in = SignIn {
            login: &workstation.login,
            host: &server.name,
            source: &workstation.host.address,
            method: "password",
            success,
            credential: None,
        };
        journal.sign_in(at, &sign_in, draw);
    }
    for _ in times(90) {
        tunnel(draw, journal, estate, moment);
    }
    for _ in times(140) {
        let (at, account) = (moment(draw), draw.pick(&estate.accounts).clone());
        let server = draw.pick(&estate.servers).clone();
        let sign_in = SignIn {
            login: &account.login,
            host: &server.name,
            source: &account.home.address,
            method: "key",
            success: true,
            credential: Some(&account.credential),
        };
        journal.sign_in(at, &sign_in, draw);
        job(draw, journal, (&server, &account.login, outside), at);
    }
    for rule in ["Unusual sign-in time", "New program on a workstation", "Many failed sign-ins", "Account locked"] {
        for _ in times(12) {
            let (at, workstation) = (moment(draw), draw.pick(&estate.workstations).clone());
            let pointer =
                Pointer { host: Some(&workstation.host.name), login: Some(&workstation.login), ..Pointer::default() };
            journal.alert(at, rule, &pointer, draw);
        }
    }
}

/// A job of a service account, such as a backup: it looks like an export, and is none.
fn job(
    draw: &mut Draw,
    journal: &mut Journal,
    (server, login, outside): (&super::journal::Host, &str, &Outside),
    at: DateTime,
) {
    let (image, hash) = draw.pick(&outside.programs).clone();
    let image = if draw.chance(25) { "dump.exe" } else { image };
    let started = later(at, draw.between(10, 600));
    let process = Process { host: &server.name, login, image, parent: None, hash: &hash };
    let process = journal.process(started, &process, draw);
    if draw.chance(60) {
        let (stem, tail) = *draw.pick(&[("part_", "zip"), ("all_", "dump"), ("day_", "log")]);
        let path = format!("/var/tmp/{}.{tail}", journal.name(stem, 6, draw));
        journal.file(later(started, 30), (&server.name, process), ("create", &path), None, draw);
    }
    if draw.chance(45) {
        let target = draw.pick(&outside.sites).1.clone();
        let bytes = draw.between(20_000_000, 700_000_000);
        let flow = Flow { source: &server.address, target: &target, port: 443, bytes, process: Some(process) };
        let sent = later(started, draw.between(90, 900));
        let flow = journal.flow(sent, &flow, draw);
        if draw.chance(20) {
            let pointer = Pointer { host: Some(&server.name), flow: Some(flow), ..Pointer::default() };
            journal.alert(later(sent, 30), "Large upload from a server", &pointer, draw);
        }
        if draw.chance(15) {
            let pointer =
                Pointer { host: Some(&server.name), login: Some(login), process: Some(process), ..Pointer::default() };
            journal.alert(later(sent, 60), "Bulk export by a service account", &pointer, draw);
        }
    }
}

/// Somebody works from elsewhere.
fn tunnel(draw: &mut Draw, journal: &mut Journal, estate: &Estate, moment: &dyn Fn(&mut Draw) -> DateTime) {
    let (at, workstation): (DateTime, Workstation) = (moment(draw), draw.pick(&estate.workstations).clone());
    let remote = journal.address(draw);
    for success in [false, true].into_iter().skip(usize::from(draw.chance(70))) {
        let sign_in = SignIn {
            login: &workstation.login,
            host: "vpn",
            source: &remote,
            method: "password",
            success,
            credential: None,
        };
        journal.sign_in(later(at, if success { 20 } else { 0 }), &sign_in, draw);
    }
    let until = later(at, draw.between(2_000, 12_000));
    let (_, assigned) = journal.vpn((later(at, 21), until), &workstation.login, &remote, draw);
    for _ in 0..draw.between(0, 2) {
        let server = draw.pick(&estate.servers).clone();
        let sign_in = SignIn {
            login: &workstation.login,
            host: &server.name,
            source: &assigned,
            method: "password",
            success: true,
            credential: None,
        };
        journal.sign_in(later(at, draw.between(60, 1_900)), &sign_in, draw);
    }
}
