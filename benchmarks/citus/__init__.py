"""What a Citus cluster costs beside one Postgres."""
