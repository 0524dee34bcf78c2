package providertest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
)

var logTests = []test{
	{name: "a log can be read while the job runs", run: func(s *site) {
		j := s.gated()
		s.submit(j)
		s.until("the first line", func() bool { return strings.Contains(s.log(providers.LogRequest{Token: j.Token}), "begun\n") })
		s.open()
		s.end(j)
		if got := s.log(providers.LogRequest{Token: j.Token}); got != "begun\ndone\n" {
			s.Errorf("the log is %q", got)
		}
	}},
	{name: "a log is followed until the job ends", run: func(s *site) {
		j := s.gated()
		s.submit(j)
		s.running(j)
		var out safeBuffer
		done := make(chan error, 1)
		go func() {
			done <- s.p.Logs(s.ctx, providers.LogRequest{Backend: s.b.Name, Token: j.Token, Follow: true}, &out)
		}()
		s.until("the first line", func() bool {
			select {
			case err := <-done:
				s.Fatalf("the log was followed until %q, and not until the job ended: %v", out.String(), err)
			default:
			}
			return strings.Contains(out.String(), "begun\n")
		})
		s.open()
		s.must(<-done)
		if got := out.String(); got != "begun\ndone\n" {
			s.Errorf("what was followed is %q", got)
		}
	}},
	{name: "a log is read from an offset, or its last lines", run: func(s *site) {
		j := s.shell("echo one; echo two; echo three; printf four")
		s.run(j)
		for _, tt := range []struct {
			r    providers.LogRequest
			want string
		}{
			{providers.LogRequest{}, "one\ntwo\nthree\nfour"},
			{providers.LogRequest{Offset: 4}, "two\nthree\nfour"},
			{providers.LogRequest{Lines: 2}, "three\nfour"},
			{providers.LogRequest{Lines: 99}, "one\ntwo\nthree\nfour"},
		} {
			tt.r.Token = j.Token
			if got := strings.TrimSuffix(s.log(tt.r), "\n"); got != tt.want {
				s.Errorf("offset %d, lines %d: %q, want %q", tt.r.Offset, tt.r.Lines, got, tt.want)
			}
		}
	}},
	{name: "a large log arrives whole", run: func(s *site) {
		j := s.shell("i=0; while [ $i -lt 20000 ]; do echo \"line $i of the log, which is long enough to fill a few messages\"; i=$((i+1)); done")
		s.run(j)
		var want strings.Builder
		for i := range 20000 {
			fmt.Fprintf(&want, "line %d of the log, which is long enough to fill a few messages\n", i)
		}
		if got := s.log(providers.LogRequest{Token: j.Token}); got != want.String() {
			s.Errorf("the log has %d bytes, want %d", len(got), want.Len())
		}
	}},
	{name: "the log of an unknown job is not found", run: func(s *site) {
		err := s.p.Logs(s.ctx, providers.LogRequest{Backend: s.b.Name, Token: token()}, new(bytes.Buffer))
		s.wantClass("Logs", err, providers.NotFound)
	}},
}

func (s *site) log(r providers.LogRequest) string {
	s.Helper()
	r.Backend = s.b.Name
	var b bytes.Buffer
	s.must(s.p.Logs(s.ctx, r, &b))
	return b.String()
}

func (s *site) exists(name string) bool {
	_, err := os.Stat(s.file(name))
	return err == nil
}

// wantSilence wants a file that was written all the time to stay as it is.
func (s *site) wantSilence(name string) {
	s.Helper()
	size := func() int64 {
		info, err := os.Stat(s.file(name))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	before := size()
	time.Sleep(100 * time.Millisecond) // five beats
	if after := size(); after != before {
		s.Errorf("something still writes %s", name)
	}
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
