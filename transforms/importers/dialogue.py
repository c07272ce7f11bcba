"""Who says what in a dialogue: turns with a speaker's name in front, or objects with a role."""

from __future__ import annotations

from collections.abc import Sequence

_USER = ("用户", "user", "human")
_ASSISTANT = ("助手", "assistant", "bot", "system")
_COLONS = ("：", ":")


def query(context: Sequence[object]) -> str | None:
    """The last turn of the user, whoever speaks last; None if there is none.

    A dialogue in which nobody is named ends with the query. Raises TypeError for a turn that is
    neither a string nor an object with role and content.
    """
    turns = [_turn(turn) for turn in context]
    if turns and all(speaker is None for speaker, _ in turns):
        return turns[-1][1]
    of_user = [text for speaker, text in turns if speaker in _USER]
    return of_user[-1] if of_user else None


def _turn(turn: object) -> tuple[str | None, str]:
    """(speaker, what is said); the speaker is None if no one that we know is named."""
    if isinstance(turn, dict):
        role, content = turn.get("role"), turn.get("content")
        if isinstance(role, str) and isinstance(content, str):
            return role.lower(), content
    if isinstance(turn, str):
        for speaker in (*_USER, *_ASSISTANT):
            for colon in _COLONS:
                prefix = speaker + colon
                if turn[: len(prefix)].lower() == prefix:
                    return speaker, turn[len(prefix) :].strip()
        return None, turn
    raise TypeError("a turn is a string or an object with role and content")
