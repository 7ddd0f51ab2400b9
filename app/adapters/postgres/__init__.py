"""The embedded Postgres: starts, supervises and stops a server out of the bundled binaries."""
