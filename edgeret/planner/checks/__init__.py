"""Structure of a planner's GGUF file, proved before llama.cpp sees it. Knows nothing of prompts."""
