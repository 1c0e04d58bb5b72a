//! The 16 tools as plain rules over the documents of a shop. They share nothing with the app.

use std::collections::BTreeMap;

use serde_json::Value;

use super::documents::{Address, Cents, Method, Order, Payment, Shop, Status, User, Variant, written};
use crate::reference::{list, text};

impl Shop {
    /// Runs a tool: its answer, or the message of its refusal, which changes nothing.
    pub(super) fn call(&mut self, tool: &str, given: &Value) -> Result<String, String> {
        let named = |name: &str| text(given, name);
        let same = |left: &str, right: &str| left.eq_ignore_ascii_case(right);
        match tool {
            "find_user_id_by_email" => self.find(|user| same(&user.email, named("email"))),
            "find_user_id_by_name_zip" => self.find(|user| {
                same(&user.name.first_name, named("first_name"))
                    && same(&user.name.last_name, named("last_name"))
                    && user.address.zip == named("zip")
            }),
            "get_order_details" => Ok(written(self.orders.get(named("order_id")).ok_or("Order not found")?)),
            "get_user_details" => Ok(written(self.users.get(named("user_id")).ok_or("User not found")?)),
            "get_product_details" => Ok(written(self.products.get(named("product_id")).ok_or("Product not found")?)),
            "get_item_details" => {
                let variant = self.products.all().find_map(|product| product.variants.get(named("item_id")));
                Ok(written(variant.ok_or("Item not found")?))
            }
            "list_all_product_types" => {
                let types: BTreeMap<_, _> =
                    self.products.all().map(|product| (&product.name, &product.product_id)).collect();
                Ok(written(&types))
            }
            "calculate" => calculate(named("expression")),
            "transfer_to_human_agents" => Ok("Transfer successful".to_owned()),
            "modify_user_address" => {
                let user = self.users.get_mut(named("user_id")).ok_or("User not found")?;
                user.address = address(given);
                Ok(written(user))
            }
            _ => self.change(tool, given),
        }
    }

    fn find(&self, meets: impl Fn(&User) -> bool) -> Result<String, String> {
        self.users.all().find(|user| meets(user)).map(|user| user.user_id.clone()).ok_or("User not found".to_owned())
    }

    /// The tools that change an order, tried on copies.
    fn change(&mut self, tool: &str, given: &Value) -> Result<String, String> {
        let mut order = self.orders.get(text(given, "order_id")).ok_or("Order not found")?.clone();
        let mut user = self.users.get(&order.user_id).expect("an order has a user").clone();
        match tool {
            "cancel_pending_order" => cancel(&mut order, &mut user, text(given, "reason"))?,
            "modify_pending_order_address" => redirect(&mut order, address(given))?,
            "modify_pending_order_payment" => move_payment(&mut order, &mut user, text(given, "payment_method_id"))?,
            "modify_pending_order_items" => self.modify(&mut order, &mut user, given)?,
            "exchange_delivered_order_items" => self.exchange(&mut order, &user, given)?,
            "return_delivered_order_items" => give_back(&mut order, &user, given)?,
            other => panic!("there is no tool {other}"),
        }
        let answer = written(&order);
        *self.users.get_mut(&order.user_id).expect("the user") = user;
        *self.orders.get_mut(text(given, "order_id")).expect("the order") = order;
        Ok(answer)
    }

