"""Names of the tools that models use to access memories."""

from enum import StrEnum


class ToolName(StrEnum):
    """A tool that a model may call. Names are stable."""

    SEARCH_MEMORIES = "search_memories"
    LIST_MEMORIES = "list_memories"
    MEMORY_HISTORY = "memory_history"
    REMEMBER = "remember"
    LEARN_FROM_CONVERSATION = "learn_from_conversation"
    UPDATE_MEMORY = "update_memory"
    FORGET_MEMORY = "forget_memory"
    RESTORE_MEMORY = "restore_memory"
    RECALL_CONVERSATION = "recall_conversation"
    """Served over MCP only if the settings name it: few MCP clients keep sessions here."""
