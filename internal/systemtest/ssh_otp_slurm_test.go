package systemtest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
)

const slurmCoded = `
campaign "coded" {}
backend "slurm" "lab" {
  workdir = "FOLDER/work"
  ssh { host = "h1" }
}
phase "p" {
  grid { axes = { i = range(0, 4) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo start ${cell.i} >> RECORD; [ ! -p FOLDER/gate ] || read x < FOLDER/gate; echo ${cell.i} > ${output.x}; echo end ${cell.i} >> RECORD"
    output "x" { path = "out/${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "10m"
    }
  }
}
`

// slurmStandIn is Slurm's commands, as much as muster asks of them here, on a
// cluster of one node on which every job starts when it is let go. Of each element
// it keeps files whose times are when it was submitted, started and ended. What it
// does not know is an error.
const slurmStandIn = `#!/bin/bash
S=FOLDER/slurm
echo "${0##*/} $*" >> $S/calls
unknown() { echo "${0##*/}: error: not in this Slurm: $*" >&2; exit 1; }
at() { stat -c %Y "$1" 2>/dev/null || echo "${2:-Unknown}"; }
expand() { # LIST of ids, "7" or "7_[0-3,5]": the folders of their elements
  local id=${1%%_*} list part
  [ -d $S/jobs/$id ] || unknown "Invalid job id specified"
  [[ $1 == *_* ]] || { echo $S/jobs/$id/*/; return; }
  list=${1#*_}; list=${list//[\[\]]}
  for part in ${list//,/ }; do for i in $(seq ${part%-*} ${part#*-}); do echo $S/jobs/$id/$i/; done; done
}
start() { # FOLDER of an element
  local e=${1%/} job=$(dirname ${1%/}) i=${1%/}
  i=${i##*/}
  rm -f $e/held; mkdir $e/start 2>/dev/null || return
  (
    export SLURM_JOB_ID=${job##*/} SLURM_JOB_PARTITION=all SLURMD_NODENAME=h1 SLURM_JOB_NODELIST=h1
    [ $i = - ] || export SLURM_ARRAY_JOB_ID=${job##*/} SLURM_ARRAY_TASK_ID=$i
    cd FOLDER
    setsid bash -c 'bash $1/script >>$1/out-$2 2>&1; echo $? >$3/end' - $job $i $e </dev/null >/dev/null 2>&1 &
  )
}
look() { # FOLDER of an element: what Slurm knows of it
  local e=${1%/} job=$(dirname ${1%/})
  A=${job##*/} I=${e##*/} NAME=$(cat $job/name) COMMENT=$(cat $job/comment) STATE=PENDING REASON=None NODES= CODE=0:0
  SUBMIT=$(at $e/submit) START=$(at $e/start) END=$(at $e/end)
  [ ! -e $e/held ] || REASON=JobHeldUser
  [ ! -e $e/start ] || STATE=RUNNING NODES=h1
  [ ! -s $e/end ] || { CODE=$(cat $e/end):0; [ $CODE = 0:0 ] && STATE=COMPLETED || STATE=FAILED; }
}
case ${0##*/} in
sbatch)
  held= comment=
  for a; do
    case $a in
    --test-only) echo "sbatch: Job 1 to start at $(date +%s) using 1 processors on nodes h1 in partition all" >&2; exit 0;;
    --hold) held=1;;
    --comment=*) comment=${a#*=};;
    --parsable) ;;
    -*) unknown "$a";;
    esac
  done
  exec 9>>$S/last; flock 9; echo >&9; id=$(wc -l <$S/last); exec 9>&-
  mkdir -p $S/new-$id; cp "$a" $S/new-$id/script
  sed -n 's/^#SBATCH --job-name=//p' "$a" >$S/new-$id/name
  [ "$comment" ] && echo "$comment" >$S/new-$id/comment || sed -n 's/^#SBATCH --comment=//p' "$a" >$S/new-$id/comment
  ! grep -q '^#SBATCH --dependency' "$a" || unknown dependency
  list=$(sed -n 's/^#SBATCH --array=\([^%]*\).*/\1/p' "$a")
  for part in ${list//,/ }; do for i in $(seq ${part%-*} ${part#*-}); do mkdir $S/new-$id/$i; done; done
  [ "$list" ] || mkdir $S/new-$id/-
  for e in $S/new-$id/*/; do touch $e/submit; [ ! "$held" ] || touch $e/held; done
  mv $S/new-$id $S/jobs/$id
  [ "$held" ] || for e in $S/jobs/$id/*/; do start $e; done
  echo $id;;
squeue)
  format=${*: -1} states=all
  while [ $# -gt 0 ]; do case $1 in -t) states=$2;; esac; shift; done
  for e in $S/jobs/*/*/; do
    [ -d $e ] || continue
    look $e
    [ $states = all ] || [ $states = $STATE ] || continue
    line=$format
    for v in "F$A" "K${I/-/N/A}" "T$STATE" "r$REASON" "V$SUBMIT" "S$START" Pall "a(null)" "q(null)" "N$NODES" "j$NAME" "k${COMMENT:-(null)}"; do line=${line//%${v:0:1}/${v:1}}; done
    echo "$line"
  done;;
sacct)
  d='|' ids= fields=${*: -1}
  while [ $# -gt 0 ]; do case $1 in --delimiter=*) d=${1#*=};; -j) ids=,$2,;; esac; shift; done
  for e in $S/jobs/*/*/; do
    [ -d $e ] || continue
    look $e
    [ ! "$ids" ] || [[ $ids == *,$A,* ]] || continue
    line=
    for f in ${fields//,/ }; do
      case $f in
      JobID) v=$A; [ $I = - ] || v=${A}_$I;;
      State) v=$STATE;; Submit) v=$SUBMIT;; JobName) v=$NAME;; ExitCode) v=$CODE;; Start) v=$START;; End) v=$END;; NodeList) v=${NODES:-None assigned};;
      *) v=;;
      esac
      line+=$v$d
    done
    echo "$line"
  done;;
sinfo)
  [[ "$*" == "-h -a -N -O "* ]] || unknown "$*"
  printf '%-64s%-64s%-24s%-32s%-16s%-256s%-256s%-256s\n' h1 'all*' idle 0/64/0/64 256000 '(null)' gpu:0 '(null)';;
scontrol)
  case "$*" in
  "-o -a show partition") echo "PartitionName=all AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A MaxNodes=UNLIMITED MaxTime=7-00:00:00 MinNodes=0 Nodes=h1 RootOnly=NO ReqResv=NO OverSubscribe=NO State=UP TotalCPUs=64 TotalNodes=1";;
  "show config") printf '%s\n' 'SLURM_VERSION = 22.05.8' 'ClusterName = coded' 'MaxArraySize = 1001' 'MaxJobCount = 10000' 'AccountingStorageType = accounting_storage/none';;
  "release "*) for e in $(expand "$2"); do start $e; done;;
  "update JobId="*) for e in $(expand "${2#*=}"); do case $3 in Comment=*) echo "${3#*=}" >$(dirname $e)/comment;; ArrayTaskThrottle=*) ;; *) unknown "$*";; esac; done;;
  "-o show job "*) for e in $(expand "$4"); do look $e; echo "JobId=$A ArrayJobId=$A ArrayTaskId=$I ArrayTaskThrottle=0 JobName=$NAME"; done;;
  *) unknown "$*";;
  esac;;
*) unknown "$*";;
esac
`

