package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/addr"
)

// A block is a block of a campaign that agrees with its specification as far
// as names go. What did not agree was told and left out.
type block struct {
	spec   *blockSpec
	labels []string
	attrs  map[string]*hclsyntax.Attribute
	inner  []*block
	rng    hcl.Range // its header
	whole  hcl.Range
	syntax *hclsyntax.Block // nil for the top level
	meant  map[string]bool  // attributes and blocks that misspelt ones seem to be
}

// name is the first label.
func (b *block) name() string {
	if len(b.labels) == 0 {
		return ""
	}
	return b.labels[len(b.labels)-1]
}

// expr is an attribute's expression; nil when it is not written.
func (b *block) expr(name string) hclsyntax.Expression {
	if b == nil || b.attrs[name] == nil {
		return nil
	}
	return b.attrs[name].Expr
}

// all lists inner blocks of a type in the order written.
func (b *block) all(name string) []*block {
	if b == nil {
		return nil
	}
	var out []*block
	for _, c := range b.inner {
		if c.spec.Name == name {
			out = append(out, c)
		}
	}
	return out
}

// one is the first inner block of a type; nil when there is none.
func (b *block) one(name string) *block {
	if all := b.all(name); len(all) > 0 {
		return all[0]
	}
	return nil
}

// blockName is a block as people say it: phase "teachers".
func blockName(b *hclsyntax.Block) string {
	var s strings.Builder
	s.WriteString(b.Type)
	for _, label := range b.Labels {
		fmt.Fprintf(&s, " %q", label)
	}
	return s.String()
}

// structure checks the names of all blocks and attributes of all files.
func (l *loader) structure() {
	l.top = &block{spec: language}
	for _, body := range l.bodies {
		b := l.body(language, body, nil)
		l.top.inner = append(l.top.inner, b.inner...)
	}
	l.duplicates(l.top)
}

// body reads the attributes and blocks of a block.
func (l *loader) body(spec *blockSpec, body *hclsyntax.Body, of *hclsyntax.Block) *block {
	b := &block{spec: spec, attrs: map[string]*hclsyntax.Attribute{}, syntax: of}
	if of != nil {
		b.labels, b.rng, b.whole = of.Labels, hcl.RangeBetween(of.TypeRange, of.OpenBraceRange), of.Range()
	}
	meant := map[string]bool{} // what unknown names were probably meant to be
	for _, name := range sortedKeys(body.Attributes) {
		if a := body.Attributes[name]; spec.Open || spec.attr(name) != nil {
			b.attrs[name] = a
		} else {
			meant[l.unknownAttr(spec, a)] = true
		}
	}
	for _, c := range body.Blocks {
		inner := spec.block(c.Type)
		switch {
		case inner != nil:
			if l.labels(inner, c) {
				b.inner = append(b.inner, l.body(inner, c.Body, c))
			} else {
				meant[c.Type] = true
			}
		case spec.Open:
			// Its owner reads b.syntax.
		default:
			meant[l.unknownBlock(spec, c)] = true
		}
	}
	for _, a := range spec.Attrs {
		if a.Required && b.attrs[a.Name] == nil && !l.broken && !meant[a.Name] {
			l.sure.Append(diag.Diagnostic{Summary: fmt.Sprintf("%s is missing", a.Name), Subject: b.rng.Ptr(),
				Detail: fmt.Sprintf("%s block needs %s = …: %s", capitalised(article(spec.Name)), a.Name, lower(a.Doc))})
		}
	}
	b.meant = meant
	if of != nil {
		l.duplicates(b)
	}
	return b
}

// lower makes a documentation sentence follow a colon.
func lower(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// labels checks the number and form of a block's labels.
func (l *loader) labels(spec *blockSpec, c *hclsyntax.Block) bool {
	at := hcl.RangeBetween(c.TypeRange, c.OpenBraceRange)
	if len(c.Labels) != len(spec.Labels) {
		var form strings.Builder
		form.WriteString(spec.Name)
		for _, label := range spec.Labels {
			fmt.Fprintf(&form, " %q", strings.ToUpper(label))
		}
		was := "were"
		if len(c.Labels) == 1 {
			was = "was"
		}
		l.sure.Errorat(at, fmt.Sprintf("%s block has %s", capitalised(article(spec.Name)), count(len(spec.Labels), "label")),
			"%s %s found. Write %s { … }.", capitalised(count(len(c.Labels), "label")), was, form.String())
		if len(c.Labels) < len(spec.Labels) {
			return false
		}
		c.Labels, c.LabelRanges = c.Labels[:len(spec.Labels)], c.LabelRanges[:len(spec.Labels)] // the rest is read as meant
	}
	for i, label := range c.Labels {
		if !validLabel(spec.Name, label) {
			l.sure.Errorat(c.LabelRanges[i], "Invalid name", "%q cannot name %s: use letters, digits, _ and -, and begin with a letter.", clip(label), article(spec.Name))
		}
	}
	return true
}

// validLabel holds names that stand in addresses to their form; a campaign's
// name is also a file's, and a budget's is only shown.
func validLabel(block, label string) bool {
	switch block {
	case "campaign":
		return label != "" && !strings.HasPrefix(label, ".") && strings.Trim(label, ".-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	case "budget":
		return label != ""
	}
	return addr.ValidName(label)
}

func count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "one " + noun
	case 2:
		return "two " + noun + "s"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func capitalised(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// clip shortens foreign text for a message.
func clip(s string) string {
	const most = 60 // characters
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
