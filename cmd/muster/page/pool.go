package page

import (
	"encoding/json"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// A poolDocument is a pool in `muster backends -json`. Sizes are bytes,
// durations seconds, rates decimal text; zero limits are left out.
type poolDocument struct {
	Name  string `json:"name,omitempty"` // left out where the backend has only one
	Kind  string `json:"kind,omitempty"` // "queue", "machine", "host", "rental"
	Word  string `json:"word,omitempty"` // the site's own for a pool: "partition"
	CPUs  int    `json:"cpus,omitempty"` // of one node, as memory and gpus
	Mem   int64  `json:"memory,omitempty"`
	GPUs  int    `json:"gpus,omitempty"`
	Model string `json:"gpu_model,omitempty"`
	Class string `json:"gpu_class,omitempty"`
	// GPUMem is the memory of one device.
	GPUMem int64 `json:"gpu_memory,omitempty"`

	MinNodes  int     `json:"min_nodes,omitempty"`
	MaxNodes  int     `json:"max_nodes,omitempty"`
	MaxTime   float64 `json:"max_seconds,omitempty"`
	MaxJobs   int     `json:"max_jobs,omitempty"`   // running at once
	MaxSubmit int     `json:"max_submit,omitempty"` // queued or running at once
	MaxWait   float64 `json:"max_wait_seconds,omitempty"`
	// Allocation is how long a job of the scheduler lasts in which like jobs run in turns.
	Allocation float64 `json:"allocation_seconds,omitempty"`
	SubmitBy   string  `json:"max_submit_by,omitempty"`
	// Most is the room that all running jobs of the user may hold together there, by the limits of
	// MostBy.
	Most   *roomDocument `json:"most,omitempty"`
	MostBy string        `json:"most_by,omitempty"`
	Arrays bool          `json:"arrays,omitempty"`

	Testing   bool     `json:"testing,omitempty"`
	StandsFor []string `json:"stands_for,omitempty"`

	Idle   int     `json:"idle"` // devices, or cores where there are none; -1: unknown
	Total  int     `json:"total,omitempty"`
	Others int     `json:"others,omitempty"` // of the total, held by strangers
	Wait   float64 `json:"wait_seconds"`     // -1: unknown

	Price     priceDocument `json:"price"`
	WholeNode bool          `json:"whole_node,omitempty"`
	Pack      bool          `json:"pack,omitempty"` // jobs that need a part of a node share one
	Spot      bool          `json:"spot,omitempty"` // its machines may be taken away while jobs run

	Source     string          `json:"source,omitempty"`
	Verified   string          `json:"verified,omitempty"` // the month; left out for live answers
	Notes      []string        `json:"notes,omitempty"`
	Clocks     []clockDocument `json:"clocks,omitempty"`
	Offers     []offerDocument `json:"offers,omitempty"` // machines that can be rented now, cheapest first
	Home       string          `json:"home,omitempty"`
	Filesystem string          `json:"filesystem,omitempty"`
	Scratch    string          `json:"scratch,omitempty"`
	Account    string          `json:"account,omitempty"`
	Balance    string          `json:"balance,omitempty"`
	Queue      string          `json:"queue,omitempty"` // the identity of its queue

	Facts map[string]factDocument `json:"facts,omitempty"`
}

// A factDocument is one fact of a pool, whose word it is and since when.
type factDocument struct {
	Value   string `json:"value"`
	Source  string `json:"source"`
	Since   string `json:"since,omitempty"`
	Differs string `json:"differs,omitempty"` // the value of another source
}

// A priceDocument is the price of a pool; a rate that is left out is not
// charged, where the price is known at all.
type priceDocument struct {
	Known            bool    `json:"known"` // in money
	UnknownSU        bool    `json:"unknown_service_units,omitempty"`
	USDPerGPUHour    string  `json:"usd_per_gpu_hour,omitempty"`
	USDPerHour       string  `json:"usd_per_hour,omitempty"`
	USDPerHourAtMost string  `json:"usd_per_hour_at_most,omitempty"` // of a machine that the backend may pay
	USDPerCPUHour    string  `json:"usd_per_cpu_hour,omitempty"`
	USDPerGBMonth    string  `json:"usd_per_gb_month,omitempty"`
	SUPerGPUHour     string  `json:"service_units_per_gpu_hour,omitempty"`
	SUPerNodeHour    string  `json:"service_units_per_node_hour,omitempty"`
	SUPerCPUHour     string  `json:"service_units_per_cpu_hour,omitempty"`
	USDPerGBOut      string  `json:"usd_per_gb_out,omitempty"`
	Granularity      float64 `json:"granularity_seconds,omitempty"`
	Minimum          float64 `json:"minimum_seconds,omitempty"`
	Spare            float64 `json:"spare_seconds,omitempty"` // billed of a launch at most, beside the usual boot
	Estimated        bool    `json:"estimated,omitempty"`
	BillsWhileQueued bool    `json:"bills_while_queued,omitempty"`
	CPUs             int     `json:"given_cpus,omitempty"`
	GPUs             int     `json:"given_gpus,omitempty"`
	Risen            string  `json:"risen,omitempty"`
}

// An offerDocument is a machine that can be rented now.
type offerDocument struct {
	USDPerHour string `json:"usd_per_hour"`
	Text       string `json:"text"`
}

// A clockDocument is when a platform deletes or closes something: at a time,
// or so long after its last use.
type clockDocument struct {
	What  string    `json:"what"`
	After float64   `json:"after_seconds,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// MarshalJSON writes the backend as the commands' reference has it.
// A roomDocument is a part of a pool.
type roomDocument struct {
	GPUs   int   `json:"gpus,omitempty"`
	Cores  int   `json:"cores,omitempty"`
	Memory int64 `json:"memory,omitempty"` // bytes
}

func (b Backend) MarshalJSON() ([]byte, error) {
	pools := make([]poolDocument, len(b.Pools))
	for i, p := range b.Pools {
		pools[i] = documentOf(p)
	}
	return json.Marshal(struct {
		Name    string         `json:"name"`
		Problem string         `json:"problem,omitempty"`
		Pools   []poolDocument `json:"pools"`
	}{b.Name, b.Problem, pools})
}

func documentOf(p offer.Pool) poolDocument {
	d := poolDocument{
		Name: p.Name, Kind: string(p.Kind), Word: p.Word, CPUs: p.CPUs, Mem: p.Memory, GPUs: p.GPUs, Model: p.GPUModel, Class: p.GPUClass, GPUMem: p.GPUMem,
		MinNodes: p.MinNodes, MaxNodes: p.MaxNodes, MaxTime: p.MaxTime.Seconds(), MaxWait: p.MaxWait.Seconds(), Allocation: p.Allocation.Seconds(), MaxJobs: p.MaxJobs, MaxSubmit: p.MaxSubmit, SubmitBy: p.SubmitBy, Arrays: p.Arrays,
		Testing: p.Testing, StandsFor: p.StandsFor, Idle: p.Idle, Total: p.Total, Others: p.Others, Wait: p.Wait.Seconds(), Price: rates(p.Price),
		WholeNode: p.WholeNode, Pack: p.Pack, Spot: p.Spot, Source: p.Source, Verified: p.Verified, Notes: p.Notes, Home: p.Home, Filesystem: p.Filesystem, Scratch: p.Scratch, Account: p.Account, Balance: p.Balance, Queue: p.Queue,
	}
	if p.Wait < 0 {
		d.Wait = -1
	}
	if p.Most != (offer.Room{}) {
		d.Most, d.MostBy = &roomDocument{p.Most.Devices, p.Most.Cores, p.Most.Memory}, p.MostBy
	}
	for _, c := range p.Clocks {
		d.Clocks = append(d.Clocks, clockDocument{c.What, c.After.Seconds(), c.At})
	}
	for _, o := range p.Offers {
		d.Offers = append(d.Offers, offerDocument(o))
	}
	for _, f := range p.Facts {
		if d.Facts == nil {
			d.Facts = map[string]factDocument{}
		}
		d.Facts[f.Name] = factDocument{f.Value, f.Source, f.Since, f.Differs}
	}
	return d
}

func rates(p offer.Price) priceDocument {
	return priceDocument{
		Known: p.Known, UnknownSU: p.UnknownSU, USDPerGPUHour: p.USDPerGPUHour, USDPerHour: p.USDPerHour, USDPerHourAtMost: p.USDPerHourAtMost, USDPerCPUHour: p.USDPerCPUHour, USDPerGBMonth: p.USDPerGBMonth,
		SUPerGPUHour: p.SUPerGPUHour, SUPerNodeHour: p.SUPerNodeHour, SUPerCPUHour: p.SUPerCPUHour,
		USDPerGBOut: p.USDPerGBOut, Granularity: p.Granularity.Seconds(), Minimum: p.Minimum.Seconds(), Spare: p.Spare.Seconds(), Estimated: p.Estimated, BillsWhileQueued: p.BillsWhileQueued,
		CPUs: p.CPUs, GPUs: p.GPUs, Risen: p.Risen,
	}
}
