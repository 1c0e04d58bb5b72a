//! Mouse and keyboard, as events that the browser takes for a person's.

use futures::join;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Context;
use super::failure::ActionFailure;
use super::keys::{self, Key};
use crate::action::{Button, Modifier};

/// Steps of the mouse on its way when something is dragged.
const DRAG_STEPS: u32 = 5;

/// Buttons of the mouse and modifiers of the keyboard that are held down between actions, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    buttons: u32,
    modifiers: u32,
}

impl Held {
    /// Bits of the modifiers.
    pub(super) const fn modifiers(self) -> u32 {
        self.modifiers
    }

    /// The name of a button that is held, for events that have just one.
    const fn button(self) -> &'static str {
        match self.buttons {
            0 => "none",
            buttons if buttons & 1 != 0 => "left",
            buttons if buttons & 2 != 0 => "right",
            _ => "middle",
        }
    }
}

/// A click.
#[derive(Debug, Clone, Copy)]
pub(super) struct Click {
    pub(super) button: Button,
    pub(super) modifiers: u32,
    pub(super) count: u32,
}

/// Bits of modifiers.
pub(super) fn bits(modifiers: &[Modifier]) -> u32 {
    let bit = |modifier: &Modifier| match modifier {
        Modifier::Alt => 1,
        Modifier::Control | Modifier::ControlOrMeta => 2,
        Modifier::Meta => 4,
        Modifier::Shift => 8,
    };
    modifiers.iter().map(bit).fold(0, |all, bit| all | bit)
}

fn mouse(kind: &str, (x, y): (f64, f64), button: &str, held: Held, count: u32) -> Value {
    json!({
        "type": kind, "x": x, "y": y, "button": button, "buttons": held.buttons,
        "modifiers": held.modifiers, "clickCount": count, "pointerType": "mouse",
    })
}

const fn name(button: Button) -> (&'static str, u32) {
    match button {
        Button::Left => ("left", 1),
        Button::Right => ("right", 2),
        Button::Middle => ("middle", 4),
    }
}

impl Context {
    async fn mouse_event(&self, event: Value) -> Result<(), ActionFailure> {
        self.input("Input.dispatchMouseEvent", event).await
    }

