"""A bigger model behind an OpenAI-compatible HTTP endpoint, asked for JSON. Knows nothing of tools.

Whatever a server answers is a stranger's: it is bounded in time and size, read as JSON of the shape that was asked for,
and otherwise a problem in words. Only a server that cannot be asked at all is an error.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from edgeret.errors import InputError, MissingExtraError, PlannerError
from edgeret.planner.answers import Answer, Limits, Shape, read_answer, schema_of
from edgeret.planner.chat import Prompt
from edgeret.planner.exchange import Exchange, Reply, ServerFault
from edgeret.quoting import quoted, shortened
from edgeret.types import Usage

KEY_VARIABLE = "EDGERET_ENDPOINT_KEY"
"""The environment variable that holds a key, for those who give none."""
EXAMPLE_URL = "http://127.0.0.1:8080/v1"
MAX_SECONDS = 86_400.0

_LABEL = r"[A-Za-z0-9_-]{1,63}"
_URL = re.compile(
    rf"https?://(?:{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])(?::[1-9][0-9]{{0,4}})?(?:/[A-Za-z0-9._~%+:@,=/-]*)?"
)
_KEY = re.compile("[!-~]+")
_MOST_TOKENS = 1 << 31

Schema = Mapping[str, Any]
_FORMATS: tuple[Callable[[Schema], Schema], ...] = (
    lambda schema: {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}},
    lambda schema: {"type": "json_object", "schema": schema},
)
"""Ways to ask for JSON of a schema: OpenAI's, and llama.cpp's own."""
_NOT_UNDERSTOOD = (400, 422, 500)
"""Statuses of servers that do not know a way to ask: 500 is llama-cpp-python's, 422 that of FastAPI."""
_ELSEWHERE = (301, 302, 303, 307, 308, 404, 405)


