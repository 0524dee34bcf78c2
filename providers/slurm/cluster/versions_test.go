package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// Texts of versions that there is no cluster of here are from what was published:
// sinfo(1), squeue(1), sacct(1) and the release notes of each version; partitions
// from users' guides (CSC's Mahti, CSD3, Google's Cluster Toolkit), accounting
// and refusals from issues of snakemake, jobbergate and jobperf,
// --test-only of 25.11 from two programs that met it. They are cut to what is
// read; names of people and machines are changed.

// TestVersions: which version a cluster runs, and whether it is too old to have
// been looked at.
func TestVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		version string
		old     bool
	}{
		"Configuration data as of 2022-04-27T10:07:02\nSLURM_CONF              = /etc/slurm/slurm.conf\nSLURM_VERSION           = 20.11.6\n": {"20.11.6", false},
		string(recorded(t, "config.out")): {"22.05.8", false},
		"    SLURM_CONF              = /etc/slurm/slurm.conf\n    SLURM_VERSION           = 23.02.7\n": {"23.02.7", false},
		"SLURM_VERSION           = 24.05.4\n":      {"24.05.4", false},
		"SLURM_VERSION           = 25.05.0-0rc1\n": {"25.05.0-0rc1", false},
		"SLURM_VERSION           = 25.11.4\n":      {"25.11.4", false},
		"SLURM_VERSION           = 19.05.5\n":      {"19.05.5", true},
		"SLURM_VERSION           = 20.02.7\n":      {"20.02.7", true},
		"ClusterName = c\n":                        {"", false}, // not told is not old
	} {
		s := &Facts{Version: parseConfig(text)["SLURM_VERSION"], Asked: time.Unix(0, 0)}
		if s.Version != want.version || s.Old() != want.old {
			t.Errorf("%q, old %v; want %+v", s.Version, s.Old(), want)
		}
		if got := s.Source(); !strings.HasPrefix(got, "live at 00:00 UTC") || !strings.HasSuffix(got, want.version) {
			t.Errorf("its facts are %q", got)
		}
	}
}

// TestTrialVersions: what sbatch --test-only says of the start, whatever words
// stand around it.
func TestTrialVersions(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 9, 16, 12, 10, 41, 0, time.Local)
	for version, text := range map[string]string{
		"20.11":                               "sbatch: Job 2933250 to start at 2026-09-16T12:10:41 using 1 processors on nodes paula02 in partition paula\n",
		"22.05, SLURM_TIME_FORMAT=%s":         "sbatch: Job 46 to start at " + strconv.FormatInt(want.Unix(), 10) + " using 2 processors on nodes gpu[1-2] in partition aa100\n",
		"23.02, no partition":                 "sbatch: Job 52616148 to start at 2026-09-16T12:10:41 using 1 processors on nodes midway3-0294\n",
		"25.11, a word that does not belong":  "sbatch: Job 10820990 to start at 2026-09-16T12:10:41 a using 1 processors on nodes cn-f003 in partition long-cpu\n",
		"a site's own words before and after": "sbatch: info: default account is used\nsbatch: Job 7 to start at 2026-09-16T12:10:41 using 1 processors on nodes n1 in partition p\nsbatch: info: bye\n",
	} {
		if got := startTime([]byte(text)); !got.Equal(want) {
			t.Errorf("%s: starts at %v", version, got)
		}
	}
	for _, text := range []string{"", "sbatch: Job 1 to start at Unknown using 1 processors", "allocation failure: Invalid qos specification"} {
		if got := startTime([]byte(text)); !got.IsZero() {
			t.Errorf("%q starts at %v", text, got)
		}
	}
}

