"""Tool outputs kept off the prompt: task memories, their artifacts, and readers."""
