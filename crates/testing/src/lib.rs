//! What the tests of several packages need. No part of the product.

pub mod postgres;
