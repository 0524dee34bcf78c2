package request

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestRequestIsAnsweredByWhoServes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "requests")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		Serve(ctx, dir, func(r Request) (Answer, bool) {
			return Answer{Text: string(r.Verb) + " by " + r.Who, Jobs: len(r.Addresses)}, true
		})
	})
	a, err := Send(t.Context(), dir, Request{Verb: Hold, Who: "ada", Addresses: []string{"phase.a", "phase.b"}}, time.Minute)
	stop()
	wg.Wait()
	if err != nil || a.Text != "hold by ada" || a.Jobs != 2 {
		t.Fatalf("answer %+v, error %v", a, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
}

func TestRequestWithoutARunningApplyIsWithdrawn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Send(t.Context(), dir, Request{Verb: Resume}, time.Millisecond)
	if !errors.Is(err, errNoAnswer) {
		t.Fatalf("error %v", err)
	}
	if ids := waiting(dir); len(ids) != 0 {
		t.Errorf("a request that was withdrawn waits: %v", ids)
	}
}

func TestBrokenRequestIsAnsweredWithAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "1"+asked), []byte(`{"verb":`), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(dir, "1", func(Request) (Answer, bool) { t.Error("handled"); return Answer{}, true })
	if a, ok := readAnswer(dir, "1"); !ok || a.Error == "" {
		t.Fatalf("answer %+v, %v", a, ok)
	}
}

func TestRequestsAreServedInTheOrderTheyWereSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, id := range []string{"02", "01", "03"} {
		if err := write(filepath.Join(dir, id+asked), Request{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if got := waiting(dir); got[0] != "01" || got[1] != "02" || got[2] != "03" {
		t.Fatalf("order %v", got)
	}
}

// A request that ends the apply, as a cancel of its last job does, has its answer.
func TestRequestThatEndsTheLoopIsAnswered(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		ctx, end := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			InLoop(ctx, dir, func(f func()) { f() }, func(r Request, got chan<- Answer) {
				got <- Answer{Text: "done"}
				end()
			})
		})
		a, err := Send(t.Context(), dir, Request{Verb: Cancel}, time.Minute)
		wg.Wait()
		if err != nil || a.Text != "done" || a.Error != "" {
			t.Fatalf("answer %+v, error %v", a, err)
		}
	}
}
