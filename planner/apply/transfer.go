package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// A lane moves files between two backends, one after another.
type lane struct {
	from, to *backend
	waiting  []cargo
	busy     bool
}

// A cargo is one producer's output that an edge needs elsewhere.
type cargo struct {
	ed   *edge
	cell int32
	try  int
}

const transferTries = 5

// loadTransfers notes which producers' files have to be moved before their
// consumers may start.
func (e *engine) loadTransfers() {
	for i := range e.Plan.Transfers {
		t := &e.Plan.Transfers[i]
		p := e.byName[t.Phase]
		if p == nil || e.backends[t.From] == nil || e.backends[t.To] == nil {
			continue
		}
		for _, ed := range p.inputs {
			if ed.in.Name != t.Input {
				continue
			}
			if ed.carried == nil {
				ed.carried, ed.to2 = map[int32]int{}, map[int32][]*backend{}
			}
			for _, c := range t.Cells {
				if e.lies(ed, c, e.backends[t.To]) {
					continue
				}
				if ed.carried[c]++; ed.carried[c] == 1 && ed.from.at[c].satisfied() {
					e.await(ed, c)
				}
				ed.to2[c] = append(ed.to2[c], e.backends[t.To])
			}
		}
	}
	for _, p := range e.phases {
		for _, ed := range p.inputs {
			for c := range ed.carried {
				if ed.from.at[c].satisfied() {
					e.carry(ed, c)
				}
			}
		}
	}
}

// lies reports whether a producer's output is on a backend already.
func (e *engine) lies(ed *edge, cell int32, b *backend) bool {
	rec := e.st.Jobs[ed.from.Address(int(cell))]
	if rec == nil || rec.Status != state.Completed {
		return false
	}
	o := outputNamed(rec, ed.in.Output)
	if o == nil {
		return false
	}
	_, ok := placeOf(o, b)
	return ok
}

// await makes the consumers of a producer that is done wait for its files.
func (e *engine) await(ed *edge, cell int32) {
	g := ed.group[cell]
	if g < 0 {
		return
	}
	if ed.need[g]++; ed.need[g] > 1 {
		return
	}
	for _, c := range ed.consumers(int(g)) {
		ed.to.waits[c]++
	}
}

// carry queues the transfers of a producer that is done.
func (e *engine) carry(ed *edge, cell int32) {
	rec := e.st.Jobs[ed.from.Address(int(cell))]
	if rec == nil {
		return
	}
	o := outputNamed(rec, ed.in.Output)
	if o == nil {
		return
	}
	from := e.backends[o.Backend]
	for _, to := range ed.to2[cell] {
		if from == nil || from == to {
			e.delivered(ed, cell)
			continue
		}
		key := from.name + " " + to.name
		l := e.lanes[key]
		if l == nil {
			l = &lane{from: from, to: to}
			e.lanes[key] = l
		}
		l.waiting = append(l.waiting, cargo{ed: ed, cell: cell})
	}
}

func (e *engine) delivered(ed *edge, cell int32) {
	if ed.carried[cell]--; ed.carried[cell] > 0 {
		return
	}
	delete(ed.carried, cell)
	e.arrive(ed, cell)
}

// releaseTransfers starts the next transfer of every free lane.
func (e *engine) releaseTransfers() {
	for _, l := range e.lanes {
		if !l.busy && len(l.waiting) > 0 && e.halted == None {
			c := l.waiting[0]
			l.waiting = l.waiting[1:]
			e.transfer(l, c)
		}
	}
}

func (e *engine) transferring() bool {
	for _, l := range e.lanes {
		if l.busy || len(l.waiting) > 0 && e.halted == None {
			return true
		}
	}
	return false
}

// transfer moves one output and records the verified copy.
func (e *engine) transfer(l *lane, c cargo) {
	address := c.ed.from.Address(int(c.cell))
	rec := e.st.Jobs[address]
	out := *outputNamed(rec, c.ed.in.Output)
	kind := lang.File
	if d := c.ed.from.output(out.Name, -1); d != nil {
		kind = d.Kind
	}
	l.busy = true
	e.report.note(e, address, fmt.Sprintf("moving %s of %s from %s to %s", out.Name, address, l.from.name, l.to.name), false)
	e.spawn(func() {
		err := move(e.ctx, l.from, l.to, out, kind)
		e.post(func() {
			l.busy = false
			if err != nil {
				e.transferFailed(l, c, address, err)
				return
			}
			out.Copies = append(append([]state.Copy(nil), out.Copies...), state.Copy{Backend: l.to.name, Path: out.Path, Digest: out.Digest, At: e.Clock()})
			e.emit(state.OutputsSeen{Address: address, Outputs: []state.Output{out}, At: e.Clock()})
			e.delivered(c.ed, c.cell)
		})
	})
}

