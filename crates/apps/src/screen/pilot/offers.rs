//! Forms and buttons of actions, and links to screens.

use std::sync::Arc;

use crate::app::App;
use crate::app::screen::{Details, Form, Link, List, Widget, WidgetKind};

/// A spot on a screen.
#[derive(Debug, Clone)]
pub(super) struct Spot<'a> {
    pub(super) screen: usize,
    /// Containers to open first, from the outside.
    pub(super) containers: Vec<Container<'a>>,
    /// The list at whose rows it is.
    pub(super) list: Option<&'a Arc<List>>,
}

/// Something that hides what is in it.
#[derive(Debug, Clone)]
pub(super) enum Container<'a> {
    /// The bodies up to the one that is meant.
    Tabs {
        id: &'a str,
        names: Vec<&'a str>,
        steps: bool,
    },
    Dialog(&'a str),
}

/// A form or a button of an action.
#[derive(Debug)]
pub(super) struct Offer<'a> {
    pub(super) spot: Spot<'a>,
    pub(super) id: &'a str,
    pub(super) form: &'a Arc<Form>,
    pub(super) button: bool,
}

/// A link to a screen.
#[derive(Debug)]
pub(super) struct Entrance<'a> {
    pub(super) spot: Spot<'a>,
    pub(super) kind: EntranceKind<'a>,
}

#[derive(Debug)]
pub(super) enum EntranceKind<'a> {
    /// Opens a row of the spot's list.
    Open,
    Link {
        id: &'a str,
        link: &'a Arc<Link>,
    },
}

/// Every offer of an action, in the order of the screens.
pub(super) fn of_action(app: &App, action: usize) -> Vec<Offer<'_>> {
    let mut offers = Vec::new();
    walk(app, &mut |spot, widget| {
        let (form, button) = match &widget.kind {
            WidgetKind::Form(form) => (form, false),
            WidgetKind::Button(form) => (form, true),
            _ => return,
        };
        if form.action == action {
            offers.push(Offer { spot: spot.clone(), id: &widget.id, form, button });
        }
    });
    offers
}

/// Every spot where a view shows, in the order of the screens, with the list that shows it.
pub(super) fn of_view(app: &App, view: usize) -> Vec<(Spot<'_>, Option<&Arc<List>>)> {
    let mut spots = Vec::new();
    walk(app, &mut |spot, widget| match &widget.kind {
        WidgetKind::List(list) if list.view == view => spots.push((spot.clone(), Some(list))),
        WidgetKind::Detail { shows: Details::View(shown), .. } if *shown == view => spots.push((spot.clone(), None)),
        _ => {}
    });
    spots
}

/// Every link to a screen, in the order of the screens.
pub(super) fn to_screen(app: &App, screen: usize) -> Vec<Entrance<'_>> {
    let mut entrances = Vec::new();
    walk(app, &mut |spot, widget| match &widget.kind {
        WidgetKind::List(list) if list.open == Some(screen) => {
            let spot = Spot { list: Some(list), ..spot.clone() };
            entrances.push(Entrance { spot, kind: EntranceKind::Open });
        }
        WidgetKind::Goto(link) if link.way.screen == screen => {
            entrances.push(Entrance { spot: spot.clone(), kind: EntranceKind::Link { id: &widget.id, link } });
        }
        _ => {}
    });
    entrances
}

fn walk<'a>(app: &'a App, visit: &mut dyn FnMut(&Spot<'a>, &'a Widget)) {
    for (place, screen) in app.screens.screens.iter().enumerate() {
        let spot = Spot { screen: place, containers: Vec::new(), list: None };
        walk_body(&screen.body, &spot, visit);
    }
}

fn walk_body<'a>(body: &'a [Widget], spot: &Spot<'a>, visit: &mut dyn FnMut(&Spot<'a>, &'a Widget)) {
    for widget in body {
        visit(spot, widget);
        match &widget.kind {
            WidgetKind::List(list) => {
                walk_body(&list.row, &Spot { list: Some(list), ..spot.clone() }, visit);
            }
            WidgetKind::Tabs(bodies) | WidgetKind::Steps(bodies) => {
                let steps = matches!(widget.kind, WidgetKind::Steps(_));
                for (last, (_, body)) in bodies.iter().enumerate() {
                    let names = bodies.iter().take(last + 1).map(|(name, _)| &**name).collect();
                    let mut inner = spot.clone();
                    inner.containers.push(Container::Tabs { id: &widget.id, names, steps });
                    walk_body(body, &inner, visit);
                }
            }
            WidgetKind::Dialog { body, .. } => {
                let mut inner = spot.clone();
                inner.containers.push(Container::Dialog(&widget.id));
                walk_body(body, &inner, visit);
            }
            _ => {}
        }
    }
}
