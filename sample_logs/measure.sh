#!/bin/sh
# Measures one session of the sample workload:   sh sample_logs/measure.sh OUTPUT-FOLDER
# Run it from the repository root. INDUCED=1 adds one failure and one wait, each noted as induced.
# PYTHON names the interpreter (default: python); WORKDIR the folder of the weights.
set -eu

out=${1:?"say where the log goes: sh sample_logs/measure.sh OUTPUT-FOLDER"}
python=${PYTHON:-python}
workdir=${WORKDIR:-sample-workload-data}
PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH

probe() { # VERB ARGUMENT…
    verb=$1
    shift
    "$python" -m budget.probe "$verb" --out "$out" "$@"
}

measure() { # BLOCK CACHE RATIO SEED INPUT BATCH ITEMS [WORKLOAD ARGUMENT…]
    block=$1 cache=$2 ratio=$3 seed=$4 input=$5 batch=$6 items=$7
    shift 7
    probe run --block "$block" --model tiny-decoder \
        --input-tokens "$input" --output-tokens 32 --batch-size "$batch" \
        --param "cache=$cache" --param "ratio=$ratio" --param "seed=$seed" -- \
        "$python" sample_logs/workload.py --cache "$cache" --ratio "$ratio" --seed "$seed" \
        --input-tokens "$input" --output-tokens 32 --batch-size "$batch" --items "$items" \
        --workdir "$workdir" "$@"
}

rm -f "$workdir/weights.pt" # so that the first run prepares
probe start

for run in prepare 1 2 3; do
    measure reference full 1.0 0 512 1 4
done

for ratio in 0.7 0.5 0.3; do
    measure comparison compressed "$ratio" 0 512 1 4
    measure comparison compressed "$ratio" 0 512 1 4
done

if [ "${INDUCED:-0}" = 1 ]; then
    probe note "induced failure: the next run gets a memory limit that is too small on purpose"
    if measure extension full 1.0 0 1536 4 2 --memory-limit-mib 500; then
        echo "the run with the memory limit was meant to fail and did not" >&2
        exit 1
    fi
    probe change --kind parameter --what memory_limit_mib --from 500 --to none \
        --reason "induced failure: the limit was set on purpose and is removed again"
fi
for run in 1 2; do # after an induced failure, the first one is its retry
    measure extension full 1.0 0 1536 4 2
done
for run in 1 2; do
    measure extension compressed 0.3 0 1536 4 2
done

if [ "${INDUCED:-0}" = 1 ]; then
    probe note "induced wait: nobody decided anything, the host was left idle on purpose"
    probe wait decision
    sleep 20
    probe resume
fi

for run in 1 2; do
    measure verification compressed 0.5 1 512 1 4
done

probe end
