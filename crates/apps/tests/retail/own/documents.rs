//! The documents of a shop in the reference's shape, and how they are written.

use std::io;

use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

/// Members of an object, in the order in which they are written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Members<T>(pub(super) Vec<(String, T)>);

impl<T> Members<T> {
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, member)| member)
    }

    pub(super) fn get(&self, id: &str) -> Option<&T> {
        self.0.iter().find(|(name, _)| name == id).map(|(_, member)| member)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.0.iter_mut().find(|(name, _)| name == id).map(|(_, member)| member)
    }
}

impl<T: Serialize> Serialize for Members<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, member)| (name, member)))
    }
}

/// An amount of money, written in whole units.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct Cents(pub(super) i64);

impl Serialize for Cents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 100.0)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Shop {
    pub(super) products: Members<Product>,
    pub(super) users: Members<User>,
    pub(super) orders: Members<Order>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Product {
    pub(super) name: String,
    pub(super) product_id: String,
    pub(super) variants: Members<Variant>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Variant {
    pub(super) item_id: String,
    pub(super) options: Members<String>,
    pub(super) available: bool,
    pub(super) price: Cents,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct User {
    pub(super) user_id: String,
    pub(super) name: Name,
    pub(super) address: Address,
    pub(super) email: String,
    pub(super) payment_methods: Members<Method>,
    pub(super) orders: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Name {
    pub(super) first_name: String,
    pub(super) last_name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Address {
    pub(super) address1: String,
    pub(super) address2: String,
    pub(super) city: String,
    pub(super) country: String,
    pub(super) state: String,
    pub(super) zip: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub(super) enum Method {
    CreditCard { id: String, brand: String, last_four: String },
    GiftCard { id: String, balance: Cents },
    Paypal { id: String },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Order {
    pub(super) order_id: String,
    pub(super) user_id: String,
    pub(super) address: Address,
    pub(super) items: Vec<Item>,
    pub(super) status: Status,
    pub(super) fulfillments: Vec<Fulfillment>,
    pub(super) payment_history: Vec<Payment>,
    pub(super) cancel_reason: Option<String>,
    pub(super) exchange_items: Option<Vec<String>>,
    pub(super) exchange_new_items: Option<Vec<String>>,
    pub(super) exchange_payment_method_id: Option<String>,
    pub(super) exchange_price_difference: Option<Cents>,
    pub(super) return_items: Option<Vec<String>>,
    pub(super) return_payment_method_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) product_id: String,
    pub(super) item_id: String,
    pub(super) price: Cents,
    pub(super) options: Members<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Pending,
    #[serde(rename = "pending (item modified)")]
    Modified,
    Processed,
    Delivered,
    Cancelled,
    #[serde(rename = "return requested")]
    ReturnRequested,
    #[serde(rename = "exchange requested")]
    ExchangeRequested,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Fulfillment {
    pub(super) tracking_id: Vec<String>,
    pub(super) item_ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Payment {
    pub(super) transaction_type: &'static str,
    pub(super) amount: Cents,
    pub(super) payment_method_id: String,
}

/// JSON with `, ` and `: ` between its parts.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

pub(super) fn written(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Spaced)).expect("a document is JSON");
    String::from_utf8(bytes).expect("UTF-8")
}
