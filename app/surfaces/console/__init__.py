"""The console: pages for administrators, rendered here, that call the routes of the API."""
