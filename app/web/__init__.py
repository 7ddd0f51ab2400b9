"""HTTP machinery shared by all routes: authentication, errors, middleware, health."""
