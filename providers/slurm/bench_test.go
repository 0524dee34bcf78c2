package slurm

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// A fakeSlurm answers as the commands of a small cluster would.
type fakeSlurm struct {
	mu     sync.Mutex
	calls  []string
	refuse func(argv []string) *command.Result // of sbatch; nil = it is taken
	answer func(argv []string) *command.Result // of any other; nil = the usual
}

func (f *fakeSlurm) Run(_ context.Context, argv []string, _ []byte) (command.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(argv, " "))
	ask := f.answer
	if argv[0] == "sbatch" {
		ask = f.refuse
	}
	if ask != nil {
		if r := ask(argv); r != nil {
			return *r, nil
		}
	}
	switch {
	case argv[0] != "scontrol":
	case slices.Contains(argv, "partition"):
		return command.Result{Out: []byte("PartitionName=amilan AllowQos=ALL MaxTime=1-00:00:00 MaxNodes=UNLIMITED TotalNodes=2 State=UP Default=YES\n")}, nil
	case slices.Contains(argv, "config"):
		return command.Result{Out: []byte("MaxArraySize = 101\n")}, nil
	}
	return command.Result{}, nil
}

// sent are the calls of sbatch.
func (f *fakeSlurm) sent() (out []string) {
	for _, c := range f.calls {
		if strings.HasPrefix(c, "sbatch") {
			out = append(out, c)
		}
	}
	return out
}

// A bench is a site whose cluster is a fake one.
type bench struct {
	*testing.T
	f *fakeSlurm
	s *Site
	b providers.Backend
}

func newBench(t *testing.T) *bench {
	t.Helper()
	k := &bench{T: t, f: &fakeSlurm{}, b: providers.Backend{Name: "slurm.test", Type: "slurm", Workdir: t.TempDir()}}
	k.restart()
	return k
}

// restart forgets what is known of the cluster, and takes the backend block in
// as it is now.
func (k *bench) restart() {
	k.Helper()
	s, err := New(k.b)
	if err != nil {
		k.Fatal(err)
	}
	s.Cluster = cluster.New(k.f, os.Getenv("USER"))
	k.s = s
}

// quotes are the quotes for a shape, by partition.
func (k *bench) quotes(s offer.Shape) map[string]offer.Quote {
	k.Helper()
	got, err := k.s.Quote(k.Context(), []offer.Shape{s})
	if err != nil {
		k.Fatal(err)
	}
	by := map[string]offer.Quote{}
	for _, q := range got {
		by[q.Pool] = q
	}
	return by
}
