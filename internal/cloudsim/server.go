package cloudsim

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// A Server serves a cloud's API, and under /_sim/ an interface of its own for
// tests and people.
type Server struct {
	world   *World
	cloud   Cloud
	mux     *http.ServeMux // everything
	outside *http.ServeMux // the side that the cloud shows its customers
	limits  limits
	Latency time.Duration // real time that every answer of the API takes
	NoLimit bool          // rate limits do not count
}

// NewServer makes the server of a cloud in a world.
func NewServer(w *World, c Cloud) *Server {
	s := &Server{world: w, cloud: c, mux: http.NewServeMux(), outside: http.NewServeMux(), limits: limits{}}
	for _, r := range c.Routes() {
		h := func(w http.ResponseWriter, q *http.Request) { s.api(w, q, r) }
		s.outside.HandleFunc(r.Method+" "+r.Path, h)
		s.outside.HandleFunc(r.Method+" "+r.Path+"/{$}", h)
	}
	s.control()
	s.mux.Handle("/", s.outside)
	w.API = s.outside // without /_sim/
	s.outside.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { write(w, c.Refuse(Route{}, noRoute)) })
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) { s.mux.ServeHTTP(w, q) }

// mostBody is the most that a request may hold, in bytes.
const mostBody = 1 << 20

func (s *Server) api(w http.ResponseWriter, q *http.Request, r Route) {
	body, err := io.ReadAll(io.LimitReader(q.Body, mostBody))
	if err != nil {
		return // the client is gone
	}
	time.Sleep(s.Latency)
	var fault *Fault
	s.world.Clock.Do(func() { fault = s.world.Faults.general(r.Op) })
	if fault != nil && s.before(w, q, r, fault) {
		return
	}
	var a Answer
	s.world.Clock.Do(func() { a = s.answer(q, r, body) })
	if fault != nil {
		switch fault.Do {
		case lost:
			hangUp(w)
			return
		case failed:
			a = s.cloud.Refuse(r, ServerBug)
		}
	}
	write(w, a)
}

// before plays a fault instead of a call, and reports whether it did.
func (s *Server) before(w http.ResponseWriter, q *http.Request, r Route, f *Fault) bool {
	switch f.Do {
	case slow:
		wait(q, time.Duration(f.For))
		return false
	case hang:
		d := time.Duration(f.For)
		if d == 0 {
			d = time.Hour
		}
		wait(q, d)
		hangUp(w)
	case drop:
		hangUp(w)
	case status:
		code := f.Code
		if code == 0 {
			code = http.StatusBadGateway
		}
		write(w, HTML(code))
	case tooOften:
		write(w, s.cloud.Refuse(r, TooOften))
	default:
		return false
	}
	return true
}

func wait(q *http.Request, d time.Duration) {
	select {
	case <-q.Context().Done():
	case <-time.After(d):
	}
}

// hangUp closes a connection without a word.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

func (s *Server) answer(q *http.Request, r Route, body []byte) Answer {
	c := &Call{Route: r, Query: q.URL.Query(), Body: body, Now: s.world.Clock.Now(), Limited: !s.NoLimit, request: q}
	who, _, _ := net.SplitHostPort(q.RemoteAddr)
	text := bearer(q)
	if !r.Open {
		if text == "" {
			return s.cloud.Refuse(r, NoKey)
		}
		c.Key = s.world.Accounts.Find(text, c.Now)
		if c.Key == nil {
			return s.cloud.Refuse(r, BadKey)
		}
		if !c.Key.May(r.Scope) {
			return s.cloud.Refuse(r, Unscoped)
		}
		c.Account = c.Key.Account
	}
	if who += " " + text; !s.NoLimit && !(s.limits.allow("", who, r.Shared, c.Now) && s.limits.allow(r.Op, who, r.Limit, c.Now)) {
		return s.cloud.Refuse(r, TooOften)
	}
	return r.Serve(c)
}

// bearer is the key of a request: in its header, alone or as the name of a user, or in
// its query as old clients have it.
func bearer(q *http.Request) string {
	if user, _, ok := q.BasicAuth(); ok {
		return user
	}
	if text, ok := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer "); ok {
		return strings.TrimSpace(text)
	}
	return q.URL.Query().Get("api_key")
}

func write(w http.ResponseWriter, a Answer) {
	if a.Type != "" {
		w.Header().Set("Content-Type", a.Type)
	}
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // to a client that may be gone
}

// control serves the paths under /_sim/. It needs no key: the simulator listens where its user
// says.
func (s *Server) control() {
	clock := s.world.Clock
	s.mux.HandleFunc("GET /_sim/state", func(w http.ResponseWriter, _ *http.Request) {
		var a Answer
		clock.Do(func() {
			a = JSON(http.StatusOK, map[string]any{"now": clock.Now(), "faults": s.world.Faults.List(), "cloud": s.cloud.Truth()})
		})
		write(w, a)
	})
	order(s.mux, "POST /_sim/clock", func(v struct {
		Advance Duration `json:"advance"`
		Speed   *float64 `json:"speed"`
	}) error {
		if v.Advance < 0 || v.Speed != nil && *v.Speed < 0 {
			return errors.New("a clock does not go back")
		}
		if v.Speed != nil {
			clock.SetSpeed(*v.Speed)
		}
		clock.Advance(time.Duration(v.Advance))
		return nil
	})
	order(s.mux, "POST /_sim/faults", func(f Fault) (err error) {
		clock.Do(func() { err = s.world.Faults.Add(f) })
		return err
	})
	s.mux.HandleFunc("DELETE /_sim/faults", func(w http.ResponseWriter, _ *http.Request) {
		clock.Do(s.world.Faults.Clear)
		write(w, JSON(http.StatusOK, map[string]any{}))
	})
	order(s.mux, "POST /_sim/happen", func(e Event) (err error) {
		clock.Do(func() { err = s.cloud.Happen(e) })
		return err
	})
}

// order serves a command to the simulator with a JSON object as its argument.
func order[T any](mux *http.ServeMux, pattern string, do func(T) error) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
		var v T
		d := json.NewDecoder(io.LimitReader(q.Body, mostBody))
		d.DisallowUnknownFields()
		err := d.Decode(&v)
		if err == nil {
			err = do(v)
		}
		if err != nil {
			write(w, Text(http.StatusBadRequest, err.Error()+"\n"))
			return
		}
		write(w, JSON(http.StatusOK, map[string]any{}))
	})
}
