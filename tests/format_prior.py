"""The prior of a second reader, written from section 16 of docs/FORMAT.md alone. Knows nothing of edgeret."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any

import numpy as np
from format_language import Rules, rules_in
from format_shown import ShownReader, first_nearest, unit
from format_wishes import Turned, wishes
from format_words import form_of, forms_of, in_words, stem, words_of
from numpy.typing import NDArray

Array = NDArray[Any]


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def log_sum(scores: Array) -> float:
    return float(np.log(np.exp(scores - scores.max()).sum()) + scores.max())


PRODUCERS = "browse check create detect fetch find get identify list locate look lookup query read retrieve search show"
CUT = re.compile(
    r"""(?<=[.!?;:])\s+
    | (?:(?<!\s)\s+)?(?:,\s*)?\b(?:and\s+then|and\s+also|as\s+well\s+as|after\s+that|afterwards?|in\s+addition
      |additionally|moreover|furthermore|plus|followed\s+by|along\s+with|while|then|also|and|or|but|so\s+that)\b\s*
    | (?:(?<!\s)\s+)?[,;]\s+""",
    re.IGNORECASE | re.VERBOSE,
)
KEY = re.compile(r"(.+?)[_ ]?(?:ids?|IDs?|Ids?|identifier|number|code|token|key|name)")


def a_map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def parts(query: str, rules: Rules) -> tuple[list[tuple[int, int]], list[int]]:
    """Section 16.4, or 16.11: where clauses are, and which of them are wishes."""
    if rules.code != "en":
        spans = [(i, j) for i, j in rules.pieces(query) if rules.count(query[i:j]) >= 2] or [(0, len(query))]
        if not (asked := rules.asking(query, spans)):
            spans = [(i, j) for i, j in rules.pieces(query) if rules.count(query[i:j]) >= 3] or [(0, len(query))]
        return spans, asked
    spans, begin = [], 0
    for match in CUT.finditer(query):
        spans.append((begin, match.start()))
        begin = match.end()
    spans = [(i, j) for i, j in [*spans, (begin, len(query))] if len(query[i:j].split()) >= 2] or [(0, len(query))]
    asked = wishes(query, spans)
    if not asked:
        spans = [(i, j) for i, j in spans if len(query[i:j].split()) >= 3] or [(0, len(query))]
    return spans, asked


class PriorReader(ShownReader):
    """Sections 5 (a query's rows) and 16. Whoever derives from it sets what stands here first."""

    info: dict[str, Any]
    tools: dict[str, dict[str, Any]]
    names: list[str]
    end: int
    place: Array
    examples: dict[str, Array]
    q: Array
    g: Array

    def _read_words(self) -> None:
        """Section 16.2: the sets of words of names, and rarities."""
        self.sets: list[dict[str, set[str]]] = []
        for name in self.names:
            tool = self.tools.get(name, {"name": "", "description": "", "parameters": {}})
            own = set(words_of(in_words(tool["name"])))
            keys = {word for key in a_map(tool["parameters"].get("properties")) for word in words_of(in_words(key))}
            said = [tool["description"], *(tool.get("examples", ()) if name in self.examples else ())]
            text = own | {word for part in said for word in words_of(part)}
            self.sets.append({"name": own, "text": text, "parameters": own | keys})
        known = {word for sets in self.sets for word in sets["text"] | sets["parameters"]}
        counts = {word: sum(word in sets["text"] for sets in self.sets) for word in known}
        self.rarity = {word: np.log(1 + len(self.names) / max(1, count)) for word, count in counts.items()}

    def _read_flow(self) -> None:
        """Section 16.3: takers' givers, by name and by key."""
        place = {name.lower(): i for i, name in enumerate(self.names)}
        producers = {stem(word) for word in PRODUCERS.split()}
        self.named: list[set[int]] = [set() for _ in self.names]
        self.keyed: list[set[int]] = [set() for _ in self.names]
        for i, name in enumerate(self.names):
            if name not in self.tools:
                continue
            tool, parameters = self.tools[name], self.tools[name]["parameters"]
            texts = [tool["description"]]
            texts += [str(a_map(v).get("description", "")) for v in a_map(parameters.get("properties")).values()]
            for mention in re.findall(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*[A-Za-z0-9_]", "\n".join(texts)):
                if not re.fullmatch("[a-z]+", mention) and place.get(mention.lower(), i) != i:
                    self.named[i].add(place[mention.lower()])
            required = parameters.get("required")
            for key in required if isinstance(required, list) else []:
                match = KEY.fullmatch(key) if isinstance(key, str) else None
                if match and (owner := set(words_of(in_words(match[1])))):
                    found = (
                        j for j, sets in enumerate(self.sets) if owner <= sets["name"] and sets["name"] & producers
                    )
                    self.keyed[i] |= {j for j in found if j != i}

    def _read_request(self, query: str, tokens: list[tuple[Array, int, int]]) -> None:
        """Sections 16.2, 16.4 and 16.5: what a request shares with names, its cosines, and static scores S."""
        rarity, said = self.rarity, set(words_of(query))

        def weight(chosen: set[str]) -> float:
            return float(sum(rarity[word] for word in chosen))

        known = said & rarity.keys()
        shared = {
            field: np.array([weight(known & sets[field]) / max(weight(sets[field]), 1e-6) for sets in self.sets])
            for field in ("name", "parameters")
        }
        shared["coverage"] = np.array([weight(known & sets["text"]) / max(weight(known), 1e-6) for sets in self.sets])
        texts = [weight(known & sets["text"]) * 0.25 / max(weight(sets["text"]), 1e-6) ** 0.5 for sets in self.sets]
        shared["text"] = np.array(texts)
        self.known = known
        self.said = [i for i, sets in enumerate(self.sets) if said and sets["name"] == said]
        t, stride = len(tokens), max(4, -(-len(tokens) // 24))
        starts = sorted({*range(0, t - 7, stride), t - 8}) if t > 8 else [0][:t]
        vectors = np.array([token for token, _, _ in tokens])
        windows = [vectors[i : i + 8].sum(axis=0) for i in starts] or [self.q]
        self.windows = unit(np.array(windows)) @ self.place.T
        self.rules = rules_in(query, stem)
        spans, asked = parts(query, self.rules)
        clauses = []
        for i, j in spans[:24]:
            first = sum(begin < i for _, begin, _ in tokens)
            last = sum(end <= j for _, _, end in tokens)
            if last > first:
                clauses.append(vectors[first:last].sum(axis=0))
        self.asked = np.vstack((self.q, unit(np.array(clauses or [self.q]))))
        self.clauses = self.asked[1:] @ self.place.T
        self.n_words, self.shared, self.query = self.rules.count(query), shared, query
        self._read_static(query, asked, spans, clauses, tokens)

    @staticmethod
    def _within(tokens: list[tuple[Array, int, int]], i: int, j: int) -> list[tuple[Array, int, int]]:
        """Section 16.4: the tokens of a clause, and where they stand in it."""
        return [(token, begin - i, end - i) for token, begin, end in tokens if begin >= i and end <= j]

    def _read_static(
        self,
        query: str,
        asked: list[int],
        spans: list[tuple[int, int]],
        clauses: list[Array],
        tokens: list[tuple[Array, int, int]],
    ) -> None:
        """Section 16.5: static scores S; and the wishes."""
        shared = self.shared
        self.cosines = np.vstack((self.q, self.g)) @ self.place.T
        w, c = self.windows.max(axis=0), self.clauses.max(axis=0)
        wanted = 8 * w + 2 * shared["name"] + 2 * shared["coverage"] + 4 * c + 3 * self.cosines[0]
        share = np.exp(3 * (wanted - wanted.max())) * (np.arange(len(wanted)) != self.end)
        share /= max(share.sum(), 1e-6)
        evidence = {
            **shared,
            "gives": np.zeros(len(w)),
            "key_gives": np.zeros(len(w)),
            "window": 10 * w,
            "clause": 10 * c,
        }
        for i in range(len(w)):
            evidence["gives"][list(self.named[i])] += share[i]
            evidence["key_gives"][list(self.keyed[i])] += share[i] / max(1, len(self.keyed[i]))
        self.static = sum(self.info["prior"]["tool"][key] * value for key, value in evidence.items())
        tools, weights = [self.tools.get(name) for name in self.names], self.info["prior"]["tool"]
        turned = Turned(tools, stem, words_of)

        def turns(text: str) -> Array:
            against, agrees = map(np.array, turned.of(text, None if self.rules.code == "en" else self.rules))
            return np.array(weights["opposed"] * against + weights["agrees"] * agrees)

        self.turns = turns
        self.static += turns(query) + weights["values"] * self.valued(query) - 2 * self.set_back(query)
        self.static[self.said] += 10
        self.static += self.gained() if self.examples else 0
        self.static[self.end] = 0
        self.wishes: list[tuple[Array, Array]] = []
        if len(clauses) == len(spans) and asked:
            said = [(i, query[slice(*spans[i])]) for i in asked]
            alone = [self.alone(text, self._within(tokens, *spans[i])) for i, text in said]
            self._read_wishes([(i, set(words_of(text)), turns(text)) for i, text in said], alone)

    @abstractmethod
    def alone(self, text: str, tokens: list[tuple[Array, int, int]]) -> Array:
        """Section 16.9: fused scores of a wish as a query of its own, by its text and its tokens."""

    def _read_wishes(self, asked: list[tuple[int, set[str], Array]], alone: list[Array]) -> None:
        """Section 16.9: d and d′ of every wish."""
        weights, n, rarity = self.info["prior"]["wish"], len(self.names), self.rarity

        def shares(said: set[str], field: str) -> Array:
            return np.array([sum(rarity[w] for w in said & self.known & sets[field]) for sets in self.sets])

        whole = [max(sum(rarity[w] for w in sets["name"]), 1e-6) for sets in self.sets]
        rows = np.array([10 * self.clauses[row] for row, _, _ in asked])
        for k, (_, said, turns) in enumerate(asked):
            text = shares(said, "text") / max(sum(rarity[w] for w in self.known), 1e-6)
            found = weights["cosine"] * rows[k] + weights["name"] * shares(said, "name") / whole
            found += weights["apart"] * (rows[k] - np.delete(rows, k, axis=0).mean(axis=0))
            found += weights["coverage"] * text / max(text.max(), 1e-6) + turns
            found[self.end] = alone[k][self.end] = -np.inf
            found = np.maximum(found - found.max(), -5) + np.maximum(alone[k] - alone[k].max(), -8)
            found[self.end] = -np.inf
            behind = np.maximum(found - found.max(), -5)
            due = behind.copy()
            best = int(behind.argmax())
            due[list(self.named[best] | self.keyed[best])] = 0
            self.wishes.append((due, behind))
        assert n == len(rows[0])

    def open(self, here: set[int]) -> list[int]:
        """Section 16.9: the wishes that no call is for."""
        if not self.wishes:
            return []
        shares = np.array([softmax(due) for due, _ in self.wishes])
        answered = {int(shares[:, call].argmax()) for call in here}
        return [k for k in range(len(self.wishes)) if k not in answered]

    def left_open(self, here: set[int]) -> dict[str, float]:
        """Section 16.9: `open`, `open_clear` and `answered` after calls of these."""
        left = self.open(here)
        clear = [np.delete(softmax(self.wishes[k][1]), list(here)).max() for k in left]
        return {"open": bool(left), "open_clear": max(clear, default=0), "answered": bool(self.wishes and not left)}

    def doubt_end(self, scores: Array, history: tuple[str, ...]) -> Array:
        """Section 9: what an open wish takes from `<end>` where it is the best."""
        found = self.left_open({self.names.index(name) for name in history if name in self.names})
        weights = self.info["prior"]["end"]
        if history and scores.argmax() == self.end:
            scores = scores.copy()
            scores[self.end] += weights["open"] * found["open"] + weights["open_clear"] * found["open_clear"]
        return scores

    def prior_scores(self, history: tuple[str, ...]) -> Array:
        """Section 16.6."""
        n, weights = len(self.names), self.info["prior"]["tool"]
        here = {self.names.index(name) for name in history if name in self.names}
        last = self.names.index(history[-1]) if history and history[-1] in self.names else None
        rows = (self.windows, self.clauses)
        after = [0 if last is None else min(first_nearest(r[:, last]) + 1, len(r) - 1) for r in rows]
        thirds = self.cosines[1:]
        evidence = {
            "later": 10 * self.windows[after[0] :].max(axis=0),
            "next_clause": 10 * self.clauses[after[1]],
            "third": 10 * (1.5 * thirds[min(len(history), 2)] - 0.5 * thirds.sum(axis=0)),
            "was_called": np.array([bool(g & here) for g in self.named]),
            "still_needed": np.array([bool(g - here) for g in self.named]),
            "key_was_called": np.array([bool(g & here) for g in self.keyed]),
            "key_still_needed": np.array([bool(g) and not g & here for g in self.keyed]),
        }
        if last is not None:
            apart = self.place - self.place.sum(axis=0) / max(1, n - 1)
            lengths = np.sqrt(np.maximum((apart**2).sum(axis=1), 1e-9))
            evidence["related"] = 10 * (apart @ apart[last]) / (lengths * lengths[last]) * (np.arange(n) != self.end)
        evidence["spent_name"], evidence["spent_coverage"] = self.spent(here)
        scores = self.static + sum(weights[key] * value for key, value in evidence.items())
        if weights["due"] and (left := self.open(here)):
            scores[self.end] = 0
            most = scores.max()
            scores = most + 0.7 * (scores - most) + weights["due"] * self.wishes[left[0]][0]
        scores[list(here)] -= 20
        scores[self.end] = -np.inf
        return scores

    def spent(self, here: set[int]) -> tuple[Array, Array]:
        """Section 16.6: what the words of the tools called add to names and coverage."""
        explained = self.known & {
            word for i in here for field in ("text", "parameters") for word in self.sets[i][field]
        }

        def share(field: str, whole: set[str] | None) -> Array:
            sums = [sum(self.rarity[word] for word in explained & sets[field]) for sets in self.sets]
            wholes = [sum(self.rarity[word] for word in sets[field] if whole is None) for sets in self.sets]
            total = sum(self.rarity[word] for word in whole or ())
            return np.array(sums) / np.maximum(wholes if whole is None else total, 1e-6)

        return share("name", None), share("text", self.known)

    def form(self) -> dict[str, bool]:
        """Section 16.7, before any call."""
        return form_of(self.query) if self.rules.code == "en" else self.rules.form(self.query)

    def explained(self) -> int:
        """Section 16.7: the most of the query's words that one tool says."""

        def read(properties: dict[str, Any], depth: int, told: set[str]) -> None:
            for key, value in properties.items() if depth else ():
                told.update(words_of(in_words(key)))
                for schema in (a_map(value), a_map(a_map(value).get("items"))):
                    texts = [schema.get("description"), *(e if isinstance(e := schema.get("enum"), list) else [])]
                    told.update(word for text in texts if isinstance(text, str) for word in words_of(text))
                    read(a_map(schema.get("properties")), depth - 1, told)

        most = 0
        for name, sets in zip(self.names, self.sets, strict=True):
            told = set(sets["text"])
            read(a_map(self.tools.get(name, {"parameters": {}})["parameters"].get("properties")), 4, told)
            most = max(most, len(told & set(words_of(self.query))))
        return most

    def among_tools(self, history: tuple[str, ...]) -> Array:
        """Section 16.7: log-probabilities of all names where the plan goes on."""
        scores = self.prior_scores(history)
        return np.array(scores - log_sum(scores))

    def prior(self, history: tuple[str, ...]) -> Array:
        """Section 16.7: log-probabilities of all names."""
        scores, k = self.prior_scores(history), len(history)
        best = scores.max()
        if k:
            here = [self.names.index(name) for name in history if name in self.names]
            rows = (self.windows, self.clauses)
            found = [np.maximum(r[:, here].max(axis=1), 0) if here else np.zeros(len(r)) for r in rows]
            most = [np.maximum(r.max(axis=1), 1e-6) for r in rows]
            reached = max((1 + first_nearest(self.windows[:, i]) for i in here), default=0)
            last = self.names.index(history[-1]) if history[-1] in self.names else None
            takers = [{i for i, givers in enumerate(flow) if last in givers} for flow in (self.named, self.keyed)]
            spent_name, spent_coverage = self.spent(set(here))
            evidence = {
                "constant": 1, "best": best, "words_by_call": np.log(self.n_words / k),
                "least_window": min(1, (found[0] / most[0]).min()), "least_clause": min(1, (found[1] / most[1]).min()),
                "drop": self.prior_scores(()).max() - best, "windows_left": 1 - reached / len(self.windows),
                "tools": np.log(min(len(self.names), 1000)), "fresh_name": (self.shared["name"] - spent_name).max(),
                "fresh_coverage": (self.shared["coverage"] - spent_coverage).max(),
                "fresh_window": 10 * max(0, (most[0] - found[0]).max()),
                "fresh_clause": 10 * max(0, (most[1] - found[1]).max()),
                "unused": bool(takers[0]) and not takers[0] & set(here),
                "key_unused": bool(takers[1]) and not takers[1] & set(here),
            }  # fmt: skip
            evidence |= self.left_open(set(here))
        else:
            evidence = {
                "constant": 1, "best": best, "cosine": self.cosines[0].max(), "name": self.shared["name"].max(),
                "window": max(self.windows.max(), self.clauses.max()), **self.form(),
                "explained": np.log1p(self.explained()), "words": np.log1p(len(set(words_of(self.query)))),
                "tools": np.log(max(1, min(len(self.names) - 1, 1000))),
            }  # fmt: skip
        weights = self.info["prior"]["end" if k else "nothing"]
        logit = sum(weights[key] * value for key, value in evidence.items())
        logit = float(np.clip(-10 if self.said and not k else logit, -30, 30))
        found = scores - log_sum(scores) - np.log1p(np.exp(logit))
        found[self.end] = logit - np.log1p(np.exp(logit))
        return found

    def word_vector(self, word: str) -> Array:
        """Section 5.2; whoever derives from it knows."""
        raise LookupError(word)

    def nearness(self, query: str) -> tuple[Array, Array]:
        """Section 16.8: how much of its name and of the request a tool's words mean."""
        told = [in_words(self.tools[name]["name"]) + " " + self.tools[name]["description"] for name in self.names]
        told += [said for name in self.examples for said in self.tools[name]["examples"]]
        said, known = forms_of([query]), forms_of(told)
        rare = {s: self.rarity.get(s, np.log(1 + len(self.names))) for s in said}

        def near(w: str, s: str) -> float:
            if w == s:
                return 1.0
            cosine = self.word_vector(known[w]) @ self.word_vector(said[s])
            return max(0.0, float(cosine - 0.3) / 0.7)

        name, coverage = np.zeros(len(self.names)), np.zeros(len(self.names))
        for i, sets in enumerate(self.sets if said else []):
            best = {w: max(near(w, s) for s in said) for w in sets["name"]}
            whole = sum(self.rarity[w] for w in best)
            name[i] = sum(self.rarity[w] * share for w, share in best.items()) / max(whole, 1e-6)
            meant = {s: max((near(w, s) for w in sets["text"]), default=0.0) for s in said}
            coverage[i] = sum(rare[s] * share for s, share in meant.items()) / sum(rare.values())
        return name, coverage

    def relevance(self, query: str) -> Array:
        """Section 16.8, of a reader whose names are the tools alone."""
        name, coverage = self.nearness(query)
        behind = self.clauses - self.clauses.max(axis=1, keepdims=True)
        evidence = {
            **self.shared,
            "name": name,
            "coverage": coverage,
            "window": 10 * self.windows.max(axis=0),
            "clause_lead": 10 * behind.max(axis=0),
        }
        weights = self.info["prior"]["search"]
        told = self.turns(query) + self.valued(query) - 2 * self.set_back(query)
        scores = np.array(sum(weights[key] * evidence[key] for key in weights)) + told
        scores[self.said] += 10
        return scores + (self.gained() * (1 if self.rules.code == "en" else 2.5) if self.examples else 0)
