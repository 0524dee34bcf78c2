package cloudsim

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Machines make the machines behind rented instances.
type Machines interface {
	// New makes a machine that is off. Its disk is empty.
	New(MachineSpec) (Machine, error)
	// Reachable says whether machines have an ssh server, and why not.
	Reachable() (ok bool, why string)
	// Close ends and removes all of them.
	Close()
}

// A MachineSpec describes a machine.
type MachineSpec struct {
	Name   string // its host name
	GPU    string // model
	GPUs   int
	GPUMiB int    // memory of each
	User   string // whom its ssh server lets in; "" = root
	Kept   string // folder at the top, such as /workspace, that Wipe spares; "" = none
	// API is served to the machine itself, at the URL that its script finds in the
	// variable URLVar; nil = not.
	API    http.Handler
	URLVar string
	// Driver and CUDA are the versions in its nvidia-smi; "" = of early 2025.
	Driver, CUDA string
	Ill          string // one of Ills; "" = healthy
}

// Ills are the defects of a machine that boots and lets its user in: a driver of 2021, a GPU
// that fell off the bus, one that is lost, one that is hot and slow, a full or slow disk, a
// slow network, an image without curl and python3.
var Ills = []string{"old_driver", "xid", "lost_gpu", "hot", "full_disk", "slow_disk", "slow_network", "no_programs"}

// A Machine is one that is rented. Its methods may take a second; none is called
// beside another.
type Machine interface {
	// Start boots it: its user's authorized keys, and a script that root runs in the
	// background with these variables beside those of the machine.
	Start(keys []string, script string, env []string) error
	// Kill ends everything on it, without notice. Its disk stays.
	Kill()
	// Authorize changes its user's authorized keys.
	Authorize(keys []string) error
	// Dial connects to its ssh server.
	Dial(ctx context.Context) (net.Conn, error)
	// Address is where port 22 is its ssh server's, "" while it is off. It may be asked
	// for beside any other method.
	Address() string
	// Wipe kills it and empties its disk but for Kept. A machine that is made later with
	// its name has the same Kept.
	Wipe()
	// Remove kills it and deletes its disk.
	Remove()
}

// NoMachines boot in name only: nothing runs, and no ssh server answers.
type NoMachines struct{ Why string }

// New makes a machine that is nothing.
func (NoMachines) New(MachineSpec) (Machine, error) { return noMachine{}, nil }

// Reachable is false.
func (n NoMachines) Reachable() (bool, string) { return false, n.Why }

// Close does nothing.
func (NoMachines) Close() {}

type noMachine struct{}

func (noMachine) Start([]string, string, []string) error { return nil }
func (noMachine) Kill()                                  {}
func (noMachine) Authorize([]string) error               { return nil }
func (noMachine) Wipe()                                  {}
func (noMachine) Remove()                                {}
func (noMachine) Address() string                        { return "" }
func (noMachine) Dial(context.Context) (net.Conn, error) { return nil, errors.New("no machine") }

// A Runner runs the orders of a machine, in order, beside the clock: booting takes real time,
// and the cloud's time goes on meanwhile.
type Runner struct {
	work chan func()
	done chan struct{}
}

// NewRunner starts one.
func NewRunner() *Runner {
	r := &Runner{work: make(chan func(), 1024), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for f := range r.work {
			f()
		}
	}()
	return r
}

// Then has f done after all before it.
func (r *Runner) Then(f func()) { r.work <- f }

// Close runs the remaining orders, and ends.
func (r *Runner) Close() {
	close(r.work)
	<-r.done
}

// A Port is a TCP port of the cloud that leads to a machine's ssh server while it
// is open, and counts the bytes.
type Port struct {
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)
	in, out  atomic.Int64
	mu       sync.Mutex
	open     bool
	conns    map[net.Conn]bool
}

// Listen makes a port of this machine that is shut: it accepts, and hangs up.
func Listen(dial func(context.Context) (net.Conn, error)) (*Port, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Port{listener: l, dial: dial, conns: map[net.Conn]bool{}}
	go p.accept()
	return p, nil
}

// Number is the port's.
func (p *Port) Number() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Open lets connections through, or cuts those that there are.
func (p *Port) Open(open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = open
	if !open {
		for c := range p.conns {
			c.Close()
		}
	}
}

// Close ends the port.
func (p *Port) Close() {
	p.listener.Close()
	p.Open(false)
}

// Bytes are those since the last call: to the machine, and from it.
func (p *Port) Bytes() (in, out int64) { return p.in.Swap(0), p.out.Swap(0) }

func (p *Port) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

func (p *Port) serve(c net.Conn) {
	defer c.Close()
	if !p.hold(c) {
		return
	}
	defer p.drop(c)
	to, err := p.dial(context.Background())
	if err != nil {
		return
	}
	defer to.Close()
	if !p.hold(to) {
		return
	}
	defer p.drop(to)
	var both sync.WaitGroup
	both.Go(func() { carry(to, c, &p.in) })
	both.Go(func() { carry(c, to, &p.out) })
	both.Wait()
}

func (p *Port) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		p.conns[c] = true
	}
	return p.open
}

func (p *Port) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// carry copies until one side ends, and passes the end on.
func carry(to, from net.Conn, n *atomic.Int64) {
	_, _ = io.Copy(counted{to, n}, from)
	if t, ok := to.(*net.TCPConn); ok {
		_ = t.CloseWrite()
	}
}

type counted struct {
	io.Writer
	n *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n.Add(int64(n))
	return n, err
}