// TestSystemSSHCodeSlurm: codedCluster on Slurm.
func TestSystemSSHCodeSlurm(t *testing.T) {
	r := newCoded(t, slurmCoded)
	r.host.Exec("mkdir -p " + r.folder + "/slurm/jobs")
	r.put("tools/slurm", slurmStandIn)
	for _, name := range []string{"sbatch", "squeue", "sacct", "sacctmgr", "sinfo", "scontrol", "scancel"} {
		r.host.Exec("ln -s slurm " + r.folder + "/tools/" + name)
	}
	program.Write(t, r.host.Path("/home/alice/.profile"), "PATH="+r.folder+"/tools:$PATH\n")
	codedCluster(r, "slurm/calls", "sbatch --parsable")
}

// codedCluster: the login node of a cluster asks for a password and a code, and
// nobody is at muster's terminal. It says once what to type, leaves the jobs as they
// are, asks the login node no more, and goes on by itself when somebody has logged in
// elsewhere. Nothing runs twice. The file calls has a line for each submission.
func codedCluster(r *remote, calls, submission string) {
	t := r.t
	const n = 4
	r.host.Exec("mkfifo -m 666 " + r.folder + "/gate")
	submitted := func() int {
		calls, _ := os.ReadFile(r.host.Path(r.folder + "/" + calls))
		return strings.Count(string(calls), submission)
	}
	once := func(who, said string) string {
		t.Helper()
		if c := strings.Count(said, "log in"); c != 1 {
			t.Errorf("%s says %d times that somebody is to log in:\n%s", who, c, said)
		}
		return r.loginCommand(said)
	}

	connections := r.host.Connections()
	said, _ := r.run("plan")
	command := once("plan", flat(said))
	said, code := r.run("apply", "-auto-approve")
	if got := once("apply", flat(said)); got != command {
		t.Errorf("apply says %q, and the plan %q", got, command)
	}
	if c := r.host.Connections() - connections; c > 2 {
		t.Errorf("a plan and an apply without a login: %d connections", c)
	}
	if typed := r.host.Typed(); len(typed) != 0 || code != 1 || submitted() != 0 {
		t.Errorf("without a login: exit %d, %q was typed, %d submissions", code, typed, submitted())
	}

	kill := r.logIn(command)
	f := r.follow("apply", "-auto-approve")
	r.until("apply to know that the jobs run", func() bool {
		said, _ := r.run("status")
		return r.count("start") == n && strings.Contains(said, "4 running")
	})
	connections = r.host.Connections()
	sent := submitted()
	kill()
	r.until("how to log in", func() bool { return strings.Contains(f.said(), "wants you to log in") })
	time.Sleep(8 * time.Second) // a storm would show
	if c := r.host.Connections() - connections; c > 2 {
		t.Errorf("%d connections without a login", c)
	}
	if got := once("apply", f.said()); got != command {
		t.Errorf("apply says %q, and the plan %q", got, command)
	}
	out, _ := r.run("status", "-refresh")
	if !strings.Contains(flat(out), "4 unknown") || strings.Contains(out, "failed") {
		t.Errorf("status says of jobs on a cluster that nobody is logged in to\n%s", out)
	}
	r.open()
	r.until("the ends, with nobody logged in", func() bool { return r.count("end") == n })
	r.logIn(command)
	r.until("word of the cluster", func() bool { return strings.Contains(f.said(), "answers again") })
	r.done(f, n)
	r.onceEach(n)
	if got := submitted(); sent == 0 || got != sent {
		t.Errorf("%d submissions, and %d after the login", sent, got-sent)
	}
}
