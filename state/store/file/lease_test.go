package file

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("MUSTER_TEST_WRITER"); dir != "" {
		write(dir)
		return
	}
	os.Exit(m.Run())
}

// write records events until it is killed, and says what was acknowledged.
func write(dir string) {
	s, err := Open(dir, Options{FoldAbove: 4000})
	if err != nil {
		panic(err)
	}
	n, err := s.Acquire(ctx, "apply", 0)
	if err != nil {
		panic(err)
	}
	for {
		seq := n.State().Seq + 1
		e := state.Intended{Job: state.Job{Address: fmt.Sprint("phase.p", seq)}, Attempt: state.Attempt{N: 1, Token: fmt.Sprint(seq)}}
		if err := errors.Join(n.Append(e), n.Sync(ctx)); err != nil {
			panic(err)
		}
		fmt.Println(seq)
	}
}

// A writer that is killed leaves everything that it acknowledged, and its
// lease is taken over at once.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var acked, fence uint64
	for round := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "MUSTER_TEST_WRITER="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for i := 0; i < 3+29*round && lines.Scan(); i++ {
			acked, _ = strconv.ParseUint(lines.Text(), 10, 64)
		}
		_ = cmd.Process.Kill()
		for lines.Scan() {
			acked, _ = strconv.ParseUint(lines.Text(), 10, 64)
		}
		_ = cmd.Wait()
		st, err := open(t, dir).Read(ctx)
		if err != nil || st.Seq < acked || len(st.Jobs) != int(st.Seq) {
			t.Fatalf("round %d: event %d was acknowledged; read %d with %d jobs: %v", round, acked, st.Seq, len(st.Jobs), err)
		}
		if round%2 == 0 {
			continue // the next writer takes over from the dead one itself
		}
		n, err := open(t, dir).Acquire(ctx, "apply", 0)
		if err != nil || n.Fence() <= fence || n.State().Seq != st.Seq {
			t.Fatalf("round %d: %v", round, err)
		}
		fence = n.Fence()
		if err := n.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if left := leftovers(t, dir); left != "" {
		t.Errorf("files are left behind: %s", left)
	}
}

