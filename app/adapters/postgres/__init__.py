"""The embedded Postgres: starts, supervises and stops a server from the bundled binaries."""
