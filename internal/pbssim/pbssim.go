// Package pbssim is a stand-in for an OpenPBS server and its commands, for tests:
// qsub, qstat, qdel, qalter, qhold, qrls, qrerun, qsig, qselect, pbsnodes and qmgr
// answer as version 23.06.06 does, error texts and exit codes included. Jobs are
// real processes. Its tests hold it to recordings of a real server.
//
// A test binary is the commands itself:
//
//	func TestMain(m *testing.M) {
//		pbssim.Main() // returns unless the process is one of the commands
//		os.Exit(m.Run())
//	}
//
//	s := pbssim.Start(t, pbssim.Config{})
//	// s.Bin is a folder for PATH. s.Happen("node-down", "pbs1") is an event.
//
// Close ends the server and leaves its jobs running; Open in the same folder
// serves them again. The command muster-pbssim serves one outside of tests.
//
// Differences from a real server: jobs run as the user of the server, the memory
// and time that they used are rounded, and a qsub that is not attached to a
// server's ACLs identifies its user by PBSSIM_USER, else by the user id.
package pbssim

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/program"
)

// lab is the default configuration, in the language of qmgr: the queues of the
// recordings, and one node with 64 cores and 4 GPUs.
//
//go:embed lab.qmgr
var lab string

// A Config is the initial configuration of a server. The zero Config is the
// Lab.
type Config struct {
	Qmgr string        // statements of qmgr; "" = Lab
	Kill time.Duration // between TERM and KILL; 0 = 1 s
	Copy time.Duration // how long the copy of output that cannot be delivered is tried; 0 = not again
}

// programs are the commands that there are.
var programs = []string{"qsub", "qstat", "qdel", "qalter", "qhold", "qrls", "qrerun", "qsig", "qselect", "pbsnodes", "qmgr"}

// A Server is a PBS server, its scheduler and the MOMs of its nodes. Its jobs are
// processes that outlive it.
type Server struct {
	Dir string // its folder
	Bin string // the folder of its commands, for PATH

	cfg      Config
	listener net.Listener
	served   sync.WaitGroup

	mu            sync.Mutex
	closed        bool
	version       string
	host          string
	now           func() time.Time
	next          int // sequence number of the next job
	server        attrs
	resourceTypes // of the site
	queues        []*queue
	nodes         []*node
	jobs          []*job // by sequence number
	bySeq         map[int]*job
	log           *os.File
	timers        map[*time.Timer]bool
	lenient       bool // limits of time and memory are not enforced yet
	unscheduled   bool // the scheduler is down
}

// Start serves until the test ends, with its commands in place. Then it kills the
// jobs that still run.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "pbssim-")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Abandon()
		if t.Failed() {
			t.Logf("the folder of the PBS server is %s", dir)
			return
		}
		os.RemoveAll(dir)
	})
	return s
}

// Open serves the folder dir, which it makes. The records of an earlier server
// there override the configuration.
func Open(dir string, c Config) (*Server, error) {
	if c.Qmgr == "" {
		c.Qmgr = lab
	}
	if c.Kill == 0 {
		c.Kill = time.Second
	}
	s := &Server{
		Dir: dir, Bin: filepath.Join(dir, "bin"), cfg: c, version: "23.06.06", host: "pbs1", now: time.Now,
		server: attrs{}, resourceTypes: resourceTypes{map[string]string{}, map[string]string{}}, bySeq: map[int]*job{}, timers: map[*time.Timer]bool{},
	}
	for _, d := range []string{s.Bin, s.path("jobs"), s.path("spool"), s.path("undelivered")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if err := s.qmgrAll(c.Qmgr); err != nil {
		return nil, err
	}
	if err := s.replay(); err != nil {
		return nil, err
	}
	if err := s.install(); err != nil {
		return nil, err
	}
	return s, s.Serve()
}

func (s *Server) path(name ...string) string {
	return filepath.Join(append([]string{s.Dir}, name...)...)
}

// install writes the commands: scripts that run this program as one of them.
func (s *Server) install() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range append([]string{"pbssim"}, programs...) {
		text := fmt.Sprintf("#!/bin/sh\nPBSSIM_DIR='%s' PBSSIM_PROGRAM=%s exec '%s' \"$@\"\n", s.Dir, name, self)
		if err := program.File(filepath.Join(s.Bin, name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// Serve answers commands, after Close again.
func (s *Server) Serve() error {
	socket := s.path("socket")
	if len(socket) > 100 { // the longest path of a socket is 107 bytes, on macOS 103
		short, err := os.MkdirTemp("", "pbssim-")
		if err != nil {
			return err
		}
		socket = filepath.Join(short, "socket")
	}
	os.Remove(socket) // of a server that was killed
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.path("address"), []byte(socket), 0o644); err != nil {
		return err
	}
	s.mu.Lock()
	s.listener, s.closed = l, false
	s.mom().adopt()
	s.scheduler().schedule()
	s.mu.Unlock()
	s.served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.served.Go(func() { s.answer(c) })
		}
	})
	return nil
}

// Close ends the server as a crash does: commands are refused, jobs run on.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for t := range s.timers {
		t.Stop()
	}
	clear(s.timers)
	s.mu.Unlock()
	s.listener.Close()
	s.served.Wait()
}

// Abandon is Close, and the end of all jobs.
func (s *Server) Abandon() {
	s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		for _, t := range j.Tasks {
			if t.Pid != 0 && t.state() != "F" && t.state() != "X" {
				killSession(t.Pid, 9)
			}
		}
	}
}

