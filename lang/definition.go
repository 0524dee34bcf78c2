package lang

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/muster-run/muster/lang/expr"
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

// storedField is a template, or a repeat axis.
type storedField struct {
	Name string          `json:"name"`
	Text json.RawMessage `json:"text,omitempty"`
	Axis string          `json:"axis,omitempty"`
}

// storedPolicy is what the state keeps of a phase's policy, for people who
// look back.
type storedPolicy struct {
	Candidates []string   `json:"candidates,omitempty"`
	Prefer     string     `json:"prefer,omitempty"`
	Retry      Retry      `json:"retry"`
	Breaker    Breaker    `json:"breaker"`
	Lifecycle  Lifecycle  `json:"lifecycle"`
	Outputs    []string   `json:"outputs,omitempty"`
	Inputs     [][]string `json:"inputs,omitempty"`
}

// Definition is the phase as stored in the state.
func (p *Phase) Definition() Definition { return p.definition() }

func (p *Phase) define() Definition {
	d := storedDefinition{V: definitionVersion, Run: p.stored(Run)}
	if p.job.form[SmokeRun] != p.job.form[Run] {
		d.Smoke = p.stored(SmokeRun)
	}
	policy := storedPolicy{Candidates: p.Candidates, Prefer: p.Prefer, Retry: p.Retry, Breaker: p.Breaker, Lifecycle: p.Lifecycle}
	for _, o := range p.Outputs {
		policy.Outputs = append(policy.Outputs, o.Name)
	}
	for _, in := range p.Inputs {
		policy.Inputs = append(policy.Inputs, []string{in.Name, in.From.Name, in.Output})
	}
	d.Policy = policy
	text := jsonAny(d)
	sum := sha256.Sum256(text)
	return Definition{Digest: "sha256:" + hex.EncodeToString(sum[:]), JSON: text}
}

func (p *Phase) stored(v Variant) []storedField {
	out := []storedField{}
	for _, f := range p.job.form[v].result {
		if f.t == nil {
			out = append(out, storedField{Name: f.name, Axis: p.Grid.Axes[f.axis].Name})
		} else {
			out = append(out, storedField{Name: f.name, Text: f.t.Encode()})
		}
	}
	return out
}

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
	fields := d.Run
	if v == SmokeRun && d.Smoke != nil {
		fields = d.Smoke
	}
	out := make([]Field, 0, len(fields))
	for _, f := range fields {
		text, err := f.print(axes)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		out = append(out, Field{f.Name, text})
	}
	return out, nil
}

func (f storedField) print(axes map[string]string) (string, error) {
	if f.Axis == "" {
		return expr.DecodeText(f.Text, axes)
	}
	text, ok := axes[f.Axis]
	if !ok {
		return "", fmt.Errorf("the cell has no axis %q", f.Axis)
	}
	return text, nil
}
