"""A proxy in front of any OpenAI-compatible server that shows the model fewer tools; knows HTTP and JSON, and of
decisions only what the adapters beside it know."""
