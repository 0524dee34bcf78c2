package syntax

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/wording"
)

// A Block is a block of a campaign with the names of its specification. Others were reported
// and left out.
type Block struct {
	Spec   *schema.Block
	Labels []string
	Attrs  map[string]*hclsyntax.Attribute
	Inner  []*Block
	Range  hcl.Range        // its header
	Syntax *hclsyntax.Block // nil for the top level
	Meant  map[string]bool  // attributes and blocks that misspelt ones seem to be
}

// Name is the last label.
func (b *Block) Name() string {
	if len(b.Labels) == 0 {
		return ""
	}
	return b.Labels[len(b.Labels)-1]
}

// Expr is an attribute's expression; nil when it is not written.
func (b *Block) Expr(name string) hclsyntax.Expression {
	if b == nil || b.Attrs[name] == nil {
		return nil
	}
	return b.Attrs[name].Expr
}

// All lists inner blocks of a type in the order written.
func (b *Block) All(name string) []*Block {
	if b == nil {
		return nil
	}
	var out []*Block
	for _, c := range b.Inner {
		if c.Spec.Name == name {
			out = append(out, c)
		}
	}
	return out
}

// One is the first inner block of a type; nil when there is none.
func (b *Block) One(name string) *Block {
	if all := b.All(name); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Title is a block as people say it: phase "teachers".
func Title(b *hclsyntax.Block) string {
	var s strings.Builder
	s.WriteString(b.Type)
	for _, label := range b.Labels {
		fmt.Fprintf(&s, " %q", label)
	}
	return s.String()
}

// Blocks checks the names of all blocks and attributes of all files, and
// returns them as if they stood in one.
func (s *Source) Blocks() *Block {
	top := &Block{Spec: schema.Language}
	for _, f := range s.Campaign {
		top.Inner = append(top.Inner, s.body(schema.Language, f.Body, nil).Inner...)
	}
	s.duplicates(top)
	return top
}

// body reads the attributes and blocks of a block.
func (s *Source) body(spec *schema.Block, body *hclsyntax.Body, of *hclsyntax.Block) *Block {
	b := &Block{Spec: spec, Attrs: map[string]*hclsyntax.Attribute{}, Syntax: of}
	if of != nil {
		b.Labels, b.Range = of.Labels, hcl.RangeBetween(of.TypeRange, of.OpenBraceRange)
	}
	meant := map[string]bool{} // the names that unknown ones were probably meant to be
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		if a := body.Attributes[name]; spec.Open || spec.Attr(name) != nil {
			b.Attrs[name] = a
		} else {
			meant[UnknownAttr(&s.Sure, spec, a)] = true
		}
	}
	strayed := false // a block of the top level was reported here
	for _, c := range body.Blocks {
		inner := spec.Block(c.Type)
		switch {
		case c.OpenBraceRange == c.TypeRange:
			meant[c.Type] = true // it has no brace, which was reported
		case inner != nil:
			if s.labels(inner, c) {
				b.Inner = append(b.Inner, s.body(inner, c.Body, c))
			} else {
				meant[c.Type] = true
			}
		case spec.Open:
			// Its owner reads b.syntax.
		case of != nil && schema.Language.Block(c.Type) != nil && (s.strayed(of, c) || strayed):
			// It follows from an earlier error.
		default:
			strayed = of != nil && schema.Language.Block(c.Type) != nil
			meant[UnknownBlock(&s.Sure, spec, c)] = true
		}
	}
	for _, a := range spec.Attrs {
		if a.Required && b.Attrs[a.Name] == nil && !s.Broken && !meant[a.Name] {
			s.Sure.Append(diag.Diagnostic{Summary: fmt.Sprintf("%s is missing", a.Name), Subject: b.Range.Ptr(),
				Detail: fmt.Sprintf("%s block needs %s = …: %s", wording.Capitalised(wording.Article(spec.Name)), a.Name, diag.Lower(a.Doc))})
		}
	}
	b.Meant = meant
	if of != nil {
		s.duplicates(b)
	}
	return b
}

// labels checks the number and form of a block's labels.
func (s *Source) labels(spec *schema.Block, c *hclsyntax.Block) bool {
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
		s.Sure.Errorat(at, fmt.Sprintf("%s block has %s", wording.Capitalised(wording.Article(spec.Name)), wording.Count(len(spec.Labels), "label")),
			"%s %s found. Write %s { … }.", wording.Capitalised(wording.Count(len(c.Labels), "label")), was, form.String())
		if len(c.Labels) < len(spec.Labels) {
			return false
		}
		c.Labels, c.LabelRanges = c.Labels[:len(spec.Labels)], c.LabelRanges[:len(spec.Labels)] // the rest is read as meant
	}
	for i, label := range c.Labels {
		if len(label) > longestLabel {
			s.Sure.Errorat(c.LabelRanges[i], "Name is too long", "The name of %s has %d bytes: use at most %d.", wording.Article(spec.Name), len(label), longestLabel)
		} else if !validLabel(spec.Name, label) {
			s.Sure.Errorat(c.LabelRanges[i], "Invalid name", "%q cannot name %s: %s.", wording.Clip(label), wording.Article(spec.Name), nameForm(spec.Name))
		}
	}
	return true
}

// longestLabel is how many bytes a name has at most: files are named after it, with a
// token and a number, and file systems take 255.
const longestLabel = 200

func nameForm(block string) string {
	switch block {
	case "campaign":
		return "use letters, digits, _, - and ., and do not begin with a point"
	case "budget", "clock", "rented":
		return "it is empty"
	}
	return "use letters, digits, _ and -, and begin with a letter"
}

// validLabel requires that names in addresses have their form; a campaign's
// name is also a file's, and a budget's, a clock's and a machine's are only shown.
func validLabel(block, label string) bool {
	switch block {
	case "campaign":
		return label != "" && !strings.HasPrefix(label, ".") && strings.Trim(label, ".-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	case "budget", "clock", "rented":
		return label != ""
	}
	return addr.ValidName(label)
}
