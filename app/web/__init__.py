"""What every HTTP route shares: authentication, errors, middleware, health."""