// TestPartitionVersions: a partition as each version prints it, one line each.
func TestPartitionVersions(t *testing.T) {
	t.Parallel()
	for version, tt := range map[string]struct {
		text string
		want Partition
	}{
		"20.11": {"PartitionName=gpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO " +
			"MaxNodes=UNLIMITED MaxTime=3-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=r01g[01-08] PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO " +
			"OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=320 TotalNodes=8 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerCPU=1000 MaxMemPerNode=UNLIMITED\n",
			Partition{Name: "gpu", Up: true, MaxTime: 72 * time.Hour, Nodes: 8}},
		"23.02, with what 21.08 and 22.05 added": {"PartitionName=amp AllowGroups=ALL AllowAccounts=ALL AllowQos=intr,gpu1 AllocNodes=ALL Default=NO QoS=part-amp DefaultTime=00:10:00 DisableRootJobs=NO " +
			"ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=4 MaxTime=7-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=UNLIMITED Nodes=gpu-q-[48-60,64,73-80] " +
			"State=UP TotalCPUs=2816 TotalNodes=22 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerCPU=8000 MaxMemPerCPU=8000 TRES=cpu=2816,mem=22000G,node=22,billing=2816,gres/gpu=88 " +
			"ResumeTimeout=GLOBAL SuspendTimeout=GLOBAL SuspendTime=1800 PowerDownOnIdle=NO\n",
			Partition{Name: "amp", Up: true, MaxTime: 168 * time.Hour, MaxNodes: 4, Nodes: 22, QoS: "part-amp", allowQoS: []string{"intr", "gpu1"}}},
		"24.05, node sets and typed weights": {"PartitionName=a3 AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO ExclusiveTopo=NO " +
			"GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO NodeSets=a,b Nodes=a3-[0-79] OverSubscribe=EXCLUSIVE State=UP TotalCPUs=272 TotalNodes=3 " +
			"TRES=cpu=266,mem=1500G,node=3,billing=773,gres/gpu=20,gres/gpu:nvidia_a100_80gb_pcie=4 TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=1,GRES/gpu:nvidia_a100_80gb_pcie=8\n",
			Partition{Name: "a3", Up: true, IsDefault: true, Nodes: 3,
				weights: map[string]float64{"cpu": 1, "mem": 0.25 / 1024, "gres/gpu": 1, "gres/gpu:nvidia_a100_80gb_pcie": 8}}},
	} {
		list := parsePartitions(tt.text)
		if len(list) != 1 {
			t.Errorf("%s: %d partitions", version, len(list))
			continue
		}
		got, want := list[0], tt.want
		if got.Name != want.Name || got.Up != want.Up || got.IsDefault != want.IsDefault || got.MaxTime != want.MaxTime || got.MaxNodes != want.MaxNodes ||
			got.Nodes != want.Nodes || got.QoS != want.QoS || !slices.Equal(got.allowQoS, want.allowQoS) || !maps.Equal(got.weights, want.weights) {
			t.Errorf("%s: %+v, want %+v", version, got, want)
		}
	}
}

// TestNodeStates: the words and marks of sinfo, of which 21.08 and 23.11 brought
// some: only a node that takes jobs counts as free.
func TestNodeStates(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{
		"idle": true, "mixed": true, "allocated": true, "reserved": true,
		"idle~": true, "mixed#": true, // powered down, and coming up: they are started for jobs
		"idle-": true, "planned": true, "mixed-": true, // 21.08: planned for another job, and not its yet
		"down": false, "down*": false, "idle*": false, "drained": false, "draining": false, "drained*": false, "fail": false, "failing": false, "maint": false, "idle$": false, "unknown": false,
		"idle!": false, "idle%": false, "powering_down": false, // 21.08
		"reboot": false, "reboot_issued": false, "idle@": false, "idle^": false, "boot": false, "inval": false, // 21.08, 22.05
		"blocked": false, // 23.11
		"future":  false, "npc": false, "perfctrs": false, "error": false,
	} {
		p := Partition{GPUs: map[string]int{}}
		p.add([]string{"n1", "p", state, "0/64/0/64", "256000", "gpu:a100:4(S:0-1)", "gpu:a100:1(IDX:0)", "a100"})
		if free := p.IdleCPUs == 64 && p.IdleGPUs == 3; free != want || p.AllCPUs != 64 || p.AllGPUs != 4 {
			t.Errorf("%s: %d cores and %d GPUs are free, want that to be %v", state, p.IdleCPUs, p.IdleGPUs, want)
		}
	}
}