// TestBackupIsTheSnapshot: a holder died when the backup was made and the new
// snapshot not yet in place, so that both names are one file.
func TestBackupIsTheSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		n, err := open(t, dir).Acquire(ctx, "apply", 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Append(state.Intended{Job: state.Job{Address: fmt.Sprint("phase.p", i)}, Attempt: state.Attempt{N: 1, Token: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
		if err := n.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if left := leftovers(t, dir); left != "" {
			t.Errorf("files are left behind: %s", left)
		}
		snapshot := filepath.Join(dir, "muster.state.json")
		if err := errors.Join(os.Remove(snapshot+".backup"), os.Link(snapshot, snapshot+".backup")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSystemHowAHolderLooks(t *testing.T) {
	t.Parallel()
	me := self()
	if me.boot == "" {
		needs.Absent(t, "nothing can be proven of a process here")
	}
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	me.booted, me.machine = now.Add(-time.Hour), "m1"
	base := store.Lease{Host: me.host, Machine: "m1", Boot: me.place(), PID: me.pid, PIDStart: me.start, Heartbeat: now}
	for _, c := range []struct {
		name   string
		change func(*store.Lease)
		looks  string
		proven bool
	}{
		{"this very process", func(*store.Lease) {}, alive, true},
		{"its heartbeat is old, but it runs", func(l *store.Lease) { l.Heartbeat = now.Add(-time.Hour) }, alive, true},
		{"its pid is of a later process", func(l *store.Lease) { l.PIDStart++ }, dead, true},
		{"its pid is of nobody", func(l *store.Lease) { l.PID = 1 << 30 }, dead, true},
		{"another pid namespace of this machine", func(l *store.Lease) { l.PID, l.Boot = 1<<30, me.boot+" pid:[1]" }, alive, false},
		{"this machine, before it was booted", func(l *store.Lease) { l.Boot, l.Heartbeat = "older pid:[1]", now.Add(-2*time.Hour) }, dead, true},
		{"another machine of the same name", func(l *store.Lease) { l.Boot, l.Machine, l.Heartbeat = "other pid:[1]", "m2", now.Add(-2*time.Hour) }, dead, false},
		{"another host, seen just now", func(l *store.Lease) { l.Host = "elsewhere" }, alive, false},
		{"another host, late", func(l *store.Lease) { l.Host, l.Heartbeat = "elsewhere", now.Add(-30*time.Second) }, unknown, false},
		{"another host, not seen for long", func(l *store.Lease) { l.Host, l.Heartbeat = "elsewhere", now.Add(-time.Hour) }, dead, false},
		{"another host, its clock ahead", func(l *store.Lease) { l.Host, l.Heartbeat = "elsewhere", now.Add(time.Hour) }, alive, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := base
			c.change(&l)
			if looks, proven := me.judge(l, now); looks != c.looks || proven != c.proven {
				t.Errorf("looks %s, proven %v; want %s, %v", looks, proven, c.looks, c.proven)
			}
		})
	}
}

// A holder that somebody suspended, as with Ctrl-Z, keeps its lease, and the message says how it
// continues.
func TestSystemASuspendedHolder(t *testing.T) {
	t.Parallel()
	me := self()
	if me.boot == "" {
		needs.Absent(t, "nothing can be proven of a process here")
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	l := store.Lease{Host: me.host, Boot: me.place(), PID: cmd.Process.Pid, Heartbeat: time.Now()}
	if looks, proven := me.judge(l, time.Now()); looks != alive || !proven {
		t.Errorf("looks %s, proven %v", looks, proven)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for looks := ""; looks != stopped; time.Sleep(time.Millisecond) {
		var proven bool
		if looks, proven = me.judge(l, time.Now()); looks == dead || !proven {
			t.Fatalf("looks %s, proven %v", looks, proven)
		}
	}
	if says := (&store.LockedError{Lease: l, Alive: stopped}).Detail(); !strings.Contains(says, fmt.Sprintf(`it is suspended, and "fg" in its terminal or "kill -CONT %d" lets it continue. Wait`, l.PID)) {
		t.Error(says)
	}
}

// A holder on another host is never taken over from silently, however dead it
// looks.
func TestElsewhereIsNotTakenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	far := open(t, dir)
	far.self.host = "elsewhere"
	far.opt.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	n, err := far.Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	die(n.(*session))
	_, err = open(t, dir).Acquire(ctx, "apply", 0)
	var l *store.LockedError
	if !errors.As(err, &l) || l.Alive != dead || l.Lease.Host != "elsewhere" {
		t.Fatalf("%v", err)
	}
	if d := l.Detail(); !strings.Contains(d, "muster force-unlock "+l.Lease.ID) || !strings.Contains(d, "looks dead") {
		t.Errorf("%s", d)
	}
}

func TestLostIsClosedByTheHeartbeat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir, Options{Heartbeat: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ForceUnlock(ctx, n.(*session).l.terms.ID); err != nil {
		t.Fatal(err)
	}
	<-n.Lost()
	if err := n.Close(ctx); !errors.Is(err, store.ErrLost) {
		t.Errorf("%v", err)
	}
}

// Somebody died between taking NEXT and the lease.
func TestTakeoverThatWasCutShort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n, err := mortal(t, dir).Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	die(n.(*session))
	lock := filepath.Join(dir, "muster.state.lock")
	data, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lock+".next", data, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := open(t, dir).Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, dir); left != "" {
		t.Errorf("files are left behind: %s", left)
	}
}

func TestDamagedLeaseIsUnlockedByTheIDItsErrorGives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "muster.state.lock"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	_, err := s.Acquire(ctx, "apply", 0)
	var c *store.CorruptError
	if !errors.As(err, &c) {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(c.Way, "force-unlock ")
	id, _, _ = strings.Cut(id, `"`)
	if s.ForceUnlock(ctx, id+"0") == nil {
		t.Error("another id unlocks it")
	}
	if err := s.ForceUnlock(ctx, id); err != nil {
		t.Fatal(err)
	}
	n, err := s.Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// A holder that lost its lease and does not know it yet writes on: nothing of
// that counts, neither in its journal nor as a snapshot.
func TestZombie(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	got, err := s.Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	old := got.(*session)
	add := func(n *session, i int) error {
		return errors.Join(n.Append(state.Intended{Job: state.Job{Address: fmt.Sprint("phase.p", i)}, Attempt: state.Attempt{N: 1, Token: fmt.Sprint(i)}}), n.Sync(ctx))
	}
	if err := add(old, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.ForceUnlock(ctx, old.l.terms.ID); err != nil {
		t.Fatal(err)
	}
	m, err := open(t, dir).Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	next := m.(*session)
	if err := add(next, 2); err != nil {
		t.Fatal(err)
	}
	if err := add(old, 3); !errors.Is(err, store.ErrLost) { // it is in the old journal now
		t.Fatal(err)
	}
	old.failed = nil
	if _, err := s.writeSnapshot(old.l, old.st, old.Fence()); !errors.Is(err, store.ErrLost) {
		t.Fatalf("the old holder writes a snapshot: %v", err)
	}
	st, err := s.Read(ctx)
	if err != nil || st.Jobs["phase.p3"] != nil || st.Jobs["phase.p2"] == nil || st.Seq != 2 {
		t.Fatalf("%+v, %v", st, err)
	}
	if err := next.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if st, err = s.Read(ctx); err != nil || len(st.Jobs) != 2 {
		t.Fatalf("%+v, %v", st, err)
	}
	_ = old.Close(ctx)
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lives(t, dir, small, always)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 5 {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
}
