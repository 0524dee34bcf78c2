package node

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// cancelLook is how often a pack looks which of its jobs were cancelled: the
// scheduler knows of none of them.
const cancelLook = 5 * time.Second

// A pack is jobs that share one job of the scheduler. Some run beside one another, each in a
// slot with its own devices and cores, and the others follow in turns. Each is a start of its
// own, in a process of its own: one of them does not affect the others.
type pack struct {
	batch      Batch
	spool      Spool
	allocation allocation
	cells      []*cell
	shape      offer.Shape // of each
	program    []string    // the command line of this process, without the options of the pack
	ended      chan *cell
	times      times
	cores      [][]int
	end        time.Time // of the allocation
	open       int       // slots that are not closed
	closing    bool      // no other job begins
}

// A cell is one job of a pack.
type cell struct {
	index   int
	job     *providers.Job
	slot    int
	since   time.Time // when its slot was its own
	begun   bool
	process *exec.Cmd // nil = it did not start
	err     error     // how its process ended
	over    bool
	told    bool // it was asked to end, as it is cancelled
}

// newPack is the pack of some elements of a batch.
func newPack(batch Batch, p allocation, indexes []int, program []string) (*pack, error) {
	k := &pack{batch: batch, spool: batch.spool(), allocation: p, program: program, ended: make(chan *cell)}
	for _, i := range indexes {
		j, err := batch.Job(i)
		if err != nil {
			return nil, err
		}
		k.cells = append(k.cells, &cell{index: i, job: j})
	}
	k.shape = k.cells[0].job.Shape.Together(len(k.cells))
	k.open = k.shape.Beside()
	return k, nil
}

// exitLeft is the status of a pack in which the turn of some jobs did not come.
// sysexits.h, EX_TEMPFAIL.
const exitLeft = 75

// run runs the jobs to their ends. Its result is the exit status for the scheduler: 0
// only if all of them completed.
func (k *pack) run() (code int, err error) {
	k.end = time.Now().Add(k.shape.Lasts())
	first := &start{spool: k.spool, batch: k.batch, job: k.cells[0].job, allocation: k.allocation, begin: k.allocation.begin(k.cells[0].job)}
	if why, class := first.noRoom(); why != "" {
		return first.postpone(why, class)
	}
	if k.times, err = newTimes(k.open); err != nil {
		return exitBroken, fmt.Errorf("pack: %w", err)
	}
	runtime.LockOSThread() // whose end is that of the processes that it starts
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	k.cores = kernel.Cores()
	began := time.Now()
	for slot := range k.open {
		code = cmp.Or(code, k.next(slot, began, time.Time{}))
	}
	look := time.NewTicker(cancelLook)
	defer look.Stop()
	for len(k.running()) > 0 {
		select {
		case c := <-k.ended:
			c.over = true
			code = cmp.Or(code, k.ending(c))
			code = cmp.Or(code, k.next(c.slot, time.Now(), k.end))
		case sg := <-signals:
			k.closing = k.closing || slices.Contains(endings, sg)
			for _, c := range k.running() {
				c.process.Process.Signal(sg)
			}
		case <-look.C:
			k.endCancelled()
		}
	}
	if code == 0 && slices.ContainsFunc(k.cells, func(c *cell) bool { return !c.begun }) {
		return k.leave(), nil
	}
	if code == 0 {
		dropOutput()
	}
	return code, nil
}

// endings are the signals with which a scheduler ends a job.
var endings = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP}

// leave is the exit status of a pack that leaves jobs to a later one. The pack's
// successors must not run.
func (k *pack) leave() int {
	if slices.Contains(k.batch.Bounds().Requeue, exitLeft) {
		return 1
	}
	return exitLeft
}

// next starts another job in a slot from some time on, or closes the slot; a zero end is
// that of a pack whose jobs begin with it.
func (k *pack) next(slot int, since, end time.Time) (code int) {
	for {
		c := k.waiting(since, end)
		if c == nil {
			break
		}
		c.begun, c.slot, c.since = true, slot, since
		err := kernel.OnCores(part(k.cores, slot, k.shape.Beside()), func() error { return k.start(c) })
		if err == nil {
			return code
		}
		fmt.Fprintf(os.Stderr, "muster: %s could not be started: %v\n", c.job.Address, err)
		code = exitBroken
	}
	k.open--
	k.times.note(k.open)
	return code
}

// waiting is the job whose turn it is; nil = none may begin.
func (k *pack) waiting(now, end time.Time) *cell {
	if k.closing || !mayBegin(k.shape.Walltime, now, end) {
		return nil
	}
	for _, c := range k.cells {
		if !c.begun && !k.held(c) {
			if why, _ := (&start{job: c.job}).noRoom(); why != "" && !end.IsZero() {
				return nil
			}
			return c
		}
	}
	return nil
}

// mayBegin reports whether a job that may take its whole walltime ends before its
// allocation does; a zero end is not near.
func mayBegin(walltime time.Duration, now, end time.Time) bool {
	return end.IsZero() || !now.Add(walltime).After(end)
}

// held reports whether a person holds a job, or all that waits.
func (k *pack) held(c *cell) bool {
	for _, note := range []string{k.spool.path("holds", c.job.Token), k.spool.path("hold")} {
		if _, err := os.Stat(note); err == nil {
			return true
		}
	}
	return false
}

// running are the jobs whose processes have not ended.
func (k *pack) running() []*cell {
	return slices.DeleteFunc(slices.Clone(k.cells), func(c *cell) bool { return c.process == nil || c.over })
}

