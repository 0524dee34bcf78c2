package slurm

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
)

// TestOneMistakeIsToldOnce: what is wrong whatever the partition is said alike of
// each, so that it is one error, and what to write is said of it alone.
func TestOneMistakeIsToldOnce(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		`"qos": "lnog"`:             `there is no qos lnog here; did you mean long? | set qos = "long" in options "slurm"`,
		`"partition": "aa10"`:       "there is no partition aa10 here; did you mean aa100? | choose partition amilan (24h)",
		`"licenses": "matlap"`:      "there is no license matlap here; did you mean matlab? | ",
		`"licenses": "matlab:3"`:    `there are 2 licenses matlab, but the job requests 3 | ask for at most licenses = "matlab:2"`,
		`"reservation": "clas"`:     "there is no reservation clas here, it may have expired; did you mean class? | ",
		`"extra": ["-C", "haswel"]`: "no node here has feature haswel; there are a100, ib, milan | ",
		`"constraint": "haswell|a"`: "no node here has feature haswell; there are a100, ib, milan | ",
	} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.b.Config = []byte(`{"account": "campus"}`)
			strictSite(t, k)
			for pool, q := range k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour, Options: "{" + options + "}"}) {
				if got := q.Why + " | " + q.Would; q.Fits || !strings.HasPrefix(got, want) {
					t.Errorf("%s: %s", pool, got)
				}
			}
		})
	}
}

// TestBackendBlock: what its own block says wrong is preflight's, and no job is
// refused for it besides; where it leaves no partition, no job fits, and
// preflight is silent.
func TestBackendBlock(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]struct{ finding, why string }{
		`{"qos": "lnog"}`:                    {"names qos lnog; yours are full, grp16, long, mins, nopart, normal, pu8, spare, testing; did you mean long?", ""},
		`{"qos": "notmine"}`:                 {"names qos notmine; yours are", ""},
		`{"account": "campsu"}`:              {"names account campsu", ""},
		`{"partitions": ["aa10", "amilan"]}`: {"names aa10; did you mean aa100?", ""},
		`{"partitions": ["aa10"]}`:           {"", "the backend block leaves no partition: there is no partition aa10 here; did you mean aa100?"},
		`{"partitions": ["amilan"], "exclude_partitions": ["amilan"]}`: {"", "the backend block leaves no partition"},
	} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.b.Config = json.RawMessage(config)
			strictSite(t, k)
			found, err := k.s.Preflight(t.Context(), nil)
			if err != nil || len(found) > 1 || len(found) == 0 && want.finding != "" || len(found) == 1 && (want.finding == "" || !strings.Contains(found[0].Detail, want.finding)) {
				t.Errorf("preflight: %+v, %v", found, err)
			}
			fits := false
			for pool, q := range k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}) {
				fits = fits || q.Fits
				if want.why != "" && q.Why != want.why {
					t.Errorf("%q: %s", pool, q.Why)
				}
				if strings.Contains(q.Why, "qos lnog") || strings.Contains(q.Why, "qos notmine") {
					t.Errorf("%q is told of it, too: %s", pool, q.Why)
				}
			}
			if fits != (want.why == "") {
				t.Errorf("fits %v", fits)
			}
		})
	}
}

