package rental

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Platform is one cloud as a type of backend: a client of its API, the settings that
// it alone has, and facts.
type Platform interface {
	Facts() Facts
	// Open makes a client from the settings of a backend. It asks nothing.
	Open(b providers.Backend) (Cloud, error)
}

// Facts are the facts of a platform that need no question.
type Facts struct {
	Type        string // of its backends: "vastai"
	Name        string // "Vast.ai"
	Server      string // URL of the live service
	ServerEnv   string // variable with another URL: a simulator's
	Keys        KeySource
	Attrs       []offer.Attr // settings beside those of every cloud
	Terms       Terms
	Market      bool   // hosts offer its machines: each with a reliability and an end, and for bids
	Whole       bool   // its machines are no containers: a job may bring an image of its own
	Verified    string // month: "2026-08"
	Granularity time.Duration
	Boot        time.Duration // from the order to the first login, typically
	Home        string        // of the user whom a machine lets in
	Clocks      []offer.Clock
	Until       string   // what happens at the time until which an offer lasts
	Notes       []string // facts for the person who pays, about the pools
	Stops       bool     // its accounts are Stoppers: `on_hold = "stop"` is possible
	Timer       bool     // its machines stop by a timer of the platform, whatever becomes of muster
	Tiers       []Tier
}

// A Tier is a place of files on a machine, and what its files survive.
type Tier struct {
	Name     string // "container disk"
	Path     string // of its files, absolute; "/" has all files of no other tier
	Stop     bool   // files survive a stop, and being taken away
	Release  bool   // files survive a release
	Billed   string // its bill: "by the GB, also when stopped"
	Verified string // month; "" = Facts.Verified
}

// Survival is the survival matrix as a table of Markdown, and what the platform bills or
// deletes by itself, for the pages of platforms.
func (f Facts) Survival() string {
	text := "| | a stop | a release | billed |\n|---|---|---|---|\n"
	word := map[bool]string{true: "yes", false: "no"}
	for _, t := range f.Tiers {
		stop := word[t.Stop]
		if !f.Stops {
			stop = "there is none"
		}
		text += fmt.Sprintf("| %s, `%s` | %s | %s | %s |\n", t.Name, t.Path, stop, word[t.Release], t.Billed)
	}
	text += "\nDanger clocks, verified in " + f.Verified + ". Plans show a date where it is near, and `muster backends` all of them.\n\n"
	for _, c := range f.Clocks {
		text += "- " + c.What
		if c.After > 0 {
			text += " after " + units.ShortDuration(c.After)
		}
		text += "\n"
	}
	if f.Until != "" {
		text += "- " + f.Until + ": each offer says when\n"
	}
	return text
}

// survives says what becomes of a tier's files, for the pools.
func (f Facts) survives(t Tier) string {
	text := t.Name + " (" + t.Path + ")"
	switch {
	case t.Stop && t.Release:
		text += " survives a stop and a release"
	case t.Stop:
		text += " survives a stop, and no release"
	case t.Release:
		text += " survives a release"
	case f.Stops:
		text += " survives neither a stop nor a release"
	default:
		text += " does not survive a release"
	}
	return text + "; billed " + t.Billed
}

// tier is where a path of a machine is.
func (f Facts) tier(path string) (best Tier) {
	for _, t := range f.Tiers {
		inside := t.Path == "/" || path == t.Path || strings.HasPrefix(path, t.Path+"/")
		if inside && len(t.Path) > len(best.Path) {
			best = t
		}
	}
	return best
}

// spool is where the queue of a machine keeps its records, so that they survive a stop
// as the files of its jobs do; "" = where a queue keeps them anywhere.
func (f Facts) spool() string {
	if t := f.tier(f.Home); t.Name == "" || t.Stop {
		return ""
	}
	for _, t := range f.Tiers {
		if t.Stop {
			return t.Path + "/.muster/queue"
		}
	}
	return ""
}

// settings are the backend block. Sizes arrive as bytes, durations as seconds.
type settings struct {
	GPU         []string        `json:"gpu"`
	GPUs        int             `json:"gpus"`
	Disk        int64           `json:"disk"`
	Image       string          `json:"image"`
	CUDA        string          `json:"cuda"`
	MostUSD     decimal.Decimal `json:"max_usd_per_hour"`
	Reliability float64         `json:"reliability"`
	MaxBoxes    int             `json:"max_boxes"`
	Lasts       int64           `json:"lasts"`
	Spot        bool            `json:"spot"`
	Bid         decimal.Decimal `json:"bid"`
}

