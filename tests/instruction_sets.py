"""Sets of instructions that a transformer is compiled for, as the library numbers them, and which a CPU has."""

SETS = ("generic", "avx2", "avx_vnni", "avx512", "avx512_vnni", "arm64_dotprod")
BESIDES = {"avx512_vnni": ("avx512", "avx2"), "avx512": ("avx2",), "avx_vnni": ("avx2",)}
"""What a CPU of a family has, too."""
