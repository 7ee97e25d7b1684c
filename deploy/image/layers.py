"""The layers of an image as a table; for try.sh.

Takes what ``buildah inspect --type image`` prints on standard input, and the path of the storage's
``layers.json``. A layer's size is that of its files, uncompressed.
"""

import json
import sys
from pathlib import Path

image = json.load(sys.stdin)["OCIv1"]
sizes = {
    layer.get("diff-digest"): layer.get("diff-size", 0)
    for layer in json.loads(Path(sys.argv[1]).read_text("utf-8"))
}
digests = iter(image["rootfs"]["diff_ids"])
for step in image["history"]:
    if not step.get("empty_layer"):
        made = step.get("created_by", "").replace("/bin/sh -c ", "").replace("#(nop) ", "")
        print(f"{sizes.get(next(digests), 0) / 1e6:9.1f} MB  {' '.join(made.split())[:90]}")