// Schema describes `backend "TYPE"` of a platform.
func Schema(p Platform) offer.Schema {
	_, deadMan := p.(SelfEnder)
	attrs := []offer.Attr{
		{Name: "max_usd_per_hour", Type: offer.Number, Required: true, Doc: "Highest price of a machine with its disk, in USD an hour; more than 0."},
		{Name: "gpu", Type: offer.StringList, Doc: "Models of GPU to rent, in the cloud's words: `[\"RTX 4090\"]`. Default: any."},
		{Name: "gpus", Type: offer.Number, Default: "1", Doc: "GPUs of one machine, at least 1."},
		{Name: "disk", Type: offer.Size, Default: `"50GB"`, Doc: "Disk of one machine, at least 8 GB. It is fixed for the machine's life, and billed."},
		{Name: "cuda", Type: offer.String, Doc: "Version of CUDA that the driver of a machine must support: `\"12.6\"`. Default: that in the name of the image, if there is one."},
		{Name: "max_boxes", Type: offer.Number, Default: "1", Doc: "Most machines at once, at least 1."},
	}
	if !p.Facts().Whole {
		attrs = append([]offer.Attr{{Name: "image", Type: offer.String, Required: true, Doc: "Container image that the machines run, and the jobs with them."}}, attrs...)
	}
	if p.Facts().Market {
		attrs = append(attrs,
			offer.Attr{Name: "reliability", Type: offer.Number, Default: "0.99", Doc: "Least reliability of a machine's host, by the cloud's count; 0.95 to 1."},
			offer.Attr{Name: "lasts", Type: offer.Duration, Default: `"1d"`, Doc: "Least time for which a host offers its machine."},
			offer.Attr{Name: "spot", Type: offer.Bool, Default: "false", Doc: "Rent machines that a higher bid may take away."},
			offer.Attr{Name: "bid", Type: offer.Number, Doc: "With `spot`: what to bid, USD an hour; more than 0."})
	}
	return offer.Schema{
		Type: p.Facts().Type, Version: "1", Config: offer.Block{Attrs: slices.Concat(attrs, p.Facts().Attrs, p.Facts().Keys.attrs(p.Facts().Name))},
		Can: offer.Capabilities{GPUs: true, Rents: true, KeepsFiles: true, Events: true, Transfer: true, Accounting: true, Remote: true, Holds: true, Guard: true, Recalls: true, Stops: p.Facts().Stops, DeadMan: deadMan || p.Facts().Timer, Timer: p.Facts().Timer && !deadMan, Boot: tried(p.Facts().Terms.Boot, p.Facts().Granularity)},
	}
}

// Least values of settings.
const (
	leastReliability = 0.95
	leastDisk        = 8e9
)

// readSettings reads and checks the backend block of a platform.
func readSettings(p Platform, b providers.Backend) (s settings, err error) {
	s = settings{GPUs: 1, Disk: 50e9, MaxBoxes: 1}
	market := p.Facts().Market
	if market {
		s.Reliability, s.Lasts = 0.99, 24*3600
	}
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &s); err != nil {
			return s, providers.Errorf(providers.Invalid, "Settings of backend.%s cannot be read: %v", b.Name, err)
		}
	}
	wrong := func(format string, args ...any) (settings, error) {
		return s, providers.Errorf(providers.Invalid, "backend."+b.Name+": %s", fmt.Sprintf(format, args...))
	}
	switch {
	case s.Image == "" && !p.Facts().Whole:
		return wrong("image is empty: name the container image that machines run")
	case !s.MostUSD.IsPositive():
		return wrong("max_usd_per_hour is %s: write the dearest hour that you would pay", s.MostUSD)
	case s.GPUs < 1:
		return wrong("gpus is %d: at least 1", s.GPUs)
	case s.MaxBoxes < 1:
		return wrong("max_boxes is %d: at least 1", s.MaxBoxes)
	case s.Disk < leastDisk:
		return wrong("disk is %d bytes: at least 8GB", s.Disk)
	case market && s.Reliability < leastReliability || s.Reliability > 1:
		return wrong("reliability is %g: between 0.95 and 1", s.Reliability)
	case s.Spot && !s.Bid.IsPositive():
		return wrong("spot needs a bid: write bid = USD an hour")
	case !s.Spot && s.Bid.IsPositive():
		return wrong("bid is set without spot = true")
	case s.Bid.GreaterThan(s.MostUSD):
		return wrong("bid is $%s/h and max_usd_per_hour is $%s/h", s.Bid, s.MostUSD)
	}
	if s.CUDA == "" {
		s.CUDA = cudaOf(s.Image)
	} else if !versionOfCUDA.MatchString(s.CUDA) {
		return wrong("cuda is %q: a version such as \"12.6\"", s.CUDA)
	}
	return s, nil
}

// want describes the machines that a backend rents; models empty = any that it
// allows.
func (s settings) want(models []string) Want {
	if len(models) == 0 {
		models = s.GPU
	}
	return Want{GPUs: s.GPUs, Models: models, Disk: s.Disk, Lasts: time.Duration(s.Lasts) * time.Second, MostUSDPerHour: s.MostUSD,
		Reliability: s.Reliability, Spot: s.Spot, Bid: s.Bid, Image: s.Image, CUDA: s.CUDA}
}
