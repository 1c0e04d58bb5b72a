//! Tables of routes: with the documentation of each, which takes megabytes of code and of memory, or without.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::app::App;

/// A path with its handlers, one for each method.
pub(crate) trait Route {
    /// The path, and its handlers by method.
    fn plain() -> (String, MethodRouter<App>);
    /// The same with its documentation.
    fn documented() -> UtoipaMethodRouter<App>;
}

/// A collection of routes.
pub(crate) trait Table: Sized {
    fn new() -> Self;
    fn routes<R: Route>(self, route: R) -> Self;
    fn nest(self, path: &str, table: Self) -> Self;
}

impl Table for OpenApiRouter<App> {
    fn new() -> Self {
        Self::new()
    }

    fn routes<R: Route>(self, _: R) -> Self {
        self.routes(R::documented())
    }

    fn nest(self, path: &str, table: Self) -> Self {
        self.nest(path, table)
    }
}

impl Table for Router<App> {
    fn new() -> Self {
        Self::new()
    }

    fn routes<R: Route>(self, _: R) -> Self {
        let (path, methods) = R::plain();
        self.route(&path, methods)
    }

    fn nest(self, path: &str, table: Self) -> Self {
        self.nest(path, table)
    }
}

/// The [`Route`] of handlers that share a path, each as `module::handler`. What `utoipa::path` says of them is read when the table asks
/// for it, so that a program that serves the committed document does not contain what that is generated from.
macro_rules! routes {
    ($($module:ident::$handler:ident),+) => {{
        struct Handlers;

        impl $crate::http::route::Route for Handlers {
            fn plain() -> (String, axum::routing::MethodRouter<$crate::app::App>) {
                use utoipa_axum::PathItemExt as _;
                let mut route = (String::new(), axum::routing::MethodRouter::new());
                utoipa_axum::paste! {$(
                    for method in <$module::[<__path_ $handler>] as utoipa::Path>::methods() {
                        route.1 = route.1.on(method.to_method_filter(), $module::$handler);
                    }
                    route.0 = <$module::[<__path_ $handler>] as utoipa::Path>::path();
                )+}
                route
            }

            fn documented() -> utoipa_axum::router::UtoipaMethodRouter<$crate::app::App> {
                utoipa_axum::routes!($($module::$handler),+)
            }
        }

        Handlers
    }};
}
pub(crate) use routes;
