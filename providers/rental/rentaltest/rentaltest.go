// Package rentaltest helps the tests of every cloud's client: it has a simulated cloud
// with its rate limits, and a server whose answers are no answers of an API.
package rentaltest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/rental"
)

// Start is the time at which the clock of a Lab begins.
var Start = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

// A Lab is a simulated cloud. Its clock moves only when a test or Sleep moves it.
type Lab[C cloudsim.Cloud] struct {
	*testing.T
	*cloudsim.World
	Cloud C
	URL   string
}

// New starts the cloud that open makes, with accounts as cloudsim.NewAccounts reads them.
// Requests pass through each of the wrappers.
func New[C cloudsim.Cloud](t *testing.T, accounts string, open func(*cloudsim.World) C, wrappers ...func(http.Handler) http.Handler) *Lab[C] {
	t.Helper()
	as, err := cloudsim.NewAccounts(accounts)
	if err != nil {
		t.Fatal(err)
	}
	world := &cloudsim.World{Clock: cloudsim.NewClock(Start, 0), Accounts: as, Machines: cloudsim.NoMachines{}}
	cloud := open(world)
	var handler http.Handler = cloudsim.NewServer(world, cloud)
	for _, wrap := range wrappers {
		handler = wrap(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); cloud.Close() })
	return &Lab[C]{T: t, World: world, Cloud: cloud, URL: web.URL}
}

// Now is the time by the cloud's clock.
func (l *Lab[C]) Now() (now time.Time) {
	l.Clock.Do(func() { now = l.Clock.Now() })
	return now
}

// Sleep moves the cloud's clock by d, and returns at once.
func (l *Lab[C]) Sleep(_ context.Context, d time.Duration) error {
	l.Clock.Advance(d)
	return nil
}

// Fault injects a fault.
func (l *Lab[C]) Fault(f cloudsim.Fault) {
	l.Helper()
	l.do(func() error { return l.Faults.Add(f) })
}

// Happen makes something happen to a machine.
func (l *Lab[C]) Happen(e cloudsim.Event) {
	l.Helper()
	l.do(func() error { return l.Cloud.Happen(e) })
}

// Truth reads the real state, whatever the API says, into a pointer to a struct.
func (l *Lab[C]) Truth(into any) {
	l.Helper()
	var text []byte
	l.do(func() (err error) { text, err = json.Marshal(l.Cloud.Truth()); return err })
	if err := json.Unmarshal(text, into); err != nil {
		l.Fatal(err)
	}
}

func (l *Lab[C]) do(f func() error) {
	l.Helper()
	var err error
	l.Clock.Do(func() { err = f() })
	if err != nil {
		l.Fatal(err)
	}
}

// Class is the class of an error, "" when a provider did not make it.
func Class(err error) providers.ErrorClass {
	var e *providers.Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// Err is the error of a call with a result.
func Err[T any](_ T, err error) error { return err }

// A Mute server answers every request with the same status and body, until it is closed.
type Mute struct {
	*httptest.Server
	Status int
	Body   string
}

// NewMute starts one, which ends with the test.
func NewMute(t *testing.T) *Mute {
	m := &Mute{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(m.Status)
		_, _ = w.Write([]byte(m.Body))
	}))
	t.Cleanup(m.Close)
	return m
}

// Unreachable holds that every call fails as one of a service that is not reached, with each of
// the answers, such as "502 <html>", and that no error names the key "secret".
func (m *Mute) Unreachable(t *testing.T, calls func() map[string]error, answers ...string) {
	t.Helper()
	for _, answer := range answers {
		status, body, _ := strings.Cut(answer, " ")
		var err error
		if m.Status, err = strconv.Atoi(status); err != nil {
			t.Fatal(err)
		}
		m.Body = body
		for name, err := range calls() {
			if Class(err) != providers.Unreachable || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s of %d %q: %v", name, m.Status, m.Body, err)
			}
		}
	}
}

// Later holds that every call may be made again later, with each of the bodies of a 429.
func (m *Mute) Later(t *testing.T, calls func() map[string]error, bodies ...string) {
	t.Helper()
	m.Status = http.StatusTooManyRequests
	for _, m.Body = range bodies {
		for name, err := range calls() {
			if !errors.Is(err, rental.ErrLater) {
				t.Errorf("%s of %q: %v", name, m.Body, err)
			}
		}
	}
}

// Gone holds that without a server every call fails as one of a service that is not reached,
// and that no error names the path.
func (m *Mute) Gone(t *testing.T, calls func() map[string]error, path string) {
	t.Helper()
	m.Close()
	for name, err := range calls() {
		if Class(err) != providers.Unreachable || strings.Contains(err.Error(), path) {
			t.Errorf("%s without a server: %v", name, err)
		}
	}
}
