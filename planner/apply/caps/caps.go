// Package caps keeps the joint spending of many campaigns, in a file beside the
// one that declares their budgets, and stops each campaign from starting a job
// that would pass a limit.
package caps

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/ledger"
)

// A Campaign is who counts.
type Campaign struct {
	lang.Owner
	Name string
}

// Caps are the budgets of many campaigns, as one campaign counts in them. It is a
// ledger.Common.
type Caps struct {
	who   Campaign
	books []*book
}

// A book is a file of budgets and their spending.
type book struct {
	file    string
	budgets []lang.Budget
	journal *journal
}

// New opens the budgets that a campaign shares with others: nil where it shares none.
func New(who Campaign, budgets []lang.Budget) *Caps {
	c := &Caps{who: who}
	for _, b := range budgets {
		if b.Shared == nil {
			continue
		}
		i := slices.IndexFunc(c.books, func(x *book) bool { return x.file == b.Shared.File })
		if i < 0 {
			i = len(c.books)
			c.books = append(c.books, &book{file: b.Shared.File, journal: journalOf(b.Shared.File)})
		}
		c.books[i].budgets = append(c.books[i].budgets, b)
	}
	if len(c.books) == 0 {
		return nil
	}
	return c
}

// Spent is the part of a shared budget that campaigns spent or may still spend,
// by unit.
func Spent(b lang.Budget) (map[lang.Owner]map[string]string, error) {
	j := journalOf(b.Shared.File)
	if err := j.look(); err != nil {
		return nil, err
	}
	sums := map[lang.Owner]ledger.Amounts{}
	for id, l := range j.lines {
		if counts(b, l.Backend) {
			owner := lang.Owner{Lineage: id.lineage, Dir: l.Dir}
			sum := sums[owner]
			sum.Add(l.both, 1)
			sums[owner] = sum
		}
	}
	out := map[lang.Owner]map[string]string{}
	for owner, sum := range sums {
		out[owner] = sum.Text()
	}
	return out, nil
}

func counts(b lang.Budget, backend string) bool {
	return len(b.AppliesTo) == 0 || slices.ContainsFunc(b.AppliesTo, func(to string) bool { return lang.Covers(to, backend) })
}

// Claim implements ledger.Common: the limits are compared and the shares recorded
// under one lock, which every campaign takes.
func (c *Caps) Claim(list []ledger.Share) (why string) {
	var undo []func()
	for _, b := range c.books {
		var before []line
		err := b.journal.change(func() []line {
			if why = b.refuses(c.who, list); why != "" {
				return nil
			}
			for _, l := range c.lines(list) {
				before = append(before, b.journal.was(l))
			}
			return c.lines(list)
		})
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			for _, back := range undo {
				back()
			}
			return why
		}
		undo = append(undo, func() { _ = b.journal.change(func() []line { return before }) }) // the next Tell says it again
	}
	return ""
}

// Tell implements ledger.Common.
func (c *Caps) Tell(list []ledger.Share) error {
	for _, b := range c.books {
		if err := b.journal.change(func() []line { return c.lines(list) }); err != nil {
			return err
		}
		if err := b.journal.sync(); err != nil {
			return err
		}
	}
	return nil
}

// Held implements ledger.Common.
func (c *Caps) Held() (out []ledger.Share, err error) {
	seen := map[string]bool{}
	for _, b := range c.books {
		if err := b.journal.look(); err != nil {
			return nil, err
		}
		for _, l := range b.journal.lines {
			if l.Lineage == c.who.Lineage && l.Dir == c.who.Dir && len(l.Held) > 0 && !seen[l.Key] {
				seen[l.Key] = true
				out = append(out, ledger.Share{Key: l.Key, Backend: l.Backend, Spent: ledger.Parse(l.Spent), Held: ledger.Parse(l.Held)})
			}
		}
	}
	return out, nil
}

func (c *Caps) lines(list []ledger.Share) (out []line) {
	for _, sh := range list {
		out = append(out, line{Lineage: c.who.Lineage, Dir: c.who.Dir, Campaign: c.who.Name, Key: sh.Key, Backend: sh.Backend, Spent: sh.Spent.Text(), Held: sh.Held.Text()})
	}
	return out
}

// refuses says which limit shares would pass.
func (b *book) refuses(who Campaign, list []ledger.Share) string {
	for _, limit := range b.budgets {
		var others, more ledger.Amounts
		for backend, sum := range b.journal.sums {
			if counts(limit, backend) {
				others.Add(sum, 1)
			}
		}
		for _, sh := range list {
			if !counts(limit, sh.Backend) {
				continue
			}
			more.Add(sh.Spent, 1)
			more.Add(sh.Held, 1)
			others.Add(b.journal.lines[id{who.Lineage, sh.Key}].both, -1)
		}
		all := others
		all.Add(more, 1)
		for unit, most := range limit.Limits {
			wants := amount.Of(more.Text()[unit])
			if wants.IsPositive() && amount.Exceeds(amount.Of(all.Text()[unit]), amount.Of(most)) {
				return fmt.Sprintf("budget %q of %s does not cover it: the campaigns that count in it spent or may still spend %s, and %s for it pass %s. Who may write that file can raise the limit; `muster cost` shows the entries that count in it",
					limit.Name, limit.Shared.File, amount.Words(unit, amount.Of(others.Text()[unit]).String()), amount.Words(unit, wants.String()), amount.Words(unit, most))
			}
		}
	}
	return ""
}

var _ ledger.Common = (*Caps)(nil)
