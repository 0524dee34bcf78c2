package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
)

// strictSite answers as a cluster with rules of all kinds did: testdata/strict
// was recorded of a Slurm 22.05.8.
func strictSite(t *testing.T, k *bench) {
	t.Helper()
	read := func(name string) *command.Result {
		b, err := os.ReadFile(filepath.Join("testdata", "strict", name+".out"))
		if err != nil {
			t.Fatal(err)
		}
		return &command.Result{Out: b}
	}
	k.f.answer = func(argv []string) *command.Result {
		line := strings.Join(argv, " ")
		for words, name := range map[string]string{"show partition": "partitions", "sinfo -h -a -N": "nodes", "show config": "config", "show qos": "qos", "show assoc": "assoc",
			"show user": "user", "show licenses": "licenses", "show reservation": "reservations"} {
			if strings.Contains(line, words) {
				return read(name)
			}
		}
		return nil
	}
	k.restart()
}

// TestWrongCampaigns: what Slurm would refuse, or let wait for ever, does not
// fit, and it is said why and what would. Each was held against sbatch of the
// cluster of which the facts were recorded.
func TestWrongCampaigns(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, c := range map[string]struct {
		account    string
		options    string
		shape      offer.Shape
		on         string // the partition of which something is said
		why, would string // parts of it; of would "-" = none is asked for
	}{
		"partition, mistyped":              {options: `"partition": "aa10"`, on: "amilan", why: "there is no partition aa10 here; did you mean aa100?", would: "choose partition amilan (24h)"},
		"partition that is not there":      {options: `"partition": "gpuqueue"`, on: "amilan", why: "there is no partition gpuqueue here; there are aa100, ", would: "choose partition amilan (24h)"},
		"partition for tests":              {on: "atesting", why: "atesting is for tests only", would: "choose partition amilan (24h)"},
		"longer than the partition":        {options: `"partition": "small", "qos": "long"`, shape: offer.Shape{Walltime: 30 * time.Hour}, on: "small", why: "partition small ends jobs at 24h", would: "choose partition amilan (7d)"},
		"longer than the qos":              {shape: offer.Shape{Walltime: 30 * time.Hour}, on: "amilan", why: "qos normal ends jobs at 24h", would: `set qos = "long" in options "slurm"`},
		"longer than any qos":              {shape: offer.Shape{Walltime: 240 * time.Hour}, on: "amilan", why: "qos normal ends jobs at 24h", would: "-"},
		"no GPUs":                          {options: `"partition": "amilan"`, shape: offer.Shape{GPUs: 1}, on: "amilan", why: "has no GPUs", would: "choose partition aa100 (24h) or billed (24h)"},
		"another type":                     {options: `"partition": "aa100"`, shape: offer.Shape{GPUs: 1, GPU: offer.GPU{Models: []string{"H100"}}}, on: "aa100", why: "GPUs of model A100", would: "-"},
		"too many GPUs of a node":          {shape: offer.Shape{GPUs: 4}, on: "aa100", why: "a node of partition aa100 has 3 GPUs, but the job requests 4", would: "-"},
		"too many GPUs of each node":       {shape: offer.Shape{GPUs: 8, Nodes: 2}, on: "aa100", why: "has 3 GPUs, but the job requests 4", would: "-"},
		"too many cores":                   {shape: offer.Shape{CPUs: 65}, on: "amilan", why: "has 64 cores, but the job requests 65", would: "-"},
		"too much memory":                  {options: `"partition": "amilan"`, shape: offer.Shape{Memory: 300 * gib}, on: "amilan", why: "has 256GiB of memory, but the job requests 300GiB", would: "-"},
		"memory of a node that is down":    {shape: offer.Shape{Memory: 300 * gib}, on: "halfdead", why: "that fit are down or drained (dead1; `sinfo -R` says why)", would: "-"},
		"all nodes are down":               {options: `"partition": "alldead"`, on: "alldead", why: "down or drained (dead1, dead2;", would: "choose partition amilan (24h)"},
		"too many nodes":                   {shape: offer.Shape{Nodes: 3, CPUs: 3}, on: "amilan", why: "gives a job 2 nodes at most, but the job requests 3", would: "-"},
		"too many nodes, by options":       {options: `"nodes": 5`, on: "amilan", why: "gives a job 2 nodes at most, but the job requests 5", would: "-"},
		"too few nodes":                    {options: `"partition": "minn"`, on: "minn", why: "takes jobs of 2 nodes or more, but the job requests 1", would: "choose partition amilan (24h)"},
		"memory of a job on a node":        {options: `"partition": "small"`, shape: offer.Shape{Memory: 16 * gib}, on: "small", why: "gives a job 8GiB of memory of a node at most, but the job requests 16GiB", would: "choose partition amilan (24h)"},
		"cores of a job on a node":         {options: `"partition": "small"`, shape: offer.Shape{CPUs: 8}, on: "small", why: "gives a job 4 cores of a node at most, but the job requests 8", would: "choose partition amilan (24h)"},
		"memory of a core":                 {options: `"partition": "memcpu"`, shape: offer.Shape{Memory: 200 * gib}, on: "memcpu", why: "200GiB would take 100 cores, its nodes have 64", would: "choose partition amilan (24h)"},
		"for another account":              {options: `"partition": "peakonly"`, on: "peakonly", why: "for accounts peak, not campus", would: `set account = "peak" in the backend block`},
		"for another than the own account": {account: "campus", options: `"partition": "peakonly"`, on: "peakonly", why: "for accounts peak, not campus", would: `set account = "peak" in the backend block`},
		"not for the account":              {options: `"partition": "nocampus"`, on: "nocampus", why: "not for account campus", would: `set account = "tight" or "peak"`},
		"not for the qos":                  {options: `"partition": "nonormal"`, on: "nonormal", why: "does not take qos normal", would: `set qos = "grp16" or "long"`},
		"for other qos":                    {options: `"partition": "amilan", "qos": "testing"`, on: "amilan", why: "does not take qos testing", would: `set qos = "long" or "normal" or "spare"`},
		"qos, mistyped":                    {options: `"qos": "lnog"`, on: "amilan", why: "there is no qos lnog here; did you mean long?", would: `set qos = "long" in options "slurm"`},
		"qos of others":                    {options: `"qos": "notmine"`, on: "amilan", why: "qos notmine is not yours", would: `set qos = "grp16" or "long" or "mins"`},
		"qos of another account":           {account: "tight", options: `"qos": "long"`, on: "amilan", why: "qos long is not yours", would: `set qos = "normal" in options "slurm"`},
		"cores of a job of the qos":        {options: `"partition": "pqos"`, shape: offer.Shape{CPUs: 16}, on: "pqos", why: "qos capped gives a job 8 cores at most, but the job requests 16", would: "ask for at most cpus = 8; or choose partition amilan (24h)"},
		"memory of a job of the qos":       {options: `"partition": "pqos"`, shape: offer.Shape{CPUs: 4, Memory: 20 * gib}, on: "pqos", why: "qos capped gives a job 10GiB of memory at most, but the job requests 20GiB", would: `ask for at most memory = "10GiB"`},
		"less than the qos wants":          {options: `"partition": "pqos"`, on: "pqos", why: "qos capped takes jobs of 2 cores or more, but the job requests 1", would: "ask for cpus = 2"},
		"cores of all jobs of the qos":     {options: `"qos": "grp16"`, shape: offer.Shape{CPUs: 20}, on: "small", why: "qos grp16 gives all its jobs together 16 cores at most, but the job requests 20", would: "-"},
		"cores of the group":               {options: `"qos": "grp16"`, shape: offer.Shape{CPUs: 20}, on: "halfdead", why: "qos grp16 gives all its jobs together 16 cores at most, but the job requests 20", would: "ask for at most cpus = 16"},
		"GPUs of the group":                {options: `"qos": "grp16"`, shape: offer.Shape{GPUs: 3}, on: "billed", why: "qos grp16 gives all its jobs together 2 GPUs at most, but the job requests 3", would: "ask for at most gpus = 2"},
		"nodes of the group":               {options: `"qos": "grp16"`, shape: offer.Shape{Nodes: 2, CPUs: 2}, on: "excl", why: "qos grp16 gives all its jobs together 1 node at most, but the job requests 2", would: "ask for at most nodes = 1"},
		"cores of a user":                  {options: `"qos": "pu8"`, shape: offer.Shape{CPUs: 9}, on: "halfdead", why: "qos pu8 gives a user 8 cores at most, but the job requests 9", would: "ask for at most cpus = 8"},
		"cores of a node of the qos":       {options: `"qos": "pu8"`, shape: offer.Shape{CPUs: 5}, on: "halfdead", why: "qos pu8 gives a job on each node 4 cores at most, but the job requests 5", would: "ask for at most cpus = 4"},
		"GPUs of a user":                   {options: `"qos": "testing"`, shape: offer.Shape{GPUs: 4, Nodes: 2, Smoke: true}, on: "atesting_a100", why: "a job 1 node at most, but the job requests 2", would: "-"},
		"a qos of none":                    {options: `"qos": "full"`, on: "halfdead", why: "qos full takes no jobs: the site has set a limit of it to 0", would: `set qos = "grp16" or "long"`},
		"an account of none":               {account: "zero", on: "halfdead", why: "account zero takes no jobs", would: `set account = "tight" or "campus" or "peak"`},
		"cores of a job of the account":    {account: "tight", shape: offer.Shape{CPUs: 8}, on: "amilan", why: "account tight gives a job 4 cores at most, but the job requests 8", would: "ask for at most cpus = 4"},
		"closed":                           {options: `"partition": "closed"`, on: "closed", why: "closed now (DOWN)", would: "choose partition amilan (24h)"},
		"inactive":                         {options: `"partition": "inact"`, on: "inact", why: "closed now (INACTIVE)", would: "choose partition amilan (24h)"},
		"draining":                         {options: `"partition": "draining"`, on: "draining", why: "takes no new jobs now (DRAIN)", would: "choose partition amilan (24h)"},
		"for reservations":                 {options: `"partition": "reqres"`, on: "reqres", why: "takes jobs of a reservation alone", would: `set reservation in options "slurm"; or choose partition amilan`},
		"reservation, mistyped":            {options: `"reservation": "clas"`, on: "amilan", why: "there is no reservation clas here, it may have expired; did you mean class?", would: "-"},
		"reservation of others":            {options: `"reservation": "class"`, on: "amilan", why: "reservation class is for users bob", would: "-"},
		"feature that is not there":        {options: `"constraint": "haswell"`, on: "amilan", why: "no node here has feature haswell; there are a100, ib, milan", would: "-"},
		"feature of other partitions":      {options: `"constraint": "a100", "partition": "amilan"`, on: "amilan", why: "no node of partition amilan has feature a100", would: "choose partition aa100 (24h) or billed (24h)"},
		"features of no node at once":      {options: `"constraint": "ib&milan", "partition": "amilan"`, shape: offer.Shape{Nodes: 2, CPUs: 2}, on: "amilan", why: "partition amilan has 1 node with 1 core, feature ib, feature milan, but the job requests 2", would: "-"},
		"feature in extra":                 {options: `"partition": "amilan", "extra": ["-C", "a100"]`, on: "amilan", why: "no node of partition amilan has feature a100", would: "choose partition aa100 (24h) or billed (24h)"},
		"feature in extra, mistyped":       {options: `"constraint": "ib", "extra": ["--constraint=haswell"]`, on: "amilan", why: "no node here has feature haswell", would: "-"},
		"licenses in extra":                {options: `"extra": ["-L matlab:3"]`, on: "amilan", why: "there are 2 licenses matlab, but the job requests 3", would: `licenses = "matlab:2"`},
		"reservation in extra":             {options: `"extra": ["--reservation=clas"]`, on: "amilan", why: "there is no reservation clas here", would: "-"},
		"node of another partition":        {options: `"partition": "amilan", "extra": ["-w", "gpu[1-2]"]`, on: "amilan", why: "partition amilan has no node gpu[1-2]", would: "choose partition aa100 (24h) or billed (24h)"},
		"license, mistyped":                {options: `"licenses": "matlap"`, on: "amilan", why: "there is no license matlap here; did you mean matlab?", would: "-"},
		"too many licenses":                {options: `"licenses": "matlab:3"`, on: "amilan", why: "there are 2 licenses matlab, but the job requests 3", would: "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.b.Config = fmt.Appendf(nil, `{"account": %q}`, c.account)
			strictSite(t, k)
			c.shape.CPUs, c.shape.Nodes, c.shape.Options = max(c.shape.CPUs, 1), max(c.shape.Nodes, 1), "{"+c.options+"}"
			if c.shape.Walltime == 0 {
				c.shape.Walltime = 30 * time.Minute
			}
			q := k.quotes(c.shape)[c.on]
			if q.Fits || !strings.Contains(q.Why, c.why) || c.would != "-" && !strings.Contains(q.Would, c.would) {
				t.Errorf("fits %v: %s\nwhat would: %s", q.Fits, q.Why, q.Would)
			}
		})
	}
}

