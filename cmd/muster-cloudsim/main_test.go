package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-help"}, 0, "None of them has met its live service"},
		{nil, 2, "name the cloud to simulate: lambda, paperspace, runpod, vastai"},
		{[]string{"paperclips"}, 2, "name the cloud to simulate: lambda, paperspace, runpod, vastai"},
		{[]string{"-clock=-1", "vastai"}, 2, "-clock is at least 0"},
		{[]string{"-colour", "vastai"}, 2, "-colour"},
		{[]string{"-keys=" + file("keys", "a b"), "vastai"}, 1, "line 1: b: the settings are account"},
		{[]string{"-keys=/none", "vastai"}, 1, "/none"},
		{[]string{"-faults=" + file("faults", "{"), "vastai"}, 1, "faults"},
		{[]string{"-no-ssh", "-addr=127.0.0.1:0", "-faults=" + file("faults", `[{"on":"create","do":"explode"}]`), "vastai"}, 1, `"explode" does not happen on "create"`},
		{[]string{"-addr=nowhere", "vastai"}, 1, "nowhere"},
	} {
		var errs bytes.Buffer
		if code := command(t.Context(), c.args, io.Discard, &errs); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%q: exit %d\n%s", c.args, code, errs.String())
		}
	}
}

// output is read while it is written.
type output struct {
	mu  sync.Mutex
	b   bytes.Buffer
	has chan string
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Write(p)
	if strings.Count(o.b.String(), "\n") == 2 {
		o.has <- o.b.String()
	}
	return len(p), nil
}

func TestServes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	said, ended := &output{has: make(chan string, 1)}, make(chan int)
	go func() {
		ended <- command(ctx, []string{"-addr=127.0.0.1:0", "-clock=0", "-no-ssh", "vastai"}, said, io.Discard)
	}()
	text := <-said.has
	if !strings.Contains(text, "Instances boot, but have no ssh server: -no-ssh.") {
		t.Errorf("%s", text)
	}
	q, err := http.NewRequest("GET", regexp.MustCompile(`http://\S+`).FindString(text)+"/api/v0/users/current/", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer test")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != 200 || !strings.Contains(string(body), `"credit":25`) {
		t.Errorf("%d %s %v", r.StatusCode, body, err)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d", code)
	}
}
