package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
)

// An Account is the account to which jobs of a backend are charged. The site's
// command says its balance, or else the backend block.
type Account struct {
	Name    string
	Command []string // ACCOUNT stands for the name; empty = the site has none
	Stated  string   // service units, by the backend block

	mu   sync.Mutex
	at   time.Time // of the last answer
	left string
	why  string // nothing is known
}

// balanceLasts is how long an answer is reused: sites book jobs when they end.
const balanceLasts = 2 * time.Minute

// Fill says in each pool the balance of the account. run runs a command on the login node;
// nil = it cannot be reached.
func (a *Account) Fill(ctx context.Context, pools []offer.Pool, run func(context.Context, ...string) ([]byte, error)) {
	left, source, since := a.Stated, "backend block", ""
	note := ""
	if len(a.Command) > 0 && run != nil && a.Name != "" {
		a.ask(ctx, run)
		if a.left != "" {
			left, source, since = a.left, a.Command[0], a.at.UTC().Format("15:04 UTC")
		}
		note = a.why
	}
	for i := range pools {
		p := &pools[i]
		if note != "" {
			p.Notes = append(slices.Clip(p.Notes), "the balance of account "+a.Name+" is not known: "+note)
		}
		if left != "" {
			p.Balance, p.Account = left, a.Name
			p.Facts = append(slices.Clip(p.Facts), offer.Fact{Name: "left of the account", Value: left + " service units", Source: source, Since: since})
		}
	}
}

func (a *Account) ask(ctx context.Context, run func(context.Context, ...string) ([]byte, error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.at.IsZero() && time.Since(a.at) < balanceLasts {
		return
	}
	argv := make([]string, len(a.Command))
	for i, word := range a.Command {
		argv[i] = strings.ReplaceAll(word, "ACCOUNT", a.Name)
	}
	a.left, a.why = "", ""
	out, err := run(ctx, argv...)
	if err == nil {
		a.left, err = balance(string(out))
	}
	if err != nil {
		a.why = err.Error()
	}
	if ctx.Err() == nil {
		a.at = time.Now()
	}
}

// balance adds up the amounts that a command printed, one a line: an account may have several
// allocations.
func balance(out string) (string, error) {
	sum, n := decimal.Zero, 0
	for line := range strings.Lines(out) {
		text := strings.ReplaceAll(strings.TrimSpace(line), ",", "")
		if text == "" {
			continue
		}
		amount, err := decimal.NewFromString(text)
		if err != nil || len(text) > 30 {
			return "", fmt.Errorf("its command printed %q, which is not a number", line)
		}
		sum, n = sum.Add(amount), n+1
	}
	if n == 0 {
		return "", errors.New("its command printed nothing")
	}
	return sum.String(), nil
}
