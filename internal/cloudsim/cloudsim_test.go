package cloudsim

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

var start = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

// What is due runs at its own time, however late somebody looks.
func TestClockRunsWhatIsDueAtItsTime(t *testing.T) {
	t.Parallel()
	c := NewClock(start, 0)
	var at []string
	c.Do(func() {
		note := func() { at = append(at, c.Now().Sub(start).String()) }
		c.After(2*time.Minute, func() { note(); c.After(time.Minute, note) })
		c.After(time.Minute, note)
		canceled := c.After(90*time.Second, note)
		canceled()
	})
	c.Advance(time.Hour)
	if want := []string{"1m0s", "2m0s", "3m0s"}; !slices.Equal(at, want) {
		t.Errorf("%q, not %q", at, want)
	}
	c.Do(func() {
		if !c.Now().Equal(start.Add(time.Hour)) {
			t.Errorf("it is %s", c.Now())
		}
	})
}

// A clock that runs wakes up for what was ordered while it slept.
func TestClockRuns(t *testing.T) {
	t.Parallel()
	c := NewClock(start, 3600)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { c.Run(ctx); close(ended) }()
	for range 3 {
		ran := make(chan struct{})
		c.Do(func() { c.After(time.Minute, func() { close(ran) }) })
		<-ran
	}
	cancel()
	<-ended
}

func TestMeterIsExact(t *testing.T) {
	t.Parallel()
	d := decimal.RequireFromString
	var m Meter
	m.Run("gpu", d("0.36"), start)
	m.Run("gpu", d("0.36"), start.Add(time.Hour)) // the same goes on
	m.Run("gpu", d("0.72"), start.Add(2*time.Hour))
	m.Run("gpu", decimal.Zero, start.Add(3*time.Hour+1500*time.Millisecond)) // whole seconds
	m.Run("disk", d("0.0123"), start)
	m.Transferred("up", 2_500_000_000, d("0.01"), start.Add(time.Hour))
	m.Transferred("up", 0, d("0.01"), start.Add(time.Hour))
	now := start.Add(10 * time.Hour)
	for kind, want := range map[string]string{"gpu": "1.4402", "disk": "0.123", "up": "0.025", "": "1.5882"} {
		if got := m.Amount(kind, time.Time{}, now, now); !got.Equal(d(want)) {
			t.Errorf("%q: %s, not %s", kind, got, want)
		}
	}
	if got := m.Amount("gpu", start.Add(time.Hour), start.Add(150*time.Minute), now); !got.Equal(d("0.72")) {
		t.Errorf("in 90 minutes: %s", got)
	}
	if got := m.Burn(); !got.Equal(d("0.0123")) {
		t.Errorf("burns %s", got)
	}
	m.Stop(now)
	if got, later := m.Total(now), m.Total(now.Add(time.Hour)); !got.Equal(later) || len(m.Lines()) != 4 {
		t.Errorf("%s, later %s, %d lines", got, later, len(m.Lines()))
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit Limit
		calls []time.Duration // since the start
		pass  []bool
	}{
		"none":        {Limit{}, []time.Duration{0, 0}, []bool{true, true}},
		"apart":       {Limit{Every: 2 * time.Second}, []time.Duration{0, time.Second, 2 * time.Second}, []bool{true, false, true}},
		"penalty":     {Limit{Every: 4 * time.Second, Penalty: 12 * time.Second}, []time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second}, []bool{true, false, false, true}},
		"by a minute": {Limit{PerMinute: 2}, []time.Duration{0, time.Second, 2 * time.Second, time.Minute}, []bool{true, true, false, true}},
	} {
		ls := limits{}
		for n, at := range c.calls {
			if got := ls.allow("op", "me", c.limit, start.Add(at)); got != c.pass[n] {
				t.Errorf("%s: call %d passes: %t", name, n, got)
			}
		}
		if !ls.allow("op", "you", c.limit, start) || !ls.allow("another", "me", c.limit, start) {
			t.Errorf("%s: a limit counts for others", name)
		}
	}
}

