"""The English templates of all messages, by their codes.

``{name}`` stands for a parameter, ``{share:.2f}`` for a formatted parameter, and ``{parts:; }`` for a list with a
separator. ``{pages|page|pages}`` stands for the singular or plural that fits the number ``pages``. Do not change codes:
interfaces in other languages have a template for each code, and stored messages refer to them.
"""

from __future__ import annotations

from collections.abc import Mapping

_JOINED: Mapping[str, str] = {
    "text": "{text}",
    "list.commas": "{parts:, }",
    "list.semicolons": "{parts:; }",
    "list.sentences": "{parts: }",
}
_SEARCH: Mapping[str, str] = {
    "search.no-shared-word": "no page shares a word with the question",
    "search.no-document-matches": "no document matches the filters ({filters})",
    "search.gone": "documents that were removed or indexed again during the search are missing from the results: "
    "{names}; search again",
    "search.spelled": "showing results for '{question}': the library does not contain the words as they are written",
    "search.no-such-place": "{document} has no place called {places}",
    "search.quoted": "'{name}'",
    "search.not-reranked": "the model failed, so the results were not reranked: {error}",
    "search.embedder-failed": "the embedder failed, so pages are ranked by their words only: {error}",
    "search.without-vectors": "{missing} of {documents} documents have no vectors, so {ranking}; run embed",
    "search.vectors-behind": "the vectors of {documents} documents are not in the search index yet, so {ranking}",
    "search.by-words": "pages are ranked by their words only",
    "search.partly-by-words": "documents and pages are ranked by their words only",
    "search.other-embedders": "the libraries have vectors of different models, so pages are ranked by their words only",
    "search.index-behind": "the search index lacks {pages} pages: searches find them by their words only, and the "
    "index is updated in the background",
    "search.index-stuck": "the search index lacks {pages} pages: searches find them by their words only, and the index "
    "cannot be updated: {error}",
    "search.index-rebuilt": "the vector index was rebuilt from the catalog ({reason})",
    "search.home-read-only": "this home cannot be written ({reason}), so the time of this search is not recorded",
    "search.ended-early": "the model's search ended early ({error}), so only the pages that it had named were used",
    "search.unread": "{documents} {documents|document holds|documents hold} pages without text, which searches cannot "
    "find ({which}); {advice}",
    "search.unread-of": "{documents} of {searched} {documents|document holds|documents hold} pages without text, which "
    "searches cannot find ({which}); {advice}",
    "search.unread-document": "{document}: {unread} of {pages}",
    "search.more": "…",
    "search.other-document": "a search of the library does not choose {document} for this question, so its sections "
    "are scored by a search of this document alone",
    "search.no-page-of": "no page of {document} is among the best hits: all its sections score 0",
    "outline.improving": "this outline is being improved in the background and may change",
    "evidence.unclear": "the question names no subject to search for: name one, in words that the pages would use "
    "(earlier questions are not remembered)",
    "ocr.cannot-read": "OCR cannot read these pages: {error}",
    "ocr.off": "OCR is switched off by the setting ocr",
    "ocr.lacking": "{lacking}, or {install}, and index again to read these pages by OCR",
    "ocr.index-again": "index these documents again to read them by OCR; a vision model (vlm_model) may read pages "
    "where OCR fails",
    "ocr.index-again-vision": "index these documents again: OCR reads their text, and the vision model reads pages "
    "where OCR fails",
}
_EFFORT: Mapping[str, str] = {
    "requested": "as requested",
    "effort.no-model": "no language model is configured, so pages were ranked without a model",
    "effort.no-pages": "the search found no pages that a model could choose from",
    "effort.sure": "the first page probably answers the question ({sure:.2f}, and a model is used only below {below})",
    "effort.unsure": "the first page may not answer the question ({sure:.2f}, below {below})",
    "effort.one-call": "{reason}; one model call was enough, because one of the first pages probably answers it "
    "({likely:.2f})",
    "effort.failed-before": "the model failed while choosing documents and was not called again",
    "effort.failed": "the model failed ({error}), so pages were ranked without a model",
    "effort.named-none": "the model named no page, so pages were ranked without a model",
    "effort.named-unknown": "the model named only pages that do not exist, so pages were ranked without a model",
}
_ROUTE: Mapping[str, str] = {
    "route.by-cards": "the documents' metadata and the words of their pages",
    "route.one-document": "no document had to be chosen, because at most one can be searched",
    "route.no-field": "the question names no field to filter documents by, so {decided} decided",
    "route.no-model": "no model is used, so {decided} decided",
    "route.none-chosen": "the model chose no document, so {decided} decided",
    "route.failed": "the model failed ({error}), so {decided} decided",
    "route.failed-filter": "the model failed ({error}), so the filter was read from the documents' cards",
    "route.condition-dropped": "a condition was left out: {reason}",
    "route.unknown-field": "there is no field '{field}'",
    "route.no-order": "the field '{field}' has no order",
    "route.unknown-value": "the library has no {field} '{value}'",
    "route.no-document": "no document of {others} has {condition}",
    "route.the-filters": "the filters",
    "route.picked": "picked by the model",
    "route.picked-because": "picked by the model: {reason}",
    "route.earlier": "an earlier answer cites it",
}
_REASONS: Mapping[str, str] = {
    "reason.organisation": "organisation {name}",
    "reason.subject": "subject {name}",
    "reason.year": "year {year}",
    "reason.quarter": "year {year} Q{quarter}",
    "reason.title": "title",
    "verdict.asked-by-model": "read because the model asked for it",
    "verdict.tree": "found by searching the section tree, in '{title}'",
    "verdict.hidden": "{verdict}; hidden text on this page",
    "verdict.section-begins": "'{title}' begins on this page",
    "verdict.section-continues": "'{title}' continues on this page",
    "verdict.line": "'{line}' is on this page",
    "verdict.summary": "'{title}' summarises the whole document",
    "verdict.document-begins": "the document begins on this page",
    "verdict.after-cover": "the page after the cover",
    "verdict.file-page": "page {number} of the file",
    "verdict.file-slide": "slide {number} of the file",
    "verdict.label": "the file labels page {page} as {label}",
    "verdict.printed": "has the printed number {number}",
    "verdict.also-printed": "{verdict}, and the printed number is {number}",
    "verdict.named": "the model named this page (choice {rank} of {count})",
    "verdict.named-because": "the model named this page (choice {rank} of {count}): {reason}",
    "verdict.in-named": "the model named {section}, to which this page belongs (choice {rank} of {count})",
    "verdict.in-named-because": "the model named {section}, to which this page belongs (choice "
    "{rank} of {count}): {reason}",
}
_ANSWERS: Mapping[str, str] = {
    "answer.no-model": "no language model is configured: these are the best passages",
    "answer.model-failed": "the model failed ({error}): these are the best passages",
    "answer.nothing-held": "Not in the library: none of the pages holds enough of what the question asks for",
    "answer.partly-held": "Not in the library: the best pages hold only part of what the question asks for",
    "answer.no-page-named": "Not in the library: the model that searched named no page, and the best pages contain "
    "too little of what the question asks for",
    "answer.not-in-sources": "Not in the library: the model found no answer in the sources",
    "answer.not-in-sources-because": "Not in the library: the model found no answer in the sources: {reason}",
    "answer.asked-too-much": "Not in the library: the model asked for more pages than it may read",
    "answer.nothing-found": "Nothing was found: {hint}",
    "answer.which-document": "Which document is meant? The question names none of the {documents} that were searched. "
    "Name the document in the question, or limit the question to it",
    "answer.which-of": "Which document is meant? The question names none of the {documents} that were searched; the "
    "likeliest are {names}. Name the document in the question, or limit the question to it",
    "answer.cut-off": "the answer was cut off, because it reached the maximum length",
    "answer.citations-dropped": "citations of sources that do not exist were removed: {citations}",
    "answer.picture-not-seen": "the picture of source {source} ({document}, page {page}) was not looked at, and its "
    "text lacks what a chart or figure shows: open the page to compare",
    "answer.no-room": "{missing} of {pages} pages were not given to the model, because the setting answer_tokens "
    "leaves no room for them",
    "answer.text-only": "source {sources} was sent as text only: {error}",
    "answer.page-gone": "this page was removed after it was found, so only its passage was used: {page}",
    "answer.page-hides": "hidden text on this page was left out: {page}",
    "answer.page": "{document}, page {page}",
    "answer.vision-failed": "the vision model cannot be used: {error}",
    "answer.no-vision": "no vision model is configured (vlm_model), so no pictures were sent",
    "answer.other-words": "no document contains the words “{words}”, so pages that say it in other words were searched",
    "claim.no-source": "the sentence cites no source",
    "claim.not-on-page": "{numbers} {count|is|are} not on the cited page",
    "claim.address-not-on-page": "the address {address} is not on the cited page",
    "claim.quote-not-on-page": "'{quote}' is not on the cited page",
    "claim.comes-to": "the correct result is {result}",
    "claim.no-calculation": "the calculation contains more than numbers and signs, so it could not be checked",
    "claim.few-words": "few words of the sentence are on the cited page",
    "claim.pictured": "{reason}; the model also saw a picture of the page, with which the claim was not compared",
}
_TURNS: Mapping[str, str] = {
    "turn.words-added": "the model that completes a follow-up question failed ({error}), so the words of the previous "
    "question were added",
    "turn.no-question": "the model returned no complete question",
    "turn.no-model": "the language model cannot be used: {error}",
    "turn.documents-gone": "{documents} {documents|document|documents} of this conversation cannot be searched any "
    "more, because of changes to the library",
}
_GAPS: Mapping[str, str] = {
    "gap.to-fill-in": "to be filled in: '{quote}', page {page}",
    "gap.left-out": "text left out: '{quote}', page {page}",
    "gap.no-text": "'{title}' has no text, page {page}",
    "gap.part": "{part}, to which page {page} refers, is not in this file",
    "gap.caption": "{caption}, to which page {page} refers, does not exist",
    "gap.table": "page {page} announces a table that does not follow",
}
_FILES: Mapping[str, str] = {
    "file.same-content": "same content as a file indexed before",
    "file.changed-since": "the file has changed since it was read: index it again",
    "file.changed-while-refined": "the document was changed or removed while the layout model read its pages",
    "file.not-refined": "the section tree was made by rules, without the layout model: {reason}",
    "file.not-improved": "not improved by models: {reason}",
    "file.improved-before": "models have already improved a document with the same bytes",
    "file.changed-while-improved": "the document was changed or removed while models worked on it",
    "file.earlier-models-stay": "the results of earlier models are kept",
    "file.removed-while-read": "the document was removed while OCR read its pages",
    "file.moved": "moved from {path}",
    "file.members-not-read": "the files inside it were not read: {reason}",
    "file.member-not-read": "the file {name} inside it could not be read: {reason}",
    "file.members-more": "{count} more files inside it could not be read",
    "file.members-left-out": "inside this file, {left_out}",
    "file.paused": "paused: it continues when its job is resumed",
    "file.rest-cancelled": "the remaining work on this file was cancelled",
}
_JOBS: Mapping[str, str] = {
    "job.cancelled": "The job was cancelled.",
    "job.worker-silent": "The worker {worker} stopped responding while it ran this job.",
    "job.password-gone": "The process that knew the password of the file has ended. Enter the password again.",
    "job.file-missing": "The file of the document was missing.",
    "job.document-removed": "The document was removed.",
    "job.library-removed": "The library was removed.",
    "job.library-cleared": "The library was cleared.",
    "job.failed": "The job failed: {reason}.",
    "job.no-result": "the job of this file ended without a result.",
    "job.file-waits": "The file waits to be indexed.",
    "job-state.because": "{state}: {cause}",
    "job-state.done": "done",
    "job-state.failed": "failed",
    "job-state.cancelled": "cancelled",
    "job-state.paused": "paused",
    "job-state.retry": "tried again in {seconds} s, after {attempts} {attempts|failure|failures}: {cause}",
    "job-state.no-worker": "waiting for a worker, but none is running",
    "job-state.no-able-worker": "waiting for a worker that has {lacks}",
    "job-state.behind": "waiting behind {others} other {others|job|jobs}",
    "job-state.next": "next",
    "job-state.ending": "ending, because it was cancelled",
    "job-state.stalled": "stalled: its worker has not responded for {seconds} s; another worker takes it over",
    "job-state.texts": "{stage}, text {done:,} of {total:,}",
    "job-state.pages": "{stage}, page {done:,} of {total:,}",
    "job-state.pausing": "{state}, pausing after its current pages",
}
_INDEXING: Mapping[str, str] = {
    "index.files-missing": "the {documents|file|files} of {documents} {documents|document|documents} "
    "{documents|is|are} missing: pruning removes the {documents|document|documents}",
    "index.left-to-workers": "{files} {files|file|files} left to workers",
    "index.search-behind": "the search index could not be updated; the next search tries again: {error}",
    "index.pictures-unread": "text that is only a picture, on {pages} {pages|page|pages} of {files} "
    "{files|file|files}, is not read: {advice}",
    "index.without-vectors": "{waiting} of {documents} documents are new or have changed and have no vectors yet: run "
    "embed",
    "index.not-embedded": "{note} ({error})",
    "index.formats": "the supported formats are {formats}: convert other files, for example to PDF",
    "index.ending": "{files} {ending}",
    "index.no-ending": "{files} without an ending",
    "index.other-kinds": "{kinds} other {kinds|kind|kinds}",
    "index.left-out": "{files} {files|file was|files were} left out, because their formats are not supported ({kinds})",
    "index.out-of-reach": "{documents} {documents|document|documents} unreachable ({folder}), because a disk is not "
    "mounted or has changed; they stay indexed",
    "index.out-of-reach-in": "{documents} {documents|document|documents} unreachable ({folder} and {others} other "
    "{others|folder|folders}), because a disk is not mounted or has changed; they stay indexed",
    "refine.page-failed": "page {page} could not be read by the layout model: {reason}",
    "refine.pages-failed": "{pages} more pages could not be read by the layout model",
    "refine.no-package": "section trees are made by rules, without the layout model: the package onnxruntime, which "
    "the model needs, is not installed",
    "refine.no-model": "section trees are made by rules, without the layout model: this version of PyMuPDF has none, "
    "and a newer one has it",
    "refine.not-loaded": "section trees are made by rules, without the layout model: {reason}",
    "model.no-language": "no language model is configured (llm_model), so rules make the section trees, and "
    "summaries are sentences of the pages",
    "model.no-vision": "no vision model is configured (vlm_model), so pictures on pages are not described",
    "model.off": "models are switched off (enrich), so rules make the section trees, summaries are sentences of "
    "the pages, and pictures are not described",
    "model.vision-off": "vision is switched off (vision), so pictures of pages are not described",
    "model.language-broken": "the language model does not work, so indexing continues without it: {error}",
    "model.vision-broken": "the vision model does not work, so indexing continues without it: {error}",
    "model.given-up": "{model} was not called any more, so the rest was made without a model: {reason}",
    "model.checked-on-sheets": "pages {which} were checked only on contact sheets, because their pictures add nothing "
    "to their text",
    "model.scans-corrected": "text of scans was corrected from their pictures: pages {which}",
    "model.down": "the model was not called any more in this run: {reason}",
    "model.step-failed": "the step {step} was not done: {reason}",
    "model.other-reasons": "and {count} other reasons",
    "model.undescribed": "{pages} {pages|page was|pages were} not described ({which}): {reasons:; }",
    "model.refused-pages": "{pages} {pages|page was|pages were} not described ({which}), and the model is not "
    "called again until the pages, the model or its prompt change: {reasons:; }",
    "model.summaries-lost": "section summaries: {count} were made without the language model: {reason}",
    "model.description-failed": "description: {error} The description made without a model is kept",
    "model.price-unknown": "unknown (set model_prices)",
    "model.estimate": "an estimate without calling a model: {pages} {pages|page|pages} to be seen, {calls} "
    "{calls|call|calls}, {tokens_in:,} tokens in and {tokens_out:,} out, cost {cost}; more if headings turn out wrong "
    "or replies are unusable",
    "model.estimate-cached": "an estimate without calling a model: {pages} {pages|page|pages} to be seen, {calls} "
    "{calls|call|calls} besides {cached:,} with cached replies, {tokens_in:,} tokens in and {tokens_out:,} out, cost "
    "{cost}; more if headings turn out wrong or replies are unusable",
    "tree.failed": "section tree: {error} The headings found before are kept",
    "tree.no-better": "section tree: {reason}, and the model found no better headings",
    "tree.sample": "section tree: {share:.0%} of a sample of the headings found by way of {way} were right",
    "tree.not-trusted": "section tree: the model accepted wrong test headings, so its checks were not used",
    "tree.headings-unknown": "section tree: {lost} of {named} headings that the model named are on none of the pages "
    "that it saw",
    "tree.entries-unplaced": "section tree: {entries} entries of the printed contents were found on no page",
    "tree.headings-changed": "section tree: {dropped} headings were removed and {moved} moved on the model's advice",
}
_WARNINGS: Mapping[str, str] = {
    "warning.ocr-failed": "page {page} could not be read by OCR: {reason}",
    "warning.ocr-failed-more": "{pages} more pages could not be read by OCR",
    "warning.ocr-pending": "{pages} pages are not read by OCR yet: OCR continues in the background",
    "warning.unread": "{unread} of {pages} {pages|page has|pages have} no readable text (scanned?): {which}",
    "warning.ocr-empty": "{unread} of {pages} {pages|page shows|pages show} no text that OCR could read: {which}",
    "warning.read-by-ocr": "{read} of {pages} {pages|page was|pages were} read by OCR: {which}",
    "warning.pictures-read-by-ocr": "pictures on {read} of {pages} {pages|page was|pages were} read by OCR: {which}",
    "warning.read-by-vision": "{read} of {pages} {pages|page was|pages were} read by the vision model {model}: {which}",
    "warning.no-text": "no page of this document has text",
    "warning.hidden-marked": "text that is hidden on {pages} {pages|page|pages} is marked: {which}",
    "warning.hidden-left-out": "text that is hidden on {pages} {pages|page|pages} was left out: {which}",
    "warning.pages-unread": "{pages} other pages of {first}-{last} could not be read",
    "warning.misnamed": "the ending {ending} stands for {named}, but the content of the file is {format}, so it was "
    "read as {format}",
    "warning.left-open": "gaps in the document: {gaps:; }",
    "warning.left-open-more": "gaps in the document: {gaps:; } and {more} more",
}
_READING: Mapping[str, str] = {
    "read.controls-left-out": "{characters:,} control characters in the file were left out",
    "read.zero-bytes": "{count:,} zero bytes in the file were left out",
    "read.encoding-unnamed": "the file does not name its encoding; it was read as {encoding}",
    "read.encoding-guessed": "the file is not UTF-8 (line {line}); it was read as {encoding} (confidence "
    "{confidence:.2f}): save it as UTF-8 if it looks wrong",
    "read.label-overruled": "the encoding {label} that the file names does not match its bytes; it was read as "
    "{encoding}",
    "read.label-guessed": "the encoding {label} that the file names does not match its bytes; it was read as "
    "{encoding} (confidence {confidence:.2f}): save it as UTF-8 if it looks wrong",
    "read.bytes-replaced": "bytes that are not UTF-8 were replaced, first in line {line}",
    "read.replaced": "bytes that are not {encoding} were replaced by U+FFFD: {count:,}",
    "part.sheets": "the list of sheets",
    "part.strings": "the list of strings",
    "part.styles": "the list of styles",
    "part.sheet": "sheet '{sheet}'",
    "part.comment": "a comment of sheet '{sheet}'",
    "read.part-partly": "'{name}' in the file is damaged or nested too deeply, and was read only in part",
    "read.part-unread": "'{name}' in the file is damaged, and was not read",
    "read.named-part-partly": "{part} is damaged, and was read only in part",
    "read.record-unread": "a record of {part} is damaged, and was left out",
    "read.repaired": "the file is damaged and was repaired for reading; pages may be missing",
    "read.bookmarks-deep": "the bookmarks of the file were ignored, because they are nested deeper than {levels} "
    "levels",
    "read.bookmarks-damaged": "the bookmarks of the file are damaged and were ignored",
    "read.bookmarks-unread": "the file has bookmarks, but none that can be read",
    "read.front-damaged": "the front matter of the file is damaged, so it was read as text",
    "read.many-pictures": "page {page} shows {pictures:,} pictures; OCR reads the words of the first {limit}",
    "read.beside-main": "{words:,} {words|word|words} beside the main text of the page {words|was|were} left out",
    "read.site-frame": "{words:,} {words|word|words} of navigation, banners and footers {words|was|were} left out",
    "read.hidden-elements": "{elements:,} hidden {elements|element|elements} of the page {elements|was|were} left out",
    "read.hidden-words": "{words:,} {words|word|words} of hidden text, which is not printed, {words|was|were} left out",
    "read.deleted-words": "{words:,} {words|word|words} that a tracked change deletes {words|was|were} left out",
    "read.hidden-sheets": "{hidden} of {sheets} {sheets|sheet|sheets} {hidden|is|are} hidden, but "
    "{hidden|was|were} read",
    "read.hidden-rows": "sheet '{sheet}': {rows} {rows|row is|rows are} hidden, but {rows|was|were} read",
    "read.hidden-columns": "sheet '{sheet}': {columns} {columns|column is|columns are} hidden, but "
    "{columns|was|were} read",
    "read.hidden-slides": "{hidden} of {slides} {slides|slide|slides} {hidden|is|are} hidden, but "
    "{hidden|was|were} read",
    "read.slides-missing": "the file lists {slides} {slides|slide that is|slides that are} missing in it",
    "read.slide-unread": "slide {slide} could not be read ({reason})",
    "read.shape-unread": "a shape of slide {slide} could not be read ({reason})",
    "read.sheet-unread": "sheet '{sheet}' could not be read ({reason})",
    "read.sheet-beside": "drawings or comments of sheet '{sheet}' are damaged",
    "read.uncomputed": "sheet '{sheet}': {formulas} {formulas|formula has|formulas have} no stored value; "
    "{formulas|the formula is|the formulas are} shown",
    "read.formats-unread": "the number formats of the workbook could not be read ({reason})",
    "read.styles-unread": "the styles of the workbook are damaged: numbers are shown without their formats",
    "read.with-libreoffice": "read with LibreOffice, which converted the file",
    "read.without-libreoffice": "read without LibreOffice: the text, headings and tables were read, but not list "
    "numbers and pictures",
    "read.stray-lines": "{lines} {lines|line|lines} in the header of a message {lines|is|are} not header fields; "
    "{lines|it is|they are} shown after the header",
    "read.encrypted-part": "the message is encrypted with {kind}, so its text cannot be read",
    "read.encrypted-text": "a text in the message is encrypted with PGP and was left out",
    "read.outlook-unread": "the attachment winmail.dat of Outlook cannot be read ({reason})",
    "read.outlook-empty": "the attachment winmail.dat is empty or damaged",
    "read.unescaped": "the file is not well-formed XML: some & are not written as &amp;",
    "read.partly": "the file is damaged or nested too deeply, and was read only in part",
    "read.entries-left-out": "{words:,} {words|word|words} of index entries, generated lists and technical data "
    "{words|was|were} left out",
    "read.parts-elsewhere": "{parts} {parts|part of the document is|parts of the document are} in other files; index "
    "these, too",
    "read.lines-no-json": "{lines} {lines|line|lines} of the file {lines|is|are} not JSON, and {lines|was|were} read "
    "as text",
    "read.encoded-left-out": "{values} {values|encoded value|encoded values} in the file (pictures, keys or other "
    "data) {values|was|were} left out",
    "read.many-groups": "the whole file was read, but only the first {groups:,} groups of values became sections",
    "read.no-toml": "the file is not valid TOML ({reason}), and was read as text",
    "read.no-yaml": "the file is not valid YAML, and was read as text",
    "read.no-yaml-at": "the file is not valid YAML (line {line:,}: {reason}), and was read as text",
    "read.deep-values": "the file is nested too deeply: values below level {level} were read without their levels",
    "read.cut-value": "the file ends in the middle of a value, and was read only in part",
    "read.no-strict-json": "the file is not strict JSON, first in line {line:,}",
    "read.cut-entry": "the file ends in the middle of an entry",
    "read.cut-record": "the file ends in the middle of a record",
}
_DOCUMENT_TYPES: Mapping[str, str] = {
    f"document-type.{name.replace(' ', '-')}": name
    for name in (
        "annual report", "quarterly report", "current report", "earnings release", "earnings call", "proxy statement",
        "prospectus", "press release", "financial statements", "sustainability report", "agreement", "policy",
        "procedure", "manual", "statute", "standard", "judgment", "article", "thesis", "slides", "minutes", "invoice",
        "resume", "book", "letter", "brochure",
    )
}  # fmt: skip

TEMPLATES: Mapping[str, str] = {
    **_JOINED, **_SEARCH, **_EFFORT, **_ROUTE, **_REASONS, **_ANSWERS, **_TURNS, **_GAPS, **_FILES, **_JOBS,
    **_INDEXING, **_WARNINGS, **_READING, **_DOCUMENT_TYPES,
}  # fmt: skip
