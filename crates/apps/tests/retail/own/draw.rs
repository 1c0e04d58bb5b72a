//! The data of our shop and the calls there, all from one seed.

use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::Recorder;
use super::documents::{
    Address, Cents, Fulfillment, Item, Members, Method, Name, Order, Payment, Product, Shop, Status, User, Variant,
    written,
};

const FIRST_NAMES: [&str; 6] = ["Belano", "Coreth", "Dunis", "Eskula", "Faromi", "Golari"];
const LAST_NAMES: [&str; 4] = ["Akom", "Hulest", "Orind", "Varro"];
const STREETS: [&str; 4] = ["Quarry Row", "Mill Bank", "Heron Walk", "Tanner Yard"];
const CITIES: [(&str, &str, &str); 3] = [("Ostby", "ME", "04"), ("Laketon", "OH", "45"), ("Millford", "UT", "84")];
const BRANDS: [&str; 2] = ["northcard", "unicard"];
/// The name of a product, its usual price in cents, and the options in which its variants differ.
type Goods = (&'static str, i64, [(&'static str, [&'static str; 3]); 2]);
const GOODS: [Goods; 7] = [
    ("Teapot", 3_200, [("volume", ["half a litre", "1 litre", "2 litres"]), ("glaze", ["ash", "cobalt", "plain"])]),
    ("Kite", 1_850, [("wingspan", ["90 cm", "120 cm", "160 cm"]), ("shape", ["delta", "diamond", "box"])]),
    ("Rucksack", 7_490, [("litres", ["18", "30", "45"]), ("cloth", ["canvas", "waxed", "ripstop"])]),
    ("Clock Radio", 4_400, [("dial", ["green", "amber", "white"]), ("alarm", ["bell", "chime", "none"])]),
    ("Folding Chair", 5_525, [("seat", ["oak", "beech", "mesh"]), ("height", ["low", "high", "bar"])]),
    ("Bread Knife", 2_699, [("length", ["20 cm", "25 cm", "30 cm"]), ("handle", ["olive", "walnut", "steel"])]),
    ("Wool Blanket", 8_960, [("weave", ["twill", "herringbone", "waffle"]), ("dye", ["madder", "indigo", "undyed"])]),
];

/// The tools that change an order.
const CHANGES: [&str; 6] = [
    "cancel_pending_order",
    "modify_pending_order_address",
    "modify_pending_order_payment",
    "modify_pending_order_items",
    "exchange_delivered_order_items",
    "return_delivered_order_items",
];

pub(super) struct Draw {
    rng: ChaCha8Rng,
    /// Chance that a part of a call is bad, in [0, 1].
    faults: f64,
}

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), faults: 0.0 }
    }

    /// A shop with a past: the model's own tools were used on some of its orders.
    pub(super) fn shop(&mut self) -> Shop {
        let products = GOODS.map(|goods| self.product(goods)).map(|product| (product.product_id.clone(), product));
        let mut shop =
            Shop { products: Members(products.into()), users: Members(Vec::new()), orders: Members(Vec::new()) };
        for first in FIRST_NAMES {
            for last in LAST_NAMES {
                let mut user = self.user(first, last);
                for _ in 0..self.rng.random_range(2..=4) {
                    let order = self.order(&shop, &user);
                    user.orders.push(order.order_id.clone());
                    shop.orders.0.push((order.order_id.clone(), order));
                }
                shop.users.0.push((user.user_id.clone(), user));
            }
        }
        for (_, order) in shop.orders.clone().0 {
            let tools: Vec<_> = changes(&order).filter(|tool| fits(&order, tool)).collect();
            if let Some(tool) = tools.choose(&mut self.rng)
                && self.rng.random_bool(0.5)
            {
                let given = self.arguments(&shop, &order, tool);
                shop.call(tool, &given).ok();
            }
        }
        shop
    }

    fn product(&mut self, (name, price, options): Goods) -> Product {
        let [(first, firsts), (second, seconds)] = options;
        let mut kinds: Vec<_> = firsts.iter().flat_map(|one| seconds.iter().map(move |other| (*one, *other))).collect();
        kinds.shuffle(&mut self.rng);
        kinds.truncate(6);
        let variants = kinds.into_iter().map(|(one, other)| {
            let item_id = self.digits(9);
            let options = [(first, one), (second, other)].map(|(name, value)| (name.to_owned(), value.to_owned()));
            let price = Cents(price * self.rng.random_range(70..=130) / 100);
            let available = self.rng.random_bool(0.7);
            (item_id.clone(), Variant { item_id, options: Members(options.into()), available, price })
        });
        let variants = Members(variants.collect());
        Product { name: name.to_owned(), product_id: self.digits(7), variants }
    }

    fn user(&mut self, first: &str, last: &str) -> User {
        let user_id = format!("{first}.{last}.{}", self.digits(2)).to_lowercase();
        let mut methods = Vec::new();
        while methods.is_empty() {
            for kind in ["card", "gift", "wallet"] {
                if self.rng.random_bool(0.7) {
                    let id = format!("{kind}-{}", self.digits(6));
                    methods.push((id.clone(), self.method(kind, id)));
                }
            }
        }
        methods.shuffle(&mut self.rng);
        User {
            email: format!("{user_id}@mail.example"),
            user_id,
            name: Name { first_name: first.to_owned(), last_name: last.to_owned() },
            address: self.address(),
            payment_methods: Members(methods),
            orders: Vec::new(),
        }
    }

    fn method(&mut self, kind: &str, id: String) -> Method {
        match kind {
            "card" => {
                let brand = (*BRANDS.choose(&mut self.rng).expect("a brand")).to_owned();
                Method::CreditCard { id, brand, last_four: self.digits(4) }
            }
            "gift" => {
                let balance_max = if self.rng.random_bool(0.5) { 300 } else { 60_000 };
                Method::GiftCard { id, balance: Cents(self.rng.random_range(0..balance_max)) }
            }
            _ => Method::Paypal { id },
        }
    }

    fn address(&mut self) -> Address {
        let (city, state, zip) = CITIES.choose(&mut self.rng).expect("a city");
        let street = STREETS.choose(&mut self.rng).expect("a street");
        Address {
            address1: format!("{} {street}", self.rng.random_range(1..200)),
            address2: if self.rng.random_bool(0.5) { String::new() } else { format!("Flat {}", self.digits(1)) },
            city: (*city).to_owned(),
            country: "USA".to_owned(),
            state: (*state).to_owned(),
            zip: format!("{zip}{}", self.digits(3)),
        }
    }

    /// An order that nobody has touched yet. Some of its prices are not those of today.
    fn order(&mut self, shop: &Shop, user: &User) -> Order {
        let mut items: Vec<Item> = Vec::new();
        for _ in 0..self.rng.random_range(1..=4) {
            if !items.is_empty() && self.rng.random_bool(0.15) {
                items.push(items[0].clone());
                continue;
            }
            let (_, product) = shop.products.0.choose(&mut self.rng).expect("a product");
            let (_, variant) = product.variants.0.choose(&mut self.rng).expect("a variant");
            let change = if self.rng.random_bool(0.3) { self.rng.random_range(-300..=300) } else { 0 };
            items.push(Item {
                name: product.name.clone(),
                product_id: product.product_id.clone(),
                item_id: variant.item_id.clone(),
                price: Cents(variant.price.0 + change),
                options: variant.options.clone(),
            });
        }
        let status = [Status::Pending, Status::Pending, Status::Processed, Status::Delivered, Status::Delivered];
        let status = *status.choose(&mut self.rng).expect("a status");
        let parcel = Fulfillment {
            tracking_id: vec![self.digits(12)],
            item_ids: items.iter().map(|item| item.item_id.clone()).collect(),
        };
        let payment = Payment {
            transaction_type: "payment",
            amount: Cents(items.iter().map(|item| item.price.0).sum()),
            payment_method_id: self.own_method(user),
        };
        Order {
            order_id: format!("#R{}", self.digits(6)),
            user_id: user.user_id.clone(),
            address: user.address.clone(),
            items,
            fulfillments: if status == Status::Pending { Vec::new() } else { vec![parcel] },
            status,
            payment_history: vec![payment],
            cancel_reason: None,
            exchange_items: None,
            exchange_new_items: None,
            exchange_payment_method_id: None,
            exchange_price_difference: None,
            return_items: None,
            return_payment_method_id: None,
        }
    }

    /// Single calls: every tool with what it takes and with what it refuses, each on the shop as it is.
    pub(super) fn calls(&mut self, shop: &Shop) -> Vec<(&'static str, Value)> {
        let (user, order) = (&shop.users.0[0].1, &shop.orders.0[0].1);
        let product = &shop.products.0[0].1;
        let name = |first: &str, last: &str, zip: &str| json!({"first_name": first, "last_name": last, "zip": zip});
        let (first, last) = (&user.name.first_name, &user.name.last_name);
        let mut calls = vec![
            ("find_user_id_by_email", json!({"email": user.email.to_uppercase()})),
            ("find_user_id_by_email", json!({"email": "nobody@mail.example"})),
            ("find_user_id_by_name_zip", name(&first.to_uppercase(), &last.to_lowercase(), &user.address.zip)),
            ("find_user_id_by_name_zip", name(first, last, "00000")),
            ("find_user_id_by_name_zip", name(last, first, &user.address.zip)),
            ("get_order_details", json!({"order_id": order.order_id})),
            ("get_order_details", json!({"order_id": order.order_id.to_lowercase()})),
            ("get_user_details", json!({"user_id": user.user_id})),
            ("get_user_details", json!({"user_id": user.user_id.to_uppercase()})),
            ("get_product_details", json!({"product_id": product.product_id})),
            ("get_product_details", json!({"product_id": product.variants.0[0].0})),
            ("get_item_details", json!({"item_id": product.variants.0[0].0})),
            ("get_item_details", json!({"item_id": product.product_id})),
            ("list_all_product_types", json!({})),
            ("transfer_to_human_agents", json!({"summary": "Wants to speak to somebody."})),
            ("calculate", json!({"expression": "10 - 4 - 3"})),
            ("calculate", json!({"expression": "(12.5 + 7.25) * 3 / (8 - 2)"})),
            ("calculate", json!({"expression": "2 ^ 3"})),
            ("calculate", json!({"expression": "5 / (2.5 * 2 - 5)"})),
            ("modify_user_address", self.moved("user_id", &user.user_id)),
            ("modify_user_address", self.moved("user_id", "nobody")),
        ];
        for tool in CHANGES {
            let mut given = self.arguments(shop, order, tool);
            given["order_id"] = json!("#R0");
            calls.push((tool, given));
        }
        // The app looks a method up before anything else, so nothing else is wrong where nobody has it.
        for tool in &CHANGES[2..] {
            let order = shop.orders.all().find(|order| changes(order).any(|other| other == *tool) && fits(order, tool));
            let mut given = self.arguments(shop, order.expect("an order"), tool);
            given["payment_method_id"] = json!("card-0");
            calls.push((tool, given));
        }
        self.faults = 0.15;
        for order in shop.orders.all() {
            for tool in changes(order) {
                let times = if fits(order, tool) { 4 } else { self.rng.random_range(0..=1) };
                for _ in 0..times {
                    calls.push((tool, self.arguments(shop, order, tool)));
                }
            }
        }
        calls
    }

    /// Plays an agent that looks a user up, reads, and changes the user's orders one after the other.
    pub(super) fn task(&mut self, recorder: &mut Recorder, user: &User) {
        self.faults = 0.1;
        if self.rng.random_bool(0.5) {
            recorder.call("find_user_id_by_email", &json!({"email": user.email}));
        } else {
            let Name { first_name, last_name } = &user.name;
            let given = json!({"first_name": first_name, "last_name": last_name, "zip": user.address.zip});
            recorder.call("find_user_id_by_name_zip", &given);
        }
        recorder.call("get_user_details", &json!({"user_id": user.user_id}));
        for id in &user.orders {
            recorder.call("get_order_details", &json!({"order_id": id}));
            for _ in 0..self.rng.random_range(1..=3) {
                let order = recorder.shop.orders.get(id).expect("an order of the user's").clone();
                recorder.call("get_product_details", &json!({"product_id": order.items[0].product_id}));
                let prices: Vec<String> = order.items.iter().map(|item| written(&item.price)).collect();
                recorder.call("calculate", &json!({"expression": prices.join(" + ")}));
                let tool = *changes(&order).collect::<Vec<_>>().choose(&mut self.rng).expect("a tool");
                let given = self.arguments(&recorder.shop, &order, tool);
                recorder.call(tool, &given);
            }
        }
        if self.rng.random_bool(0.3) {
            recorder.call("modify_user_address", &self.moved("user_id", &user.user_id));
        }
    }

    /// Arguments of a tool that changes an order; parts of them are bad now and then.
    fn arguments(&mut self, shop: &Shop, order: &Order, tool: &str) -> Value {
        let id = &order.order_id;
        match tool {
            "cancel_pending_order" => {
                let reason = ["no longer needed", "ordered by mistake"].choose(&mut self.rng);
                return json!({"order_id": id, "reason": reason});
            }
            "modify_pending_order_address" => return self.moved("order_id", id),
            "modify_pending_order_payment" => {
                return json!({"order_id": id, "payment_method_id": self.some_method(shop, order)});
            }
            _ => {}
        }
        let exchanging = tool == "exchange_delivered_order_items";
        let mut items: Vec<&Item> = order.items.iter().collect();
        items.shuffle(&mut self.rng);
        items.truncate(self.rng.random_range(1..=3));
        let mut new: Vec<&str> = items.iter().map(|item| self.other_variant(shop, item)).collect();
        let mut items: Vec<&str> = items.into_iter().map(|item| &*item.item_id).collect();
        // `CODES` has no message for an exchange of what an order lacks, nor for a change without a new item.
        if !exchanging && self.fault() {
            items.push(if self.rng.random_bool(0.5) { "1" } else { items[0] });
            new.push(new[0]);
        }
        if exchanging && self.fault() {
            new.pop();
        }
        let method = self.some_method(shop, order);
        let mut given = json!({"order_id": id, "item_ids": items, "payment_method_id": method});
        if tool != "return_delivered_order_items" {
            given["new_item_ids"] = json!(new);
        }
        given
    }

    /// Another variant of the item's product, most often one that can be had.
    fn other_variant<'s>(&mut self, shop: &'s Shop, item: &Item) -> &'s str {
        let product = shop.products.get(&item.product_id).expect("an item is of a product");
        let fault = self.fault();
        let fit = |variant: &&Variant| variant.item_id != item.item_id && variant.available != fault;
        let fitting: Vec<_> = product.variants.all().filter(fit).collect();
        let other = || product.variants.all().find(|variant| variant.item_id != item.item_id);
        &fitting.choose(&mut self.rng).copied().or_else(other).expect("a product has several variants").item_id
    }

    /// A method of the user whose order it is, and now and then one of somebody else.
    fn some_method(&mut self, shop: &Shop, order: &Order) -> String {
        let others = self.fault();
        let fit = |user: &&User| (user.user_id != order.user_id) == others;
        let users: Vec<_> = shop.users.all().filter(fit).collect();
        let user = users.choose(&mut self.rng).expect("a user");
        self.own_method(user)
    }

    fn own_method(&mut self, user: &User) -> String {
        user.payment_methods.0.choose(&mut self.rng).expect("a user can pay").0.clone()
    }

    /// A new address for an order or a user.
    fn moved(&mut self, target: &str, id: &str) -> Value {
        let mut given = json!(self.address());
        given[target] = json!(id);
        given
    }

    fn fault(&mut self) -> bool {
        self.rng.random_bool(self.faults)
    }

    fn digits(&mut self, count: u32) -> String {
        self.rng.random_range(10_u64.pow(count - 1)..10_u64.pow(count)).to_string()
    }
}

/// The tools that can be tried on an order. `CODES` has no message for a payment that is moved twice.
fn changes(order: &Order) -> impl Iterator<Item = &'static str> {
    let open = matches!(order.status, Status::Pending | Status::Modified);
    let several = open && order.payment_history.len() > 1;
    CHANGES.into_iter().filter(move |tool| !(several && *tool == "modify_pending_order_payment"))
}

/// True where the status of the order is the one that the tool is for.
fn fits(order: &Order, tool: &str) -> bool {
    let delivered = ["exchange_delivered_order_items", "return_delivered_order_items"].contains(&tool);
    order.status == if delivered { Status::Delivered } else { Status::Pending }
}
