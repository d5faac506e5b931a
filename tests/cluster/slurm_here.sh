#!/usr/bin/env bash
# A Slurm of one node in namespaces of its own (run by `unshare --pid --fork --mount-proc --net`): no other Ray is in sight,
# which `ray stop` at a job's end would stop too.   slurm_here.sh FOLDER SCRIPT SWEEP.yaml OUT
set -euo pipefail
FOLDER=$1 SCRIPT=$2 SWEEP=$3 OUT=$4
ip link set lo up
ip addr add 10.99.0.1/32 dev lo  # Slurm asks for an address that is not 127.x
HOST=$(hostname)
export SLURM_CONF=$FOLDER/slurm.conf
cat > "$SLURM_CONF" <<CONF
ClusterName=here
SlurmctldHost=$HOST(10.99.0.1)
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$FOLDER/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$FOLDER/state
SlurmdSpoolDir=$FOLDER/spool
SlurmctldPidFile=$FOLDER/slurmctld.pid
SlurmdPidFile=$FOLDER/slurmd.pid
SlurmctldLogFile=$FOLDER/slurmctld.log
SlurmdLogFile=$FOLDER/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName=$HOST NodeAddr=10.99.0.1 CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
mkdir -p "$FOLDER/state" "$FOLDER/spool"
(umask 077; head -c 1024 /dev/urandom > "$FOLDER/munge.key")
munged --force --key-file="$FOLDER/munge.key" --socket="$FOLDER/munge.socket" --pid-file="$FOLDER/munged.pid" \
  --log-file="$FOLDER/munged.log" --seed-file="$FOLDER/munged.seed"
slurmctld
slurmd
echo "waiting for the node" >&2
until [ "$(sinfo -h -o %t 2>/dev/null)" = idle ]; do sleep 0.5; done

cd "$FOLDER"
JOB=$(sbatch --parsable "$SCRIPT" "$SWEEP" "$OUT")
state() { squeue -h -j "$JOB" -o %T 2>/dev/null || true; }
until ls "$OUT"/trials/*/reports/*.json >/dev/null 2>&1; do  # under way: a trial has reported
  [ -n "$(state)" ] || { cat ./*.log; exit 1; }
  sleep 0.5
done
scancel --batch --signal=USR1 "$JOB"  # what Slurm itself sends before the limit
until [ -e "$OUT/ledger/stop.json" ]; do
  [ -n "$(state)" ] || { cat ./*.log; exit 1; }
  sleep 0.5
done
sleep 3  # the driver has seen it
rm "$FOLDER/hold"
until scontrol show job "$JOB" | grep -q "Restarts=1"; do
  [ -n "$(state)" ] || { cat ./*.log; exit 1; }
  sleep 0.5
done
scontrol show job "$JOB" | grep -o "Restarts=[0-9]*"
sleep 3  # slurmd revokes credentials to the second: a job that starts again within the second of its end is refused as killed
while [ -n "$(state)" ]; do
  if [ "$(state)" = PENDING ]; then scontrol update JobId="$JOB" StartTime=now || true; fi  # else a requeued job waits two minutes
  sleep 0.5
done
scontrol show job "$JOB" | grep -o "JobState=[A-Z]*"