// TestWhatCompletesIsFree: on a node where every job has ended Slurm cleans up for
// some seconds more; a plan that is made right then counts its places.
func TestWhatCompletesIsFree(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]int{"completing": 4, "mixed": 1, "allocated+": 1, "completing*": 0, "completing$": 0} {
		p := Partition{GPUs: map[string]int{}}
		p.add([]string{"n1", "p", state, "48/16/0/64", "256000", "gpu:a100:4(S:0-1)", "gpu:a100:3(IDX:0-2)", "a100"})
		if cores := 16 * want; p.IdleGPUs != want || p.IdleCPUs != cores {
			t.Errorf("%s: %d cores and %d GPUs are free, not %d and %d", state, p.IdleCPUs, p.IdleGPUs, cores, want)
		}
	}
}

// accountLine is a row as sacct prints it for the fields that are asked for.
func accountLine(id, state, exit, tres string) string {
	by := map[string]string{"JobID": id, "State": state, "Submit": "1790000000", "JobName": "a.0123.0", "ExitCode": exit, "Start": "1790000010",
		"End": "1790000110", "ElapsedRaw": "100", "AllocTRES": tres}
	var out strings.Builder
	for _, f := range accountFields {
		out.WriteString(by[f] + fieldEnd)
	}
	return out.String() + "\n"
}

// TestAccountVersions: states with what follows them, and TRES with and without
// types.
func TestAccountVersions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state, tres string
		word        string
		final       bool
		gpus        float64
	}{
		"20.11, by a number":             {"CANCELLED by 19032", "", "CANCELLED", true, 0},
		"cut, with a plus":               {"OUT_OF_MEMORY+", "", "OUT_OF_MEMORY", true, 0},
		"counted by type only":           {"COMPLETED", "billing=64,cpu=64,gres/gpu:a40=1,mem=512G,node=1", "COMPLETED", true, 1},
		"of two types":                   {"COMPLETED", "cpu=8,gres/gpu:a40=1,gres/gpu:h100-80=2,mem=5G,node=1", "COMPLETED", true, 3},
		"with a type, too":               {"TIMEOUT", "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1", "TIMEOUT", true, 2},
		"shares of a GPU, 23.02":         {"COMPLETED", "cpu=8,gres/shard=2,mem=5G,node=1", "COMPLETED", true, 0},
		"utilisation is no count, 23.02": {"COMPLETED", "cpu=8,gres/gpu=1,gres/gpumem=1G,gres/gpuutil=87,mem=5G,node=1", "COMPLETED", true, 1},
		"NODE_FAIL":                      {"NODE_FAIL", "", "NODE_FAIL", true, 0},
		"BOOT_FAIL":                      {"BOOT_FAIL", "", "BOOT_FAIL", true, 0},
		"DEADLINE":                       {"DEADLINE", "", "DEADLINE", true, 0},
		"REQUEUED":                       {"REQUEUED", "", "REQUEUED", false, 0},
		"25.05, EXPEDITING":              {"EXPEDITING", "", "EXPEDITING", false, 0},
		"of a version to come":           {"SOMETHING_NEW", "", "SOMETHING_NEW", false, 0},
	} {
		rows, unread := parseAccount([]byte(accountLine("7", tt.state, "0:0", tt.tres)), accountFields)
		if unread > 0 || len(rows) != 1 {
			t.Fatalf("%s: %d rows, %d unread", name, len(rows), unread)
		}
		r := rows[0]
		if stateWord(r.State) != tt.word || r.Final() != tt.final {
			t.Errorf("%s: %s, final %v", name, stateWord(r.State), r.Final())
		}
		h := histories(rows)[scheduler.ElementID{Array: "7", Index: -1}]
		if u := h.usage(&r); u.GPUSeconds != 100*tt.gpus || u.Elapsed != 100*time.Second || u.MaxRSS != -1 || u.CPU != -1 {
			t.Errorf("%s: used %+v", name, u)
		}
	}
	for id, want := range map[string][]int{"12_[1-3]": {1, 2, 3}, "12_[1-10:3%5]": {1, 4, 7, 10}, "12_4": {4}, "12": {-1}, "12+1": {-1}, "12_7.batch": {7}} {
		rows, unread := parseAccount([]byte(accountLine(id, "PENDING", "0:0", "")), accountFields)
		var got []int
		for _, r := range rows {
			got = append(got, r.index)
		}
		if unread > 0 || !slices.Equal(got, want) || rows[0].Array != "12" {
			t.Errorf("%s: elements %v, want %v", id, got, want)
		}
	}
}

