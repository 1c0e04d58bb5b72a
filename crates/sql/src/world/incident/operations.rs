//! Chains of those who meant well: a release that breaks what others call, and a key that was changed where somebody still uses it.

use jiff::civil::DateTime;

use super::estate::{Account, Estate};
use super::journal::{Failure, Journal, Pointer, SignIn, Workstation, hex, later};
use super::words;
use crate::world::Draw;

/// Services of which each calls the next one, by their place in [`words::SERVICES`].
fn path(draw: &mut Draw) -> Vec<&'static str> {
    loop {
        let (first, second) = *draw.pick(&words::CALLS);
        let on: Vec<&str> =
            words::CALLS.iter().filter(|(caller, _)| *caller == second).map(|(_, called)| *called).collect();
        if !on.is_empty() {
            let third = *draw.pick(&on);
            return vec![first, second, third];
        }
    }
}

/// A release of a service fails; who calls it fails, and who calls that one is where it is noticed.
pub(super) fn bad_release(draw: &mut Draw, journal: &mut Journal, estate: &mut Estate, start: DateTime) {
    let services = path(draw);
    let (noticed, between, root) = (services[0], services[1], services[2]);
    let (opener, author, approver) = (estate.fresh_desk(), estate.fresh_desk(), estate.fresh_desk());
    let ticket = journal.ticket(later(start, -draw.between(20_000, 90_000)), &opener.login, "change", draw);
    let version = version(draw, journal);
    let commit = hex(draw, 12);
    let deployment =
        journal.deployment(start, (root, &version, &commit), (&author.login, &approver.login), Some(ticket), draw);
    // Others release at the same time; the release after this one takes it back.
    for service in [noticed, between, root] {
        let (other_author, other_approver) =
            (draw.pick(&estate.workstations).clone(), draw.pick(&estate.workstations).clone());
        let other_opener = draw.pick(&estate.workstations).clone();
        let before = later(start, -draw.between(3_000, 40_000));
        let other_ticket = journal.ticket(later(before, -7_000), &other_opener.login, "change", draw);
        let release = (service, &*self::version(draw, journal), &*hex(draw, 12));
        journal.deployment(before, release, (&other_author.login, &other_approver.login), Some(other_ticket), draw);
    }
    let end = later(start, draw.between(4_000, 9_000));
    let repaired = self::version(draw, journal);
    let fixer = draw.pick(&estate.workstations).clone();
    journal.deployment(end, (root, &repaired, &hex(draw, 12)), (&fixer.login, &author.login), None, draw);

    let old = self::version(draw, journal);
    let mut at = later(start, draw.between(60, 300));
    let mut first_request = None;
    let mut noticed_request = String::new();
    let count = draw.between(14, 22);
    for number in 0..count {
        let request = journal.name("req-", 10, draw);
        let mut moment = at;
        let root_failure = Failure {
            service: root,
            version: &version,
            request: &request,
            upstream: None,
            code: 500,
            message: "field is missing in answer",
        };
        journal.failure(moment, &root_failure, draw);
        // The middle one tries again before it gives up.
        for _ in 0..draw.between(1, 3) {
            moment = later(moment, draw.between(1, 4));
            let failure = Failure {
                service: between,
                version: &old,
                request: &request,
                upstream: Some(root),
                code: 502,
                message: "bad answer of upstream",
            };
            journal.failure(moment, &failure, draw);
        }
        if number % 2 == 1 {
            moment = later(moment, draw.between(1, 9));
            let failure = Failure {
                service: noticed,
                version: &old,
                request: &request,
                upstream: Some(between),
                code: 504,
                message: "upstream took too long",
            };
            journal.failure(moment, &failure, draw);
            noticed_request.clone_from(&request);
        }
        first_request.get_or_insert(request);
        at = later(at, draw.between(20, 120));
    }
    let mut peak = 0;
    for step in 0..12 {
        let depth = draw.between(300, 4_000) * (step + 2);
        peak = peak.max(depth);
        journal.queue(later(start, 200 + step * 300 + draw.between(0, 99)), noticed, depth, draw);
    }
    let pointer = Pointer { service: Some(noticed), request: Some(&noticed_request), ..Pointer::default() };
    let alert = journal.alert(later(at, 20), "Error rate of a service", &pointer, draw);
    journal.fact(
        "bad_release",
        &[
            ("alert", alert.into()),
            ("deployment", deployment.into()),
            ("root", root.into()),
            ("version", (&version).into()),
            ("commit", (&commit).into()),
            ("author", (&author.login).into()),
            ("approver", (&approver.login).into()),
            ("opener", (&opener.login).into()),
            ("first_request", first_request.unwrap_or_default().into()),
            ("peak", peak.into()),
        ],
    );
}

/// A version that no service had before.
pub(super) fn version(draw: &mut Draw, journal: &mut Journal) -> String {
    let stem = format!("{}.{}.", draw.between(1, 9), draw.between(0, 40));
    journal.name(&stem, 3, draw)
}

