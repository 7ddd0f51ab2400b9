"""Removal of pasted text: mails, logs, code, markup, and the object of a task."""

import re
from collections.abc import Iterable, Iterator

_LOG = re.compile(
    r"^[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|[A-Z][a-z]{2} +\d{1,2}"
    r" \d\d:\d\d:\d\d |\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[\]:\s]"
    r"|\[?(?:trace|debug|info|warn|warning|error|fatal|critical)[\]:]"
    r"|I/O (?:error|timeout|exception|failure)\b"
    r"|at [\w.$<>]+\(|File \"[^\"\n]*\", line \d|Caused by: |[\w.]+(?:Error|Exception|Warning):"
    r"|Traceback \(most recent call last\)|\$ \S|#!|[\[{]\s*[\"{])[^\n]*$",
    re.MULTILINE,
)
_CODE = re.compile(
    r"^[ \t]*(?:SELECT\s|INSERT INTO\s|UPDATE \w+ SET\s|DELETE FROM\s"
    r"|(?:CREATE|ALTER|DROP) [A-Z]+\s"
    r"|(?:select|insert into|update|delete from) [^\n]*;"
    r"|def \w+\(|class \w+[^\n]*[:{][ \t]*$|import [\w.]+;?[ \t]*$|from [\w.]+ import "
    r"|(?:const|let|var) \w+\s*=|function\s*\w*\(|#include\b|print(?:f|ln)?\(|console\.\w+\("
    r"|[\w.]+\s*=\s*[\"'\[{(]|return\b[^\n]*;|\"[^\"\n]{1,60}\"[ \t]*:|[\]}]+[,;]?[ \t]*$)[^\n]*$",
    re.MULTILINE,
)
_MARKUP = re.compile(
    r"<([a-z][a-z0-9-]{0,20})\b[^<>\n]{0,200}>[^\n]{0,200}?</\1\s*>"
    r"|^[ \t]*</?[a-z][a-z0-9-]{0,20}\b[^<>\n]{0,200}>[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_INDENTED = re.compile(
    r"(?:\A|(?<=\n\n))(?:(?: {4}|\t)[ \t]*(?![-*+\u2022\d\s])[^\n]*(?:\n|\Z))+", re.MULTILINE
)
_TRACE = re.compile(
    r"^[ \t]*Traceback \(most recent call last\):(?:\n[ \t]+[^\n]*)*(?:\n[^\n]+)?", re.MULTILINE
)
# A mail is the text between these two matches. A single pattern for both would scan to the end of
# the text after each greeting.
_MAIL_BEGIN = re.compile(
    r"(?:^|(?<=[:\n]))[ \t]*(?:hi|hello|hey|dear|good (?:morning|afternoon)|hallo|liebe[rs]?"
    r"|guten tag|sehr geehrte[rs]?|hola|estimad[oa]s?|querid[oa]s?|buenos días|bonjour|salut"
    r"|chers?|chères?)\b[^\n,:!.]{0,40}[,:!]\s",
    re.IGNORECASE | re.MULTILINE,
)
_MAIL_END = re.compile(
    r"(?:^|(?<=[.!?]\s))[ \t]*(?:(?:best|kind|warm"
    r"|many)(?: regards| wishes)?|regards|sincerely|yours(?: \w+)?|(?:viele|liebe|beste"
    r"|herzliche) grüße|mit freundlichen grüßen|(?:un )?(?:cordial )?saludos?|atentamente"
    r"|cordialement|bien à (?:vous|toi)|amicalement)[,.]?[ \t]*(?:\n?[ \t]*[^\n]{0,60})$",
    re.IGNORECASE | re.MULTILINE,
)
_HEADERS = re.compile(
    r"^(?:(?:from|to|subject|date|cc|von|an|betreff|datum|de|para|asunto|fecha|à|objet): [^\n]*\n"
    r"){2,}.*",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_TASK = re.compile(
    r"\b(?:summari[sz]e|translate|proofread|paraphrase|rewrite|rephrase|reply to|respond to|answer"
    r" (?:this|the following)|correct (?:this|the|my)|fix (?:this|the)|explain (?:this|the|what)"
    r"|improve (?:this|the|my)|check (?:this|the|my) (?:text|grammar|mail|email|letter|sentence)"
    r"|shorten|what does|solve|classify|the question is|here is (?:the|an?) (?:text|mail|email"
    r"|letter|log)|(?:fass|fasse)\b.{0,40}\bzusammen|zusammenfass\w+|übersetz\w*|korrigier\w*"
    r"|formulier\w*|antworte auf|was (?:heißt|bedeutet)|verbesser\w*|lies das|resum[ei]\w*"
    r"|traduc\w+|traduzc\w+|corrig\w+|reescrib\w+|responde a|qué significa|mejora"
    r"|résum\w+|tradui\w+|réécri\w+|reformul\w+|réponds à|que (?:veut dire|signifie)"
    r"|améliore)\b",
    re.IGNORECASE,
)
_AFTER_COLON = re.compile(r":[ \t]*\n?.+", re.DOTALL)
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u2039][^\"\u201c\u201d\u201e\u00ab\u00bb]*(?:[\"\u201d\u00bb]|\Z)"
)
_OPENING = re.compile(r"[\"\u201c\u201e\u00ab\u2039]|(?<!\w)['\u2018\u201a]")
_SINGLE_CLOSING = re.compile(r"['\u2019](?!\w)")
_WINDOW = 64 * 1024
"""Maximum characters searched at once for a task: a match blocks the whole process."""
_LONGEST_TASK = 100


