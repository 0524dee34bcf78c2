package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// wantHung wants the error that tells of a stopped queue.
func wantHung(t *testing.T, what string, err error, pid int) {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) || e.Class != providers.Unreachable {
		t.Fatalf("%s: %v, want unreachable", what, err)
	}
	if want := fmt.Sprintf("process %d", pid); !strings.Contains(e.Detail, want) || !strings.Contains(e.Detail, "stopped") {
		t.Errorf("%s: the detail is %q", what, e.Detail)
	}
	if want := fmt.Sprintf("kill -CONT %d", pid); !strings.Contains(e.Hint, want) {
		t.Errorf("%s: the hint is %q", what, e.Hint)
	}
}

// stop stops a process and waits until all its threads have.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for running := true; running; time.Sleep(time.Millisecond) {
		running = false
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, path := range threads {
			stat, _ := os.ReadFile(path)
			running = running || len(stat) > 0 && !strings.Contains(string(stat), ") T ")
		}
	}
}

// impatience is a silence that a queue is only taken for hung by if it is: on a
// machine that has much to do it may be mute for a second.
const impatience = 4 * time.Second

// A queue that is stopped, or hangs, holds up nobody who asks it.
func TestStoppedQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("while [ ! -e go ]; do sleep 0.1; done; echo > out", "out")
	w.submit(j)
	w.until("a start", func() bool { return w.seen[j.Token].Status == offer.Running })
	p := w.queuePID()
	short := w.client.Options
	short.Silence = impatience
	client := NewClient(short)
	defer client.Close()
	watched := make(chan error, 1)
	open := make(chan struct{})
	go func() {
		first := true
		watched <- client.Watch(context.Background(), w.place, providers.WatchRequest{}, func(providers.Batch) error {
			if first {
				first = false
				close(open)
			}
			return nil
		})
	}()
	<-open
	stop(t, p.PID)
	t.Cleanup(func() { syscall.Kill(p.PID, syscall.SIGCONT) })
	ctx := context.Background()
	big := w.job("true")
	big.Env = []providers.EnvVar{{Name: "BIG", Value: strings.Repeat("x", 1<<20)}} // more than a socket takes in
	late := NewClient(short)
	defer late.Close()
	asked := map[string]chan error{"watch": watched}
	for what, ask := range map[string]func() error{
		"find": func() error { _, err := client.Find(ctx, w.place, []string{j.Token}); return err },
		"submit": func() error {
			_, err := client.Submit(ctx, w.place, testEnviron, providers.SubmitRequest{Fence: 1, Jobs: []providers.Job{big}})
			return err
		},
		"busy":         func() error { _, err := client.Busy(ctx); return err },
		"the greeting": func() error { _, err := late.Find(ctx, w.place, []string{j.Token}); return err },
	} {
		c := make(chan error, 1)
		asked[what] = c
		go func() { c <- ask() }()
	}
	for what, c := range asked {
		wantHung(t, what, <-c, p.PID)
	}

	syscall.Kill(p.PID, syscall.SIGCONT)
	if found, err := w.client.Find(ctx, w.place, []string{j.Token}); err != nil || found[0].Status != offer.Running {
		t.Fatalf("it goes on: %+v %v", found, err)
	}
	stop(t, p.PID)
	_, err := client.Find(ctx, w.place, []string{j.Token})
	wantHung(t, "stopped again", err, p.PID)
	w.kill() // as the hint says
	w.submit(w.job("touch go"))
	if o := w.wait(j)[0]; o.Status != offer.Completed {
		t.Errorf("%+v", o)
	}
}

// A queue that has nothing to tell is not one that hangs.
func TestQuietIsNotHung(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.client.Silence = impatience
	j := w.job("echo > out", "out")
	w.submit(j)
	w.wait(j)
	ctx, stop := context.WithTimeout(context.Background(), 5*w.client.Silence/2)
	defer stop()
	err := w.client.Watch(ctx, w.place, providers.WatchRequest{Cursor: w.cursor}, func(providers.Batch) error { return nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the watch ended with %v", err)
	}
}