// A fieldless sacct does not know some fields, as versions do: it stops at the
// first of them and says which.
type fieldless struct {
	lacks []string
	asked [][]string
}

func (f *fieldless) Run(_ context.Context, argv []string, _ []byte) (command.Result, error) {
	fields := strings.Split(argv[len(argv)-1], ",")
	f.asked = append(f.asked, fields)
	for _, name := range fields {
		if slices.Contains(f.lacks, name) {
			return command.Result{Code: 1, Err: []byte("sacct: error: Invalid field requested: \"" + name + "\"\n")}, nil
		}
	}
	by := map[string]string{"JobID": "7", "State": "FAILED", "Submit": "1790000000", "JobName": "a.0123.0", "ExitCode": "3:0", "TotalCPU": "00:01:00", "MaxRSS": "5K", "NodeList": "n1"}
	var out strings.Builder
	for _, name := range fields {
		out.WriteString(by[name] + fieldEnd)
	}
	return command.Result{Out: []byte(out.String() + "\n")}, nil
}

// TestMissingFields: what a version of sacct does not have is unknown, and asked
// for once; without what tells jobs apart it cannot be read.
func TestMissingFields(t *testing.T) {
	t.Parallel()
	f := &fieldless{lacks: []string{"MaxRSS", "TotalCPU"}}
	c := New(f, "me")
	for range 2 {
		rows, err := c.account(t.Context(), []string{"7"})
		if err != nil || len(rows) != 1 || rows[0].Exit != 3 || rows[0].rss != -1 || rows[0].cpu != -1 || rows[0].Nodes != "n1" || rows[0].Name != "a.0123.0" {
			t.Fatalf("%+v, %v", rows, err)
		}
	}
	if len(f.asked) != 4 || len(f.asked[3]) != len(accountFields)-2 {
		t.Errorf("sacct was asked %d times, at last for %v", len(f.asked), f.asked[len(f.asked)-1])
	}
	var e *providers.Error
	if _, err := New(&fieldless{lacks: []string{"State"}}, "me").account(t.Context(), []string{"7"}); !errors.As(err, &e) || e.Class != providers.Unreachable {
		t.Errorf("a sacct without states: %v", err)
	}
}

// TestReasonVersions: why a job waits, in words; what a version adds to the
// limits is understood by how its code is made.
func TestReasonVersions(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"None": "", "(Resources)": "waits for free nodes", "JobHeldUser": "held; `muster resume` releases it", "JobHeldAdmin": "held by an administrator",
		"ReqNodeNotAvail, UnavailableNodes:cpu[1-2]": "nodes that it needs are away, or reserved for maintenance",
		"ReqNodeNotAvail(Unavailable:cpu1)":          "nodes that it needs are away, or reserved for maintenance",
		"QOSMaxGRESPerUser":                          "you hold as much as the qos allows (GPUs)",
		"QOSMaxCpuPerUserLimit":                      "you hold as much as the qos allows (cores)",
		"QOSMaxMemoryPerUser":                        "you hold as much as the qos allows (memory)",
		"QOSMaxJobsPerUserLimit":                     "as many of your jobs run as the qos allows",
		"QOSGrpJobsLimit":                            "as many jobs of the qos run as may",
		"QOSGrpGRES":                                 "the qos has given out all of its GPUs",
		"QOSGrpGRESRunMinutes":                       "the remaining time of running jobs of the qos takes up the limit on GPUs",
		"QOSMaxWallDurationPerJobLimit":              "its walltime is longer than the qos allows; it will never start",
		"QOSMaxSubmitJobPerUserLimit":                "the qos allows no more jobs to be submitted",
		"QOSMinCpuNotSatisfied":                      "it asks for less than the qos wants (cores); it will never start",
		"QOSMaxGRESPerNode":                          "it asks for more GPUs than the qos gives; it will never start",
		"AssocGrpCPUMinutesLimit":                    "the account's time of cores is used up",
		"AssocGrpBillingMinutes":                     "the account's time of billing units is used up",
		"AssocGrpCpuLimit":                           "the account has given out all of its cores",
		"AssocMaxJobsLimit":                          "as many of your jobs run as the account allows",
		"AssocGrpSubmitJobsLimit":                    "the account allows no more jobs to be submitted",
		"AssocGrpWallLimit":                          "the account's walltime is used up",
		"MaxPoweredUpNodes":                          "MaxPoweredUpNodes", // 24.11; as Slurm says it
		"QOSMaxQuantumPerUser":                       "QOSMaxQuantumPerUser",
	} {
		if got := Reason(code); got != want {
			t.Errorf("%s is %q, want %q", code, got, want)
		}
	}
}