func TestKeysFiles(t *testing.T) {
	t.Parallel()
	as, err := NewAccounts("# comment\none account=lab credit=2.50 card\n\ntwo account=lab scopes=a,b expires=2026-11-24T00:00:00Z\nthree\n")
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := as.Find("one", start), as.Find("two", start), as.Find("three", start)
	if one.Account != two.Account || one.Account == three.Account || one.Account.Credit.String() != "2.5" || !one.Account.Card || three.Account.Card {
		t.Errorf("%+v %+v %+v", one.Account, two.Account, three.Account)
	}
	if !one.May("x") || !two.May("a") || !two.May("") || two.May("x") {
		t.Error("scopes")
	}
	if as.Find("two", start.AddDate(0, 0, 1)) != nil || as.Find("four", start) != nil {
		t.Error("an expired key, or none, is found")
	}
	k := as.Grant(one.Account, 7)
	if as.Find(k.Text, start) != k {
		t.Error("a granted key is not found")
	}
	as.Revoke(k)
	if as.Find(k.Text, start) != nil {
		t.Error("a revoked key is found")
	}
	for text, want := range map[string]string{
		"":                   "no keys",
		"a\na":               "line 2: the key is there twice",
		"a credit=much":      "not an amount",
		"a expires=tomorrow": "not a time",
		"a color=red":        "the settings are",
	} {
		if _, err := NewAccounts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// counter is a cloud with one call, which counts.
type counter struct {
	n        int
	happened Event
}

func (c *counter) Routes() []Route {
	count := func(*Call) Answer { c.n++; return JSON(200, c.n) }
	rare := Limit{Every: 10 * time.Second}
	return []Route{
		{Method: "POST", Path: "/count", Op: "count", Scope: "counting", Serve: count},
		{Method: "POST", Path: "/one", Op: "one", Shared: Limit{Every: time.Second}, Serve: count},
		{Method: "POST", Path: "/two", Op: "two", Shared: Limit{Every: time.Second}, Limit: rare, Serve: count},
	}
}
func (c *counter) Refuse(_ Route, why Refusal) Answer {
	if why == ServerBug {
		return HTML(500)
	}
	return Text(400, string(why))
}
func (c *counter) Faults() map[string][]string { return map[string][]string{"step": {"own"}} }
func (c *counter) Happen(e Event) error        { c.happened = e; return nil }
func (c *counter) Close()                      {}
func (c *counter) Truth() any                  { return c.n }

func serve(t *testing.T) (*World, *counter, string) {
	t.Helper()
	as, err := NewAccounts("key\nsmall scopes=other\n")
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{}
	w := &World{Clock: NewClock(start, 0), Accounts: as, Machines: NoMachines{}, Faults: NewFaults(c.Routes(), c.Faults())}
	s := httptest.NewServer(NewServer(w, c))
	t.Cleanup(s.Close)
	return w, c, s.URL
}

func post(url, key, body string) (status int, text string, err error) {
	q, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	return r.StatusCode, string(all), err
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	_, c, url := serve(t)
	for key, want := range map[string]string{"": "no key", "wrong": "unknown or expired key", "small": "the key may not do this"} {
		if _, text, err := post(url+"/count", key, ""); err != nil || text != want {
			t.Errorf("%q: %q %v", key, text, err)
		}
	}
	if _, text, _ := post(url+"/nothing", "key", ""); text != "no such route" {
		t.Errorf("%q", text)
	}
	for _, path := range []string{"/count", "/count/", "/count?api_key=key"} {
		key := "key"
		if strings.Contains(path, "=") {
			key = ""
		}
		if status, _, err := post(url+path, key, ""); status != 200 {
			t.Errorf("%s: %d %v", path, status, err)
		}
	}
	if c.n != 3 {
		t.Errorf("%d calls passed", c.n)
	}
}

// Routes with a shared limit are limited together, and each by its own.
func TestSharedLimit(t *testing.T) {
	t.Parallel()
	w, _, url := serve(t)
	calls := func(paths ...string) (out string) {
		for _, p := range paths {
			status, _, err := post(url+p, "key", "")
			if err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprint(status, " ")
		}
		w.Clock.Advance(time.Second)
		return out
	}
	for _, c := range []struct{ got, want string }{
		{calls("/two", "/one"), "200 400 "},
		{calls("/one", "/two"), "200 400 "},
		{calls("/two"), "400 "}, // its own
		{calls("/count", "/count"), "200 200 "},
	} {
		if c.got != c.want {
			t.Errorf("%s, not %s", c.got, c.want)
		}
	}
}

// A key may be the name of a user, and names of things may be numbers.
func TestNamesAndKeys(t *testing.T) {
	t.Parallel()
	_, c, url := serve(t)
	if status, text, err := post(strings.Replace(url, "://", "://key:@", 1)+"/count", "", ""); status != 200 {
		t.Errorf("%d %s %v", status, text, err)
	}
	for body, want := range map[string]string{`{"what":"x","instance":12}`: "12", `{"what":"x","instance":"a/b"}`: "a/b", `{"what":"x","instance":[1]}`: ""} {
		c.happened = Event{}
		if status, text, err := post(url+"/_sim/happen", "", body); err != nil || string(c.happened.Instance) != want || (status == 200) != (want != "") {
			t.Errorf("%s: %d %s %v", body, status, text, err)
		}
	}
}

// Each general fault does to the call and to the answer what it says.
func TestGeneralFaults(t *testing.T) {
	t.Parallel()
	for fault, c := range map[string]struct {
		status int // 0 = no answer
		done   int
		text   string
	}{
		`{"on":"count","do":"slow","for":"1ms"}`:  {200, 1, "1"},
		`{"on":"count","do":"hang","for":"1ms"}`:  {0, 0, ""},
		`{"on":"count","do":"drop"}`:              {0, 0, ""},
		`{"on":"*","do":"status"}`:                {502, 0, "<html>"},
		`{"on":"*","do":"status","code":503}`:     {503, 0, "Service Unavailable"},
		`{"on":"count","do":"too_often"}`:         {400, 0, "too often"},
		`{"on":"count","do":"lost"}`:              {0, 1, ""},
		`{"on":"count","do":"failed"}`:            {500, 1, "<html>"},
		`{"on":"count","do":"failed","after":1}`:  {200, 1, "1"},
		`{"on":"step","do":"own","label":"mine"}`: {200, 1, "1"},
	} {
		w, counts, url := serve(t)
		if status, text, err := post(url+"/_sim/faults", "", fault); status != 200 {
			t.Fatalf("%s: %s %v", fault, text, err)
		}
		status, text, err := post(url+"/count", "key", "")
		done, left := 0, 0
		w.Clock.Do(func() { done, left = counts.n, len(w.Faults.List()) })
		if status != c.status || (err != nil) != (c.status == 0) || done != c.done || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %q %v, %d done", fault, status, text, err, done)
		}
		if strings.Contains(fault, "after") || strings.Contains(fault, "own") {
			continue
		}
		if left != 0 {
			t.Errorf("%s: %d faults are left", fault, left)
		}
	}
}

func TestFaultsOfTheCloud(t *testing.T) {
	t.Parallel()
	w, _, _ := serve(t)
	for _, f := range []Fault{{On: "nothing", Do: "drop"}, {On: "count", Do: "own"}, {On: "count", Do: "status", Code: 404}, {On: "count", Do: "drop", Times: -2}} {
		if w.Faults.Add(f) == nil {
			t.Errorf("%+v is taken", f)
		}
	}
	if err := w.Faults.Add(Fault{On: "step", Do: "own", Label: "mine", Times: 2}); err != nil {
		t.Fatal(err)
	}
	var met []bool
	for _, label := range []string{"yours", "mine-1", "mine-2", "mine-3"} {
		met = append(met, w.Faults.Take("step", label, "own") != nil)
	}
	if want := []bool{false, true, true, false}; !slices.Equal(met, want) {
		t.Errorf("%v, not %v", met, want)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	w, _, url := serve(t)
	for body, ok := range map[string]bool{`{"advance":"1h"}`: true, `{"advance":"-1h"}`: false, `{"speed":-1}`: false, `{"sped":1}`: false} {
		if status, text, err := post(url+"/_sim/clock", "", body); (status == 200) != ok {
			t.Errorf("%s: %d %s %v", body, status, text, err)
		}
	}
	w.Clock.Do(func() {
		if !w.Clock.Now().Equal(start.Add(time.Hour)) {
			t.Errorf("it is %s", w.Clock.Now())
		}
	})
	if status, text, _ := post(url+"/_sim/faults", "", `{"on":"nothing","do":"drop"}`); status != 400 || !strings.Contains(text, "there are *, count, one, step, two") {
		t.Errorf("%d %s", status, text)
	}
	r, err := http.Get(url + "/_sim/state")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(text), `"now":"2026-11-23T10:00:00Z"`) {
		t.Errorf("%s %v", text, err)
	}
}

// A port carries bytes while it is open and counts them; shut, it hangs up.
func TestPort(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	p, err := Listen(func(ctx context.Context) (net.Conn, error) { return net.Dial("tcp", echo.Addr().String()) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	say := func() string {
		c, err := net.Dial("tcp", p.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write([]byte("hello"))
		_ = c.(*net.TCPConn).CloseWrite()
		text, _ := io.ReadAll(c)
		return string(text)
	}
	if got := say(); got != "" {
		t.Errorf("shut: %q", got)
	}
	p.Open(true)
	if got := say(); got != "hello" {
		t.Errorf("open: %q", got)
	}
	if in, out := p.Bytes(); in != 5 || out != 5 {
		t.Errorf("%d in, %d out", in, out)
	}
	p.Open(false)
	if got := say(); got != "" {
		t.Errorf("shut again: %q", got)
	}
}

// What a machine is told is done in order, and before it closes.
func TestRunner(t *testing.T) {
	t.Parallel()
	r := NewRunner()
	var did []int
	for n := range 100 {
		r.Then(func() { did = append(did, n) })
	}
	r.Close()
	if len(did) != 100 || !slices.IsSorted(did) {
		t.Errorf("%v", did)
	}
}
