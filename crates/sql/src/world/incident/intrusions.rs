//! Chains of those who break in. Each can be cut short: what remains looks like the beginning of one and leads nowhere.

use jiff::civil::DateTime;

use super::estate::Estate;
use super::journal::{Flow, Journal, Pointer, Process, SignIn, Workstation, hex, later};
use super::words;
use crate::world::Draw;

/// A mail with a link, a program that is fetched and started, a server that is reached with an account's key, an archive that leaves.
pub(super) fn phishing(draw: &mut Draw, journal: &mut Journal, estate: &mut Estate, start: DateTime, whole: bool) {
    let workstation = estate.fresh_desk();
    let domain = journal.domain(draw);
    let sender = outside_sender(draw, journal);
    let mail = journal.mail(start, (&sender, &workstation.login), Some(&domain), "delivered", draw);
    // The same link comes to others from other senders; some of them look, but fetch nothing.
    for _ in 0..draw.between(3, 5) {
        let other = draw.pick(&estate.workstations).clone();
        if other.login == workstation.login {
            continue;
        }
        let at = later(start, draw.between(-900, 900));
        let stranger = outside_sender(draw, journal);
        journal.mail(at, (&stranger, &other.login), Some(&domain), "delivered", draw);
        if draw.chance(60) {
            journal.web(later(at, draw.between(1200, 4000)), &other, &domain, None, draw);
        }
    }
    let clicked = later(start, draw.between(200, 5_000));
    journal.web(clicked, &workstation, &domain, None, draw);
    if !whole {
        return;
    }
    let hash = hex(draw, 16);
    let program = journal.download(draw);
    let fetched = later(clicked, draw.between(4, 30));
    journal.web(fetched, &workstation, &domain, Some(&program), draw);
    let browser_hash = hex(draw, 16);
    let browser = Process {
        host: &workstation.host.name,
        login: &workstation.login,
        image: "browser.exe",
        parent: None,
        hash: &browser_hash,
    };
    let browser = journal.process(later(start, -draw.between(600, 4_000)), &browser, draw);
    let path = format!("/home/{}/downloads/{program}", workstation.login);
    journal.file(later(fetched, 3), (&workstation.host.name, browser), ("create", &path), Some(&hash), draw);

    let started = later(fetched, draw.between(40, 400));
    let dropper = Process {
        host: &workstation.host.name,
        login: &workstation.login,
        image: &program,
        parent: Some(browser),
        hash: &hash,
    };
    let dropper = journal.process(started, &dropper, draw);
    let shell_hash = hex(draw, 16);
    let shell = Process {
        host: &workstation.host.name,
        login: &workstation.login,
        image: words::SHELLS[draw.below(words::SHELLS.len())],
        parent: Some(dropper),
        hash: &shell_hash,
    };
    let shell_at = later(started, draw.between(5, 60));
    let shell = journal.process(shell_at, &shell, draw);
    let (control, control_name) = (journal.address(draw), journal.domain(draw));
    let mut beacon = shell_at;
    journal.dns(later(beacon, 1), &workstation.host.name, &control_name, &control, draw);
    for _ in 0..draw.between(3, 6) {
        beacon = later(beacon, draw.between(280, 330));
        let bytes = draw.between(300, 900);
        let flow = Flow { source: &workstation.host.address, target: &control, port: 443, bytes, process: Some(shell) };
        journal.flow(beacon, &flow, draw);
    }

    let (server, account) = (estate.fresh_server(), estate.fresh_account());
    let moved = later(beacon, draw.between(300, 9_000));
    let bytes = draw.between(2_000, 30_000);
    let hop =
        Flow { source: &workstation.host.address, target: &server.address, port: 445, bytes, process: Some(shell) };
    journal.flow(moved, &hop, draw);
    let sign_in = SignIn {
        login: &account.login,
        host: &server.name,
        source: &workstation.host.address,
        method: "key",
        success: true,
        credential: Some(&account.credential),
    };
    journal.sign_in(later(moved, 2), &sign_in, draw);
    let packer_hash = hex(draw, 16);
    let packer = Process {
        host: &server.name,
        login: &account.login,
        image: words::SHELLS[draw.below(words::SHELLS.len())],
        parent: None,
        hash: &packer_hash,
    };
    let packed = later(moved, draw.between(60, 900));
    let packer = journal.process(packed, &packer, draw);
    let archive = format!("/var/tmp/{}.zip", journal.name("part_", 6, draw));
    journal.file(later(packed, 20), (&server.name, packer), ("create", &archive), None, draw);
    let away = journal.address(draw);
    let sent = later(packed, draw.between(100, 700));
    let bytes = draw.between(40_000_000, 900_000_000);
    let flow = Flow { source: &server.address, target: &away, port: 443, bytes, process: Some(packer) };
    let flow = journal.flow(sent, &flow, draw);
    let pointer = Pointer { host: Some(&server.name), flow: Some(flow), ..Pointer::default() };
    let alert = journal.alert(later(sent, 30), "Large upload from a server", &pointer, draw);
    journal.fact(
        "phishing",
        &[
            ("alert", alert.into()),
            ("mail", mail.into()),
            ("sender", (&sender).into()),
            ("victim", (&workstation.login).into()),
            ("domain", (&domain).into()),
            ("program", (&program).into()),
            ("hash", (&hash).into()),
            ("control_name", (&control_name).into()),
            ("control", (&control).into()),
            ("account", (&account.login).into()),
            ("archive", (&archive).into()),
            ("away", (&away).into()),
        ],
    );
}

