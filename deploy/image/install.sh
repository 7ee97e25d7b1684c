#!/bin/sh
# Within deploy/Dockerfile: brings /opt/rag-monitor to what a lock says, or, with a folder, puts the
# wheel there on top and makes the environment ready to be copied.
set -eu
pip() {
  /tools/bin/pip --python /opt/rag-monitor/bin/python --no-input --disable-pip-version-check "$@"
}
if [ -f "$1" ]; then
  # Wheels only, so that there is nothing to compile; the locks are complete: nothing is resolved.
  pip install --quiet --no-cache-dir --no-compile --no-deps --require-hashes --only-binary :all: -r "$1"
  exit
fi
pip install --quiet --no-cache-dir --no-compile --no-deps --no-index "$1"/*.whl
# Needed to build the wheel; grpcio-tools, of the scorer, declares it as well.
ls /opt/rag-monitor/lib/python3.*/site-packages/grpc_tools >/dev/null 2>&1 ||
  pip uninstall --quiet --yes setuptools
pip check
# What nobody runs: sources of what is compiled, and packages' own tests.
find /opt/rag-monitor/lib -type f \( -name '*.c' -o -name '*.h' -o -name '*.pyx' -o -name '*.pxd' \) -delete
find /opt/rag-monitor/lib -type d \( -name tests -o -path '*/sqlalchemy/testing' -o -path '*/alembic/testing' \) \
  -prune -exec rm -r {} +
# Symbols for debuggers, where the build base has binutils. Not of what finds libraries beside it: that was
# patched (NAME.libs), and does not stand it. Then each must still load.
if command -v strip >/dev/null; then
  find /opt/rag-monitor/lib -name '*.so' ! -path '*.libs/*' | while read -r file; do
    readelf -d "$file" | grep -q '\.libs' || strip --strip-unneeded "$file"
  done
  find /opt/rag-monitor/lib -name '*.so' ! -path '*.libs/*' -exec /opt/rag-monitor/bin/python -c \
    'import ctypes, sys; [ctypes.CDLL(file) for file in sys.argv[1:]]' {} +
fi
cp deploy/image/health.py /opt/rag-monitor/
# A read-only root keeps no bytecode: without it here every start would compile everything anew.
# But for colours of languages that nobody prints, and databases that nobody has.
/opt/rag-monitor/bin/python -m compileall -q -j 0 -x 'pygments/lexers|dialects/(mssql|mysql|oracle)/' /opt/rag-monitor/lib
chmod -R g=u /opt/rag-monitor
