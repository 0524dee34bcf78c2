package protocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/test/bufconn"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// far is a provider at the other end; a test sets what it needs.
type far struct {
	providers.Provider
	submit func(providers.SubmitRequest) ([]providers.Submitted, error)
	watch  func(context.Context, providers.WatchRequest, func(providers.Batch) error) error
	find   func(tokens []string) ([]offer.Observation, error)
	push   func(io.ReadSeeker) error
	logs   func(context.Context, io.Writer) error
}

func (f *far) Schema(context.Context) (offer.Schema, error) {
	return offer.Schema{Type: "far", Profiles: map[string][]byte{"a": []byte("A"), "b": bytes.Repeat([]byte("b"), 2<<20)}}, nil
}

func (f *far) Submit(_ context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	return f.submit(r)
}

func (f *far) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return f.watch(ctx, r, fn)
}

func (f *far) Find(_ context.Context, _ string, tokens []string) ([]offer.Observation, error) {
	return f.find(tokens)
}

func (f *far) Push(_ context.Context, _, _ string, _ int64, _ string, r io.ReadSeeker) error {
	return f.push(r)
}

func (f *far) Logs(ctx context.Context, _ providers.LogRequest, w io.Writer) error {
	return f.logs(ctx, w)
}

// landlord is a provider that rents.
type landlord struct {
	far
	rentals []offer.Rental
}

func (l *landlord) Release(_ context.Context, backend string, ids []string) (out []providers.Outcome, err error) {
	for _, id := range ids {
		out = append(out, providers.Outcome{ID: backend + " " + id})
	}
	return out, nil
}

func (l *landlord) Rentals(context.Context, string) ([]offer.Rental, error) { return l.rentals, nil }

func TestRentalsTravel(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0).UTC()
	var list []offer.Rental
	for i := range 5_000 { // more than one message holds
		list = append(list, offer.Rental{ID: fmt.Sprint(i), Kind: strings.Repeat("k", 1_000), Rate: "0.35", Status: offer.RentalReleased, Since: at, Began: at, Ended: at.Add(time.Hour), Billed: "0.36", Orphan: i%2 == 0})
	}
	c, _ := connect(t, &landlord{rentals: list})
	if _, err := c.Schema(t.Context()); err != nil || !c.Rents() {
		t.Fatalf("it rents: %v (%v)", c.Rents(), err)
	}
	got, err := c.Rentals(t.Context(), "far.x")
	if diff := cmp.Diff(list, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if out, err := c.Release(t.Context(), "far.x", []string{"1", "2"}); err != nil || len(out) != 2 || out[1].ID != "far.x 2" {
		t.Errorf("%v (%v)", out, err)
	}
	c, _ = connect(t, &far{})
	if _, err := c.Rentals(t.Context(), "far.x"); err == nil {
		t.Error("a provider that rents nothing has rentals")
	}
}

// sizes watches the size of messages, bytes.
type sizes struct {
	stats.Handler
	messages, largest atomic.Int64
}

