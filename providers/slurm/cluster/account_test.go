package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/batch/command"
)

// A siteRunner answers as a cluster with accounting does, unless slurmdbd is away.
type siteRunner struct {
	accounting string // AccountingStorageType
	away       bool
	asked      int // of sacctmgr
}

func (r *siteRunner) Run(_ context.Context, argv []string, _ []byte) (command.Result, error) {
	line := strings.Join(argv, " ")
	switch {
	case argv[0] == "sacctmgr":
		r.asked++
		switch {
		case r.away:
			return command.Result{Code: 1, Err: []byte("sacctmgr: error: Sending PersistInit msg: Connection refused\n")}, nil
		case strings.Contains(line, "show qos"):
			return command.Result{Out: []byte("testing|0|01:00:00||2|5|||||||||\n")}, nil
		case strings.Contains(line, "show assoc"):
			return command.Result{Out: []byte("c|campus|me||testing|testing|||||\n")}, nil
		}
		return command.Result{Out: []byte("campus\n")}, nil
	case strings.HasSuffix(line, "show config"):
		return command.Result{Out: []byte("AccountingStorageType   = " + r.accounting + "\nClusterName = c\n")}, nil
	case strings.Contains(line, "show partition"):
		return command.Result{Out: []byte("PartitionName=p AllowQos=ALL MaxTime=1-00:00:00 State=UP TotalNodes=1\n")}, nil
	}
	return command.Result{}, nil
}

// TestLimitsWhileAccountingIsAway: the limits that were told last stand in for
// those that cannot be asked, and that is said with their age; so it is where none
// were ever told, but not where a cluster has no accounting.
func TestLimitsWhileAccountingIsAway(t *testing.T) {
	t.Parallel()
	const dbd = "accounting_storage/slurmdbd"
	for name, c := range map[string]struct {
		accounting string
		before     bool // it was asked before, while slurmdbd was there
		broken     bool // what was kept is cut short
		closed     bool
		note       string
	}{
		"asked before":        {dbd, true, false, false, "limits of qos and accounts are those of 20"},
		"never asked":         {dbd, false, false, true, "never saw its limits"},
		"kept badly":          {dbd, true, true, true, "never saw its limits"},
		"no accounting there": {"accounting_storage/none", false, false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &siteRunner{accounting: c.accounting}
			k := New(r, "me")
			k.Keep = filepath.Join(t.TempDir(), "kept")
			if c.before {
				if s, err := k.Facts(t.Context()); err != nil || s.LimitsNote() != "" || s.Closed {
					t.Fatalf("while it is there: %+v, %v", s, err)
				}
			}
			if c.broken {
				files, _ := filepath.Glob(filepath.Join(k.Keep, "*"))
				if len(files) != 1 || os.Truncate(files[0], 10) != nil {
					t.Fatalf("kept in %q", files)
				}
			}
			r.away, r.asked = true, 0
			s, err := k.Facts(t.Context())
			if err != nil || s.Closed != c.closed || !strings.Contains(s.LimitsNote(), c.note) || (s.LimitsNote() == "") != (c.note == "") {
				t.Errorf("closed %t, %q, %v", s.Closed, s.LimitsNote(), err)
			}
			if q := s.Quality("testing"); (q != nil) != !c.closed || q != nil && q.maxSubmit != 5 {
				t.Errorf("qos %+v", q)
			}
			if r.asked != 1 {
				t.Errorf("sacctmgr was run %d times after it failed", r.asked)
			}
		})
	}
}
