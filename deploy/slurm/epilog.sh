#!/usr/bin/env bash
# slurm.conf: Epilog=/opt/sassay/share/sassay/deploy/slurm/epilog.sh
# After a job: are its GPUs well, and is nothing of it left on them? If not, the host is drained with the reason. A process that ended is
# gone from its GPU a moment later, so that is waited for. At most SASSAY_HEALTH_SECONDS; always exits with 0, as the host is drained
# already and the job is over.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_health.sh"

reason=$(unwell)
if [[ -z $reason ]]; then
  while there=$(strangers); [[ -n $there ]] && ((SECONDS < SASSAY_HEALTH_SECONDS)); do sleep 0.2; done
  [[ -z $there ]] || reason="left on GPU $SLURM_JOB_GPUS by job $SLURM_JOB_ID: processes $there"
fi
[[ -z $reason ]] || drain "$reason"
exit 0