// TestRefusalVersions: a message is understood by the words that all versions
// have; one that says that nothing was heard is never a refusal.
func TestRefusalVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]providers.ErrorClass{
		"sbatch: error: Batch job submission failed: Invalid Trackable RESource (TRES) specification":                                                                                              providers.Invalid, // 23.02 on, --gres=gpu:nosuch:1
		"sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification":                                                                                                providers.Invalid,
		"sbatch: error: Batch job submission failed: Node count specification invalid":                                                                                                             providers.Invalid,
		"sbatch: error: CPU count per node can not be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration is not available":                                        providers.Invalid,
		"sbatch: error: Job submission rejected: Batch jobs cannot use the `interactive_*` partitions.\nsbatch: error: Batch job submission failed: Unspecified error":                             providers.Invalid,
		"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)":                                                                                         providers.Unreachable,
		"sbatch: error: slurm_receive_msg [10.0.0.1:6817]: Zero Bytes were transmitted or received\nsbatch: error: Batch job submission failed: Zero Bytes were transmitted or received":           providers.Unreachable,
		"sbatch: error: Batch job submission failed: Transport endpoint is not connected":                                                                                                          providers.Unreachable,
		"sbatch: error: Batch job submission failed: Incompatible versions of client and server code":                                                                                              providers.Unreachable,
		"sbatch: error: Batch job submission failed: Protocol authentication error":                                                                                                                providers.Unreachable,
		"sbatch: error: Batch job submission failed: Unexpected message received":                                                                                                                  providers.Unreachable,
		"sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\nsbatch: error: fetch_config: DNS SRV lookup failed\nsbatch: fatal: Could not establish a configuration source": providers.Unreachable,
		"sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)":            providers.Quota,
	} {
		if e := refusal("sbatch", command.Result{Err: []byte(text), Code: 1}); e.Class != want || strings.HasPrefix(e.Summary, "sbatch ended with status 1") {
			t.Errorf("%s\nis %s (%s), want %s", text, e.Class, e.Summary, want)
		}
	}
}

// A scancel that fails for the first of its ids, after it has ended the others.
type strict struct{ calls int }

func (s *strict) Run(_ context.Context, argv []string, _ []byte) (command.Result, error) {
	s.calls++
	return command.Result{Code: 1, Err: []byte("scancel: error: Kill job error on job id " + argv[2] + ": Invalid job id specified\n")}, nil
}

// TestCancelVersions: some versions are silent about ids that are gone, some
// fail; either way all others are ended.
func TestCancelVersions(t *testing.T) {
	t.Parallel()
	ids := make([]string, accountIDs+1)
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	s := &strict{}
	if err := New(s, "me").cancel(t.Context(), ids); err != nil || s.calls != 2 {
		t.Errorf("%d calls, %v", s.calls, err)
	}
}
