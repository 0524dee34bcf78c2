// Package schema is the language as tables: every block, its attributes and
// nested blocks, and their text in the reference.
package schema

// An Attr is one attribute of a block of the language. Type and Default are
// words for the reference; a value is checked where it is used.
type Attr struct {
	Name     string
	Type     string
	Default  string
	Doc      string
	Required bool
	Hash     Hash // of an attribute in a phase; undecided elsewhere
}

// A Block is one block of the language. Blocks and attributes outside these tables are
// unknown; one that docs/reference/language lacks fails a test.
type Block struct {
	Name   string
	Labels []string // names of its labels
	Doc    string
	Single bool // at most one in its parent (per labels)
	Open   bool // attributes beyond these belong to somebody else
	Attrs  []Attr
	Blocks []*Block
	// Hint is said after an unknown name in this block.
	Hint string
}

// Attr is an attribute by its name; nil when there is none.
func (b *Block) Attr(name string) *Attr {
	for i := range b.Attrs {
		if b.Attrs[i].Name == name {
			return &b.Attrs[i]
		}
	}
	return nil
}

// Block is an inner block by its name; nil when there is none.
func (b *Block) Block(name string) *Block {
	for _, c := range b.Blocks {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Names lists the attributes and blocks a block may hold.
func (b *Block) Names() (attrs, blocks []string) {
	for _, a := range b.Attrs {
		attrs = append(attrs, a.Name)
	}
	for _, c := range b.Blocks {
		blocks = append(blocks, c.Name)
	}
	return attrs, blocks
}