    fn modify(&self, order: &mut Order, user: &mut User, given: &Value) -> Result<(), String> {
        ensure(order.status == Status::Pending, "Non-pending order cannot be modified")?;
        let (variants, difference) = self.swap(order, given)?;
        let method = text(given, "payment_method_id");
        user.method(method)?;
        ensure(user.covers(method, difference), "Insufficient gift card balance to pay for the new item")?;
        user.charge(method, difference);
        let transaction_type = if difference > Cents(0) { "payment" } else { "refund" };
        let amount = Cents(difference.0.abs());
        order.payment_history.push(Payment { transaction_type, amount, payment_method_id: method.to_owned() });
        // As in the back office that the app follows, every changed item takes price and options of the variant named last.
        let last = variants.last().expect("an item is changed");
        for (old, variant) in texts(given, "item_ids").iter().zip(&variants) {
            let item = order.items.iter_mut().find(|item| item.item_id == *old).expect("the order holds the item");
            (item.item_id, item.price) = (variant.item_id.clone(), last.price);
            item.options = last.options.clone();
        }
        order.status = Status::Modified;
        Ok(())
    }

    fn exchange(&self, order: &mut Order, user: &User, given: &Value) -> Result<(), String> {
        ensure(order.status == Status::Delivered, "Non-delivered order cannot be exchanged")?;
        let (_, difference) = self.swap(order, given)?;
        let method = text(given, "payment_method_id");
        user.method(method)?;
        ensure(user.covers(method, difference), "Insufficient gift card balance to pay for the price difference")?;
        order.status = Status::ExchangeRequested;
        order.exchange_items = Some(sorted(given, "item_ids"));
        order.exchange_new_items = Some(sorted(given, "new_item_ids"));
        order.exchange_payment_method_id = Some(method.to_owned());
        order.exchange_price_difference = Some(difference);
        Ok(())
    }

    /// The variants that take the place of items of the order, and how much more they cost.
    fn swap(&self, order: &Order, given: &Value) -> Result<(Vec<&Variant>, Cents), String> {
        let (old, new) = (texts(given, "item_ids"), texts(given, "new_item_ids"));
        if let Some(item) = lacking(order, &old) {
            return Err(format!("{item} not found"));
        }
        ensure(old.len() == new.len(), "The number of items to be exchanged should match.")?;
        let (mut variants, mut difference) = (Vec::new(), 0);
        for (old, new) in old.iter().zip(&new) {
            let item = order.items.iter().find(|item| item.item_id == *old).expect("the order holds the item");
            let product = self.products.get(&item.product_id).expect("an item is of a product");
            let variant = product.variants.get(new).filter(|variant| variant.available);
            let variant = variant.ok_or_else(|| format!("New item {new} not found or available"))?;
            difference += variant.price.0 - item.price.0;
            variants.push(variant);
        }
        Ok((variants, Cents(difference)))
    }
}

impl User {
    fn method(&self, id: &str) -> Result<&Method, String> {
        self.payment_methods.get(id).ok_or("Payment method not found".to_owned())
    }

    /// True unless the method is a gift card that holds less than the amount.
    fn covers(&self, id: &str, amount: Cents) -> bool {
        !matches!(self.payment_methods.get(id), Some(Method::GiftCard { balance, .. }) if *balance < amount)
    }

    /// Takes the amount from a gift card, or gives it back where it is negative. Other methods are settled elsewhere.
    fn charge(&mut self, id: &str, amount: Cents) {
        if let Some(Method::GiftCard { balance, .. }) = self.payment_methods.get_mut(id) {
            balance.0 -= amount.0;
        }
    }
}

/// Every payment of the history is refunded to its method.
fn cancel(order: &mut Order, user: &mut User, reason: &str) -> Result<(), String> {
    ensure(order.status == Status::Pending, "Non-pending order cannot be cancelled")?;
    for paid in order.payment_history.clone() {
        user.charge(&paid.payment_method_id, Cents(-paid.amount.0));
        order.payment_history.push(Payment { transaction_type: "refund", ..paid });
    }
    order.status = Status::Cancelled;
    order.cancel_reason = Some(reason.to_owned());
    Ok(())
}

fn redirect(order: &mut Order, address: Address) -> Result<(), String> {
    ensure(matches!(order.status, Status::Pending | Status::Modified), "Non-pending order cannot be modified")?;
    order.address = address;
    Ok(())
}