/// One address tries many logins, gets in by one, and goes on from the address that the tunnel gives it, over two servers.
pub(super) fn stolen_vpn(draw: &mut Draw, journal: &mut Journal, estate: &mut Estate, start: DateTime, whole: bool) {
    let remote = journal.address(draw);
    let workstation = estate.fresh_desk();
    let mut tried: Vec<Workstation> = Vec::new();
    let mut at = start;
    let attempts = if whole { draw.between(8, 16) } else { draw.between(14, 24) };
    while (tried.len() as i64) < attempts {
        let other = draw.pick(&estate.workstations).clone();
        if other.login == workstation.login {
            continue;
        }
        at = later(at, draw.between(3, 40));
        let attempt = SignIn {
            login: &other.login,
            host: "vpn",
            source: &remote,
            method: "password",
            success: false,
            credential: None,
        };
        journal.sign_in(at, &attempt, draw);
        tried.push(other);
    }
    if !whole {
        return;
    }
    let first = tried.first().map(|workstation| workstation.login.clone()).unwrap_or_default();
    let inside = later(at, draw.between(5, 300));
    let entry = SignIn {
        login: &workstation.login,
        host: "vpn",
        source: &remote,
        method: "password",
        success: true,
        credential: None,
    };
    journal.sign_in(inside, &entry, draw);
    let until = later(inside, draw.between(14_000, 30_000));
    let (session, assigned) = journal.vpn((later(inside, 1), until), &workstation.login, &remote, draw);

    let (first_server, second_server) = (estate.fresh_server(), estate.fresh_server());
    let account = estate.fresh_account();
    let hop = later(inside, draw.between(400, 4_000));
    let sign_in = SignIn {
        login: &workstation.login,
        host: &first_server.name,
        source: &assigned,
        method: "password",
        success: true,
        credential: None,
    };
    journal.sign_in(hop, &sign_in, draw);
    let shell_hash = hex(draw, 16);
    let shell = Process {
        host: &first_server.name,
        login: &workstation.login,
        image: words::SHELLS[draw.below(words::SHELLS.len())],
        parent: None,
        hash: &shell_hash,
    };
    let shell_at = later(hop, draw.between(10, 300));
    let shell = journal.process(shell_at, &shell, draw);
    let keys = format!("/etc/{}.keys", journal.name("agent_", 4, draw));
    journal.file(later(shell_at, 15), (&first_server.name, shell), ("read", &keys), None, draw);
    let on = later(shell_at, draw.between(60, 2_000));
    let bytes = draw.between(2_000, 30_000);
    let flow =
        Flow { source: &first_server.address, target: &second_server.address, port: 22, bytes, process: Some(shell) };
    journal.flow(on, &flow, draw);
    let sign_in = SignIn {
        login: &account.login,
        host: &second_server.name,
        source: &first_server.address,
        method: "key",
        success: true,
        credential: Some(&account.credential),
    };
    journal.sign_in(later(on, 3), &sign_in, draw);
    let export_hash = hex(draw, 16);
    let export = Process {
        host: &second_server.name,
        login: &account.login,
        image: "dump.exe",
        parent: None,
        hash: &export_hash,
    };
    let export_at = later(on, draw.between(30, 600));
    let export = journal.process(export_at, &export, draw);
    let dump = format!("/var/tmp/{}.dump", journal.name("all_", 6, draw));
    journal.file(later(export_at, 40), (&second_server.name, export), ("create", &dump), None, draw);
    let away = journal.address(draw);
    let bytes = draw.between(40_000_000, 900_000_000);
    let flow = Flow { source: &second_server.address, target: &away, port: 443, bytes, process: Some(export) };
    journal.flow(later(export_at, draw.between(200, 900)), &flow, draw);
    let pointer = Pointer {
        host: Some(&second_server.name),
        login: Some(&account.login),
        process: Some(export),
        ..Pointer::default()
    };
    let alert = journal.alert(later(export_at, 60), "Bulk export by a service account", &pointer, draw);
    journal.fact(
        "stolen_vpn",
        &[
            ("alert", alert.into()),
            ("session", session.into()),
            ("remote", (&remote).into()),
            ("login", (&workstation.login).into()),
            ("first_tried", (&first).into()),
            ("assigned", (&assigned).into()),
            ("keys", (&keys).into()),
            ("dump", (&dump).into()),
            ("away", (&away).into()),
        ],
    );
}