// TestNamedForTests: who names a partition for tests gets it; whether that is wise is
// the plan's to say.
func TestNamedForTests(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	strictSite(t, k)
	q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: 30 * time.Minute, Options: `{"partition": "atesting"}`})
	if !q["atesting"].Fits || q["amilan"].Fits {
		t.Errorf("atesting: %+v\namilan: %+v", q["atesting"], q["amilan"])
	}
	if asked := strings.Join(k.f.sent(), "\n"); !strings.Contains(asked, "--partition=atesting") || strings.Contains(asked, "amilan") {
		t.Errorf("Slurm was asked: %s", asked)
	}
}

// TestFirstLimitHolds: of limits on one thing the first that is stated holds, and
// not the least: the partition's qos, the job's, the account. So it ran on a
// cluster: sacctmgr let the account have 2 hours of a job, its qos a day, and
// three hours ran.
func TestFirstLimitHolds(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.b.Config = []byte(`{"account": "tight"}`)
	strictSite(t, k)
	got := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: 3 * time.Hour})
	if q := got["amilan"]; !q.Fits {
		t.Errorf("the qos comes before the account: %s", q.Why)
	}
	if q := got["pqos"]; q.Fits || !strings.Contains(q.Why, "qos capped takes jobs of 2 cores") {
		t.Errorf("what the first does not state, another may: %+v", q)
	}
}

