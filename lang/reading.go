package lang

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Print is the fingerprint of how a metric is read: its value is read again only where
// this differs. Whether it is required is no part of it.
func (m Metric) Print() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", m.Output, m.JSON, m.Column, m.Regex))
	return hex.EncodeToString(sum[:6])
}

// prints are the fingerprints of metrics, by name.
func prints(metrics []Metric) map[string]string {
	if len(metrics) == 0 {
		return nil
	}
	out := make(map[string]string, len(metrics))
	for _, m := range metrics {
		out[m.Name] = m.Print()
	}
	return out
}

// PrintsOf are the fingerprints of the metrics of a stored definition, by name; nil where
// it has none, as those that older versions stored.
func PrintsOf(def json.RawMessage) map[string]string {
	var d struct {
		Policy struct {
			Metrics map[string]string `json:"metrics"`
		} `json:"policy"`
	}
	if len(def) == 0 || json.Unmarshal(def, &d) != nil {
		return nil
	}
	return d.Policy.Metrics
}