// TestRefusedOnTrial: what --test-only refuses names the partitions that would do.
func TestRefusedOnTrial(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		on    []string // partitions that refuse
		says  string
		would string // of the first of them, on amilan
	}{
		"one":            {[]string{"amilan"}, "User's group not permitted to use this partition", "choose partition halfdead (24h) or small (24h) or "},
		"several":        {[]string{"amilan", "halfdead"}, "User's group not permitted to use this partition", "choose partition small (24h) or memcpu (24h) or "},
		"with more help": {[]string{"amilan"}, "Access/permission denied", "choose partition halfdead (24h) or small (24h) or memcpu (24h) or excl (24h) or "},
		"or less":        {[]string{"amilan"}, "Memory required by task is not available", "ask for less memory; `scontrol show partition` says MaxMemPerNode; or choose partition halfdead"},
		"all":            {nil, "Required partition not available (inactive or drain)", "wait; `scontrol show partition` says its state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.b.Config = []byte(`{"account": "campus"}`)
			strictSite(t, k)
			k.f.refuse = func(argv []string) *command.Result {
				line := strings.Join(argv, " ")
				if tt.on == nil || slices.ContainsFunc(tt.on, func(p string) bool { return strings.Contains(line, "--partition="+p+" ") }) {
					return &command.Result{Code: 1, Err: []byte("sbatch: error: Batch job submission failed: " + tt.says + "\n")}
				}
				return nil
			}
			q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour})["amilan"]
			if q.Fits || !strings.HasPrefix(q.Would, tt.would) || strings.Contains(q.Would, "another partition") {
				t.Errorf("fits %v: %s\nwould: %s", q.Fits, q.Why, q.Would)
			}
		})
	}
}

// TestFromAnotherMachine: a partition that takes jobs from some machines only.
func TestFromAnotherMachine(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.b.Config = []byte(`{"account": "campus"}`)
	strictSite(t, k)
	q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour, Options: `{"partition": "elsewhere"}`})["elsewhere"]
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	if q.Fits || q.Why != "partition elsewhere takes jobs from cpu1 only, this is "+host || !strings.Contains(q.Would, "submit from there") || !strings.Contains(q.Would, "choose partition amilan") {
		t.Errorf("%s | %s", q.Why, q.Would)
	}
}

// TestWaitsForWhatIsNotThere: of nodes that are powered down and of a reservation
// to come the wait is told that --test-only leaves out.
func TestWaitsForWhatIsNotThere(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.b.Config = []byte(`{"account": "campus"}`)
	strictSite(t, k)
	facts := k.f.answer
	k.f.answer = func(argv []string) *command.Result {
		r := facts(argv)
		switch line := strings.Join(argv, " "); {
		case r == nil:
		case strings.Contains(line, "sinfo -h -a -N"):
			// cpu2 is powered down; small has cpu1 alone, elsewhere and grp cpu2.
			var lines []string
			for l := range strings.Lines(string(r.Out)) {
				if strings.HasPrefix(l, "cpu2 ") {
					l = strings.Replace(l, "idle ", "idle~", 1)
				}
				lines = append(lines, l)
			}
			return &command.Result{Out: []byte(strings.Join(lines, ""))}
		case strings.Contains(line, "show config"):
			return &command.Result{Out: append([]byte("ResumeTimeout           = 600 sec\n"), r.Out...)}
		case strings.Contains(line, "show reservation"):
			return &command.Result{Out: []byte(strings.ReplaceAll(string(r.Out), "Users=alice", "Users=(null)"))}
		}
		return r
	}
	k.restart()
	got := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour})
	if q := got["nonormal"]; q.Fits {
		t.Fatal("it takes no qos normal")
	}
	if asleep, awake, half := got["halfdead"], got["small"], got["amilan"]; !asleep.Fits || !awake.Fits || !half.Fits || asleep.Wait != 10*time.Minute || awake.Wait > time.Minute || half.Wait > time.Minute {
		t.Errorf("waits: asleep %v, awake %v, half of it %v", asleep.Wait, awake.Wait, half.Wait)
	}
	pools, err := k.s.Pools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pools {
		const note = "1 of its 2 nodes are powered down until a job needs them, and may take 10m to come up"
		if told := strings.Contains(strings.Join(p.Notes, "\n"), "powered down"); p.Name == "small" && told || p.Name == "amilan" && !strings.Contains(strings.Join(p.Notes, "\n"), note) {
			t.Errorf("%s: %q", p.Name, p.Notes)
		}
	}
	q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour, Options: `{"reservation": "mine"}`})["amilan"]
	if opens := time.Until(time.Unix(1988150400, 0)); !q.Fits || (q.Wait-opens).Abs() > 10*time.Minute {
		t.Errorf("a reservation that opens in %v: %+v", opens, q)
	}
}

