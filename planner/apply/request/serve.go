package request

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
)

const (
	pollEvery  = 300 * time.Millisecond
	answerPoll = 20 * time.Millisecond
	stale      = 24 * time.Hour // answers that nobody fetched are removed
	largest    = 4 << 20        // bytes of a request
)

// errNoAnswer says that nobody took a request in time; it was withdrawn.
var errNoAnswer = errors.New("no running apply answered")

// ErrEnded says that the muster which was to answer ended without an answer: the request is to be
// made again. It is also the cause of the context that has Send look for that.
var ErrEnded = errors.New("the running apply ended before it could do this")

// lastAnswer is how long an answer may take that its holder wrote as it ended.
const lastAnswer = time.Second

const (
	asked    = ".request.json"
	taken    = ".taken.json"
	answered = ".answer.json"
)

// Send writes a request and waits for its answer. errNoAnswer after timeout
// means that nobody took it: the request is withdrawn, and whoever sent it
// may take the lease. A request that was taken is waited for until ctx ends; if it ends
// because of ErrEnded, an answer that is there already counts.
func Send(ctx context.Context, dir string, r Request, timeout time.Duration) (Answer, error) {
	if r.ID == "" {
		var b [8]byte
		rand.Read(b[:])
		r.ID = fmt.Sprintf("%020d-%s", time.Now().UnixNano(), hex.EncodeToString(b[:]))
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Answer{}, fmt.Errorf("send request: %w", err)
	}
	if err := write(filepath.Join(dir, r.ID+asked), r); err != nil {
		return Answer{}, fmt.Errorf("send request: %w", err)
	}
	deadline := time.Now().Add(timeout)
	t := time.NewTicker(answerPoll)
	defer t.Stop()
	for {
		if a, ok := readAnswer(dir, r.ID); ok {
			return a, ended(a)
		}
		withdrawn := time.Now().After(deadline) && os.Remove(filepath.Join(dir, r.ID+asked)) == nil
		if withdrawn {
			return Answer{}, errNoAnswer
		}
		select {
		case <-ctx.Done():
			if os.Remove(filepath.Join(dir, r.ID+asked)) != nil && errors.Is(context.Cause(ctx), ErrEnded) {
				for until := time.Now().Add(lastAnswer); time.Now().Before(until); time.Sleep(answerPoll) { // it was taken
					if a, ok := readAnswer(dir, r.ID); ok {
						return a, ended(a)
					}
				}
			}
			return Answer{}, context.Cause(ctx)
		case <-t.C:
		}
	}
}

func ended(a Answer) error {
	if a.Ended {
		return ErrEnded
	}
	return nil
}

func readAnswer(dir, id string) (Answer, bool) {
	path := filepath.Join(dir, id+answered)
	b, err := os.ReadFile(path)
	if err != nil {
		return Answer{}, false
	}
	var a Answer
	if json.Unmarshal(b, &a) != nil {
		return Answer{}, false
	}
	os.Remove(path)
	return a, true
}

// Serve takes requests from dir, oldest first, until ctx ends. A request is
// taken by renaming it, so that it cannot be withdrawn and done at once. The
// handler returns false when the run ends before it could answer.
func Serve(ctx context.Context, dir string, handle func(Request) (Answer, bool)) {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	clean(dir)
	for {
		for _, id := range waiting(dir) {
			serve(dir, id, handle)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func serve(dir, id string, handle func(Request) (Answer, bool)) {
	mine := filepath.Join(dir, id+taken)
	if os.Rename(filepath.Join(dir, id+asked), mine) != nil {
		return
	}
	defer os.Remove(mine)
	r, err := read(mine)
	if err != nil {
		_ = write(filepath.Join(dir, id+answered), Answer{ID: id, Error: err.Error(), At: time.Now()})
		return
	}
	r.ID = id
	a, ok := handle(r)
	if !ok {
		a = Answer{Ended: true, Error: ErrEnded.Error() + "; send it again"}
	}
	a.ID = id
	_ = write(filepath.Join(dir, id+answered), a) // the sender notices: it goes on waiting
}

func read(path string) (Request, error) {
	var r Request
	info, err := os.Stat(path)
	if err != nil {
		return r, fmt.Errorf("read request: %w", err)
	}
	if info.Size() > largest {
		return r, fmt.Errorf("read request: larger than %d bytes", largest)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("read request: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("read request: %w", err)
	}
	return r, nil
}

// waiting are the ids of requests, oldest first.
func waiting(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), asked); ok && !strings.HasPrefix(id, ".") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// clean removes answers that nobody will fetch any more.
func clean(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > stale {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// write puts a whole file in place at once.
func write(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, b, 0o600)
}

// InLoop serves requests in a loop that runs the closures given to post: handle answers there.
func InLoop(ctx context.Context, dir string, post func(func()), handle func(Request, chan<- Answer)) {
	Serve(ctx, dir, func(r Request) (Answer, bool) {
		got := make(chan Answer, 1)
		post(func() { handle(r, got) })
		select {
		case a := <-got:
			return a, true
		case <-ctx.Done():
			// The loop ended, perhaps because of this very request: handle has run by now,
			// or never will.
			select {
			case a := <-got:
				return a, true
			default:
				return Answer{}, false
			}
		}
	})
}
