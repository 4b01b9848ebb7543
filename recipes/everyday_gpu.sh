#!/usr/bin/env bash
# Train `everyday` with 29 million weights on a GPU, in parts of under ten minutes.
#
#     until recipes/everyday_gpu.sh DATA WORK; do [ $? = 75 ] || break; done
#     until recipes/everyday_gpu.sh DATA WORK small; do [ $? = 75 ] || break; done
#
# Each call does the next part and exits with 75; with 0 once WORK/everyday.zip is written. A part that
# SECONDS_A_PART (540) interrupt continues at the next call, after a checkpoint. DATA is described in
# everyday_data.py. `small` tries the parts with a tiny model, on a processor.
set -euo pipefail
data=$1 work=$2 size=${3:-gpu}
recipes=$(dirname "$0")
limit=(--limit 26000)
[ "$size" = small ] && limit=(--limit 10)
mkdir -p "$work"

# part NAME COMMAND...: run a command that is not done yet, and end the call
part() {
    local name=$1 status=0
    shift
    [ -e "$work/$name.done" ] && return
    timeout --signal=INT --kill-after=55 "${SECONDS_A_PART:-540}" "$@" || status=$?
    case $status in
        0) touch "$work/$name.done"; echo "$name: done" >&2 ;;
        124 | 130) echo "$name: interrupted" >&2 ;;
        *) echo "$name: failed" >&2; exit "$status" ;;
    esac
    exit 75
}

# prepared FILE [--start-from MODEL]: write the corpora, and the training command to a file
prepared() {
    local file=$1
    shift
    part "$file" bash -c '"${@:2}" > "$1.part" && mv "$1.part" "$1"' - "$work/$file" \
        python "$recipes/everyday.py" prepare --data "$data" --work "$work" --size "$size" "$@"
}

prepared first-command
part first bash -c "exec $(cat "$work/first-command")"
part words python "$recipes/everyday_words.py" --data "$data" --work "$work" -m "$work/everyday" "${limit[@]}"
part outputs python "$recipes/everyday_distil.py" --data "$data" --work "$work" -m "$work/everyday" "${limit[@]}"
prepared last-command --start-from "$work/everyday"
part last bash -c "exec $(cat "$work/last-command")"
part pack attn models pack "$work/last" "$work/everyday.zip"
part score python "$recipes/everyday.py" score --data "$data" --work "$work" -m "$work/last" "${limit[@]}"
