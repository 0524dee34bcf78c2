package cloudsim

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// Accounts are the customers of a cloud, by their keys.
type Accounts struct {
	byKey map[string]*Key
	all   []*Account
}

// An Account has credit, from which its machines are paid.
type Account struct {
	ID     int
	Name   string
	Credit decimal.Decimal // dollars paid in, whatever was spent of them
	Card   bool            // a card is on file, so that nothing is destroyed when the credit ends
}

// A Key lets a client act for an account.
type Key struct {
	Text    string
	Account *Account
	Scopes  []string  // none = all
	Expires time.Time // zero = never
	// Instance is the one machine that a key on it may act on; 0 = all.
	Instance int
}

// May reports whether a key has a scope.
func (k *Key) May(scope string) bool {
	return scope == "" || len(k.Scopes) == 0 || slices.Contains(k.Scopes, scope)
}

// NewAccounts makes accounts of the lines of a keys file. A line is a key and
// settings; lines with the same account share it:
//
//	KEY [account=NAME] [credit=DOLLARS] [card] [scopes=A,B] [expires=RFC3339]
func NewAccounts(text string) (*Accounts, error) {
	as := &Accounts{byKey: map[string]*Key{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := as.line(fields); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if len(as.all) == 0 {
		return nil, fmt.Errorf("no keys")
	}
	return as, nil
}

// ReadAccounts is NewAccounts of a file.
func ReadAccounts(path string) (*Accounts, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	as, err := NewAccounts(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return as, nil
}

func (as *Accounts) line(fields []string) error {
	k := &Key{Text: fields[0]}
	if as.byKey[k.Text] != nil {
		return fmt.Errorf("the key is there twice")
	}
	name := ""
	var settings []func(*Account)
	for _, f := range fields[1:] {
		what, value, _ := strings.Cut(f, "=")
		switch what {
		case "account":
			name = value
		case "credit":
			d, err := decimal.NewFromString(value)
			if err != nil {
				return fmt.Errorf("credit=%s: not an amount of dollars", value)
			}
			settings = append(settings, func(a *Account) { a.Credit = d })
		case "card":
			settings = append(settings, func(a *Account) { a.Card = true })
		case "scopes":
			k.Scopes = strings.Split(value, ",")
		case "expires":
			t, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return fmt.Errorf("expires=%s: not a time such as 2026-11-30T12:00:00Z", value)
			}
			k.Expires = t
		default:
			return fmt.Errorf("%s: the settings are account, credit, card, scopes and expires", f)
		}
	}
	k.Account = as.account(name)
	for _, set := range settings {
		set(k.Account)
	}
	as.byKey[k.Text] = k
	return nil
}

// account is the one of a name; without one, another one.
func (as *Accounts) account(name string) *Account {
	for _, a := range as.all {
		if name != "" && a.Name == name {
			return a
		}
	}
	a := &Account{ID: 5001 + len(as.all), Name: name, Credit: decimal.NewFromInt(25)}
	as.all = append(as.all, a)
	return a
}

// All are the accounts, in the order of their keys.
func (as *Accounts) All() []*Account { return as.all }

// Find is a key that is known and has not expired; nil without one.
func (as *Accounts) Find(text string, now time.Time) *Key {
	k := as.byKey[text]
	if k == nil || !k.Expires.IsZero() && !now.Before(k.Expires) {
		return nil
	}
	return k
}

// Grant makes a key for one instance.
func (as *Accounts) Grant(a *Account, instance int) *Key {
	k := &Key{Text: strings.ToLower(rand.Text() + rand.Text()), Account: a, Instance: instance}
	as.byKey[k.Text] = k
	return k
}

// Revoke ends a key.
func (as *Accounts) Revoke(k *Key) { delete(as.byKey, k.Text) }
