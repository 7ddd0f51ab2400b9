"""What authentication costs, and what bad keys cost those who have a good one."""