fn move_payment(order: &mut Order, user: &mut User, method: &str) -> Result<(), String> {
    ensure(matches!(order.status, Status::Pending | Status::Modified), "Non-pending order cannot be modified")?;
    user.method(method)?;
    let [paid] = &order.payment_history[..] else { panic!("the order {} is paid in several steps", order.order_id) };
    let paid = paid.clone();
    ensure(paid.payment_method_id != method, "The new payment method should be different from the current one")?;
    ensure(user.covers(method, paid.amount), "Insufficient gift card balance to pay for the order")?;
    user.charge(method, paid.amount);
    user.charge(&paid.payment_method_id, Cents(-paid.amount.0));
    order.payment_history.push(Payment { payment_method_id: method.to_owned(), ..paid.clone() });
    order.payment_history.push(Payment { transaction_type: "refund", ..paid });
    Ok(())
}

fn give_back(order: &mut Order, user: &User, given: &Value) -> Result<(), String> {
    ensure(order.status == Status::Delivered, "Non-delivered order cannot be returned")?;
    let method = text(given, "payment_method_id");
    let gift = matches!(user.method(method)?, Method::GiftCard { .. });
    ensure(
        gift || order.payment_history[0].payment_method_id == method,
        "Payment method should be the original payment method",
    )?;
    ensure(lacking(order, &texts(given, "item_ids")).is_none(), "Some item not found")?;
    order.status = Status::ReturnRequested;
    order.return_items = Some(sorted(given, "item_ids"));
    order.return_payment_method_id = Some(method.to_owned());
    Ok(())
}

/// An item that is named more often than the order holds it.
fn lacking<'i>(order: &Order, items: &[&'i str]) -> Option<&'i str> {
    let named = |item: &str| items.iter().filter(|other| **other == item).count();
    let held = |item: &str| order.items.iter().filter(|other| other.item_id == item).count();
    items.iter().copied().find(|item| named(item) > held(item))
}

fn ensure(met: bool, otherwise: &str) -> Result<(), String> {
    if met { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn texts<'v>(given: &'v Value, name: &str) -> Vec<&'v str> {
    list(given, name).iter().map(|element| element.as_str().expect("text")).collect()
}

fn sorted(given: &Value, name: &str) -> Vec<String> {
    let mut ids: Vec<String> = texts(given, name).into_iter().map(str::to_owned).collect();
    ids.sort_unstable();
    ids
}

fn address(given: &Value) -> Address {
    let part = |name: &str| text(given, name).to_owned();
    Address {
        address1: part("address1"),
        address2: part("address2"),
        city: part("city"),
        country: part("country"),
        state: part("state"),
        zip: part("zip"),
    }
}

fn calculate(expression: &str) -> Result<String, String> {
    let allowed = |sign: char| sign.is_ascii_digit() || "+-*/(). ".contains(sign);
    ensure(expression.chars().all(allowed), "Invalid characters in expression")?;
    let rounded: f64 = format!("{:.2}", worth(expression)?).parse().expect("a number");
    Ok(format!("{rounded:?}"))
}

/// Splits an expression at its last operator of the lowest rank outside parentheses. There are no signs before numbers.
fn worth(expression: &str) -> Result<f64, String> {
    let expression = expression.trim();
    for operators in ["+-", "*/"] {
        let mut depth = 0;
        for (place, sign) in expression.char_indices().rev() {
            depth += i32::from(sign == ')') - i32::from(sign == '(');
            if depth == 0 && operators.contains(sign) {
                let (left, right) = (worth(&expression[..place])?, worth(&expression[place + 1..])?);
                return match sign {
                    '+' => Ok(left + right),
                    '-' => Ok(left - right),
                    '*' => Ok(left * right),
                    _ => ensure(right != 0.0, "division by zero").map(|()| left / right),
                };
            }
        }
    }
    let inner = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.map_or_else(|| Ok(expression.parse().expect("a number")), worth)
}