// TestQoSThatLiftsThePartition: with the flag PartitionTimeLimit a job's qos lets
// it be longer than its partition does, up to the qos's own limit. So it ran on a
// cluster: three hours on a partition of one, and with that qos on the partition
// alone it was refused.
func TestQoSThatLiftsThePartition(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.b.Config = []byte(`{"account": "campus"}`)
	strictSite(t, k)
	ask := func(hours int, options string) offer.Quote {
		return k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Duration(hours) * time.Hour, Options: options})["halfdead"]
	}
	if q := ask(30, `{"qos": "nopart"}`); !q.Fits || q.MaxTime != 14*24*time.Hour {
		t.Errorf("30 h with the qos: %+v", q)
	}
	if q := ask(1, `{"qos": "nopart"}`); !q.Fits || q.MaxTime != 0 {
		t.Errorf("1 h needs no lifting: %+v", q)
	}
	if q := ask(15*24, `{"qos": "nopart"}`); q.Fits || !strings.Contains(q.Why, "qos nopart ends jobs at 14d") {
		t.Errorf("longer than the qos: %+v", q)
	}
	if q := ask(30, `{"qos": "long"}`); q.Fits || !strings.Contains(q.Why, "partition halfdead ends jobs at 24h") || !strings.Contains(q.Would, `set qos = "nopart" in options "slurm"`) {
		t.Errorf("another qos: %+v", q)
	}
}