class Endpoint:
    """An `Answerer` over HTTP. Thread-safe; between questions no connection stays open."""

    def __init__(self, url: str, model: str | None = None, key: str | None = None, timeout: float = 30.0) -> None:
        """`url` is what stands before `/chat/completions`. Without `model`, the first that the server lists is asked.
        Without `key`, EDGERET_ENDPOINT_KEY is, if it is set. An answer takes `timeout` seconds at most.

        Nothing is sent before the first question. Raises InputError for what can be none of these.
        """
        self.url = _checked(url)
        if not 0 < timeout <= MAX_SECONDS:
            raise InputError(f"an endpoint's timeout of {timeout} s; give more than 0, and at most {MAX_SECONDS:.0f}")
        self._model, self._timeout = model, timeout
        self._key = key or os.environ.get(KEY_VARIABLE, "")
        if self._key and not _KEY.fullmatch(self._key):
            raise InputError(
                "the endpoint's key has a space, a line break or a character outside ASCII in it; give it, or "
                f"{KEY_VARIABLE}, as the server's owner handed it out"
            )
        self._headers = {"Accept-Encoding": "identity", "Connection": "close", "Content-Type": "application/json"}
        if self._key:
            self._headers["Authorization"] = f"Bearer {self._key}"
        self._lock = threading.Lock()
        self._tls: Any = None
        self._format: Callable[[Schema], Schema] | None = None
        self._running: set[Exchange] = set()
        self._closed = False

    def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
        """As `Answerer.answer`, within the timeout and before the limits' deadline. Its usage counts the whole prompt
        as variable, and zero tokens where the server does not tell."""
        started = perf_counter()
        deadline = min(started + self._timeout, limits.deadline)
        found: dict[str, Any] = {}
        try:
            found = _object(self._complete(prompt, schema_of(shape), limits, deadline).body)
            text = _text(found)
        except ServerFault as fault:
            return Answer(None, _usage(found, started), str(fault))
        return read_answer(text, shape, _usage(found, started))

    def close(self) -> None:
        """Ends all questions that are being asked, each with a problem; later ones are a PlannerError."""
        with self._lock:
            self._closed = True
            running = tuple(self._running)
        for exchange in running:
            exchange.stop()

    def _complete(self, prompt: Prompt, schema: Schema, limits: Limits, deadline: float) -> Reply:
        """The server's reply to a question, asked in the way that it understood before, or in all ways."""
        if self._model is None:
            self._model = self._first_model(deadline)
        question = {
            "model": self._model,
            "messages": prompt.messages,
            "max_tokens": limits.max_tokens,
            "temperature": limits.temperature,
            "seed": limits.seed,
        }
        refused: Reply | None = None
        for form in _FORMATS if self._format is None else (self._format,):
            reply = self._send("POST", "/chat/completions", {**question, "response_format": form(schema)}, deadline)
            if reply.status < 300:
                self._format = form
                return reply
            refused = refused or reply
            if reply.status not in _NOT_UNDERSTOOD:
                break
        assert refused is not None
        raise self._fault(refused)

    def _first_model(self, deadline: float) -> str:
        reply = self._send("GET", "/models", None, deadline)
        if reply.status >= 300:
            raise self._fault(reply)
        models = _object(reply.body).get("data")
        first = models[0] if isinstance(models, list) and models else None
        name = first.get("id") if isinstance(first, dict) else None
        if not isinstance(name, str) or not name:
            raise ServerFault("the server lists no model; name one")
        return name

    def _send(self, method: str, path: str, content: Schema | None, deadline: float) -> Reply:
        """One request. Raises PlannerError where no model can be asked under this URL and with this key."""
        # Half a surrogate pair is no text; everywhere else in edgeret it becomes a question mark too.
        body = None if content is None else json.dumps(content, ensure_ascii=False).encode(errors="replace")
        exchange = Exchange(method, self.url + path, self._headers, body, self._context())
        with self._lock:
            if self._closed:
                raise PlannerError(f"{self.url}: this endpoint was closed; make another one")
            self._running.add(exchange)
        try:
            reply = exchange.run(deadline)
        finally:
            with self._lock:
                self._running.discard(exchange)
        if reply.status in (401, 403):
            found = "refuses the key" if self._key else "wants a key"
            raise PlannerError(
                f"{self.url}: the server {found} (status {reply.status}); "
                f"set {KEY_VARIABLE} to one that may use the model"
            )
        if reply.status in _ELSEWHERE:
            asked = (
                "name a model" if content is None else f"the model {quoted(str(self._model))} must be one of its own"
            )
            raise PlannerError(
                f"{self.url}{path}: not here (status {reply.status}); a right URL is what stands before "
                f"/chat/completions, such as {EXAMPLE_URL}, and {asked}"
            )
        return reply

    def _context(self) -> Any:
        """What certificates are verified with: made once, since reading all authorities takes a while."""
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("endpoint", "asking a model behind an endpoint") from None
        with self._lock:
            if self._tls is None:
                self._tls = httpx.create_ssl_context(verify=True, trust_env=False)
            return self._tls

    def _fault(self, reply: Reply) -> ServerFault:
        """A refusal in words, with the server's own; never with the key, should it repeat that."""
        try:
            error = _object(reply.body).get("error")
        except ServerFault:
            error = None
        told = error.get("message") if isinstance(error, dict) else error
        words = f"status {reply.status}"
        if isinstance(told, str) and told:
            words += f": {shortened(told.replace(self._key, '…') if self._key else told)}"
        if re.fullmatch("[0-9]{1,6}", reply.retry_after):
            words += f"; it wants to be left alone for {reply.retry_after} s"
        return ServerFault(words)


def _checked(url: str) -> str:
    """A URL without the slash at its end. What is refused is not repeated: it may hold a password."""
    if _URL.fullmatch(url):
        return url.rstrip("/")
    found = "neither http:// nor https:// at its beginning"
    if url.startswith(("http://", "https://")):
        found = "no host and path that are plain ASCII"
        found = "a query or fragment" if "?" in url or "#" in url else found
        found = f"a user or password (give a key, or set {KEY_VARIABLE})" if "@" in url.split("/")[2] else found
    raise InputError(f"the endpoint's URL has {found}; a right one is {EXAMPLE_URL} or https://example.org/v1")


def _object(body: bytes) -> dict[str, Any]:
    """A body as an object of JSON. Raises ServerFault."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise ServerFault("the server's reply is no JSON") from None
    if not isinstance(found, dict):
        raise ServerFault("the server's reply is no object")
    return found


def _text(found: Mapping[str, Any]) -> str:
    """The text of the first choice. Raises ServerFault if there is none, or it was cut off."""
    choices = found.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise ServerFault("the server's reply holds no text")
    if isinstance(choice, dict) and choice.get("finish_reason") == "length":
        raise ServerFault(f"cut off after {len(text)} characters")
    return text


def _usage(found: Mapping[str, Any], started: float) -> Usage:
    told = found.get("usage")
    details = told.get("prompt_tokens_details") if isinstance(told, dict) else None
    prompt, written = _count(told, "prompt_tokens"), _count(told, "completion_tokens")
    cached = min(prompt, _count(details, "cached_tokens"))
    return Usage(0, prompt, prompt - cached + written, cached, (perf_counter() - started) * 1e3)


def _count(counts: Any, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else 0
