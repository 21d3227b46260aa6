#!/bin/bash -eu
# The core's targets by libFuzzer, and Python's readers by atheris, as OSS-Fuzz builds them ($CC, $CFLAGS, $OUT,
# $LIB_FUZZING_ENGINE). What is not ours to name, the project's page and who is told, stands in project.yaml there.
python3 -m pip install . ./export pytest filelock
cp -r conformance "$OUT/"
(cd tests && python3 -c "import core_fuzz_run; core_fuzz_run.encodings()") # the bundle whose encoder is the fuzzer's
cp -r build/core-fuzz/encoded "$OUT/"
for target in bundle text overlay tools encoder; do
  for source in core/src/*.c "core/test/fuzz_$target.c"; do
    $CC $CFLAGS -std=c11 -DER_BUILD -DCONFORMANCE='"conformance"' -DENCODED='"encoded"' -Icore/include -Icore/src -c "$source" -o "$WORK/$target-$(basename "$source").o"
  done
  $CXX $CXXFLAGS "$WORK/$target"-*.o $LIB_FUZZING_ENGINE -lm -lpthread -o "$OUT/fuzz_$target"
done
for target in overlay msgpack manifest json tool signatures keys delta onnx gguf; do # a copy knows its target by its name
  cp tests/fuzz_python.py "tests/fuzz_python_$target.py"
  compile_python_fuzzer "tests/fuzz_python_$target.py" --add-data conformance:conformance --add-data examples/desktop/tools.jsonl:examples/desktop
done
