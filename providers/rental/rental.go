// Package rental is the life of a rented machine, whichever cloud it comes from.
// Nothing is rented twice, forgotten, or taken for gone while it is billed: each
// step is on the disk before the cloud hears of it, a machine carries the token of
// its rental as its label, and after a lost answer the cloud's list is asked.
//
//	planned ─▶ asked ─▶ booting ─▶ checking ─▶ ready ─▶ releasing ─▶ gone
//	   ▲         │          │          │        │  ▲
//	   └─ taken ─┤          └──────────┴─▶      ▼  │
//	             └─▶ failed      releasing   preempted ◀─▶ parked
//
// A cloud adds a client of its API.
package rental

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
)

// A Cloud is one account at a provider of machines.
type Cloud interface {
	// Account is whose key this is. It asks the cloud once.
	Account(ctx context.Context) (offer.Account, error)
	// Offers are machines that fit, best first. Prices are with the disk.
	Offers(ctx context.Context, w Want) ([]Offer, error)
	// Rent accepts an offer. ErrTaken, ErrLater, Refused and Leftover say that there is
	// no such machine; after any other error there may be one.
	Rent(ctx context.Context, o Offer, r Order) (id string, err error)
	// Machines are all that the account rents: a list that is not complete is an error.
	Machines(ctx context.Context) ([]Machine, error)
	// Release asks that a machine and its disk be given up. It says nothing of when.
	Release(ctx context.Context, id string) error
}

// A Biller is a cloud that tells what a machine cost between two times.
type Biller interface {
	Bill(ctx context.Context, id string, from, to time.Time) (decimal.Decimal, error)
}

// ErrNotTold says that a cloud does not tell this key the balance: nothing is wrong.
var ErrNotTold = errors.New("this key may not read the balance")

// A Creditor is a cloud that tells what the account has left, USD, or ErrNotTold.
type Creditor interface {
	Credit(ctx context.Context) (decimal.Decimal, error)
}

// A Stopper is a cloud whose machines can be stopped, and started again if they get a
// GPU. Both calls only ask: the list says when it has happened.
type Stopper interface {
	Stop(ctx context.Context, id string) error
	Start(ctx context.Context, id string) error
}

// Terms are a cloud's terms for the life of a machine.
type Terms struct {
	Lag  time.Duration // a machine may be missing in lists for so long after it was rented
	Boot time.Duration // one that cannot be reached so long after it was rented is given up
	// Unit is the billed unit of a run, where the cloud reports no bills.
	Unit time.Duration
	// Settles is how long after a machine's end its bill may still change.
	Settles time.Duration
}

// A Want is a machine to rent.
type Want struct {
	GPUs           int             `json:"gpus"`
	Models         []string        `json:"models,omitempty"` // any of these, in the cloud's words; empty = any
	GPUMemory      int64           `json:"gpu_memory,omitempty"`
	Disk           int64           `json:"disk"` // bytes
	Lasts          time.Duration   `json:"lasts,omitempty"`
	MostUSDPerHour decimal.Decimal `json:"most_usd_per_hour"` // with the disk; nothing dearer is rented or kept
	Reliability    float64         `json:"reliability,omitempty"`
	Spot           bool            `json:"spot,omitempty"` // may be taken away
	Bid            decimal.Decimal `json:"bid,omitzero"`   // of Spot, dollars an hour
	Image          string          `json:"image,omitempty"`
	CUDA           string          `json:"cuda,omitempty"`       // version that its driver must support: "12.6"; "" = any
	MostBoxes      int             `json:"most_boxes,omitempty"` // machines tried, one after another; 0 = 3
}

// mostBoxes is MostBoxes by default.
const mostBoxes = 3

// An Offer is a machine that can be rented.
type Offer struct {
	ID          string          `json:"id"`
	Machine     string          `json:"machine"` // the machine's own lasting name, for the avoid list; "" = it has none
	GPU         string          `json:"gpu"`
	GPUs        int             `json:"gpus"`
	GPUMemory   int64           `json:"gpu_memory"`     // bytes of one
	CUDA        string          `json:"cuda,omitempty"` // newest that its driver supports; "" = not told
	USDPerHour  decimal.Decimal `json:"usd_per_hour"`
	Reliability float64         `json:"reliability"`
	Until       time.Time       `json:"until,omitzero"` // when its host takes it back
	CPUs        int             `json:"cpus,omitempty"`
	Memory      int64           `json:"memory,omitempty"` // bytes
	Place       string          `json:"place,omitempty"`  // "Sweden, SE"
	// What else is billed: the disk of a machine that is stopped, and what leaves it.
	StoppedUSDPerHour decimal.Decimal `json:"stopped_usd_per_hour,omitzero"`
	USDPerGBOut       decimal.Decimal `json:"usd_per_gb_out,omitzero"`
}