def without_indented(text: str) -> str:
    """Blank out, in place, blocks with the indent of code.

    Call it on the original text: blanks at the start of a line would look like an indent.
    """
    return _INDENTED.sub(_blank, text)


def without_pasted(text: str) -> str:
    """Blank out, in place, mails, logs, code, markup and the object of a task."""
    for pattern in (_TRACE, _LOG, _CODE, _MARKUP, _HEADERS):
        text = pattern.sub(_blank, text)
    text = _without(text, _mails(text))
    begin = _end_of_task(text)
    if begin is None:
        return text
    end = text.find("\n\n", begin)
    rest = text[begin:] if end < 0 or ":" in text[begin:end] else text[begin:end]
    left = _AFTER_COLON.sub(_blank, rest, count=1) if ":" in rest else rest
    whole = text[:begin] + left + text[begin + len(rest) :]
    return _without(whole, _quotations(whole))


def _end_of_task(text: str) -> int | None:
    """Return the end of the first request for a task, or None."""
    for at in range(0, len(text), _WINDOW):
        found = _TASK.search(text, at, at + _WINDOW + _LONGEST_TASK)
        # A word may be cut at the end of a window.
        while found is not None and (whole := _TASK.match(text, found.start())) is None:
            found = _TASK.search(text, found.start() + 1, at + _WINDOW + _LONGEST_TASK)
        if found is not None and whole is not None:
            return whole.end()
    return None


def _mails(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while (begin := _MAIL_BEGIN.search(text, at)) and (end := _MAIL_END.search(text, begin.end())):
        at = end.end()
        yield begin.start(), at


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield the quotations; one in single marks ends with the last closing mark of its line."""
    at = line_end = last = 0
    while (opening := _OPENING.search(text, at)) is not None:
        at = opening.start() + 1
        if opening.group() in "'\u2018\u201a":
            if opening.start() >= line_end:
                found = text.find("\n", at)
                line_end = len(text) if found < 0 else found
                closing = [mark.end() for mark in _SINGLE_CLOSING.finditer(text, at, line_end)]
                last = closing[-1] if closing else 0
            end = last
        else:
            quoted = _QUOTED.match(text, opening.start())
            end = quoted.end() if quoted is not None else 0
        if end > at:
            yield opening.start(), end
            at = end


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with these spans, in their order, blanked out."""
    pieces, at = [], 0
    for begin, end in spans:
        pieces += [text[at:begin], _blanks(text[begin:end])]
        at = end
    return "".join(pieces) + text[at:]


def _blank(match: re.Match[str]) -> str:
    return _blanks(match.group())


def _blanks(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