/// A device carries a program from one computer to the next, from where it reaches a third by a share.
pub(super) fn carried(draw: &mut Draw, journal: &mut Journal, estate: &mut Estate, start: DateTime, whole: bool) {
    let (origin, bearer, last) = (estate.fresh_desk(), estate.fresh_desk(), estate.fresh_desk());
    let serial = journal.name("SN", 8, draw).to_uppercase();
    let product = *draw.pick(&words::DEVICES);
    let (program, hash) = (journal.download(draw), hex(draw, 16));
    journal.device((start, later(start, draw.between(600, 2_000))), &origin, (&serial, product), draw);
    // In between it is attached elsewhere, and nothing happens there.
    let mut at = later(start, draw.between(4_000, 9_000));
    for _ in 0..draw.between(1, 3) {
        let other = estate.fresh_desk();
        journal.device((at, later(at, draw.between(300, 2_000))), &other, (&serial, product), draw);
        at = later(at, draw.between(4_000, 20_000));
    }
    if !whole {
        return;
    }
    let writer_hash = hex(draw, 16);
    let writer = Process {
        host: &origin.host.name,
        login: &origin.login,
        image: words::PROGRAMS[draw.below(words::PROGRAMS.len())],
        parent: None,
        hash: &writer_hash,
    };
    let writer = journal.process(later(start, 30), &writer, draw);
    let on_device = format!("/media/{serial}/{program}");
    journal.file(later(start, 90), (&origin.host.name, writer), ("create", &on_device), Some(&hash), draw);

    journal.device((at, later(at, draw.between(2_000, 6_000))), &bearer, (&serial, product), draw);
    let runs = later(at, draw.between(30, 400));
    let first = Process { host: &bearer.host.name, login: &bearer.login, image: &program, parent: None, hash: &hash };
    let first = journal.process(runs, &first, draw);
    let share = format!("/share/public/{}.exe", journal.name("forms_", 4, draw));
    journal.file(later(runs, 20), (&bearer.host.name, first), ("create", &share), Some(&hash), draw);
    let decoy = journal.address(draw);
    let bytes = draw.between(300, 2_000);
    let flow = Flow { source: &bearer.host.address, target: &decoy, port: 443, bytes, process: Some(first) };
    journal.flow(later(runs, 60), &flow, draw);

    let again = later(runs, draw.between(6_000, 40_000));
    let image = share.rsplit('/').next().unwrap_or_default();
    let second = Process { host: &last.host.name, login: &last.login, image, parent: None, hash: &hash };
    let second = journal.process(again, &second, draw);
    let (away, away_name) = (journal.address(draw), journal.domain(draw));
    journal.dns(later(again, 5), &last.host.name, &away_name, &away, draw);
    let bytes = draw.between(20_000_000, 300_000_000);
    let flow = Flow { source: &last.host.address, target: &away, port: 443, bytes, process: Some(second) };
    let flow = journal.flow(later(again, draw.between(60, 900)), &flow, draw);
    let pointer = Pointer { host: Some(&last.host.name), flow: Some(flow), ..Pointer::default() };
    let alert = journal.alert(later(again, 1_000), "Large upload from a workstation", &pointer, draw);
    journal.fact(
        "carried",
        &[
            ("alert", alert.into()),
            ("serial", (&serial).into()),
            ("origin", (&origin.login).into()),
            ("bearer", (&bearer.login).into()),
            ("share", (&share).into()),
            ("away", (&away).into()),
            ("away_name", (&away_name).into()),
        ],
    );
}

fn outside_sender(draw: &mut Draw, journal: &mut Journal) -> String {
    let domain = journal.domain(draw);
    format!("{}@{domain}", draw.pick(&words::FIRST))
}
