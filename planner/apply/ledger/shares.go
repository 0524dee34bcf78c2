package ledger

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/state"
)

// A Share is the spent and reserved amounts of the launches of one token, or of bills on a
// backend beside launches.
type Share struct {
	Key         string // within the campaign
	Backend     string
	Spent, Held Amounts
}

// Common is an account that many campaigns share.
type Common interface {
	// Claim records shares if every limit covers them beside all that others
	// spent and may still spend; else it records nothing and says why.
	Claim([]Share) (why string)
	// Tell records the current shares.
	Tell([]Share) error
	// Held are the shares of this campaign that hold something.
	Held() ([]Share, error)
}

// shares are a run's parts of the accounts that it shares with other
// campaigns.
type shares struct {
	common Common
	now    map[string]*Share
	told   map[string]Share
	dirty  map[string]bool
}

// Join has a run count in common with other campaigns.
func (bs *Books) Join(c Common) {
	bs.shares = shares{common: c, now: map[string]*Share{}, told: map[string]Share{}, dirty: map[string]bool{}}
}

// of is the share of a token, or of bills beside launches. Nothing is spent on simulated
// backends.
func (s *shares) of(backend, key string) *Share {
	if s.common == nil || strings.HasPrefix(backend, "sim.") {
		return &Share{}
	}
	sh := s.now[key]
	if sh == nil {
		sh = &Share{Key: key, Backend: backend}
		s.now[key] = sh
	}
	s.dirty[key] = true
	return sh
}

// Claim reserves the rest of tabs in shared ledgers, before their jobs start.
func (bs *Books) Claim(tabs ...*Tab) bool {
	s := &bs.shares
	if s.common == nil {
		return true
	}
	var list []Share
	for _, t := range tabs {
		if sh := *s.of(t.Backend, short(t.Token)); sh.Key != "" {
			sh.Held.Add(t.Rest(), 1)
			list = append(list, sh)
		}
	}
	if why := s.common.Claim(list); why != "" {
		bs.Short, bs.Why, bs.Approval = true, why, false
		return false
	}
	for _, sh := range list {
		s.told[sh.Key] = sh
	}
	return true
}

// Publish records the changed shares. It comes before anything that depends on it
// is sent.
func (bs *Books) Publish() error {
	s := &bs.shares
	var list []Share
	for _, key := range slices.Sorted(maps.Keys(s.dirty)) {
		if now := *s.now[key]; now != s.told[key] && (now.Spent != (Amounts{}) || now.Held != (Amounts{}) || s.told[key].Key != "") {
			list = append(list, now)
		}
	}
	if len(list) > 0 {
		if err := s.common.Tell(list); err != nil {
			return err
		}
	}
	for _, sh := range list {
		s.told[sh.Key] = sh
	}
	clear(s.dirty)
	return nil
}

// entryKey is the key of an entry's expense. That of a launch is its token, which a
// renamed job keeps.
func entryKey(en *state.Entry) string {
	if en.Attempt > 0 && en.Token != "" {
		return en.Token
	}
	return en.Address + " " + en.Token
}

// Settle gives back the shares that an earlier run of this campaign claimed for
// launches that the state does not have: that run was killed before it recorded
// them.
func (bs *Books) Settle() error {
	s := &bs.shares
	if s.common == nil {
		return nil
	}
	held, err := s.common.Held()
	if err != nil {
		return err
	}
	for _, sh := range held {
		if _, there := s.now[sh.Key]; there {
			s.told[sh.Key] = sh
			continue
		}
		sh.Held = Amounts{}
		s.now[sh.Key] = &sh
		s.dirty[sh.Key] = true
		s.told[sh.Key] = Share{Key: sh.Key}
	}
	return bs.Publish()
}

// enter counts an entry of a state's ledger.
func (s *shares) enter(en *state.Entry, spent Amounts) {
	s.of(en.Backend, entryKey(en)).Spent.Add(spent, 1)
}

// claimEntry reserves spending beside any launch.
func (bs *Books) claimEntry(en *state.Entry, spent Amounts) string {
	s := &bs.shares
	sh := s.of(en.Backend, entryKey(en))
	if sh.Key == "" {
		return ""
	}
	next := *sh
	next.Spent.Add(spent, 1)
	if why := s.common.Claim([]Share{next}); why != "" {
		return why
	}
	*sh, s.told[sh.Key] = next, next
	return ""
}
