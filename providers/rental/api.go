package rental

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// An API asks a cloud over HTTP, with JSON in requests. It repeats nothing.
type API struct {
	cloud, url, key string
	web             *http.Client

	mu      sync.Mutex
	account offer.Account // whose key it is, once that was asked
	worked  atomic.Bool   // the key was taken by this process before
}

// callTime is how long an answer may take.
const callTime = time.Minute

// NewAPI makes one for a cloud's name, its URL and the value of the Authorization
// header.
func NewAPI(cloud, url, authorization string) *API {
	return &API{cloud: cloud, url: strings.TrimSuffix(url, "/"), key: authorization, web: &http.Client{Timeout: callTime}}
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

// Read reads the JSON value of an answer. What is no JSON is an error of class
// unreachable: a proxy answered, not the API.
func (a *API) Read(r Reply, into any) error {
	if err := json.Unmarshal(r.Body, into); err != nil {
		return a.Unreachable(fmt.Errorf("an answer that is no JSON: %w", err))
	}
	return nil
}

// Unreachable says that the API did not answer, without the URL.
func (a *API) Unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return providers.Errorf(providers.Unreachable, "%s cannot be asked: %v", a.cloud, err)
}

// Sleep waits for a time, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