// TestPassing: only what is over one day by itself is said to be.
func TestPassing(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	strictSite(t, k)
	var passing []string
	for pool, q := range k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}) {
		if q.Passing {
			passing = append(passing, pool)
		}
	}
	if slices.Sort(passing); !slices.Equal(passing, []string{"alldead", "closed", "draining", "inact"}) {
		t.Error(passing)
	}
}

// TestSlurmIsAskedBeforehand: what --test-only refuses for good does not fit, in
// words; a refusal that may be over when the cluster is less busy says nothing.
func TestSlurmIsAskedBeforehand(t *testing.T) {
	// Requirement: RND-13
	t.Parallel()
	for said, want := range map[string]string{
		"sbatch: error: QOSMaxCpuPerJobLimit\nallocation failure: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n":        "it asks for more cores than the qos gives a job",
		"sbatch: error: QOSGrpCPUMinutesLimit\nallocation failure: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n":       "it asks for more time of cores than is left to the qos",
		"sbatch: error: QOSMaxSubmitJobPerUserLimit\nallocation failure: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n": "",
		"allocation failure: Access/permission denied\n":                             "the partition does not take jobs of yours from this machine",
		"sbatch: error: say --gres\nallocation failure: Unspecified error\n":         "a rule of the site's own refuses it",
		"allocation failure: Memory required by task is not available\n":             "it asks for more memory than the partition gives",
		"allocation failure: Required partition not available (inactive or drain)\n": "the partition takes no new jobs now",
		"allocation failure: Requested node configuration is not available\n":        "",
		"allocation failure: Invalid time specified\n":                               "",
		"allocation failure: Unable to contact slurm controller (connect failure)\n": "",
		"something that nobody knows\n":                                              "",
	} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.refuse = func([]string) *command.Result { return &command.Result{Err: []byte(said), Code: 1} }
			q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour})["amilan"]
			if q.Fits != (want == "") || !strings.Contains(q.Why, want) {
				t.Errorf("fits %v: %s", q.Fits, q.Why)
			}
		})
	}
}

