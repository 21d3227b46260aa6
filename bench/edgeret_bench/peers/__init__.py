"""Other people's tool search, measured side by side with ours: same queries, same tools, same run.

Every peer has an optional extra of its own, `peer-NAME`, and is reported as unavailable where that is not installed.
"""

PEERS = {
    "sentence-transformers": "edgeret_bench.peers.dense:TorchPeer",
    "sentence-transformers-onnx": "edgeret_bench.peers.dense:OnnxPeer",
    "semantic-router": "edgeret_bench.peers.routes:RouterPeer",
    "graph-tool-call": "edgeret_bench.peers.tool_graph:GraphPeer",
    "bm25s": "edgeret_bench.peers.words:Bm25Peer",
}
"""Peers by name, each with the module and the class that speak to it."""
MODEL = "all-minilm-l6-v2"
"""The card whose original all embed with, whatever the bundle's encoder is."""


def extra_of(name: str) -> str:
    """What installs a peer."""
    return f"edgeret-bench[peer-{name}]"
