package node

import (
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

// A pack is jobs that run beside one another in one job of the scheduler, each on
// its own devices and cores. Each is a start of its own, in a process of its own:
// what one of them does is nothing to the others.
type pack struct {
	batch      Batch
	spool      Spool
	allocation allocation
	cells      []*cell
	program    []string // the command line of this process, without the options of the pack
	ended      chan *cell
	times      times
}

// A cell is one job of a pack.
type cell struct {
	index   int
	job     *providers.Job
	process *exec.Cmd // nil = it did not start
	err     error     // how its process ended
	over    bool
	told    bool // it was told to end, as it is cancelled
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
	return k, nil
}

// run runs the jobs to their ends. Its result is the exit status for the scheduler: 0
// only if all of them completed.
func (k *pack) run() (code int, err error) {
	first := &start{spool: k.spool, batch: k.batch, job: k.cells[0].job, allocation: k.allocation, begin: k.allocation.begin(k.cells[0].job)}
	if why, class := first.noRoom(); why != "" {
		return first.postpone(why, class)
	}
	if k.times, err = newTimes(len(k.cells)); err != nil {
		return exitBroken, fmt.Errorf("pack: %w", err)
	}
	runtime.LockOSThread() // whose end is that of the processes that it starts
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	cores, left := kernel.Cores(), 0
	for n, c := range k.cells {
		err := kernel.OnCores(part(cores, n, len(k.cells)), func() error { return k.start(n, c) })
		if err != nil {
			fmt.Fprintf(os.Stderr, "muster: %s could not be started: %v\n", c.job.Address, err)
			code = exitBroken
			k.times.over()
			continue
		}
		left++
	}
	look := time.NewTicker(cancelLook)
	defer look.Stop()
	for left > 0 {
		select {
		case c := <-k.ended:
			left--
			c.over = true
			k.times.over()
			if n := k.end(c); code == 0 {
				code = n
			}
		case sg := <-signals:
			for _, c := range k.running() {
				c.process.Process.Signal(sg)
			}
		case <-look.C:
			k.endCancelled()
		}
	}
	if code == 0 {
		dropOutput()
	}
	return code, nil
}

// running are the jobs whose processes have not ended.
func (k *pack) running() []*cell {
	return slices.DeleteFunc(slices.Clone(k.cells), func(c *cell) bool { return c.process == nil || c.over })
}

// start starts the process of the n-th job. It ends with this one.
func (k *pack) start(n int, c *cell) error {
	args := append(slices.Clone(k.program), "-batch", string(k.batch), "-cell", strconv.Itoa(c.index), "-of", strconv.Itoa(len(k.cells)))
	if list := k.devices(n, c.job.Shape.GPUs); len(list) > 0 {
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

// devices are the GPUs of the n-th job: of those that the scheduler gave the pack, or,
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

// end is the exit status of a job whose process has ended. If that was killed, its end is
// recorded here, and what it left behind is ended, too.
func (k *pack) end(c *cell) int {
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
	for _, m := range (attempt.Group{Job: j, Attempt: wrapper.Attempt(j, n)}).Members() {
		if m != os.Getpid() {
			unix.Kill(m, unix.SIGKILL)
		}
	}
	s := &start{spool: k.spool, batch: k.batch, job: j, allocation: k.allocation.share(len(k.cells), begin.GPUs), begin: begin}
	e := End{Begin: begin, Final: true, Signature: failure.Killed}
	e.Seen = s.seen(offer.Failed)
	e.Seen.Class, e.Seen.Reason = failure.Killed, fmt.Sprintf("the program that ran it on %s was ended by %s; the others of its pack went on", begin.Node, unix.SignalName(by))
	e.Seen.Usage = &offer.Usage{Elapsed: time.Since(begin.At), CPU: -1, MaxRSS: -1, NodeTime: k.times.share(time.Now())}
	if err := s.record(e); err != nil {
		fmt.Fprintf(os.Stderr, "muster: %v\n", err)
	}
}

// times are when a pack began and when each of its jobs ended, in a file without a
// name that its processes share.
type times struct {
	file *os.File // nil = there is no pack
	jobs int
}

// timesFile is the descriptor of that file in the process of a job. os/exec, ExtraFiles.
const timesFile = 3

func newTimes(jobs int) (times, error) {
	f, err := os.CreateTemp("", "muster-pack-")
	if err != nil {
		return times{}, err
	}
	t := times{f, jobs}
	return t, errors.Join(os.Remove(f.Name()), t.over())
}

// over notes the time; first the beginning of the pack.
func (t times) over() error { return binary.Write(t.file, binary.LittleEndian, time.Now().UnixNano()) }

// share is for how long the node counts as one job's that ends now.
func (t times) share(now time.Time) time.Duration {
	if t.file == nil {
		return 0
	}
	var list []int64
	for at := int64(0); ; at += 8 {
		var b [8]byte
		if _, err := t.file.ReadAt(b[:], at); err != nil {
			break
		}
		list = append(list, int64(binary.LittleEndian.Uint64(b[:])))
	}
	return ShareOf(list, t.jobs, now.UnixNano())
}

// ShareOf is the part of a pack's time until now that counts as one job's: at any time
// the node is that of all jobs that run, in equal parts, so that the shares of all add
// up to how long the pack lasts. times are when it began, and when jobs ended.
func ShareOf(times []int64, jobs int, now int64) (own time.Duration) {
	for i, since := range times {
		until := now
		if i+1 < len(times) {
			until = min(until, times[i+1])
		}
		own += time.Duration(max(until-since, 0) / int64(max(jobs-i, 1)))
	}
	return own
}

// share is the part of an allocation that one of n jobs of a pack has: the cores that
// it asks for, as those that nobody asked for are nobody's.
func (p allocation) share(n int, gpus []string) allocation {
	p.sharers, p.gpus, p.cores = n, gpus, 0
	return p
}

// indexes reads a list of elements, "0,1,3".
func indexes(text string) (list []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		i, err := strconv.Atoi(word)
		if err != nil || i < 0 {
			return nil, fmt.Errorf("%q is no list of elements", text)
		}
		list = append(list, i)
	}
	return list, nil
}

// spool is the spool that a batch is on.
func (b Batch) spool() Spool { return Spool(filepath.Dir(filepath.Dir(string(b)))) }
