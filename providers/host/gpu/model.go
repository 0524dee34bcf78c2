package gpu

import (
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// families are the usual names of models, as the product names from drivers contain them.
var families = lazyregexp.New(`(?i)\b(G?[BH]\d{2,3}|[AVPTLKM]\d{1,3}[SGX]?|MI\d{2,3}[AX]?)\b|` +
	`\b((RTX|GTX) (PRO )?A?\d{3,4}( Ti)?( SUPER)?( Ada)?|TITAN [A-Za-z]+)\b`)

// Model is the family in a product name: "A100" of "NVIDIA
// A100-SXM4-40GB MIG 3g.20gb", "RTX 4090" of "NVIDIA GeForce RTX 4090".
func Model(name string) string {
	if m := families.FindString(name); m != "" {
		return m
	}
	for _, brand := range []string{"NVIDIA ", "Tesla ", "GeForce ", "Quadro "} {
		name = strings.TrimPrefix(name, brand)
	}
	return name
}

// matches reports whether a model is one of those asked for; none asked for
// means any. Case, spaces, "-" and "_" do not count, and "4090" means "RTX
// 4090".
func matches(model string, asked []string) bool {
	for _, a := range asked {
		if a, m := plain(Model(a)), plain(model); a != "" && (a == m || strings.TrimLeft(m, "rtxg") == a) {
			return true
		}
	}
	return len(asked) == 0
}

func plain(s string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "", "nvidia", "", "geforce", "").Replace(strings.ToLower(s))
}
