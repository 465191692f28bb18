"""Runs ONNX Runtime when told to, by lines of JSON: what is to be done on standard input, what came of it on standard
output. `onnx_engine.py MODEL_FOLDER CACHE DTYPE THREADS`

{"load": batches}: ids of the texts of each batch of a pass; answered with the vectors of a pass.
{"run": seconds}: passes, one at least; answered with the seconds of each.
"""

import json
import sys
import time

from onnx_peer import Model, padded


def main(folder, cache, dtype, threads):
    model = Model(folder, cache, dtype, int(threads))
    batches = []
    for line in sys.stdin:
        order = json.loads(line)
        times, vectors = [], []
        if "load" in order:
            batches = [padded(batch) for batch in order["load"]]
            vectors = [float(x) for batch in batches for x in model.run(batch).flat]
        else:
            until = time.perf_counter() + order["run"]
            while not times or time.perf_counter() < until:
                since = time.perf_counter()
                for batch in batches:
                    model.run(batch)
                times.append(time.perf_counter() - since)
        print(json.dumps({"times": times, "vectors": vectors}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