// An Order is how an offer is accepted.
type Order struct {
	Label string
	Disk  int64
	Image string
	Bid   decimal.Decimal // zero = on demand
	Key   string          // public ssh key that the machine lets in
}

// A Machine is one that the account rents.
type Machine struct {
	ID, Label  string
	Status     Status
	Why        string // the cloud's reason for its status
	USDPerHour decimal.Decimal
	Since      time.Time // when the cloud began to bill it
	Up         time.Time // since when it runs, as muster saw it
	User, Host string    // of its ssh server, "" while there is none
	Port       int
}

// Status is a machine's status at its cloud.
type Status string

// The statuses.
const (
	Booting Status = "booting"
	Running Status = "running"
	Stopped Status = "stopped" // nobody can run on it; its disk is billed
	Broken  Status = "broken"  // it will never run
	Away    Status = "away"    // the cloud has lost sight of it
)

// ErrTaken says that an offer is gone: another may do.
var ErrTaken = errors.New("the offer is gone")

// ErrLater says that the cloud did nothing, and wants to be asked later.
var ErrLater = errors.New("the cloud wants to be asked later")

// Refused says that the cloud will not rent: another offer will not help.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }
func (r *Refused) Unwrap() error { return r.Err }

// Leftover says that the cloud refused, and left a machine all the same.
type Leftover struct {
	ID  string
	Err error
}

func (l *Leftover) Error() string {
	return fmt.Sprintf("%v; it left machine %s", l.Err, l.ID)
}
func (l *Leftover) Unwrap() error { return l.Err }

// Unfit says that a machine does not match its offer.
type Unfit struct{ Why string }

func (u *Unfit) Error() string { return u.Why }

// A Step is how far a rental has come.
type Step string

// The steps, in their order.
const (
	Planned   Step = "planned"   // nothing was asked yet
	Asked     Step = "asked"     // an offer was accepted, and what came of it is not known
	Boots     Step = "booting"   // it is ours
	Checking  Step = "checking"  // it runs, and muster has not checked it against its offer
	Ready     Step = "ready"     // jobs may run
	Preempted Step = "preempted" // the cloud took it away; its disk is there, and billed
	Parked    Step = "stopped"   // muster stopped it; its disk is there, and billed
	Releasing Step = "releasing" // it is given up, and billed until it is gone
	Gone      Step = "gone"      // the cloud does not list it any more
	Failed    Step = "failed"    // there never was one
)

// words say how far a machine is, in a sentence such as "it is …".
func (s Step) words() string {
	switch s {
	case Planned:
		return "wanted"
	case Asked:
		return "on order"
	case Checking:
		return "being checked"
	}
	return string(s)
}

// A Rental is one machine that is wanted, rented or was.
type Rental struct {
	Token string `json:"token"`
	Want  Want   `json:"want"`
	Box   int    `json:"box"` // which machine this is for one want, from 1
	Step  Step   `json:"step"`
	Try   int    `json:"try,omitempty"` // offers that were accepted; its label ends with it
	Offer Offer  `json:"offer,omitzero"`
	ID    string `json:"id,omitempty"`
	// Account is that of the last order: nobody else's key sees the machine.
	Account offer.Account `json:"account,omitzero"`
	// Asked is when the last offer was accepted, Since when the cloud began to bill, or
	// where it does not tell Up, when the machine was first seen running, Lost when it was
	// taken away or its start was first asked for, Left when its release, stop or start
	// was last asked for, Ended when it was first seen gone.
	Asked   time.Time `json:"asked,omitzero"`
	Since   time.Time `json:"since,omitzero"`
	Up      time.Time `json:"up,omitzero"`
	Lost    time.Time `json:"lost,omitzero"`
	Left    time.Time `json:"left,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Machine Machine   `json:"-"` // as it was last seen

	Starts   bool `json:"starts,omitempty"`   // of Preempted: muster asks for its start
	Unwanted bool `json:"unwanted,omitempty"` // to be released as soon as that can be asked
	Bad      bool `json:"bad,omitempty"`      // its host is avoided from now on
	// Judged is when it was found to be bad, and Found the measurements of its
	// check.
	Judged time.Time `json:"judged,omitzero"`
	Found  Found     `json:"found,omitzero"`
	Next   string    `json:"next,omitempty"` // token of the rental that takes its place
	Why    string    `json:"why,omitempty"`  // why it ended, or waits
	Runs   []Session `json:"runs,omitempty"` // when it ran, and was not stopped
	// USD is its cost, once it is gone: by its cloud's bill, or by its rates without one; "" =
	// not known.
	USD string `json:"usd,omitempty"`
}

// Over reports whether nothing is left of it.
func (r *Rental) Over() bool { return r.Step == Gone || r.Step == Failed }

// Billed reports whether it may cost something now.
func (r *Rental) Billed() bool { return !r.Over() && r.Step != Planned }
