"""Removal of pasted text: mails, logs, tracebacks, and the object of a task."""

import re

_LOG = re.compile(
    r"^[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|[A-Z][a-z]{2} +\d{1,2}"
    r" \d\d:\d\d:\d\d |\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[\]:\s]"
    r"|\[?(?:trace|debug|info|warn|warning|error|fatal|critical)[\]:]"
    r"|I/O (?:error|timeout|exception|failure)\b"
    r"|at [\w.$<>]+\(|File \"[^\"\n]*\", line \d|Caused by: |[\w.]+(?:Error|Exception|Warning):"
    r"|Traceback \(most recent call last\)|\$ \S|#!|[\[{]\s*[\"{])[^\n]*$",
    re.MULTILINE,
)
_TRACE = re.compile(
    r"^[ \t]*Traceback \(most recent call last\):(?:\n[ \t]+[^\n]*)*(?:\n[^\n]+)?", re.MULTILINE
)
_MAIL = re.compile(
    r"(?:^|(?<=[:\n]))[ \t]*(?:hi|hello|hey|dear|good (?:morning|afternoon)|hallo|liebe[rs]?"
    r"|guten tag|sehr geehrte[rs]?|hola|estimad[oa]s?|querid[oa]s?|buenos días|bonjour|salut"
    r"|chers?|chères?)\b[^\n,:!.]{0,40}[,:!]\s.*?(?:^|(?<=[.!?]\s))[ \t]*(?:(?:best|kind|warm"
    r"|many)(?: regards| wishes)?|regards|sincerely|yours(?: \w+)?|(?:viele|liebe|beste"
    r"|herzliche) grüße|mit freundlichen grüßen|(?:un )?(?:cordial )?saludos?|atentamente"
    r"|cordialement|bien à (?:vous|toi)|amicalement)[,.]?[ \t]*(?:\n?[ \t]*[^\n]{0,60})$",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
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
    r"|(?<!\w)['\u2018\u201a][^\n]*['\u2019](?!\w)"
)


def without_pasted(text: str) -> str:
    """Blank out, in place, mails, logs and the object of a task."""
    for pattern in (_TRACE, _LOG, _HEADERS, _MAIL):
        text = pattern.sub(_blank, text)
    task = _TASK.search(text)
    if task is None:
        return text
    end = text.find("\n\n", task.end())
    rest = (
        text[task.end() :] if end < 0 or ":" in text[task.end() : end] else text[task.end() : end]
    )
    left = _AFTER_COLON.sub(_blank, rest, count=1) if ":" in rest else rest
    whole = text[: task.end()] + left + text[task.end() + len(rest) :]
    return _QUOTED.sub(_blank, whole)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())
