package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// A sample is a flower: four lengths, and the probability of each species.
type sample struct {
	x [inputs]float64
	y [classes]float64
}

// A dataset holds every fifth flower back for testing.
type dataset struct{ train, test []sample }

var species = map[string]int{"setosa": 0, "versicolor": 1, "virginica": 2}

func readData(path string) (dataset, error) {
	var set dataset
	f, err := os.Open(path)
	if err != nil {
		return set, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return set, fmt.Errorf("read %s: %w", path, err)
	}
	for i, row := range rows[1:] {
		s, err := parse(row)
		if err != nil {
			return set, fmt.Errorf("%s line %d: %w", path, i+2, err)
		}
		if i%5 == 0 {
			set.test = append(set.test, s)
		} else {
			set.train = append(set.train, s)
		}
	}
	return set, nil
}

func parse(row []string) (s sample, err error) {
	for j := range inputs {
		v, err := strconv.ParseFloat(row[j], 64)
		if err != nil {
			return s, err
		}
		s.x[j] = (v - 3.5) / 2 // roughly centred, so that one rate suits all
	}
	k, ok := species[row[inputs]]
	if !ok {
		return s, fmt.Errorf("unknown species %q", row[inputs])
	}
	s.y[k] = 1
	return s, nil
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
