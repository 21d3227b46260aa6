#!/bin/bash -eu
# The core's targets by libFuzzer, and Python's readers by atheris, as OSS-Fuzz builds them ($CC, $CFLAGS, $OUT,
# $LIB_FUZZING_ENGINE). What is not ours to name, the project's page and who is told, stands in project.yaml there.
python3 -m pip install .
cp -r conformance "$OUT/"
for target in bundle text overlay; do
  for source in core/src/*.c "core/test/fuzz_$target.c"; do
    $CC $CFLAGS -std=c11 -DER_BUILD -DCONFORMANCE='"conformance"' -Icore/include -Icore/src -c "$source" -o "$WORK/$target-$(basename "$source").o"
  done
  $CXX $CXXFLAGS "$WORK/$target"-*.o $LIB_FUZZING_ENGINE -lm -lpthread -o "$OUT/fuzz_$target"
done
cp -r tests/fuzz_python.py "$OUT/"
compile_python_fuzzer tests/fuzz_python.py --add-data conformance:conformance --add-data examples/desktop/tools.jsonl:examples/desktop
