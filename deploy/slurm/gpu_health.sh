# shellcheck shell=bash
# What prolog.sh and epilog.sh ask of a job's GPUs. Sourced by them; slurmd may give them no PATH.
export PATH=${PATH:+$PATH:}/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin

# nvidia-smi's whole time, in seconds. slurmd starts no job meanwhile; one that takes longer has a driver that hangs.
: "${SASSAY_HEALTH_SECONDS:=8}"

# smi ARGUMENT…: nvidia-smi on the job's GPUs, ended when the time is over.
smi() {
  local left=$((SASSAY_HEALTH_SECONDS - SECONDS))
  timeout -k 1 "$((left > 0 ? left : 1))" nvidia-smi -i "$SLURM_JOB_GPUS" "$@"
}

# unwell: one line that says why the job's GPUs should run nothing; silent where they are well, and where there is nothing to ask.
unwell() {
  [[ -n ${SLURM_JOB_GPUS:-} ]] || return 0
  local answer status asked gpu count failed
  if ! command -v nvidia-smi >/dev/null; then
    for gpu in ${SLURM_JOB_GPUS//,/ }; do
      [[ -c ${SASSAY_DEV:-/dev}/nvidia$gpu ]] || { echo "no device file of GPU $gpu"; return 0; }
    done
    return 0
  fi
  answer=$(smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv,noheader 2>&1)
  status=$?
  if ((status == 124 || status == 137)); then
    echo "nvidia-smi does not answer within ${SASSAY_HEALTH_SECONDS} s"
    return 0
  elif ((status != 0)); then
    echo "nvidia-smi fails with status $status: ${answer//$'\n'/ }"
    return 0
  fi
  asked=$(tr ',' '\n' <<<"$SLURM_JOB_GPUS" | grep -c .)
  (($(grep -cE '^[0-9]+,' <<<"$answer") == asked)) || { echo "nvidia-smi shows other GPUs than $SLURM_JOB_GPUS"; return 0; }
  # "[N/A]" where a GPU has no such counter.
  while IFS=, read -r gpu count; do
    [[ ! ${count// /} =~ ^[1-9] ]] || { echo "GPU $gpu has$count uncorrectable memory errors"; return 0; }
  done <<<"$answer"
  # A query of its own, and no fault if nvidia-smi does not know it: GPUs before Ampere have no spare rows.
  while IFS=, read -r gpu failed; do
    [[ ${failed// /} != Yes ]] || { echo "$gpu could not replace a broken row of memory"; return 0; }
  done < <(smi --query-remapped-rows=gpu_uuid,remapped_rows.failure --format=csv,noheader 2>/dev/null)
}

# strangers: the processes that are on the job's GPUs.
strangers() {
  [[ -n ${SLURM_JOB_GPUS:-} ]] && command -v nvidia-smi >/dev/null || return 0
  smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null | paste -sd ' '
}

# drain REASON: nothing new starts on this host until somebody has looked: scontrol update NodeName=… State=RESUME.
drain() {
  echo "sassay: $1" >&2
  scontrol update NodeName="$SLURMD_NODENAME" State=DRAIN Reason="sassay: ${1:0:200}"
}