func (s *sizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (s *sizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (s *sizes) HandleConn(context.Context, stats.ConnStats)                       {}
func (s *sizes) HandleRPC(_ context.Context, r stats.RPCStats) {
	n := 0
	switch p := r.(type) {
	case *stats.InPayload:
		n = p.Length
	case *stats.OutPayload:
		n = p.Length
	}
	if n > 0 {
		s.messages.Add(1)
		s.largest.Store(max(s.largest.Load(), int64(n)))
	}
}

func connect(t *testing.T, p providers.Provider) (*Client, *sizes) {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	seen := &sizes{}
	server := grpc.NewServer(append(ServerOptions(), grpc.StatsHandler(seen))...)
	register(server, p)
	go func() { _ = server.Serve(lis) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:far", append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return newClient(conn), seen
}

func TestBatchesAreSplitAt1MiB(t *testing.T) {
	t.Parallel()
	const n = 20_000
	f := &far{submit: func(r providers.SubmitRequest) ([]providers.Submitted, error) {
		if r.Backend != "far.x" || r.Fence != 7 || r.Batch != "b" || len(r.Jobs) != n {
			return nil, fmt.Errorf("the request is %s %d %s with %d jobs", r.Backend, r.Fence, r.Batch, len(r.Jobs))
		}
		out := make([]providers.Submitted, len(r.Jobs))
		for i, j := range r.Jobs {
			out[i] = providers.Submitted{Token: j.Token, Handle: strings.Repeat("h", 200)}
		}
		out[n-1].Err = providers.Errorf(providers.Conflict, "the last one")
		return out, nil
	}}
	c, seen := connect(t, f)
	r := providers.SubmitRequest{Backend: "far.x", Fence: 7, Batch: "b"}
	for i := range n {
		r.Jobs = append(r.Jobs, job(i))
	}
	out, err := c.Submit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range out {
		if s.Token != r.Jobs[i].Token || (s.Err != nil) != (i == n-1) {
			t.Fatalf("result %d is %+v", i, s)
		}
	}
	if largest := seen.largest.Load(); largest > 1<<20 || seen.messages.Load() < 10 {
		t.Errorf("%d messages, the largest of %d bytes", seen.messages.Load(), largest)
	}
}

func TestOneLargeItem(t *testing.T) {
	t.Parallel()
	f := &far{submit: func(r providers.SubmitRequest) ([]providers.Submitted, error) {
		return []providers.Submitted{{Token: r.Jobs[0].Token, Handle: fmt.Sprint(len(r.Jobs[0].Shell))}}, nil
	}}
	c, _ := connect(t, f)
	for size, class := range map[int]providers.ErrorClass{8 << 20: "", 17 << 20: providers.Invalid} {
		out, err := c.Submit(t.Context(), providers.SubmitRequest{Jobs: []providers.Job{{Token: "t", Shell: strings.Repeat("x", size)}}})
		var e *providers.Error
		switch {
		case class == "" && (err != nil || out[0].Handle != fmt.Sprint(size)):
			t.Errorf("%d bytes: %v", size, err)
		case class != "" && (!errors.As(err, &e) || e.Class != class):
			t.Errorf("%d bytes: error is %v, want class %s", size, err, class)
		}
	}
}

func TestJobThatIsNoText(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, &far{submit: func(providers.SubmitRequest) ([]providers.Submitted, error) { return nil, nil }})
	_, err := c.Submit(t.Context(), providers.SubmitRequest{Jobs: []providers.Job{{Token: "\xff"}}})
	var e *providers.Error
	if !errors.As(err, &e) || e.Class != providers.Invalid {
		t.Errorf("error is %v, want an invalid request", err)
	}
}

func TestWatchKeepsBatchesWhole(t *testing.T) {
	t.Parallel()
	var sent providers.Batch
	sent.Cursor, sent.Notes = "c1", []providers.Note{{Kind: "info", Text: "n"}}
	for i := range 2000 {
		sent.Rentals = append(sent.Rentals, offer.Rental{ID: fmt.Sprint(i), Kind: strings.Repeat("k", 1_000), Status: offer.RentalBooting, Account: offer.Account{ID: "5001"}})
	}
	for i := range 5000 {
		sent.Events = append(sent.Events, offer.Observation{Token: fmt.Sprint(i), Tail: []string{strings.Repeat("t", 500)}})
	}
	handles := make([]string, 50_000)
	for i := range handles {
		handles[i] = fmt.Sprintf("%032d", i)
	}
	f := &far{watch: func(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
		if len(r.Handles) != len(handles) || r.Cursor != "c0" {
			return fmt.Errorf("%d handles from %s", len(r.Handles), r.Cursor)
		}
		if err := fn(sent); err != nil {
			return err
		}
		return fn(providers.Batch{Cursor: "c2"})
	}}
	c, seen := connect(t, f)
	var got []providers.Batch
	err := c.Watch(t.Context(), providers.WatchRequest{Cursor: "c0", Handles: handles}, func(b providers.Batch) error {
		got = append(got, b)
		return nil
	})
	if err != nil || len(got) != 2 || len(got[0].Events) != 5000 || len(got[0].Rentals) != 2000 || got[0].Rentals[1999] != sent.Rentals[1999] || got[0].Cursor != "c1" || len(got[0].Notes) != 1 || got[1].Cursor != "c2" {
		t.Fatalf("%d batches (%v)", len(got), err)
	}
	if largest := seen.largest.Load(); largest > 1<<20 {
		t.Errorf("a message had %d bytes", largest)
	}
}

// TestDeviceMemoryThatNobodyLookedAtIsUnknown: a provider that leaves it unset
// has not said that the device was empty.
func TestDeviceMemoryThatNobodyLookedAtIsUnknown(t *testing.T) {
	t.Parallel()
	none, some := int64(0), int64(4<<30)
	want := []*int64{nil, &none, &some}
	c, _ := connect(t, &far{find: func(tokens []string) (out []offer.Observation, _ error) {
		for i, token := range tokens {
			out = append(out, offer.Observation{Token: token, Presence: offer.Found, Status: offer.Completed,
				Usage: &offer.Usage{Elapsed: time.Hour, GPUSeconds: 3600, GPUMaxMem: want[i]}})
		}
		return out, nil
	}})
	got, err := c.Find(t.Context(), "far.x", []string{"unset", "none", "some"})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d of %d: %v", len(got), len(want), err)
	}
	for i, o := range got {
		if diff := cmp.Diff(want[i], o.Usage.GPUMaxMem); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", o.Token, diff)
		}
	}
}