// TestWithoutTheCluster: a cluster that cannot be reached is planned for by its
// profile, whose limits hold like live ones.
func TestWithoutTheCluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, options string
		shape           offer.Shape
		on, why, would  string
	}{
		"fits":                       {on: "amilan"},
		"partition, mistyped":        {options: `"partition": "aa10"`, on: "amilan", why: "did you mean aa100?", would: "choose partition amilan (24h)"},
		"partition that is left out": {config: `"exclude_partitions": ["al40"]`, options: `"partition": "al40"`, on: "amilan", why: "no partition al40", would: "-"},
		"a partition for tests":      {on: "atesting", why: "for tests only", would: "choose partition amilan (24h)"},
		"one for tests, by name":     {options: `"partition": "atesting"`, on: "atesting"},
		"longer than the partition":  {options: `"partition": "aa100", "qos": "long"`, shape: offer.Shape{Walltime: 30 * time.Hour}, on: "aa100", why: "partition aa100 ends jobs at 24h", would: "choose partition gh200 (7d)"},
		"longer than the qos":        {options: `"partition": "gh200"`, shape: offer.Shape{Walltime: 30 * time.Hour}, on: "gh200", why: "qos normal ends jobs at 24h", would: `set qos = "long"`},
		"a qos of other partitions":  {options: `"partition": "aa100", "qos": "mem"`, on: "aa100", why: "qos mem is for partition amem", would: `set qos = "normal" or "long"`},
		"qos, mistyped":              {options: `"qos": "lnog"`, on: "aa100", why: "profile cu-alpine knows no qos lnog; did you mean long?", would: "-"},
		"too many GPUs":              {options: `"partition": "aa100"`, shape: offer.Shape{GPUs: 4}, on: "aa100", why: "has 3 GPUs, but the job requests 4", would: "-"},
		"no GPUs":                    {options: `"partition": "amilan"`, shape: offer.Shape{GPUs: 1}, on: "amilan", why: "has no GPUs", would: "choose partition aa100 (24h) or al40 (24h)"},
		"too much memory":            {options: `"partition": "amilan"`, shape: offer.Shape{Memory: 500 << 30}, on: "amilan", why: "the job requests 500GiB", would: "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.shape.CPUs, c.shape.Nodes, c.shape.Options = 1, 1, "{"+c.options+"}"
			if c.shape.Walltime == 0 {
				c.shape.Walltime = time.Hour
			}
			b, err := New(providers.Backend{Name: "slurm.alpine", Profile: "cu-alpine", Config: []byte("{" + c.config + "}")})
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.KnownQuotes([]offer.Shape{c.shape})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(got, func(q offer.Quote) bool { return q.Pool == c.on })
			if i < 0 {
				t.Fatalf("%+v", got)
			}
			if q := got[i]; q.Fits != (c.why == "") || !strings.Contains(q.Why, c.why) || c.would != "-" && !strings.Contains(q.Would, c.would) {
				t.Errorf("fits %v: %s\nwhat would: %s", q.Fits, q.Why, q.Would)
			}
		})
	}
}

// TestExtraThatNoNodeHas: with further arguments that no node satisfies sbatch
// takes a job, and it waits for ever. What is refused without them, too, may only
// find no node now.
func TestExtraThatNoNodeHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		without bool // whether a node would do without
		fits    bool
	}{"a node would do without": {true, false}, "none would do now": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.refuse = func(argv []string) *command.Result {
				if !c.without || slices.Contains(argv, "--tmp=900G") {
					return &command.Result{Err: []byte("allocation failure: Requested node configuration is not available\n"), Code: 1}
				}
				return &command.Result{Err: []byte("sbatch: Job 7 to start at 1790000000 using 1 processors on nodes cpu1 in partition amilan\n")}
			}
			q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour, Options: `{"extra": ["--tmp=900G"]}`})["amilan"]
			if q.Fits != c.fits || !c.fits && !strings.Contains(q.Why, `no node of the partition fits with extra = ["--tmp=900G"]`) {
				t.Errorf("fits %v: %s", q.Fits, q.Why)
			}
		})
	}
}

// TestToldOnce: of what preflight says the scheduler is not asked, partition by
// partition: an account that is not the user's, an option of muster's own.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	for config, options := range map[string]string{`{"account": "campsu"}`: `{}`, `{"account": "campus"}`: `{"extra": ["--time=5"]}`} {
		k := newBench(t)
		k.b.Config = []byte(config)
		strictSite(t, k)
		k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour, Options: options})
		if sent := k.f.sent(); len(sent) > 0 {
			t.Errorf("%s, %s: %v", config, options, sent)
		}
		found, err := k.s.Preflight(t.Context(), []providers.Check{{Workdir: k.b.Workdir, Options: []byte(options)}})
		if err != nil || len(found) != 1 {
			t.Errorf("%s, %s: %+v, %v", config, options, found, err)
		}
	}
}
