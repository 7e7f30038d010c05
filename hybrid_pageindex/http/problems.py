"""The problems that the HTTP API reports: the status and the meaning of each code, as docs/errors.md lists them."""

from __future__ import annotations

from collections.abc import Mapping

# Codes are stable. ``docs/reference/generate.py`` writes this list into the documentation.
PROBLEMS: Mapping[str, tuple[int, str]] = {
    "bad_request": (
        400,
        "The request is well formed but cannot be carried out, for example because of an empty page list or "
        "an invalid condition. Read `detail` and change the request.",
    ),
    "cut_off": (400, "An upload ended before it was complete. Send it again."),
    "not_confirmed": (
        400,
        '`POST /clear` deletes everything and needs a confirmation. Send `{"confirm": "everything"}`.',
    ),
    "not_signed_in": (401, "The request has no token. Send `Authorization: Bearer TOKEN`."),
    "token_refused": (401, "The token was revoked, has expired or never existed. Ask for another token."),
    "not_allowed": (403, "The token lacks the role that the request needs. Use a token with this role."),
    "origin_not_allowed": (403, "A web page of another site sent the request. `serve --allow-origin` allows the site."),
    "proxy_not_trusted": (403, "The header with the user's name did not come from the trusted proxy."),
    "user_unknown": (403, "The proxy named a user who has no access. Create a token with `user` for this user."),
    "read_only": (403, "The home or the server is read-only."),
    "not_found": (404, "The library, document, page, job or address does not exist, or the token may not read it."),
    "model_not_found": (404, "Only below `/v1`: no library has this name."),
    "vector_store_not_found": (404, "Only below `/v1`: no library has this name."),
    "method_not_allowed": (
        405,
        "The address does not support this method. `Allow` lists the methods that it supports.",
    ),
    "too_slow": (408, "A request arrived too slowly."),
    "answering": (409, "The conversation is still answering another question. Wait until the answer has ended."),
    "conflict": (409, "The request conflicts with the current state: a name is in use, or a job has already ended."),
    "document_changed": (409, "The file changed while it was read. Try again."),
    "fetching_off": (
        409,
        "The setting `fetch_web` does not allow the server to fetch web addresses. Its owner can set it to public.",
    ),
    "in_progress": (409, "A request with this `Idempotency-Key` is still running. Wait."),
    "not_configured": (
        409,
        "The request needs a model, and no setting names one. Set a model, or send the request without this option.",
    ),
    "not_offered": (409, "The sample library exists already, or existed before."),
    "changed": (412, "The object has changed since the client read it. Read it again."),
    "too_large": (413, "The body is too large."),
    "too_many_files": (413, "The request has too many files. Send several requests."),
    "unsupported_type": (415, "This address does not accept a body of this content type."),
    "range_not_satisfiable": (416, "The file has no such bytes. `Content-Range` has its size."),
    "host_not_allowed": (
        421,
        "The server does not accept this host name. Start it with `--allow-host NAME` for each further name.",
    ),
    "document_too_large": (422, "A document exceeds a limit."),
    "document_unusable": (422, "A document cannot be read."),
    "invalid_request": (
        422,
        "Parameters or fields are invalid: `errors` lists each of them and suggests similar names.",
    ),
    "key_used": (422, "This `Idempotency-Key` was already used for a different request. Use a new key."),
    "password_needed": (422, "The file is encrypted."),
    "too_many_requests": (429, "This caller sends too many requests. Wait as long as `Retry-After` says."),
    "internal": (500, "An internal error. The server's log has the details."),
    "model_failed": (502, "A model gave no usable answer."),
    "busy": (
        503,
        "Another process holds a resource that the request needs, or there are too many requests at once. "
        "Wait as long as `Retry-After` says.",
    ),
    "server_ending": (503, "The server is shutting down. Send the request again."),
    "stopped": (503, "The work was stopped before it was complete."),
    "store_failed": (503, "The home cannot be read or written."),
    "store_unreachable": (
        503,
        "A server that stores part of the home (database, Qdrant or bucket) does not respond. Try again.",
    ),
    "invalid_value": (400, "Only below `/v1`: a parameter has an unsupported value: `param` names the parameter."),
    "string_above_max_length": (400, "Only below `/v1`: a text is too long."),
    "previous_response_not_found": (
        400,
        "Only below `/v1`: no stored response has the id in `previous_response_id`, or it belongs to another caller.",
    ),
}