// TestMoreCoresThanResources: price and limits rest on resources, so what extra
// asks for must be within it.
func TestMoreCoresThanResources(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	for extra, want := range map[string]string{
		`"--ntasks-per-node=64"`:        "asks for 64 cores in all, and resources for 8 cores, on which price and limits rest: write cpus = 64",
		`"--ntasks=4", "-c 4"`:          "asks for 16 cores in all",
		`"-n", "9"`:                     "write cpus = 9",
		`"--ntasks=4", "-c 2"`:          "",
		`"--ntasks-per-node=8"`:         "",
		`"--ntasks=64", "--overcommit"`: "",
		`"--hint=nomultithread"`:        "",
	} {
		found, err := k.s.Preflight(t.Context(), []providers.Check{{Workdir: k.b.Workdir, Shape: offer.Shape{CPUs: 8, Nodes: 1}, Options: json.RawMessage(`{"extra": [` + extra + `]}`)}})
		if err != nil || len(found) > 1 || (len(found) == 1) != (want != "") || len(found) == 1 && !strings.Contains(found[0].Detail, want) {
			t.Errorf("%s: %+v, %v", extra, found, err)
		}
	}
}

// TestUnreadableOptions: they are reported for every partition alike, and the cluster can
// still be asked.
func TestUnreadableOptions(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	for options, want := range map[string]string{
		`{"nodes": 1.5}`: `options "slurm": nodes is a number 1.5: write a whole number`,
		`{"nodes": 0}`:   `options "slurm": nodes is 0: write 1 or more, or take it out`,
		`{"nodes": -2}`:  `options "slurm": nodes is -2: write 1 or more, or take it out`,
	} {
		for _, q := range k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Options: options}) {
			if q.Fits || q.Why != want {
				t.Errorf("%s: %+v", options, q)
			}
		}
	}
}

// TestUnreadableExtra: what sbatch cannot read it reads nowhere: it is asked once,
// and that is said of every partition, also of those that were not asked about.
func TestUnreadableExtra(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.b.Config = []byte(`{"account": "campus"}`)
	k.f.refuse = func([]string) *command.Result {
		return &command.Result{Code: 255, Err: []byte("sbatch: unrecognized option '--nosuch=5'\nTry \"sbatch --help\" for more information\n")}
	}
	strictSite(t, k)
	for pool, q := range k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour, Options: `{"extra": ["--nosuch=5"]}`}) {
		if q.Fits || !strings.HasPrefix(q.Why, "Slurm would refuse it: sbatch here has no such option") || strings.Contains(q.Would, "partition") {
			t.Errorf("%s: %s | %s", pool, q.Why, q.Would)
		}
	}
	if n := len(k.f.sent()); n > 2 { // with what is in extra, and without
		t.Errorf("sbatch was asked %d times", n)
	}
}

// TestNoAccountIsOneError: to whom Slurm gives no account at all that is said, and
// not that each partition would refuse him.
func TestNoAccountIsOneError(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	strictSite(t, k)
	facts := k.f.answer
	k.f.answer = func(argv []string) *command.Result {
		switch line := strings.Join(argv, " "); {
		case strings.Contains(line, "show assoc"), strings.Contains(line, "show user"):
			return &command.Result{}
		case strings.Contains(line, "show config"):
			return &command.Result{Out: []byte("AccountingStorageEnforce = associations,limits,qos\n")}
		}
		return facts(argv)
	}
	k.f.refuse = func([]string) *command.Result {
		return &command.Result{Code: 1, Err: []byte("allocation failure: Invalid account or account/partition combination specified\n")}
	}
	k.restart()
	found, err := k.s.Preflight(t.Context(), nil)
	if err != nil || len(found) != 1 || found[0].Summary != "You have no account here" {
		t.Errorf("%+v, %v", found, err)
	}
	if q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: 30 * time.Hour})["amilan"]; !q.Fits || len(k.f.sent()) > 0 {
		t.Errorf("amilan: %+v; sbatch was asked %q", q, k.f.sent())
	}
}