    /// Sends an event of a person; returns once the page took it, or a dialog opened that holds the page up.
    async fn input(&self, method: &'static str, event: Value) -> Result<(), ActionFailure> {
        let channel = self.front()?;
        tokio::select! {
            taken = channel.call(method, event) => match taken {
                Ok(_) => Ok(()),
                // The event closed its own tab.
                Err(crate::cdp::CdpError::Refused { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            },
            () = self.held_up() => Ok(()),
        }
    }

    /// Buttons and modifiers that are held down.
    pub(super) fn held(&self) -> Held {
        *self.held.lock()
    }

    /// Moves the mouse; what it drags goes with it.
    pub(super) async fn move_mouse(&self, place: (f64, f64)) -> Result<(), ActionFailure> {
        let held = self.held();
        self.mouse_event(mouse("mouseMoved", place, held.button(), held, 0)).await?;
        if held.buttons & 1 == 0 {
            return Ok(());
        }
        // That a drag begins is told before the answer.
        self.hear().await;
        match self.dragged() {
            Some(data) => self.lead_drag(&["dragEnter", "dragOver"], place, &data).await,
            None => Ok(()),
        }
    }

    pub(super) async fn press_button(&self, place: (f64, f64), click: Click) -> Result<(), ActionFailure> {
        if click.button == Button::Left {
            // What an earlier page let be dragged is no part of what begins now.
            self.take_drag();
        }
        let (button, bit) = name(click.button);
        let held = {
            let mut held = self.held.lock();
            held.buttons |= bit;
            Held { modifiers: held.modifiers | click.modifiers, ..*held }
        };
        self.mouse_event(mouse("mousePressed", place, button, held, click.count)).await
    }

    /// Lets a button go; what was dragged falls where the mouse is.
    pub(super) async fn let_button_go(&self, place: (f64, f64), click: Click) -> Result<(), ActionFailure> {
        let (button, bit) = name(click.button);
        let held = {
            let mut held = self.held.lock();
            held.buttons &= !bit;
            Held { modifiers: held.modifiers | click.modifiers, ..*held }
        };
        if let Some(data) = self.dragged().filter(|_| click.button == Button::Left) {
            self.take_drag();
            self.lead_drag(&["dragEnter", "dragOver", "drop"], place, &data).await?;
        }
        self.mouse_event(mouse("mouseReleased", place, button, held, click.count)).await
    }

    pub(super) async fn click_at(&self, place: (f64, f64), click: Click) -> Result<(), ActionFailure> {
        // Sent in their order without waiting for each, so that they take one frame of the page.
        let press = |count| async move {
            let click = Click { count, ..click };
            let (pressed, let_go) = join!(self.press_button(place, click), self.let_button_go(place, click));
            pressed.and(let_go)
        };
        let (moved, pressed) = join!(self.move_mouse(place), press(1));
        moved.and(pressed)?;
        for count in 2..=click.count {
            // A dialog that the first click opened would let go of the second one once it is closed.
            if self.is_held_up() {
                break;
            }
            press(count).await?;
        }
        Ok(())
    }

    /// Presses at a place, moves to another, lets go.
    pub(super) async fn drag(&self, from: (f64, f64), to: (f64, f64)) -> Result<(), ActionFailure> {
        let click = Click { button: Button::Left, modifiers: 0, count: 1 };
        self.move_mouse(from).await?;
        self.press_button(from, click).await?;
        for step in 1..=DRAG_STEPS {
            let share = f64::from(step) / f64::from(DRAG_STEPS);
            let place = ((to.0 - from.0).mul_add(share, from.0), (to.1 - from.1).mul_add(share, from.1));
            self.move_mouse(place).await?;
        }
        self.let_button_go(to, click).await
    }

    async fn lead_drag(&self, kinds: &[&str], (x, y): (f64, f64), data: &Value) -> Result<(), ActionFailure> {
        for kind in kinds {
            let event = json!({"type": kind, "x": x, "y": y, "data": data, "modifiers": self.held().modifiers});
            self.input("Input.dispatchDragEvent", event).await?;
        }
        Ok(())
    }

    /// Data that the page in front lets be dragged by the browser, once the mouse has moved.
    pub(super) fn dragged(&self) -> Option<Value> {
        self.shared.state.lock().front().and_then(|tab| tab.drag.clone())
    }

    fn take_drag(&self) {
        self.shared.change(|state| {
            let front = state.front().map(|tab| tab.target.clone());
            front.and_then(|target| state.tab(&target)).map(|tab| tab.drag = None)
        });
    }

    pub(super) async fn turn_wheel(&self, (x, y): (f64, f64), dx: f64, dy: f64) -> Result<(), ActionFailure> {
        let event = json!({
            "type": "mouseWheel", "x": x, "y": y, "deltaX": dx, "deltaY": dy,
            "modifiers": self.held().modifiers, "pointerType": "mouse",
        });
        self.mouse_event(event).await
    }

    /// Presses keys that are held together, such as `Control+Shift+t`, and lets them go; what is held down already stays so.
    pub(super) async fn press_keys(&self, keys: &str) -> Result<(), ActionFailure> {
        self.press_keys_beside(self.held().modifiers, keys).await
    }

    /// The same beside modifiers that are held down.
    pub(super) async fn press_keys_beside(&self, base: u32, keys: &str) -> Result<(), ActionFailure> {
        let parts = split(keys);
        let Some((last, held)) = parts.split_last() else {
            return Err(ActionFailure::told("there is no key: name one, such as Enter or Control+a".to_owned()));
        };
        if let Some(wrong) = held.iter().find(|key| keys::modifier(key) == 0) {
            return Err(ActionFailure::told(format!(
                "{wrong} cannot be held: only Alt, Control, ControlOrMeta, Meta and Shift can"
            )));
        }
        let mut modifiers = base;
        for held in held {
            modifiers |= keys::modifier(held);
            self.key_down(&known(held, false)?, modifiers).await?;
        }
        let key = known(last, modifiers & 8 != 0)?;
        self.key_down(&key, modifiers | keys::modifier(last)).await?;
        self.key_up(&key, modifiers).await?;
        for held in held.iter().rev() {
            modifiers &= !keys::modifier(held) | base;
            self.key_up(&known(held, false)?, modifiers).await?;
        }
        Ok(())
    }

    pub(super) async fn hold_key(&self, name: &str) -> Result<(), ActionFailure> {
        let key = known(name, self.held().modifiers & 8 != 0)?;
        let modifiers = {
            let mut held = self.held.lock();
            held.modifiers |= keys::modifier(&key.key);
            held.modifiers
        };
        self.key_down(&key, modifiers).await
    }

    pub(super) async fn let_key_go(&self, name: &str) -> Result<(), ActionFailure> {
        let key = known(name, self.held().modifiers & 8 != 0)?;
        let modifiers = {
            let mut held = self.held.lock();
            held.modifiers &= !keys::modifier(&key.key);
            held.modifiers
        };
        self.key_up(&key, modifiers).await
    }

    /// Types a text beside modifiers that are held down.
    pub(super) async fn type_text(&self, modifiers: u32, text: &str) -> Result<(), ActionFailure> {
        for letter in text.chars() {
            let key = keys::typed_by(letter);
            self.key_down(&key, modifiers).await?;
            self.key_up(&key, modifiers).await?;
        }
        Ok(())
    }

    pub(super) async fn insert_text(&self, text: &str) -> Result<(), ActionFailure> {
        self.input("Input.insertText", json!({"text": text})).await
    }

    async fn key_down(&self, key: &Key, modifiers: u32) -> Result<(), ActionFailure> {
        // With Control, Alt or Meta a key types nothing.
        let text = key.text.as_deref().filter(|_| modifiers & 7 == 0);
        let kind = if text.is_some() { "keyDown" } else { "rawKeyDown" };
        let mut event = json!({
            "type": kind, "key": key.key, "code": key.code, "modifiers": modifiers,
            "windowsVirtualKeyCode": key.number, "nativeVirtualKeyCode": key.number,
        });
        if let Some(text) = text {
            event["text"] = text.into();
            event["unmodifiedText"] = text.into();
        }
        let commands = commands_of(key, modifiers);
        if !commands.is_empty() {
            event["commands"] = json!(commands);
        }
        self.input("Input.dispatchKeyEvent", event).await
    }

    async fn key_up(&self, key: &Key, modifiers: u32) -> Result<(), ActionFailure> {
        let event = json!({
            "type": "keyUp", "key": key.key, "code": key.code, "modifiers": modifiers,
            "windowsVirtualKeyCode": key.number, "nativeVirtualKeyCode": key.number,
        });
        self.input("Input.dispatchKeyEvent", event).await
    }
}

/// Commands of an editor that a desktop gives to keys, which no desktop does here.
fn commands_of(key: &Key, modifiers: u32) -> &'static [&'static str] {
    match (modifiers & 7, key.code.as_str()) {
        (2, "KeyA") => &["selectAll"],
        (2, "KeyC") => &["copy"],
        (2, "KeyX") => &["cut"],
        (2, "KeyV") => &["paste"],
        (2, "KeyZ") => &["undo"],
        _ => &[],
    }
}

fn known(name: &str, shift: bool) -> Result<Key, ActionFailure> {
    keys::key(name, shift).ok_or_else(|| {
        ActionFailure::told(format!(
            "there is no key {name:?}: use names such as Enter, ArrowDown, F5, KeyA, or one letter"
        ))
    })
}

/// The keys of a combination; the last may be `+` itself.
fn split(keys: &str) -> Vec<&str> {
    if keys == "+" {
        return vec![keys];
    }
    match keys.strip_suffix("++") {
        Some(held) => held.split('+').chain(["+"]).collect(),
        None => keys.split('+').filter(|key| !key.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_split_at_their_signs() {
        assert_eq!(split("Control+Shift+t"), ["Control", "Shift", "t"]);
        assert_eq!(split("+"), ["+"]);
        assert_eq!(split("Control++"), ["Control", "+"]);
        assert_eq!(split("Enter"), ["Enter"]);
        assert!(split("").is_empty());
    }
}