func TestPushFollowsSeeks(t *testing.T) {
	t.Parallel()
	data := make([]byte, 3<<20+11)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	f := &far{push: func(r io.ReadSeeker) error {
		buf := make([]byte, 100)
		for _, at := range []int64{0, 2 << 20, 5, 5, int64(len(data) - 100), 1 << 20} {
			if _, err := r.Seek(at, io.SeekStart); err != nil {
				return err
			}
			if _, err := io.ReadFull(r, buf); err != nil {
				return err
			}
			if !bytes.Equal(buf, data[at:at+100]) {
				return fmt.Errorf("other bytes at %d", at)
			}
		}
		if end, err := r.Seek(0, io.SeekEnd); err != nil || end != int64(len(data)) {
			return fmt.Errorf("the end is %d (%v)", end, err)
		}
		if _, err := r.Seek(10, io.SeekStart); err != nil {
			return err
		}
		rest, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(rest, data[10:]) {
			return fmt.Errorf("%d bytes from 10 on (%v)", len(rest), err)
		}
		return nil
	}}
	c, _ := connect(t, f)
	if err := c.Push(t.Context(), "far.x", "p", int64(len(data)), "", bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	short := &far{push: func(r io.ReadSeeker) error { _, err := io.ReadAll(r); return err }}
	c, _ = connect(t, short)
	if err := c.Push(t.Context(), "far.x", "p", int64(len(data)+1), "", bytes.NewReader(data)); err == nil {
		t.Error("a file shorter than said is no error")
	}
}

func TestErrorsOnTheWire(t *testing.T) {
	t.Parallel()
	full := &providers.Error{Class: providers.Quota, Summary: "Full", Detail: "d\n\xff", Hint: strings.Repeat("long ", 10_000)}
	for name, tt := range map[string]struct {
		said error
		want func(error) bool
	}{
		"provider's own": {full, func(err error) bool {
			var e *providers.Error
			return errors.As(err, &e) && e.Class == providers.Quota && e.Summary == "Full" && e.Detail == "d\n\uFFFD" && len(e.Hint) < 20_000
		}},
		"wrapped": {fmt.Errorf("while: %w", full), func(err error) bool {
			var e *providers.Error
			return errors.As(err, &e) && e.Class == providers.Quota
		}},
		"any other": {errors.New("disk on fire"), func(err error) bool {
			var e *providers.Error
			return errors.As(err, &e) && e.Class == providers.Internal && e.Summary == "disk on fire"
		}},
		"a context of its own": {context.DeadlineExceeded, func(err error) bool {
			var e *providers.Error
			return errors.As(err, &e) && e.Class == providers.Internal
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := connect(t, &far{submit: func(providers.SubmitRequest) ([]providers.Submitted, error) { return nil, tt.said }})
			_, err := c.Submit(t.Context(), providers.SubmitRequest{})
			if !tt.want(err) || errors.Is(err, ErrBroken) {
				t.Errorf("error is %#v", err)
			}
		})
	}
}

func TestContextAndWriterErrorsComeBackAsTheyAre(t *testing.T) {
	t.Parallel()
	f := &far{logs: func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, "line\n"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	c, _ := connect(t, f)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	if err := c.Logs(ctx, providers.LogRequest{}, io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	full := errors.New("no room")
	if err := c.Logs(t.Context(), providers.LogRequest{}, writerFunc(func([]byte) (int, error) { return 0, full })); err != full {
		t.Errorf("error is %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestSchemaBringsProfilesAndAbilities(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, &far{})
	s, err := c.Schema(t.Context())
	if err != nil || len(s.Profiles) != 2 || len(s.Profiles["b"]) != 2<<20 || c.Cleans() || c.Rents() {
		t.Errorf("%d profiles (%v)", len(s.Profiles), err)
	}
	if _, err := c.Clean(t.Context(), "far.x"); err == nil {
		t.Error("a provider that cannot clean cleaned")
	}
}
