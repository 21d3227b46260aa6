"""Whether an encoder's fp32 export gives the vectors of its torch original: asked once an export, on fixed texts.

Torch takes seconds to import and three times as long a text as the export, so tool sets are compared with the export.
It differs from torch by rounding alone, whatever the text; what could go wrong (pooling, prefix, tokenizer, cutting)
shows on a few texts of every kind.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from edgeret.encoders.base import MIN_COSINE
from edgeret.errors import CheckFailedError
from edgeret.terminal.progress import say
from edgeret_export.encoders.cache import key_of, recall, remember
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.encoders.modules import load_original
from edgeret_export.encoders.onnx_graph import one_thread, quiet
from edgeret_export.encoders.smooth import SAMPLES
from edgeret_export.reference.encoders.windows import WindowEncoder

PROBES = (
    *SAMPLES,
    "mail",
    "SEND IT NOW!!!",
    "déjà vu à Zürich, naïve façade, Łódź",
    "明天上海的天气怎么样？",
    "Напомни мне позвонить маме",
    "احجز لي طاولة لشخصين",
    "🎵 play 🎶",
    "def add(a, b):\n\treturn a + b  # {'x': [1, 2]}",
    "getUserById | https://example.org/v2/users?id=4&full=true",
    "one two three four five six seven eight nine ten " * 100,
)
"""The last is longer than most encoders read."""


def compare_with_torch(exported: ExportedEncoder, encoder: WindowEncoder) -> float:
    """The least cosine of the fp32 export's vectors to torch's over PROBES. Raises CheckFailedError below the floor.

    `encoder` runs `exported`, and puts no prefix before a text. What passed is kept in the cache, under the export's
    hash.
    """
    digest = hashlib.sha256(exported.model).hexdigest()
    key = key_of(("torch", digest, hashlib.sha256(exported.tokenizer).hexdigest(), exported.spec.to_dict(), PROBES))
    known = recall(key)
    if known is not None:
        return float(json.loads(known))
    say("comparing the fp32 export with its torch original")
    with quiet(), one_thread():
        torch = load_original(exported.model_folder, exported.spec.pooling, centre=exported.centre)
        torch.max_seq_length = exported.spec.max_tokens
        prefixed = [exported.spec.query_prefix + text for text in PROBES]
        # One at a time: side by side every text would be filled up to the longest one's length.
        expected = torch.encode(
            prefixed,
            batch_size=1,
            normalize_embeddings=True,
            truncate_dim=exported.spec.dimension,
            show_progress_bar=False,
        )
    # Tokens are cut as torch cuts them; the runtime would read the longest text in windows.
    found = np.stack([encoder.embed(encoder.tokenize(text)) for text in prefixed])
    cosines = np.einsum("ij,ij->i", np.float64(expected), np.float64(found))
    worst = int(cosines.argmin())
    if not cosines[worst] >= MIN_COSINE["fp32"]:
        raise CheckFailedError(
            f"the fp32 export is not its torch original: cosine {cosines[worst]:.5f} on {PROBES[worst][:40]!r}, at "
            f"least {MIN_COSINE['fp32']} needed. Nothing was written; check pooling, prefixes and max_tokens of the "
            "model card"
        )
    remember(key, json.dumps(float(cosines[worst])).encode())
    return float(cosines[worst])
