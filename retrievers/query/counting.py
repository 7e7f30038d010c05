"""Recognise questions for a count or a complete list, which an exhaustive search answers.

How many contracts mention "change of control"? In wie vielen Urteilen wird der Auskunftsanspruch erwähnt? List every
document that names Acme or Bolt. Welche Dokumente erwähnen "Acme" nicht? On which pages does force majeure appear? Wie
oft kommt "höhere Gewalt" vor?

The whole question must have such a form. A question with any other condition is not recognised, because its answer
requires reading the pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Unit = Literal["documents", "pages", "places"]
MOST_WORDS = 6  # maximum words without quotation marks; a longer text describes something
_LONGEST = 400  # maximum characters of a question

_OPEN, _CLOSE = "\"'“”„«»‚‘’「『", "\"'“”«»‘’」』"
_QUOTED = re.compile(r"[\"“„«「]\s*([^\"“”„«»「」]{1,200}?)\s*[\"”“»」]|(?<!\w)['‘‚]([^'‘’‚]{2,200}?)['’‘](?!\w)")

_KINDS = (
    r"documents?|files?|pdfs?|contracts?|agreements?|leases?|licen[cs]es|filings?|reports?|papers?|articles?"
    r"|statutes?"
    r"|laws?|acts?|regulations?|manuals?|guides?|handbooks?|books?|decisions?|judg(?:e)?ments?|rulings?|cases?"
    r"|opinions?"
    r"|transcripts?|meetings?|minutes|polic(?:y|ies)|presentations?|decks?|e-?mails?|letters?|memos?|memorandums?"
    r"|invoices?|texts?|sources?|studies|study|10-[kq]s?|8-ks?|notebooks?|spreadsheets?|slides?|records?|plans?"
)
_NO_ADJECTIVE = r"(?!(?:that|which|the|of|in|on|for|and|or|with|an?|to|is|are|by|from|at|who)\b)"
_KIND = rf"(?:(?:{_NO_ADJECTIVE}[a-z][\w-]* ){{0,3}}?(?:{_KINDS})|pages?)"
_LOT = (
    r"(?:(?:\w+ )?(?:library|libraries|collections?|corpus|archive|folders?|data ?sets?|database|index|home)"
    rf"|{_KINDS.replace('s?', 's')})"
)
_SCOPE = (
    rf"(?: (?:(?:here|overall|altogether|in total|in all)|(?:in|within|across|throughout|from|of|among) "
    rf"(?:(?:the|this|these|those|our|my|your|all|whole|entire|of) ){{1,3}}{_LOT}|in (?:here|total)))?"
)
_OF = r"(?:of )?(?:(?:the|these|those|our|my|your|all|them) ){0,2}(?:\d+ )?"
_NOT = (
    r"(?P<not>(?:do(?:es)?|did)(?:n['’]t| not) |(?:never|fail to) |without )?"
    r"(?:(?:do(?:es)?|did|ever|also|actually|explicitly|expressly) )?"
)
_TERM = r"(?:the |an? )?(?:exact )?(?:words?|terms?|phrases?|expressions?|names?|strings?|keywords?)"
_SAYS = (
    rf"(?:mention(?:s|ing)?|mention of|nam(?:e|es|ing)|refer(?:s|ring)? to|referenc(?:e|es|ing)|cit(?:e|es|ing)"
    rf"|quot(?:e|es|ing)"
    rf"|contain(?:s|ing)?|(?:(?:us|hav|includ|featur)(?:e|es|ing)|has|with|shows?|showing)(?= (?:{_TERM}\b|[\"'“„«‘])))"
)
_DONE = (
    r"(?P<no>not |never )?(?:ever |also |explicitly )?(?:mentioned|named|referred to|referenced|cited|quoted"
    r"|used|found|contained)"
    r"(?: (?:at least once|anywhere))?"
)
_COMES = r"(?:appears?|occurs?|comes? up|shows? up|stands?)"
_X = r"(?P<x>.+?)"
_END = r"(?: (?:at least once|anywhere|somewhere|at all|by name|in (?:the|its|their) texts?))?"
_THESE, _REST = rf"(?P<kind>{_KIND}){_SCOPE}", rf"{_X}{_SCOPE}{_END}"
_LACK = rf"(?P<lack>(?:do(?:es)? )?(?:lack(?:s|ing)?|omit(?:s|ting)?)|without)(?= (?:{_TERM}\b|[\"'“„«‘]))"
_SAY = rf"(?:{_NOT}{_SAYS}|{_LACK})"
_STANDS, _IS = rf"(?:{_DONE}|{_COMES})", r"(?:is|are|was|were|does|do|did|can)"
_POLITE = (
    r"(?:(?:please|and|so|ok(?:ay)?)[,\s]+)*(?:(?:can|could|would) you (?:please )?(?:tell me |say )?"
    r"|(?:do you know )|i (?:want|need) to know |tell me )?"
)
_GIVE = (
    r"(?:list|name|show|give|find|enumerate|identify|print|return|get|count|tell)(?: (?:me|us))?(?: a (?:full "
    r"|complete )?list of)?"
    r"(?: the (?:names|titles) of)?"
    r"(?: (?:all|every(?: (?:single|one of))?|each|any|up))?(?: of)?(?: (?:the|these|those|our|my))?"
)
_ANY = r"any (?:(?:one )?of (?:the |these |those |our |my |your ){0,2}(?:\d+ )?)?"

_ENGLISH = (
    rf"how many {_OF}{_THESE} (?:(?:that|which) )?{_SAY} {_REST}",
    rf"how many {_OF}{_THESE} {_IS} {_X} {_STANDS} (?:in|on)",
    rf"(?:in|on) how many {_OF}{_THESE} {_IS} {_X} (?:be )?{_STANDS}{_SCOPE}{_END}",
    rf"(?:what is |what['’]s |give me |count )?(?:the )?(?:total |exact )?number of {_OF}{_THESE} (?:(?:that|which)"
    rf" )?{_SAY} {_REST}",
    rf"(?P<list>which|what) {_OF}{_THESE} (?:(?:that|which) )?{_SAY} {_REST}",
    rf"(?:in|on) (?P<list>which|what) {_OF}{_THESE} {_IS} {_X} (?:be )?{_STANDS}{_SCOPE}{_END}",
    rf"(?P<list>which|what) {_OF}{_THESE} {_IS} {_X} {_STANDS} (?:in|on)",
    rf"(?P<list>{_GIVE}) {_THESE},? (?:(?:that|which|who) )?{_SAY} {_REST}",
    rf"(?P<list>{_GIVE}) {_THESE},? (?:where|in which|on which) {_X} (?:(?:is|are) {_DONE}|{_COMES}){_SCOPE}{_END}",
    rf"(?P<list>all|every|each)(?: of)?(?: the| these| those| our| my)? {_THESE},? (?:(?:that|which) )?{_SAY} {_REST}",
    rf"(?:are|is) there {_ANY}{_THESE},? (?:(?:that|which) )?{_SAY} {_REST}",
    rf"do(?:es)? {_ANY}{_THESE} {_SAY} {_REST}",
    rf"{_IS} {_X} {_STANDS} (?:in|on) {_ANY}{_THESE}",
    rf"(?P<times>how (?:often|many times)|(?:at|in) how many places) {_IS} {_X} {_STANDS}{_SCOPE}",
    r"(?:what is |what['’]s )?(?:the )?(?:total )?(?P<times>number) of (?:times|places) (?:that |where )?"
    rf"{_X} {_STANDS}{_SCOPE}",
    rf"(?P<times>how (?:often|many times)) do(?:es)? {_OF}{_THESE} {_SAYS} {_X}{_SCOPE}",
    rf"how many (?P<times>times|mentions|occurrences|instances)(?: of) {_X} (?:are|is) there{_SCOPE}",
    rf"(?:count|list|show(?: me)?|find) (?:all |every )?(?:the )?(?P<times>mentions?|occurrences?|instances?)"
    rf" of {_X}{_SCOPE}",
)

_DE_KINDS = (
    r"dokumenten?|dateien|vertr(?:ä|ae)gen?|vereinbarungen|berichten?|urteilen?|entscheidungen|beschl(?:ü"
    r"|ue)ssen?|artikeln?"
    r"|handb(?:ü|ue)chern?|b(?:ü|ue)chern?|gesetzen?|protokollen?|unterlagen|texten?|pr(?:ä|ae)sentationen"
    r"|e-?mails|briefen?"
    r"|rechnungen|akten|quellen|richtlinien|anleitungen|filings|pdfs|studien|aufs(?:ä|ae)tzen?|folien|papieren?"
    r"|mietvertr(?:ä|ae)gen?"
    r"|\w+(?:vertr(?:ä|ae)gen?|vereinbarungen|berichten?|urteilen?|protokollen?)"
)
_DE_KIND = rf"(?:(?:[a-zäöüß][\w-]* ){{0,2}}?(?:{_DE_KINDS})|seiten)"
_DE_SCOPE = (
    rf"(?: (?:hier|insgesamt|(?:in|aus|von|unter) (?:(?:der|den|dem|dieser|diesen|allen|unserer|unseren|meiner"
    rf"|meinen|gesamten|ganzen) ){{1,3}}"
    rf"(?:bibliothek|sammlung|bestand|archiv|ordner|{_DE_KINDS})|(?:der|dieser) (?:bibliothek|sammlung"
    rf"|{_DE_KINDS})))?"
)
_DE_SAYS = (
    r"(?:erw(?:ä|ae)hn(?:en|t)|nenn(?:en|t)|enth(?:a|ä|ae)lt(?:en)?|zitier(?:en|t)|verweis(?:en|t) auf"
    r"|sprech(?:en)? von|beinhalt(?:en|et)"
    r"|benutz(?:en|t)|verwend(?:en|et)|f(?:ü|ue)hren)"
)
_DE_IS = r"(?:wird|werden|kommt|kommen|steht|stehen|taucht|tauchen|ist|sind|findet|finden)"
_DE_DONE = (
    r"(?P<no>nicht |nie )?"
    r"(?:erw(?:ä|ae)hnt|genannt|zitiert|verwendet|benutzt|vor|auf|enthalten|zu finden|gefunden|sich)"
)
_DE_THAT = (
    r"(?:(?:erw(?:ä|ae)hnt|genannt|zitiert) (?:wird|werden)|vorkomm(?:t|en)|auftauch(?:t|en)|steht|stehen"
    r"|enthalten (?:ist|sind))"
)
_DE_END = r"(?P<end> (?:nicht|nie))?(?: (?:mindestens einmal|irgendwo|namentlich|auf))?"
_DE_THESE, _DE_REST = rf"(?P<kind>{_DE_KIND}){_DE_SCOPE}", rf"{_X}{_DE_SCOPE}{_DE_END}"
_DE_LIST = (
    r"(?P<list>list(?:e|et)|nenn(?:e|t)?|zeig(?:e|t)?|find(?:e|et)?|gib|z(?:ä|ae)hl(?:e|t)?)(?: (?:mir|uns|bitte))* "
    r"(?:(?:alle|s(?:ä|ae)mtliche|jedes|die) )+"
)
_GERMAN = (
    rf"wie\s*viele (?:der |dieser )?{_DE_THESE} {_DE_SAYS} {_DE_REST}",
    rf"(?:in|auf) wie\s*vielen (?:der |dieser )?{_DE_THESE} {_DE_IS} {_X} {_DE_DONE}",
    rf"(?P<list>welche) (?:der |dieser )?{_DE_THESE} {_DE_SAYS} {_DE_REST}",
    rf"(?:in|auf) (?P<list>welchen) (?:der |dieser )?{_DE_THESE} {_DE_IS} {_X}(?: {_DE_DONE})?",
    rf"{_DE_LIST}{_DE_THESE}(?: auf)?,? (?:die|welche) {_X}{_DE_END} {_DE_SAYS}(?: auf)?",
    rf"{_DE_LIST}{_DE_THESE}(?: auf)?,? (?:(?:in|auf) denen|worin) {_X}{_DE_END} {_DE_THAT}",
    rf"(?P<times>wie (?:oft|h(?:ä|ae)ufig)) {_DE_IS} {_X}{_DE_SCOPE} {_DE_DONE}",
)  # fmt: skip
_TAIL = re.compile(
    r"[\s,;.:?!]+(?:and[\s,]+|und[\s,]+)?(?:if so[\s,]+|wenn ja[\s,]+)?"
    r"(?:which(?: ones?)?(?: (?:are they|do|does|is it))?|in which(?: ones?)?(?: (?:are they|is it))?|where"
    r"|how many(?: (?:are there|of them|do|are they))?|what are they"
    r"|(?:please )?(?:list|name|show) (?:them|these)(?: all)?"
    r"|(?:in )?welchen?(?: (?:sind das|sind es))?|wie\s*viele(?: (?:sind es|sind das))?"
    r"|(?:nenne|liste|zeige) sie(?: auf| mir)?(?: alle)?)$",
    re.IGNORECASE,
)
"""A second request for the number or the names, such as ", and which ones"."""
_GERMAN_POLITE = r"(?:bitte[,\s]+|(?:kannst du|k(?:ö|oe)nnen sie)(?: mir)?(?: bitte)?(?: sagen)?[,\s]+)?"

_DECORATION = re.compile(
    r"^(?:(?:the|an?|any|some|der|die|das|den|dem|des|ein(?:e|en|em|er)?|auf) )?"
    r"(?:(?:exact )?(?:words?|terms?|phrases?|expressions?|names?|strings?|keywords?|company|organi[sz]ation"
    r"|person|city|country|product"
    r"|wort|wörter|begriff|ausdruck|wendung|namen?|firma|unternehmen|stadt|stichwort|worten?)(?: (?!(?:and|or"
    r"|und|oder)\b)|$))?",
    re.IGNORECASE,
)
_TRAILING = re.compile(r" (?:clauses?|provisions?|klauseln?|bestimmung(?:en)?)$", re.IGNORECASE)
_JOINT = re.compile(r"\s*(?:,\s*)?\b(and|or|und|oder|as well as|sowie)\b\s*|\s*,\s*", re.IGNORECASE)
_JOINING = re.compile(r"\b(?:and|or|und|oder|both|either|sowohl|als auch|entweder|as well as|sowie)\b|[\s,]", re.I)
_BUT_NOT = re.compile(
    r"\s*,? (?:but|and|aber|und|jedoch) (?:not|nicht|(?:do|does)(?: not|n['’]t) (?:mention|name|contain)) ",
    re.IGNORECASE,
)
_DESCRIBES = re.compile(
    r"^(?:for|to|in|on|of|with|by|from|at|as|für|zu|mit|von|bei|nach)\b"
    r"|\b(?:that|which|who|whom|whose|what|when|where|why|how|is|are|was|were|has|have|had|does|do|if|because"
    r"|than|since|before|after"
    r"|its|their|his|her|it|them|they|wer|welche[rsnm]?|wann|wo|warum|wenn|weil|ist|sind|hat|haben|its|dass"
    r"|anything|something|about|over|more|less|between|during|under|least)\b",
    re.IGNORECASE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CountQuestion:
    """A question that asks for a count or a list of documents, pages or mentions.

    A document must contain the ``words`` (all of them if ``together``, otherwise any) and none of ``without``.
    ``phrase`` is the original text if "and" or "or" may be part of a name ("terms and conditions"). ``absent`` asks for
    documents that lack the words. ``quoted`` is True for words in quotation marks. ``kind`` is the question's noun for
    the documents, "" for none. ``listed`` asks for a list instead of a number.
    """

    unit: Unit
    words: tuple[str, ...]
    together: bool = True
    without: tuple[str, ...] = ()
    absent: bool = False
    quoted: bool = False
    phrase: str = ""
    kind: str = ""
    listed: bool = False
    language: Literal["en", "de"] = "en"


def count_question(question: str) -> CountQuestion | None:
    """Return what a question asks to count or to list completely, None for other questions."""
    plain = " ".join(question.split()).strip(" ?!.…？")
    if not plain or len(question) > _LONGEST:
        return None
    plain = _TAIL.sub("", plain)
    for language, match in _matches(plain):
        if (counting := _read_question(match, language)) is not None:
            return counting
    return None


def _matches(plain: str) -> list[tuple[Literal["en", "de"], re.Match[str]]]:
    matches: list[tuple[Literal["en", "de"], re.Match[str]]] = []
    lead = plain.casefold()
    if re.search(r"\b(?:wie\s*viel|welche|wie oft|wie häufig|alle|sämtliche|jedes|die)", lead):
        matches += [("de", match) for pattern in _compiled("de") if (match := pattern.fullmatch(plain))]
    matches += [("en", match) for pattern in _compiled("en") if (match := pattern.fullmatch(plain))]
    return matches


_PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {}


def _compiled(language: str) -> tuple[re.Pattern[str], ...]:
    """Return the compiled patterns of a language. They are compiled at the first call."""
    if language not in _PATTERNS:
        polite, forms = (_POLITE, _ENGLISH) if language == "en" else (_GERMAN_POLITE, _GERMAN)
        _PATTERNS[language] = tuple(re.compile(polite + form, re.IGNORECASE) for form in forms)
    return _PATTERNS[language]


def _read_question(match: re.Match[str], language: Literal["en", "de"]) -> CountQuestion | None:
    parts = match.groupdict()
    kind = " ".join((parts.get("kind") or "").split())
    page = kind.casefold() in ("page", "pages", "seiten")
    unit: Unit = "places" if parts.get("times") else "pages" if page else "documents"
    listed = bool(parts.get("list"))
    written, _, but = _split_once(parts["x"], _BUT_NOT)
    absent = any(parts.get(name) for name in ("not", "no", "end", "lack"))
    words, together, quoted = _search_words(written)
    without, _, _ = _search_words(but) if but else ((), True, False)
    if listed and not quoted and _single(kind, parts["list"]):
        return None  # the question asks for one document, which a search finds
    if not words or (unit != "documents" and (len(words) > 1 or without or absent)):
        return None  # for pages and places, only one word or phrase is counted
    phrase = "" if quoted or len(words) < 2 else _bare(written)
    return CountQuestion(unit, words, together, without, absent, quoted, phrase, "" if page else kind, listed, language)


def _single(kind: str, how: str) -> bool:
    """Return whether a question asks for a single document, such as "which document names …".

    It does if it begins with "which" or "what" and its noun is singular.
    """
    last = kind.split()[-1].casefold() if kind else ""
    return how.casefold() in ("which", "what") and not last.endswith("s") and last != "minutes"


def _search_words(written: str) -> tuple[tuple[str, ...], bool, bool]:
    """Return the words or phrases to search for, whether all are required, and whether quoted.

    Return no words if the text contains more than words to search for.
    """
    quoted = [(word or other).strip() for word, other in _QUOTED.findall(written)]
    if quoted:
        left = _QUOTED.sub(" ", written)
        if _JOINING.sub("", _bare(left)):
            return (), True, False  # there is other text besides the quotations
        return tuple(dict.fromkeys(quoted)), not re.search(r"\b(?:or|oder)\b", left, re.I), True
    plain = re.sub(r"^(?:both|either|sowohl|entweder) ", "", written.strip(), flags=re.I)
    bare = _bare(plain)
    joints = {" ".join((word or "").split()).casefold() for word in _JOINT.findall(bare)}
    split = [word.strip(" ,;:") for word in _JOINT.sub("\0", bare).split("\0")]
    pieces = tuple(dict.fromkeys(_bare(word) or word for word in split if word))
    if not pieces or any(len(word.split()) > MOST_WORDS or _DESCRIBES.search(word) for word in pieces):
        return (), True, False
    return pieces, not joints & {"or", "oder"}, False


def _bare(text: str) -> str:
    """Return a text without article and noun at its beginning ("the word", "the company")."""
    return _TRAILING.sub("", _DECORATION.sub("", text.strip(" ,;:"))).strip(" ,;:")


def _split_once(text: str, at: re.Pattern[str]) -> tuple[str, str, str]:
    match = at.search(text)
    return (text[: match.start()], match[0], text[match.end() :]) if match else (text, "", "")
