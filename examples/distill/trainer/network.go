package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
)

// inputs and classes are Iris's.
const (
	inputs  = 4
	classes = 3
)

// A network has one hidden layer with tanh and a softmax on top.
type network struct {
	W1 [][]float64 // hidden × (inputs+1)
	W2 [][]float64 // classes × (hidden+1)
}

func newNetwork(hidden int, seed int64) *network {
	r := rand.New(rand.NewSource(seed))
	matrix := func(rows, cols int) [][]float64 {
		m := make([][]float64, rows)
		for i := range m {
			m[i] = make([]float64, cols)
			for j := range m[i] {
				m[i][j] = r.NormFloat64() / math.Sqrt(float64(cols))
			}
		}
		return m
	}
	return &network{matrix(hidden, inputs+1), matrix(classes, hidden+1)}
}

// forward returns the hidden layer and the class probabilities.
func (n *network) forward(x [inputs]float64) (hidden []float64, probs [classes]float64) {
	hidden = make([]float64, len(n.W1)+1)
	for i, w := range n.W1 {
		s := w[inputs]
		for j := range x {
			s += w[j] * x[j]
		}
		hidden[i] = math.Tanh(s)
	}
	hidden[len(n.W1)] = 1
	top, sum := math.Inf(-1), 0.0
	for k, w := range n.W2 {
		for i, h := range hidden {
			probs[k] += w[i] * h
		}
		top = max(top, probs[k])
	}
	for k := range probs {
		probs[k] = math.Exp(probs[k] - top)
		sum += probs[k]
	}
	for k := range probs {
		probs[k] /= sum
	}
	return hidden, probs
}

// train runs stochastic gradient descent on the cross entropy and returns the
// mean loss of the last epoch.
func (n *network) train(set []sample, epochs int, rate float64) float64 {
	loss := 0.0
	for range epochs {
		loss = 0
		for _, s := range set {
			hidden, probs := n.forward(s.x)
			for k, p := range probs {
				loss -= s.y[k] * math.Log(p+1e-12) / float64(len(set))
			}
			n.step(s, hidden, probs, rate)
		}
	}
	return loss
}

func (n *network) step(s sample, hidden []float64, probs [classes]float64, rate float64) {
	back := make([]float64, len(n.W1))
	for k := range probs {
		d := probs[k] - s.y[k]
		for i := range n.W1 {
			back[i] += d * n.W2[k][i]
		}
		for i, h := range hidden {
			n.W2[k][i] -= rate * d * h
		}
	}
	for i, w := range n.W1 {
		d := back[i] * (1 - hidden[i]*hidden[i])
		for j := range s.x {
			w[j] -= rate * d * s.x[j]
		}
		w[inputs] -= rate * d
	}
}

// label replaces the labels by the network's own probabilities.
func (n *network) label(set []sample) []sample {
	out := make([]sample, len(set))
	for i, s := range set {
		_, s.y = n.forward(s.x)
		out[i] = s
	}
	return out
}

func (n *network) class(x [inputs]float64) int {
	_, probs := n.forward(x)
	return argmax(probs)
}

func (n *network) accuracy(set []sample) float64 {
	return share(set, func(s sample) bool { return n.class(s.x) == argmax(s.y) })
}

func (n *network) agreement(other *network, set []sample) float64 {
	return share(set, func(s sample) bool { return n.class(s.x) == other.class(s.x) })
}

func share(set []sample, yes func(sample) bool) float64 {
	n := 0
	for _, s := range set {
		if yes(s) {
			n++
		}
	}
	return float64(n) / float64(len(set))
}

func argmax(v [classes]float64) int {
	best := 0
	for k := range v {
		if v[k] > v[best] {
			best = k
		}
	}
	return best
}

// save writes a checkpoint: a zip, so that every byte is under a CRC.
func (n *network) save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	w, err := z.Create("weights.json")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(n); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

func loadNetwork(path string) (*network, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	defer z.Close()
	f, err := z.Open("weights.json")
	if err != nil {
		return nil, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read checkpoint %s: %w", path, err)
	}
	var n network
	return &n, json.Unmarshal(b, &n)
}
