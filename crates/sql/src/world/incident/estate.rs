//! The organisation to which an incident happens: people, computers, services.

use std::collections::BTreeSet;

use super::journal::{Host, Journal, Workstation, fresh};
use super::words;
use crate::row;
use crate::world::Draw;

/// People, computers and services.
pub(super) struct Estate {
    /// A person and a workstation each.
    pub(super) workstations: Vec<Workstation>,
    /// Servers.
    pub(super) servers: Vec<Host>,
    /// Accounts of services, which sign in on servers.
    pub(super) accounts: Vec<Account>,
    /// The host on which each service runs, as [`words::SERVICES`] lists them.
    pub(super) service_hosts: Vec<Host>,
    next: (usize, usize, usize),
}

/// An account of a service.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) login: String,
    /// The key with which it signs in.
    pub(super) credential: String,
    /// The server from which it usually comes.
    pub(super) home: Host,
}

const DESKS: usize = 70;
const SERVERS: usize = 40;
const ACCOUNTS: usize = 30;

impl Estate {
    /// Makes them, and writes them down.
    pub(super) fn make(draw: &mut Draw, journal: &mut Journal) -> Self {
        let mut numbers = BTreeSet::new();
        let mut host = |draw: &mut Draw, stem: &str, net: i64| {
            let number = fresh(draw, &mut numbers, 100, 2_600);
            Host {
                name: format!("{stem}-{number:04}"),
                address: format!("10.{net}.{}.{}", number / 250, number % 250 + 1),
            }
        };
        let servers: Vec<Host> =
            (0..SERVERS).map(|place| host(draw, words::SERVER_ROLES[place % words::SERVER_ROLES.len()], 40)).collect();
        let mut logins = BTreeSet::new();
        let mut workstations = Vec::with_capacity(DESKS);
        while workstations.len() < DESKS {
            let login = format!("{}.{}", draw.pick(&words::FIRST), draw.pick(&words::LAST));
            if logins.insert(login.clone()) {
                workstations.push(Workstation { host: host(draw, "ws", 20), login });
            }
        }
        let accounts = (0..ACCOUNTS)
            .map(|place| Account {
                login: format!("svc_{}{}", words::SERVER_ROLES[place % words::SERVER_ROLES.len()], place + 1),
                credential: journal.name("key-", 8, draw),
                home: draw.pick(&servers).clone(),
            })
            .collect();
        let service_hosts = words::SERVICES.iter().map(|_| host(draw, "app", 60)).collect();
        let mut estate = Self { workstations, servers, accounts, service_hosts, next: (0, 0, 0) };
        estate.write(draw, journal);
        // Who is hit is taken from the front: in another order than the one in which they were made.
        draw.shuffle(&mut estate.workstations);
        draw.shuffle(&mut estate.servers);
        draw.shuffle(&mut estate.accounts);
        estate
    }

    fn write(&self, draw: &mut Draw, journal: &mut Journal) {
        let mut users = Vec::new();
        let mut hosts = Vec::new();
        for workstation in &self.workstations {
            let department = *draw.pick(&words::DEPARTMENTS);
            let title = *draw.pick(&words::TITLES);
            users.push(row![&workstation.login, "person", department, title]);
            hosts.push(row![
                &workstation.host.name,
                &workstation.host.address,
                "workstation",
                &workstation.login,
                "desk 12"
            ]);
        }
        for account in &self.accounts {
            users.push(row![&account.login, "service", "platform", None::<&str>]);
        }
        for server in self.servers.iter().chain(&self.service_hosts) {
            let system = *draw.pick(&["server 9", "server 10", "server 11"]);
            hosts.push(row![&server.name, &server.address, "server", None::<&str>, system]);
        }
        journal.rows.insert("users", users);
        journal.rows.insert("hosts", hosts);
        let services = words::SERVICES.iter().zip(&self.service_hosts);
        let services = services.map(|((name, team, tier), host)| row![*name, *team, *tier, &host.name]).collect();
        journal.rows.insert("services", services);
        let calls = words::CALLS.iter().map(|(caller, called)| row![*caller, *called]).collect();
        journal.rows.insert("service_calls", calls);
    }

    /// A desk that no chain has touched yet. There are more than chains take.
    pub(super) fn fresh_desk(&mut self) -> Workstation {
        self.next.0 += 1;
        self.workstations[(self.next.0 - 1) % self.workstations.len()].clone()
    }

    /// A server that no chain has touched yet.
    pub(super) fn fresh_server(&mut self) -> Host {
        self.next.1 += 1;
        self.servers[(self.next.1 - 1) % self.servers.len()].clone()
    }

    /// An account that no chain has touched yet.
    pub(super) fn fresh_account(&mut self) -> Account {
        self.next.2 += 1;
        self.accounts[(self.next.2 - 1) % self.accounts.len()].clone()
    }
}
