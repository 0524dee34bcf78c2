package batch

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// row is a job in squeue.
func row(id, index, state, pool, account, qos, name string) values {
	return values{"%F": id, "%K": index, "%T": state, "%P": pool, "%a": account, "%q": qos, "%j": name}
}

// TestRoom: an array is cut to the room that limits on submitted jobs leave,
// each counting its own jobs; the rest follows as room appears, with the
// indexes that it had.
func TestRoom(t *testing.T) {
	t.Parallel()
	qos := "normal|0|1-00:00:00||||||||\nsmall|0||||5||||\n"
	assoc := "c|ucb|me||normal,small|normal|||||\n"
	for name, tt := range map[string]struct {
		qos, assoc, config string
		queued             []values
		want               []string // arrays that are submitted at once
	}{
		"no limit":                   {qos, assoc, "", nil, []string{"0-19"}},
		"of the qos":                 {"normal|0|||8|12||||\n", assoc, "", nil, []string{"0-11"}},
		"of the qos, another's jobs": {"normal|0||||12||||\n", assoc, "", []values{row("7", "N/A", "RUNNING", "amilan", "ucb", "small", "x")}, []string{"0-11"}},
		"of the qos, and some there": {"normal|0||||12||||\n", assoc, "", []values{row("7", "N/A", "RUNNING", "other", "ucb", "normal", "x"), row("8", "0", "COMPLETED", "other", "ucb", "normal", "y")}, []string{"0-10"}},
		"of a group of users":        {"normal|0||||||||15|\n", assoc, "", nil, []string{"0-14"}},
		"of the account":             {qos, "c|ucb|me||normal|normal||6|||\n", "", nil, []string{"0-5"}},
		"of the account elsewhere":   {qos, "c|ucb|me|gpu|normal|normal||6|||\n", "", nil, []string{"0-19"}},
		"of the controller":          {qos, assoc, "MaxJobCount = 9\n", nil, []string{"0-8"}},
		"of arrays":                  {qos, assoc, "SchedulerParameters = defer,max_array_tasks=10\n", nil, []string{"0-9", "0-9"}},
		"full":                       {"normal|0||||1||||\n", assoc, "", []values{row("7", "N/A", "PENDING", "amilan", "ucb", "normal", "x")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.answer = func(argv []string) *command.Result {
				switch line := strings.Join(argv, " "); {
				case strings.Contains(line, "show qos"):
					return &command.Result{Out: []byte(tt.qos)}
				case strings.Contains(line, "show assoc"):
					return &command.Result{Out: []byte(tt.assoc)}
				case strings.Contains(line, "show config"):
					return &command.Result{Out: []byte("MaxArraySize = 101\n" + tt.config)}
				}
				return nil
			}
			k.restart()
			k.f.queued = tt.queued
			for _, r := range k.submit("batch0123456789", k.jobs("a", 20, nil)...) {
				if r.Err != nil {
					t.Errorf("%+v", r)
				}
			}
			var got []string
			for _, s := range k.f.scripts {
				got = append(got, directive(s, "array"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("arrays are %q, want %q", got, tt.want)
			}
			for i := range 20 {
				if o := k.found(fmt.Sprintf("a%d", i)); o.Presence != offer.Found {
					t.Errorf("a%d is %+v", i, o)
				}
			}
		})
	}
}

// TestUnknownLimit: where Slurm refuses an array for a limit that it does not
// tell, it is asked how many it would take; a new muster goes on with the rest,
// and what comes after an element still comes after that.
func TestUnknownLimit(t *testing.T) {
	// Requirement: SUB-05
	t.Parallel()
	k := newBench(t)
	room := 7
	refused := command.Result{Code: 1, Err: []byte("sbatch: error: AssocGrpSubmitJobsLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)")}
	k.f.refuse = func(argv []string) *command.Result {
		n := 20
		test := slices.Contains(argv, "--test-only")
		for _, a := range argv {
			if list, ok := strings.CutPrefix(a, "--array="); ok {
				indexes, err := cluster.ParseIndexes(list)
				if err != nil {
					t.Error(err)
				}
				n = len(indexes)
			}
		}
		if !test {
			text := directive(lastScript(t, argv), "array")
			indexes, err := cluster.ParseIndexes(text)
			if err != nil {
				t.Error(err)
			}
			n = len(indexes)
		}
		switch {
		case n > room:
			return &refused
		case test:
			return &command.Result{}
		}
		room -= n
		return nil
	}
	a := k.jobs("a", 20, nil)
	jobs := append(a, k.jobs("b", 20, func(i int) []string { return []string{"a" + strconv.Itoa(i)} })...)
	k.submit("batch0123456789", jobs...)
	if got := arraysOf(k.f.scripts); !slices.Equal(got, []string{"0-6"}) {
		t.Fatalf("arrays are %q", got)
	}
	room = 5
	k.restart()
	k.submit("batch0123456789", jobs...)
	room = 100
	k.restart()
	k.submit("batch0123456789", jobs...)
	got := arraysOf(k.f.scripts)
	if len(got) < 4 || !slices.Equal(got[:3], []string{"0-6", "7-11", "12-19"}) {
		t.Fatalf("arrays are %q", got)
	}
	seen := map[int]bool{}
	for _, s := range k.f.scripts[3:] {
		list, err := cluster.ParseIndexes(directive(s, "array"))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			seen[i] = true
		}
		of := map[string]string{"0-6": "aftercorr:1", "7-11": "aftercorr:2", "12-19": "aftercorr:3"}[directive(s, "array")]
		if d := directive(s, "dependency"); d != of {
			t.Errorf("%s of b comes after %q, want %q", directive(s, "array"), d, of)
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d of b are submitted", len(seen))
	}
}

func arraysOf(scripts []string) (out []string) {
	for _, s := range scripts {
		out = append(out, directive(s, "array"))
	}
	return out
}

// lastScript is the text of the script that an sbatch is given.
func lastScript(t *testing.T, argv []string) string {
	text, err := os.ReadFile(argv[len(argv)-1])
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
