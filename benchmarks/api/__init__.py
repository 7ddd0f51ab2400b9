"""How fast the service answers, beside what the same process and the same statements allow."""