// start starts the process of a job. It ends with this one.
func (k *pack) start(c *cell) error {
	args := append(slices.Clone(k.program), "-batch", string(k.batch), "-cell", strconv.Itoa(c.index), "-of", strconv.Itoa(len(k.cells)), "-since", strconv.FormatInt(c.since.UnixNano(), 10))
	if list := k.devices(c.slot, c.job.Shape.GPUs); len(list) > 0 {
		args = append(args, "-gpus", strings.Join(list, ","))
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr, cmd.ExtraFiles = os.Stdout, os.Stderr, dependent(), []*os.File{k.times.file}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.process = cmd
	go func() {
		c.err = cmd.Wait()
		k.ended <- c
	}()
	return nil
}

// devices are the GPUs of the n-th slot: of those that the scheduler gave the pack, or,
// where it names none, of the node.
func (k *pack) devices(n, each int) (list []string) {
	for i := n * each; i < (n+1)*each; i++ {
		if i < len(k.allocation.gpus) {
			list = append(list, k.allocation.gpus[i])
		} else if len(k.allocation.gpus) == 0 {
			list = append(list, strconv.Itoa(i))
		}
	}
	return list
}

// part is the n-th of some equal parts of a list of cores; nil = there are fewer cores
// than parts.
func part(cores [][]int, n, parts int) [][]int {
	each := len(cores) / parts
	return cores[n*each : (n+1)*each]
}

// endCancelled ends the jobs that were cancelled since.
func (k *pack) endCancelled() {
	for _, c := range k.running() {
		if _, err := os.Stat(k.spool.path("cancels", c.job.Token)); err == nil && !c.told {
			c.told = true
			c.process.Process.Signal(unix.SIGTERM)
		}
	}
}

// ending is the exit status of a job whose process has ended. If that was killed, its end is
// recorded here, and its remaining processes are ended, too.
func (k *pack) ending(c *cell) int {
	if c.err == nil {
		return 0
	}
	if status, ok := c.process.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		k.killed(c, status.Signal())
	}
	return max(c.process.ProcessState.ExitCode(), 1)
}

func (k *pack) killed(c *cell, by syscall.Signal) {
	j, n := c.job, k.allocation.restart
	begin, err := k.spool.ReadBegin(j.Token, n)
	if _, recorded := k.spool.ReadEnd(j.Token, n); err != nil || begin.ID != k.allocation.id() || recorded == nil {
		return // it did not begin, or came to its end
	}
	for _, m := range (attempt.Processes{Job: j, Attempt: wrapper.Attempt(j, n)}).Members() {
		if m != os.Getpid() {
			unix.Kill(m, unix.SIGKILL)
		}
	}
	s := &start{spool: k.spool, batch: k.batch, job: j, allocation: k.allocation.share(len(k.cells), begin.GPUs), begin: begin}
	e := End{Begin: begin, Final: true, Signature: failure.Killed}
	e.Seen = s.seen(offer.Failed)
	e.Seen.Class, e.Seen.Reason = failure.Killed, fmt.Sprintf("the program that ran it on %s was ended by %s; the others of its pack went on", begin.Node, unix.SignalName(by))
	e.Seen.Usage = &offer.Usage{Elapsed: time.Since(begin.At), CPU: -1, MaxRSS: -1, NodeTime: k.times.since(c.since).share(time.Now())}
	if err := s.record(e); err != nil {
		fmt.Fprintf(os.Stderr, "muster: %v\n", err)
	}
}

// times are when jobs of a pack began and ended, in a file without a name that its
// processes share, and from when on one of them had its slot.
type times struct {
	file  *os.File // nil = there is no pack
	began int64
}

// timesFile is the descriptor of that file in the process of a job. os/exec, ExtraFiles.
const timesFile = 3

// newTimes notes the beginning of a pack with so many slots.
func newTimes(slots int) (times, error) {
	f, err := os.CreateTemp("", "muster-pack-")
	if err != nil {
		return times{}, err
	}
	t := times{file: f}
	return t, errors.Join(os.Remove(f.Name()), t.note(slots))
}

// since are the times for a job that had its slot from then on.
func (t times) since(at time.Time) times {
	t.began = at.UnixNano()
	return t
}

// note notes how many slots are in use from now on.
func (t times) note(slots int) error {
	return binary.Write(t.file, binary.LittleEndian, [2]int64{time.Now().UnixNano(), int64(slots)})
}

// share is for how long the node counts as one job's that ends now.
func (t times) share(now time.Time) time.Duration {
	if t.file == nil {
		return 0
	}
	var list []offer.Change
	for at, before := int64(0), int64(0); ; at += 16 {
		var b [16]byte
		if _, err := t.file.ReadAt(b[:], at); err != nil {
			break
		}
		n := int64(binary.LittleEndian.Uint64(b[8:]))
		list = append(list, offer.Change{At: int64(binary.LittleEndian.Uint64(b[:8])), By: int(n - before)})
		before = n
	}
	return offer.ShareOf(list, t.began, now.UnixNano())
}

// share is the part of an allocation that one of n jobs of a pack has: the cores that it asks
// for; others stay unused.
func (p allocation) share(n int, gpus []string) allocation {
	p.sharers, p.gpus, p.cores = n, gpus, 0
	return p
}

// indexes reads a list of elements, "0,1,3".
func indexes(text string) (list []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		i, err := strconv.Atoi(word)
		if err != nil || i < 0 {
			return nil, fmt.Errorf("%q is not a list of elements", text)
		}
		list = append(list, i)
	}
	return list, nil
}

// spool is the spool that a batch is on.
func (b Batch) spool() Spool { return Spool(filepath.Dir(filepath.Dir(string(b)))) }