/// The key of an account is changed; one server still comes with the old one until the account is locked.
pub(super) fn stale_key(draw: &mut Draw, journal: &mut Journal, estate: &mut Estate, start: DateTime) {
    let Account { login, credential: old, .. } = estate.fresh_account();
    let new = journal.name("key-", 8, draw);
    let (opener, changer) = (estate.fresh_desk(), estate.fresh_desk());
    let forgotten = estate.fresh_server();
    let target = draw.pick(&estate.servers).clone();
    let (service, ..) = *draw.pick(&words::SERVICES);
    let ticket = journal.ticket(later(start, -draw.between(9_000, 80_000)), &opener.login, "change", draw);
    journal.change(start, (&changer.login, service), ("credential", &old, &new), Some(ticket), draw);
    let mut at = later(start, draw.between(60, 2_000));
    for _ in 0..draw.between(10, 16) {
        let user = draw.pick(&estate.servers).clone();
        if user.name == forgotten.name {
            continue;
        }
        let sign_in = SignIn {
            login: &login,
            host: &target.name,
            source: &user.address,
            method: "key",
            success: true,
            credential: Some(&new),
        };
        journal.sign_in(later(at, draw.between(0, 4_000)), &sign_in, draw);
    }
    for _ in 0..draw.between(5, 8) {
        at = later(at, draw.between(50, 400));
        let sign_in = SignIn {
            login: &login,
            host: &target.name,
            source: &forgotten.address,
            method: "key",
            success: false,
            credential: Some(&old),
        };
        journal.sign_in(at, &sign_in, draw);
    }
    let pointer = Pointer { login: Some(&login), ..Pointer::default() };
    let alert = journal.alert(later(at, 10), "Account locked", &pointer, draw);
    journal.fact(
        "stale_key",
        &[
            ("alert", alert.into()),
            ("login", (&login).into()),
            ("forgotten", (&forgotten.name).into()),
            ("changer", (&changer.login).into()),
            ("opener", (&opener.login).into()),
            ("new", (&new).into()),
        ],
    );
}

/// Ordinary failures, releases and changes, which lead to nothing.
pub(super) fn ordinary(
    draw: &mut Draw,
    journal: &mut Journal,
    estate: &Estate,
    moment: &dyn Fn(&mut Draw) -> DateTime,
) {
    let person = |draw: &mut Draw| -> Workstation { draw.pick(&estate.workstations).clone() };
    for _ in 0..60 {
        let at = moment(draw);
        let ticket = draw.chance(80).then(|| {
            let opener = person(draw);
            journal.ticket(later(at, -draw.between(2_000, 90_000)), &opener.login, "change", draw)
        });
        let (service, ..) = *draw.pick(&words::SERVICES);
        let (author, approver) = (person(draw), person(draw));
        if draw.chance(55) {
            let release = (service, &*version(draw, journal), &*hex(draw, 12));
            journal.deployment(at, release, (&author.login, &approver.login), ticket, draw);
        } else if draw.chance(35) {
            let (old, new) = (journal.name("key-", 8, draw), journal.name("key-", 8, draw));
            journal.change(at, (&author.login, service), ("credential", &old, &new), ticket, draw);
        } else {
            let setting = *draw.pick(&words::SETTINGS);
            let (old, new) = (draw.between(1, 200).to_string(), draw.between(1, 200).to_string());
            journal.change(at, (&author.login, service), (setting, &old, &new), ticket, draw);
        }
    }
    for _ in 0..60 {
        let opener = person(draw);
        let kind = *draw.pick(&["incident", "request", "question"]);
        let at = moment(draw);
        journal.ticket(at, &opener.login, kind, draw);
    }
    for _ in 0..160 {
        let (caller, called) = *draw.pick(&words::CALLS);
        let (code, message) = *draw.pick(&words::ERRORS);
        let at = moment(draw);
        let request = journal.name("req-", 10, draw);
        let (low, high) = (version(draw, journal), version(draw, journal));
        let root = Failure { service: called, version: &low, request: &request, upstream: None, code, message };
        journal.failure(at, &root, draw);
        if draw.chance(60) {
            let above = Failure {
                service: caller,
                version: &high,
                request: &request,
                upstream: Some(called),
                code: 502,
                message: "bad answer of upstream",
            };
            journal.failure(later(at, draw.between(1, 9)), &above, draw);
            if draw.chance(10) {
                let pointer = Pointer { service: Some(caller), request: Some(&request), ..Pointer::default() };
                journal.alert(later(at, 60), "Error rate of a service", &pointer, draw);
            }
        }
    }
    for _ in 0..240 {
        let (service, ..) = *draw.pick(&words::SERVICES);
        let (at, depth) = (moment(draw), draw.between(0, 900));
        journal.queue(at, service, depth, draw);
    }
}
