package place

import (
	"slices"
	"strings"
	"unicode"

	"github.com/muster-run/muster/providers/offer"
)

// modelFits reports whether a pool's devices are of one of the models asked
// for. Names are compared as people write them: case, hyphens and the vendor
// do not matter, and a part of a name represents all that bear it, so that
// "A100" is met by "NVIDIA A100-SXM4-80GB" and by a slice of one, but never by
// "A10", and "RTX 4080" not by "RTX 4080 SUPER".
func modelFits(p offer.Pool, models []string) bool {
	if len(models) == 0 {
		return true
	}
	for _, m := range models {
		if sameModel(m, p.GPUModel) || sameModel(m, p.GPUClass) {
			return true
		}
	}
	return false
}

func sameModel(asked, has string) bool {
	a, h := words(asked), words(has)
	if len(a) == 0 || len(h) == 0 || variant(a) != variant(h) {
		return false
	}
	return within(a, h) || joined(strings.Join(a, ""), h)
}

// words are the parts of a model's name, without its vendor.
func words(model string) []string {
	parts := strings.FieldsFunc(strings.ToLower(model), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' })
	return slices.DeleteFunc(parts, func(w string) bool {
		switch w {
		case "nvidia", "amd", "intel", "tesla", "geforce", "instinct", "quadro":
			return true
		}
		return false
	})
}

// variant is the word that makes a model another one.
func variant(words []string) string {
	v := ""
	for _, w := range words {
		if w == "ti" || w == "super" {
			v += w
		}
	}
	return v
}

// within reports whether a's words are in h in the same order.
func within(a, h []string) bool {
	for _, w := range h {
		if len(a) > 0 && a[0] == w {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// joined reports whether words of h that follow one another are a, written
// together: "RTX4090".
func joined(a string, h []string) bool {
	for i := range h {
		for j := i + 1; j <= len(h); j++ {
			if strings.Join(h[i:j], "") == a {
				return true
			}
		}
	}
	return false
}