// later calls f under the lock, unless the server is closed first.
func (s *Server) later(d time.Duration, f func()) {
	var t *time.Timer
	ready := make(chan struct{})
	t = time.AfterFunc(d, func() {
		<-ready
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed && s.timers[t] {
			delete(s.timers, t)
			f()
		}
	})
	s.timers[t] = true
	close(ready)
}

// A request is one command.
type request struct {
	Program string
	Args    []string
	Cwd     string
	Env     []string
	User    string
	Stdin   []byte
}

// A reply is its output.
type reply struct {
	Out, Err string
	RC       int
	Lost     bool // the connection ends without an answer
}

func (s *Server) answer(c net.Conn) {
	defer c.Close()
	var q request
	if json.NewDecoder(c).Decode(&q) != nil {
		return
	}
	f := s.fault(q.Program)
	if f != nil && f.For > 0 {
		time.Sleep(time.Duration(f.For))
	}
	var r reply
	if f == nil || f.done() {
		r = s.Run(q.Program, q)
	}
	if f != nil {
		f.change(q, &r)
	}
	if r.Lost {
		return
	}
	json.NewEncoder(c).Encode(r) //nolint:errcheck // the client is gone
}

// Run is one command, as the server sees it.
func (s *Server) Run(name string, q request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return reply{Lost: true}
	}
	s.purge()
	c := &call{Server: s, request: q, name: name}
	commands := map[string]func(*call){
		"qsub": (*call).qsub, "qstat": func(c *call) { listing{c}.qstat() }, "qdel": (*call).qdel, "qalter": (*call).qalter, "qhold": (*call).qhold,
		"qrls": (*call).qrls, "qrerun": (*call).qrerun, "qsig": (*call).qsig, "qselect": (*call).qselect,
		"pbsnodes": (*call).pbsnodes, "qmgr": (*call).qmgr, "pbssim": (*call).event,
	}
	f := commands[name]
	switch {
	case f == nil:
		c.fail(127, "no command "+name)
	case len(q.Args) == 1 && q.Args[0] == "--version":
		c.out.WriteString("pbs_version = " + s.version + "\n")
	default:
		f(c)
		s.scheduler().schedule()
	}
	return reply{Out: c.out.String(), Err: c.err.String(), RC: c.rc}
}

// A call is a command while it is carried out.
type call struct {
	*Server
	request
	name     string
	out, err strings.Builder
	rc       int
}

// fail prints an error of the command and sets its exit code.
func (c *call) fail(rc int, text string) {
	fmt.Fprintf(&c.err, "%s: %s\n", c.name, text)
	c.rc = rc
}

// env is a variable of the command.
func (c *call) env(name string) string {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(c.Env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// Happen makes something happen:
//
//	node-down NODE       the machine dies, its jobs with it
//	node-up NODE         it is back
//	scheduler-down       the scheduler ends: nothing starts, and no job is looked at
//	scheduler-up         it is back
//	set JOB ATTR VALUE   changes the record of a job
//	fault JSON           adds a Fault
//	purge                forgets the history
func (s *Server) Happen(args ...string) error {
	r := s.Run("pbssim", request{Args: args, User: "root"})
	if r.RC != 0 {
		return errors.New(strings.TrimSpace(r.Err))
	}
	return nil
}

func (c *call) event() {
	a := append(c.Args, "", "", "", "")
	switch a[0] {
	case "node-down", "node-up":
		n := c.scheduler().node(a[1])
		if n == nil {
			c.fail(1, "no node "+a[1])
			return
		}
		c.power(n, a[0] == "node-up")
	case "scheduler-down", "scheduler-up":
		c.unscheduled = a[0] == "scheduler-down"
		c.scheduler().schedule()
	case "set":
		id, ok := parseID(a[1])
		j, tasks := c.named(id)
		if !ok || tasks == nil {
			c.fail(1, "no job "+a[1])
			return
		}
		where := j.A
		if (!j.Array || id.element != "") && tasks[0].A[a[2]] != "" {
			where = tasks[0].A
		}
		where[a[2]] = a[3]
		c.keep(j)
	case "fault":
		if err := c.faults().add(a[1]); err != nil {
			c.fail(1, err.Error())
		}
	case "purge":
		for _, j := range c.jobs {
			if j.ended() {
				c.forget(j)
			}
		}
	default:
		c.fail(1, "no event "+strconv.Quote(a[0]))
	}
}

// keep records a job as it is, so that the next server has it. A line is a
// whole job.
func (s *Server) keep(j *job) { s.record(entry{Job: j}) }

// An entry is a line of the server's log.
type entry struct {
	Job    *job   `json:",omitempty"`
	Seq    int    `json:",omitempty"` // of Task
	Task   *task  `json:",omitempty"`
	Forget int    `json:",omitempty"`
	Qmgr   string `json:",omitempty"`
}

func (s *Server) record(e entry) {
	if s.log == nil {
		return
	}
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // our own values
	}
	if _, err := s.log.Write(append(text, '\n')); err != nil {
		panic(fmt.Sprintf("pbssim: %v", err))
	}
}

// replay reads the log of an earlier server and continues it.
func (s *Server) replay() error {
	text, err := os.ReadFile(s.path("log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var e entry
		if json.Unmarshal([]byte(line), &e) != nil {
			continue // a line that the last server did not finish
		}
		switch {
		case e.Job != nil:
			s.add(e.Job)
		case e.Task != nil:
			if j := s.bySeq[e.Seq]; j != nil {
				j.replace(e.Task)
			}
		case e.Forget != 0:
			if j := s.bySeq[e.Forget]; j != nil {
				s.forget(j)
			}
		case e.Qmgr != "":
			if msg := s.qmgrLine(e.Qmgr); msg != "" {
				return errors.New(msg)
			}
		}
	}
	s.log, err = os.OpenFile(s.path("log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return err
}
