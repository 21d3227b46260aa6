"""A sentence encoder from its card to ONNX, compared with its original. Knows nothing of how tools are decided."""
