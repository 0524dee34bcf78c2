// Package cloudsim is the common part of the simulators of GPU clouds: a clock
// that may run fast or only when told, accounts with keys, rate limits, meters
// that bill by that clock, faults on request, and the machines behind rented
// instances. A cloud, such as package vastai, adds its routes, its words and
// the life of its instances. The command muster-cloudsim serves one.
//
//	request ─▶ latency ─▶ fault before ─▶ key ─▶ rate limit ─▶ the cloud ─▶ fault after ─▶ answer
package cloudsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A World is shared by a cloud and its server. Accounts and Faults are read and
// changed only within Clock.Do.
type World struct {
	Clock    *Clock
	Accounts *Accounts
	Faults   *Faults
	Machines Machines
	// API is the server's side for rented machines; nil without a server.
	API http.Handler
	// Trouble hears of machines that did not boot. Their cloud says nothing of it.
	Trouble func(error)
}

// A Cloud is one provider's API.
type Cloud interface {
	Routes() []Route
	// Refuse is the answer to a call that the server does not pass on.
	Refuse(Route, Refusal) Answer
	// Faults are the faults that only this cloud knows, by target.
	Faults() map[string][]string
	// Happen makes something happen to a machine or an instance.
	Happen(Event) error
	// Truth is the real state, for tests and people, whatever the API says.
	Truth() any
	// Close ends all machines.
	Close()
}

// A Route is one call of an API.
type Route struct {
	Method, Path string // as in http.ServeMux, without the slash at the end: both forms are served
	Op           string // the name of the operation in faults
	Scope        string // the permission that a key needs; "" = none
	Open         bool   // needs no key
	Limit        Limit
	Shared       Limit // of all the routes that have one, together
	Serve        func(*Call) Answer
}

// A Call is a request that passed the key and the rate limit.
type Call struct {
	Route   Route
	Account *Account
	Key     *Key
	Query   url.Values
	Body    []byte
	Now     time.Time // by the cloud's clock
	Limited bool      // rate limits count

	request *http.Request
}

// Var is a variable of the route's path.
func (c *Call) Var(name string) string { return c.request.PathValue(name) }

// Parse reads the JSON of a request and refuses fields that v lacks: APIs that let a
// misspelt field pass do so silently, and a test should see it.
func Parse(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}

// An Answer is the response to a client.
type Answer struct {
	Status int
	Type   string // Content-Type, exactly
	Body   []byte
	Header map[string]string // more of it
}

// JSON is an answer of type application/json, without a charset: one vendor's
// client refuses any other.
func JSON(status int, v any) Answer {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own values
	}
	return Answer{Status: status, Type: "application/json", Body: bytes.TrimSpace(b.Bytes())}
}

// Text is an answer in plain text.
func Text(status int, text string) Answer {
	return Answer{Status: status, Type: "text/plain; charset=utf-8", Body: []byte(text)}
}

// HTML is the page that a proxy in front of an API answers with.
func HTML(status int) Answer {
	title := http.StatusText(status)
	return Answer{Status: status, Type: "text/html", Body: []byte("<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title + "</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n")}
}

// A Refusal is why a call is not passed on.
type Refusal string

// The refusals.
const (
	NoKey     Refusal = "no key"
	BadKey    Refusal = "unknown or expired key"
	Unscoped  Refusal = "the key may not do this"
	TooOften  Refusal = "too often"
	noRoute   Refusal = "no such route"
	ServerBug Refusal = "internal error" // of a fault that answers 500 after the work was done
)

// An Event is something that happens to an instance or a machine, other than by
// a call of the API.
type Event struct {
	What     string `json:"what"`
	Instance Name   `json:"instance,omitempty"`
	Machine  Name   `json:"machine,omitempty"`
	Value    string `json:"value,omitempty"`
}

// A Name is a cloud's name for something: a string, or a number.
type Name string

// UnmarshalJSON reads 12 as "12".
func (n *Name) UnmarshalJSON(text []byte) error {
	var s any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		return err
	}
	switch v := s.(type) {
	case string:
		*n = Name(v)
	case json.Number:
		*n = Name(v)
	default:
		return fmt.Errorf("%s: a name or a number", text)
	}
	return nil
}
