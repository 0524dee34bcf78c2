package rental

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// An API asks a cloud over HTTP, with JSON in requests.
type API struct {
	cloud, url, key string
	web             *http.Client
	now             func() time.Time
	sleep           func(context.Context, time.Duration) error

	mu      sync.Mutex
	account offer.Account // whose key it is, once that was asked
	worked  atomic.Bool   // the key was taken by this process before
}

// callTime is how long an answer may take.
const callTime = time.Minute

// Access is how a client reaches the API of its cloud.
type Access struct {
	Service string // the cloud: "Vast.ai"
	URL     string // of the live service, or of a simulator
	Key     string
	// Now and Sleep keep calls apart, since clouds refuse those that come too often.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// Access is that of a backend: it reads the key and asks nothing.
func (f Facts) Access(b providers.Backend) (Access, error) {
	key, err := f.Keys.Find(f.Name, b)
	return Access{Service: f.Name, URL: cmp.Or(os.Getenv(f.ServerEnv), f.Server), Key: key, Now: time.Now, Sleep: sleep}, err
}

// NewAPI makes one that sends the key of an access as bearer.
func NewAPI(a Access) *API {
	return &API{cloud: a.Service, url: strings.TrimSuffix(a.URL, "/"), key: "Bearer " + a.Key, web: &http.Client{Timeout: callTime}, now: a.Now, sleep: a.Sleep}
}

// again is how long a question that got no answer waits before it is asked again, so
// that one error of a gateway does not end a plan.
var again = []time.Duration{time.Second, 3 * time.Second}

// quick is how soon a call must fail to be made again. A cloud that is mute for longer
// stays so.
const quick = 10 * time.Second

// Question calls ask until the cloud answers, three times at most: others use the
// account, too, and gateways fail. It is for calls that change nothing.
func (a *API) Question(ctx context.Context, ask func() error) error {
	for _, wait := range again {
		began := a.now()
		err := ask()
		var known *providers.Error
		switch {
		case errors.Is(err, ErrLater):
			continue // the pace of the client waits
		case !errors.As(err, &known), known.Class != providers.Unreachable, a.now().Sub(began) > quick:
			return err
		}
		if a.sleep(ctx, wait) != nil {
			return err
		}
	}
	return ask()
}

// Account is whose key the API is asked with. ask gives the cloud's own id of the
// account, "" where it does not say; it is asked once.
func (a *API) Account(ask func() (id string, err error)) (offer.Account, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.account.Key == "" {
		id, err := ask()
		if err != nil {
			return offer.Account{}, err
		}
		digest := sha256.Sum256([]byte("account of " + a.cloud + "\n" + a.key))
		a.account = offer.Account{ID: id, Key: hex.EncodeToString(digest[:6])}
	}
	return a.account, nil
}

// A Reply is an answer of any status.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// mostAnswer is the most that an answer may hold, bytes.
const mostAnswer = 32 << 20

// Ask makes one call; body nil sends none. Without an answer the error has class unreachable,
// and names no URL.
func (a *API) Ask(ctx context.Context, method, path string, query url.Values, body any) (Reply, error) {
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return Reply{}, err
		}
		send = bytes.NewReader(text)
	}
	at := a.url + path
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, method, at, send)
	if err != nil {
		return Reply{}, err
	}
	q.Header.Set("Authorization", a.key)
	q.Header.Set("Content-Type", "application/json")
	r, err := a.web.Do(q)
	if err != nil {
		return Reply{}, a.Unreachable(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, mostAnswer))
	if err != nil {
		return Reply{}, a.Unreachable(err)
	}
	if r.StatusCode < http.StatusMultipleChoices {
		a.worked.Store(true)
	}
	return Reply{r.StatusCode, r.Header, text}, nil
}

// UnknownKey says that the cloud does not take the key. Where is the page on which
// another is made; may, why a key is not taken, since clouds give one answer to all.
func (a *API) UnknownKey(status int, may, where string) error {
	e := &providers.Error{Class: providers.Auth, Summary: fmt.Sprintf("%s does not know this API key (HTTP %d)", a.cloud, status),
		Detail: fmt.Sprintf("It is %s: %s gives one answer to all three.", may, a.cloud), Hint: "Make a key " + where + ", and put it where this one is."}
	if a.worked.Load() {
		e.Summary = fmt.Sprintf("%s does not take this API key any more (HTTP %d)", a.cloud, status)
		e.Detail = "It worked a moment ago, so it has expired, or somebody deleted it. Machines that are rented are billed on: the console of " + a.cloud + " has them, too."
	}
	return e
}

// Read reads the JSON value of an answer. Text that is no JSON is an error of class
// unreachable: a proxy answered, not the API.
func (a *API) Read(r Reply, into any) error {
	if err := json.Unmarshal(r.Body, into); err != nil {
		return a.Unreachable(fmt.Errorf("an answer that is not JSON: %w", err))
	}
	return nil
}

// A Problem is an answer that is an error.
type Problem struct {
	Cloud   string
	Status  int    // of HTTP
	Code    string // the cloud's own, for programs; "" = it gives none
	Message string // the cloud's own, for people
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s: %s (HTTP %d)", p.Cloud, strings.TrimSuffix(cmp.Or(p.Message, p.Code, http.StatusText(p.Status)), "."), p.Status)
}

// ProblemOf is the cloud's answer, if err comes from one and not from too many calls;
// else it has no status.
func ProblemOf(err error) Problem {
	var p *Problem
	if errors.Is(err, ErrLater) || !errors.As(err, &p) {
		return Problem{}
	}
	return *p
}

// Problem makes the error of an answer that is one: ErrLater for a call that came too
// often, of class unreachable for an error of the server; else the cloud's own code
// decides, and the client does.
func (a *API) Problem(r Reply, code, message string) (p *Problem, err error) {
	p = &Problem{Cloud: a.cloud, Status: r.Status, Code: code, Message: message}
	switch {
	case r.Status == http.StatusTooManyRequests:
		return p, fmt.Errorf("%w: %w", ErrLater, p)
	case r.Status >= http.StatusInternalServerError:
		return p, a.Unreachable(fmt.Errorf("%s (HTTP %d)", http.StatusText(r.Status), r.Status))
	}
	return p, nil
}

// Unreachable says that the API did not answer, without the URL.
func (a *API) Unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it closed the connection without an answer")
	}
	return providers.Errorf(providers.Unreachable, "%s cannot be asked: %v", a.cloud, err)
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
