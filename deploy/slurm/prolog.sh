#!/usr/bin/env bash
# slurm.conf: Prolog=/opt/sassay/share/sassay/deploy/slurm/prolog.sh
# Before a job: are its GPUs well, and nobody on them? If not, the host is drained with the reason and Slurm queues the job again.
# Takes as long as nvidia-smi, and at most SASSAY_HEALTH_SECONDS. Jobs without GPUs are not looked at.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_health.sh"

reason=$(unwell)
if [[ -z $reason ]]; then
  there=$(strangers)
  [[ -z $there ]] || reason="processes on GPU $SLURM_JOB_GPUS before job $SLURM_JOB_ID: $there"
fi
[[ -n $reason ]] || exit 0
drain "$reason"
exit 1
