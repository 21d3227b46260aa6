"""Requests are taught to find the tools that they need, and nothing where nothing fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from edgeret_export.encoders.chosen import FEW, Asked, Chosen, texts_of
from edgeret_export.encoders.pairs import Anchor


def asked(name: str, tools: int, requests: int) -> Asked:
    texts = [f"{name} tool {i}" for i in range(tools)]
    anchors = []
    for i in range(requests):
        right = texts[i % tools]
        near = tuple(texts[(i + k) % tools] for k in range(1, 6))
        anchors.append(Anchor(f"{name} request {i}", (right,), frozenset([right]), near))
    anchors.append(Anchor(f"{name} greeting", (), frozenset(), tuple(texts[:5])))
    return Asked(texts, anchors)


def chosen(sets: Sequence[Asked], seed: int = 0) -> Chosen:
    return Chosen(sets, {text: [i] for i, text in enumerate(texts_of(sets))}, seed)


def test_a_batch_has_all_tools_of_small_sets_and_near_ones_of_large_ones() -> None:
    small, large = asked("small", 20, 30), asked("large", FEW + 100, 200)
    batch = chosen([small, large]).batch()
    told = batch.texts[batch.requests :]
    assert set(small.tools) <= set(told)
    assert 13 < sum(text.startswith("large") for text in told) < FEW
    assert batch.right.shape == batch.own.shape == (batch.requests, len(told))
    assert not (batch.right & ~batch.own).any()
    for row, request in enumerate(batch.texts[: batch.requests]):
        place, what, *number = request.split()
        assert {told[i].split()[0] for i in torch.nonzero(batch.own[row])[:, 0].tolist()} == {place}
        found = [told[i] for i in torch.nonzero(batch.right[row])[:, 0].tolist()]
        size = len(small.tools if place == "small" else large.tools)
        assert found == ([] if what == "greeting" else [f"{place} tool {int(number[0]) % size}"])


def test_every_request_comes_once_before_any_comes_again() -> None:
    one = asked("one", 5, 25)
    drawn = chosen([one])
    seen = [text for batch in (drawn.batch(), drawn.batch()) for text in batch.texts[: batch.requests]]
    assert sorted(seen) == sorted(anchor.text for anchor in one.anchors)


def test_the_same_seed_draws_the_same() -> None:
    sets = [asked(name, 9, 20) for name in "abcdefg"]
    first, again, other = chosen(sets, 1), chosen(sets, 1), chosen(sets, 2)
    for _ in range(3):
        texts = first.batch().texts
        assert texts == again.batch().texts != other.batch().texts


def test_the_loss_wants_what_is_needed_in_front_and_the_rest_below_the_line() -> None:
    right = torch.tensor([[True, False, False, False], [False, False, False, False]])
    own = torch.tensor([[True, True, False, False], [False, False, True, True]])
    loss = chosen([asked("a", 4, 4)]).loss_of
    good = torch.tensor([[0.9, 0.1, 0.0, 0.0], [0.0, 0.0, 0.1, 0.1]])
    least = float(loss(good, right, own).detach())
    assert least < 0.1
    for row, column, value in ((0, 1, 0.8), (0, 0, 0.4), (1, 3, 0.8), (0, 3, 0.8)):
        worse = good.clone()
        worse[row, column] = value
        assert float(loss(worse, right, own).detach()) > least + 0.05, (row, column)


def test_it_learns_where_a_plain_table_is_read() -> None:
    torch.manual_seed(0)
    sets = [asked(name, 8, 24) for name in "ab"]
    drawn, table = chosen(sets), torch.nn.Parameter(torch.randn(len(texts_of(sets)), 16) * 0.3)
    optimiser = torch.optim.AdamW([table, drawn.line], 0.05)

    def read(batch: Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.nn.functional.normalize(table[torch.tensor([ids[0] for ids in batch])], dim=1)

    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = drawn.loss(read)
        torch.autograd.backward(loss)
        optimiser.step()
        losses.append(float(loss.detach()))
    assert np.mean(losses[-10:]) < 0.3 * np.mean(losses[:10])
    assert drawn.line.grad is not None


def test_sets_whose_requests_call_nothing_are_left_out() -> None:
    nothing = Asked(["a", "b"], [Anchor("hello", (), frozenset(), ("a", "b"))])
    batch = chosen([nothing, asked("one", 4, 4)]).batch()
    assert "hello" not in batch.texts
