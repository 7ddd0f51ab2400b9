"""The console: pages for administrators, rendered on the server from API responses."""
