package lang

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-run/muster/lang/value"
)

// definitionVersion is the form of stored definitions. All later versions of
// muster read it.
const definitionVersion = 1

// A Definition is a phase's templates and policy as stored in the state, by
// content: enough to print any field of any cell as it was.
type Definition struct {
	Digest string // "sha256:…" of JSON
	JSON   json.RawMessage
}

// storedDefinition is the JSON of a Definition.
type storedDefinition struct {
	V      int           `json:"v"`
	Run    []storedField `json:"run"`
	Smoke  []storedField `json:"smoke,omitempty"` // where it differs
	Policy any           `json:"policy"`
}

// storedPolicy is the state's record of a phase's policy, for people who look
// back. Jobs submitted under one definition share one cap.
type storedPolicy struct {
	Candidates []string    `json:"candidates,omitempty"`
	Overflow   []string    `json:"overflow,omitempty"`
	Prefer     string      `json:"prefer,omitempty"`
	Retry      storedRetry `json:"retry"`
	Breaker    Breaker     `json:"breaker"`
	Lifecycle  Lifecycle   `json:"lifecycle"`
	Outputs    []string    `json:"outputs,omitempty"`
	Inputs     [][]string  `json:"inputs,omitempty"`
	Cap        int         `json:"max_parallel,omitempty"` // 0 = none
	// Metrics are fingerprints of how each is read; see Metric.Print.
	Metrics map[string]string `json:"metrics,omitempty"`
}

// storedRetry is a retry policy in the form in which the state keeps it.
type storedRetry struct {
	On          []string
	MaxAttempts int
	Delay       time.Duration
	Scale       map[string]Scale
	Place       map[string][]string `json:",omitempty"`
}

// Definition is the phase as stored in the state.
func (p *Phase) Definition() Definition { return p.definition() }

func (p *Phase) define() Definition {
	d := storedDefinition{V: definitionVersion, Run: p.stored(Run)}
	if p.job.form[SmokeRun] != p.job.form[Run] {
		d.Smoke = p.stored(SmokeRun)
	}
	policy := storedPolicy{Candidates: p.Candidates, Overflow: p.Overflow, Prefer: p.Prefer, Retry: storedRetry{p.Retry.On, p.Retry.Max, p.Retry.Delay, p.Retry.Scale, p.Retry.Place}, Breaker: p.Breaker, Lifecycle: p.Lifecycle, Cap: p.MaxParallel, Metrics: prints(p.Metrics)}
	for _, o := range p.Outputs {
		policy.Outputs = append(policy.Outputs, o.Name)
	}
	for _, in := range p.Inputs {
		policy.Inputs = append(policy.Inputs, []string{in.Name, in.From.Name, in.Output})
	}
	d.Policy = policy
	text := value.Encode(d)
	sum := sha256.Sum256(text)
	return Definition{Digest: "sha256:" + hex.EncodeToString(sum[:]), JSON: text}
}

// OutputsReadOf are the outputs that the inputs of a stored definition name, by
// input; nil where it has none.
func OutputsReadOf(def json.RawMessage) map[string]string {
	var d struct {
		Policy struct {
			Inputs [][]string `json:"inputs"`
		} `json:"policy"`
	}
	if len(def) == 0 || json.Unmarshal(def, &d) != nil {
		return nil
	}
	var out map[string]string
	for _, in := range d.Policy.Inputs {
		if len(in) != 3 {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[in[0]] = in[2]
	}
	return out
}

func (p *Phase) stored(v Variant) []storedField { return p.job.form[v].result.Stored(p.Grid) }

// FieldsOf prints the fields of a job from a stored definition and the texts
// of the job's axes, as Fields did when it was stored.
func FieldsOf(def json.RawMessage, axes map[string]string, v Variant) ([]Field, error) {
	var d storedDefinition
	if err := json.Unmarshal(def, &d); err != nil {
		return nil, fmt.Errorf("read stored definition: %w", err)
	}
	if d.V != definitionVersion {
		return nil, fmt.Errorf("read stored definition: version %d is not known to this version of muster", d.V)
	}
	list := d.Run
	if v == SmokeRun && d.Smoke != nil {
		list = d.Smoke
	}
	out := make([]Field, 0, len(list))
	for _, f := range list {
		text, err := f.Print(axes)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		out = append(out, Field{Name: f.Name, Text: text})
	}
	return out, nil
}
