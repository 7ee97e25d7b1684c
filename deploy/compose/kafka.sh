#!/usr/bin/env bash
# Formats the storage of a broker at its first start, then runs it. KAFKA_HOME holds bin/.
set -euo pipefail
"$KAFKA_HOME/bin/kafka-storage.sh" format --ignore-formatted --cluster-id cmFnLW1vbml0b3ItZGVtbw \
  --config "$1"
exec "$KAFKA_HOME/bin/kafka-server-start.sh" "$1"
