#!/bin/bash
# The preStop hook of executors. The driver releases the executor between two batches, and then its
# JVM ends by itself. Failing that within TRIMTAB_DRAIN_S seconds, SIGPWR makes the executor take no
# more tasks and end after those it has.
set -u

java_pid() {
  local exe
  for exe in /proc/[0-9]*/exe; do
    case "$(readlink "$exe" 2>/dev/null)" in
      */java) exe="${exe#/proc/}"; echo "${exe%/exe}"; return ;;
    esac
  done
}

pid="$(java_pid)"
[ -n "$pid" ] || exit 0
deadline=$((SECONDS + ${TRIMTAB_DRAIN_S:-60}))
while [ -d "/proc/$pid" ]; do
  if [ "$SECONDS" -ge "$deadline" ]; then
    kill -s PWR "$pid"
    deadline=$((SECONDS + 3600))
  fi
  sleep 0.2
done
