package functions

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// standard are go-cty's own.
func standard() []entry {
	return []entry{
		{Name: "abs", Doc: "the absolute value", impl: stdlib.AbsoluteFunc},
		{Name: "ceil", Doc: "the least whole number not below", impl: stdlib.CeilFunc},
		{Name: "floor", Doc: "the greatest whole number not above", impl: stdlib.FloorFunc},
		{Name: "log", Doc: "the logarithm to a base", impl: stdlib.LogFunc},
		{Name: "pow", Doc: "a number to a power", impl: stdlib.PowFunc},
		{Name: "signum", Doc: "-1, 0 or 1", impl: stdlib.SignumFunc},
		{Name: "min", Doc: "the least of the numbers", impl: stdlib.MinFunc},
		{Name: "max", Doc: "the greatest of the numbers", impl: stdlib.MaxFunc},
		{Name: "parseint", Doc: "a whole number written in a base from 2 to 62", impl: stdlib.ParseIntFunc},

		{Name: "chomp", Doc: "the text without newlines at its end", impl: stdlib.ChompFunc},
		{Name: "lower", Doc: "the text in lower case", impl: stdlib.LowerFunc},
		{Name: "upper", Doc: "the text in upper case", impl: stdlib.UpperFunc},
		{Name: "title", Doc: "each word with a capital", impl: stdlib.TitleFunc},
		{Name: "strrev", Doc: "the text backwards", impl: stdlib.ReverseFunc},
		{Name: "substr", Doc: "a part of a text by offset and length", impl: stdlib.SubstrFunc},
		{Name: "split", Doc: "the parts between separators", impl: stdlib.SplitFunc},
		{Name: "sort", Doc: "the texts in order", impl: stdlib.SortFunc},
		{Name: "trim", Doc: "the text without the given characters at its ends", impl: stdlib.TrimFunc},
		{Name: "trimprefix", Doc: "the text without a prefix", impl: stdlib.TrimPrefixFunc},
		{Name: "trimsuffix", Doc: "the text without a suffix", impl: stdlib.TrimSuffixFunc},
		{Name: "trimspace", Doc: "the text without space at its ends", impl: stdlib.TrimSpaceFunc},
		{Name: "regex", Doc: "the first match of a regular expression (RE2)", impl: stdlib.RegexFunc},
		{Name: "regexall", Doc: "all matches of a regular expression (RE2)", impl: stdlib.RegexAllFunc},

		{Name: "chunklist", Doc: "a list in pieces of a length", impl: stdlib.ChunklistFunc},
		{Name: "coalescelist", Doc: "the first list that is not empty", impl: stdlib.CoalesceListFunc},
		{Name: "compact", Doc: "the texts without empty ones", impl: stdlib.CompactFunc},
		{Name: "concat", Doc: "lists one after another", impl: stdlib.ConcatFunc},
		{Name: "contains", Doc: "whether a list holds a value", impl: stdlib.ContainsFunc},
		{Name: "distinct", Doc: "a list without repetitions", impl: stdlib.DistinctFunc},
		{Name: "element", Doc: "an element of a list, counting round", impl: stdlib.ElementFunc},
		{Name: "flatten", Doc: "lists in lists as one list", impl: stdlib.FlattenFunc},
		{Name: "keys", Doc: "the keys of a map, sorted", impl: stdlib.KeysFunc},
		{Name: "lookup", Doc: "the element of a map, or a default", impl: stdlib.LookupFunc},
		{Name: "merge", Doc: "maps in one, the later ones prevailing", impl: stdlib.MergeFunc},
		{Name: "reverse", Doc: "a list backwards", impl: stdlib.ReverseListFunc},
		{Name: "setintersection", Doc: "what all sets hold", impl: stdlib.SetIntersectionFunc},
		{Name: "setsubtract", Doc: "the elements of the first set that the second lacks", impl: stdlib.SetSubtractFunc},
		{Name: "setunion", Doc: "what any set holds", impl: stdlib.SetUnionFunc},
		{Name: "slice", Doc: "a part of a list, from an index up to another", impl: stdlib.SliceFunc},
		{Name: "values", Doc: "the values of a map, in order of keys", impl: stdlib.ValuesFunc},
		{Name: "zipmap", Doc: "a map of keys and values", impl: stdlib.ZipmapFunc},

		{Name: "formatdate", Doc: "an RFC 3339 time in a format", impl: stdlib.FormatDateFunc},
		{Name: "timeadd", Doc: "an RFC 3339 time moved by a duration", impl: stdlib.TimeAddFunc},
		{Name: "jsonencode", Doc: "the value as JSON", impl: stdlib.JSONEncodeFunc},
		{Name: "csvdecode", Doc: "the rows of a CSV text with a header, as objects", impl: stdlib.CSVDecodeFunc},

		{Name: "tobool", Doc: "the value as a bool", impl: stdlib.MakeToFunc(cty.Bool)},
		{Name: "tonumber", Doc: "the value as a number", impl: stdlib.MakeToFunc(cty.Number)},
		{Name: "tolist", Doc: "the value as a list", impl: stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType))},
		{Name: "toset", Doc: "the value as a set", impl: stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType))},
		{Name: "tomap", Doc: "the value as a map", impl: stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType))},
	}
}