func (e *engine) transferFailed(l *lane, c cargo, address string, err error) {
	if e.ctx.Err() != nil {
		return
	}
	e.report.note(e, address, fmt.Sprintf("%s was not moved to %s: %v", address, l.to.name, err), true)
	if c.try++; c.try < transferTries {
		e.later(backoff(c.try+2), func() { l.waiting = append(l.waiting, c) })
		return
	}
	g := c.ed.group[c.cell]
	for _, consumer := range c.ed.consumers(int(g)) {
		if c.ed.to.at[consumer] == pending {
			e.holdJob(c.ed.to, consumer, "its input "+c.ed.in.Name+" could not be moved: "+err.Error())
		}
	}
}

// move streams the files of an output from one backend to another and checks
// what arrived. Nothing is kept on this machine.
func move(ctx context.Context, from, to *backend, out state.Output, kind lang.OutputKind) error {
	src := absolute(or(out.Workdir, from.conf.Workdir), out.Path)
	files := []providers.FileInfo{{Path: src, Size: out.Size}}
	if kind != lang.File {
		var err error
		if files, err = from.p.List(ctx, from.name, []string{src}); err != nil {
			return fmt.Errorf("list %s: %w", src, err)
		}
	}
	base := or(out.Workdir, from.conf.Workdir)
	for _, f := range files {
		if f.Dir {
			continue
		}
		rel, err := filepath.Rel(base, f.Path)
		if err != nil {
			rel = f.Path
		}
		digest := ""
		if kind == lang.File {
			digest = out.Digest
		}
		r := &pulled{ctx: ctx, b: from, path: f.Path, size: f.Size}
		err = to.p.Push(ctx, to.name, absolute(to.conf.Workdir, rel), f.Size, digest, r)
		r.close()
		if err != nil {
			return fmt.Errorf("push %s: %w", rel, err)
		}
	}
	return check(ctx, to, out, kind)
}

// check compares what arrived with what was recorded.
func check(ctx context.Context, to *backend, out state.Output, kind lang.OutputKind) error {
	got, err := to.p.Verify(ctx, providers.VerifyRequest{Backend: to.name, Workdir: to.conf.Workdir, Open: true,
		Outputs: []providers.Output{{Name: out.Name, Kind: string(kind), Path: out.Path}}})
	if err != nil {
		return fmt.Errorf("verify the copy: %w", err)
	}
	if len(got) != 1 || !got[0].OK {
		return errors.New("the copy does not verify")
	}
	if out.Digest != "" && got[0].Digest != out.Digest {
		return fmt.Errorf("the copy has digest %s, not %s", got[0].Digest, out.Digest)
	}
	return nil
}

// pulled reads a file of a backend as it is pulled. Seeking starts a new pull
// at the offset, which is how a push resumes after what is there.
type pulled struct {
	ctx  context.Context
	b    *backend
	path string
	size int64
	at   int64
	pipe *io.PipeReader
}

var _ io.ReadSeeker = (*pulled)(nil)

func (r *pulled) Read(buf []byte) (int, error) {
	if r.at >= r.size && r.size >= 0 {
		return 0, io.EOF
	}
	if r.pipe == nil {
		pr, pw := io.Pipe()
		r.pipe = pr
		at := r.at
		go func() { pw.CloseWithError(r.b.p.Pull(r.ctx, r.b.name, r.path, at, pw)) }()
	}
	n, err := r.pipe.Read(buf)
	r.at += int64(n)
	return n, err
}

// Seek moves to an offset; the size is that which was recorded.
func (r *pulled) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return r.at, errors.New("seek before the beginning")
	}
	if offset != r.at {
		r.close()
		r.at = offset
	}
	return r.at, nil
}

func (r *pulled) close() {
	if r.pipe != nil {
		r.pipe.Close()
		r.pipe = nil
	}
}

// moveFiles renames the files of a moved job where its declared paths changed
// and they lie on this machine; elsewhere the record goes on pointing to where
// they are.
func (e *engine) moveFiles(p *phase, cell int32, address string) {
	rec := e.st.Jobs[address]
	if rec == nil || rec.Status != state.Completed {
		return
	}
	var seen []state.Output
	for _, o := range rec.Outputs {
		d := p.output(o.Name, -1)
		b := e.backends[o.Backend]
		if d == nil || d.Kind == lang.Glob || o.Backend != "local.local" && (b == nil || b.can.Remote || b.conf.Type != "local") {
			continue
		}
		to := p.OutputPath(int(cell), o.Name, lang.Run)
		if to == o.Path || o.Workdir == "" {
			continue
		}
		if rename(absolute(o.Workdir, o.Path), absolute(o.Workdir, to)) == nil {
			o.Path = to
			seen = append(seen, o)
		}
	}
	if len(seen) > 0 {
		e.emit(state.OutputsSeen{Address: address, Outputs: seen, At: e.Clock()})
	}
}

// rename moves a file or folder, never over another.
func rename(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s exists", to)
	}
	if err := os.MkdirAll(path.Dir(to), 0o777); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
