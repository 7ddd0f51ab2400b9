"""The screens of the console, one module each: gather from the API, render."""
