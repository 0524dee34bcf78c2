package functions

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"gopkg.in/yaml.v3"
)

func encodings() []entry {
	return []entry{
		{Name: "base64encode", Doc: "the text in base 64", impl: onText(func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil })},
		{Name: "base64decode", Doc: "the text that base 64 holds", impl: onText(base64Text)},
		{Name: "base64sha256", Doc: "the SHA-256 of a text in base 64", impl: onText(func(s string) (string, error) {
			sum := sha256.Sum256([]byte(s))
			return base64.StdEncoding.EncodeToString(sum[:]), nil
		})},
		{Name: "md5", Doc: "the MD5 of a text, hexadecimal", impl: onText(func(s string) (string, error) { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]), nil })},
		{Name: "sha1", Doc: "the SHA-1 of a text, hexadecimal", impl: onText(func(s string) (string, error) { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]), nil })},
		{Name: "sha256", Doc: "the SHA-256 of a text, hexadecimal", impl: onText(func(s string) (string, error) {
			sum := sha256.Sum256([]byte(s))
			return hex.EncodeToString(sum[:]), nil
		})},
		{Name: "sha512", Doc: "the SHA-512 of a text, hexadecimal", impl: onText(func(s string) (string, error) {
			sum := sha512.Sum512([]byte(s))
			return hex.EncodeToString(sum[:]), nil
		})},
		{Name: "urlencode", Doc: "the text as a part of a URL's query", impl: onText(func(s string) (string, error) { return url.QueryEscape(s), nil })},
		{Name: "yamlencode", Doc: "the value as YAML", impl: yamlEncode},
		{Name: "yamldecode", Doc: "the value that YAML holds", impl: yamlDecode},
		{Name: "jsondecode", Doc: "the value that JSON holds", impl: jsonDecode},
	}
}

// jsonDecode looks for mistakes first: go-cty's decoder copies the rest of
// the text at every bracket.
var jsonDecode = checked(stdlib.JSONDecodeFunc, func(args []cty.Value) error {
	if v := args[0]; v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
		if s := v.AsString(); jsonDepth(s) > mostDepth {
			return fmt.Errorf("the JSON is nested more than %d deep", mostDepth)
		}
	}
	return nil
})

// mostDepth is how deep JSON may be nested.
const mostDepth = 500

// jsonDepth is how deep brackets outside of strings are nested.
func jsonDepth(s string) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			most = max(most, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return most
}

// checked is a function of one argument that is looked at first.
func checked(f function.Function, check func([]cty.Value) error) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(), Params: f.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := check(args); err != nil {
				return cty.NilType, function.NewArgError(0, err)
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

func base64Text(s string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	switch {
	case err != nil:
		return "", errors.New("the text is not base 64")
	case !utf8.Valid(b):
		return "", errors.New("its content is not UTF-8 text")
	}
	return string(b), nil
}

// onText is a function of one text.
func onText(f func(string) (string, error)) function.Function { return ofOne("text", f) }

func ofOne(param string, f func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: param, Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := f(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(s), nil
		},
	})
}

// yamlEncode goes through JSON, which is YAML, and has YAML's own style.
var yamlEncode = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(cty.String), nil
		}
		j, err := stdlib.JSONEncode(args[0])
		if err != nil {
			return cty.NilVal, err
		}
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(j.AsString()), &node); err != nil {
			return cty.NilVal, fmt.Errorf("encode YAML: %w", err)
		}
		blockStyle(&node)
		var b bytes.Buffer
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		if err := enc.Encode(&node); err != nil {
			return cty.NilVal, fmt.Errorf("encode YAML: %w", err)
		}
		return cty.StringVal(b.String()), nil
	},
})

func blockStyle(n *yaml.Node) {
	n.Style = 0 // quotes only where YAML needs them: the tags mark text
	for _, c := range n.Content {
		blockStyle(c)
	}
}

// yamlDecode turns the document into JSON's values. The YAML library bounds
// the expansion of aliases.
var yamlDecode = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type: func(args []cty.Value) (cty.Type, error) {
		if !args[0].IsKnown() {
			return cty.DynamicPseudoType, nil
		}
		v, err := yamlValue(args[0].AsString())
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return yamlValue(args[0].AsString()) },
})

func yamlValue(text string) (cty.Value, error) {
	if len(text) > maxText {
		return cty.DynamicVal, errTooLong
	}
	var x any
	if err := yaml.Unmarshal([]byte(text), &x); err != nil {
		return cty.DynamicVal, function.NewArgErrorf(0, "is not YAML: %v", err)
	}
	return fromYAML(x)
}

func fromYAML(x any) (cty.Value, error) {
	switch x := x.(type) {
	case nil:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case bool:
		return cty.BoolVal(x), nil
	case []any:
		list := make([]cty.Value, len(x))
		for i, e := range x {
			v, err := fromYAML(e)
			if err != nil {
				return cty.DynamicVal, err
			}
			list[i] = v
		}
		return cty.TupleVal(list), nil
	case map[string]any:
		attrs := map[string]cty.Value{}
		for k, e := range x {
			v, err := fromYAML(e)
			if err != nil {
				return cty.DynamicVal, err
			}
			attrs[k] = v
		}
		return cty.ObjectVal(attrs), nil
	case int, int64, uint64, float64:
		v, err := cty.ParseNumberVal(fmt.Sprint(x))
		if err != nil {
			return cty.DynamicVal, function.NewArgErrorf(0, "holds a number that is not finite")
		}
		return v, nil
	case string:
		return cty.StringVal(x), nil
	case fmt.Stringer: // dates
		return cty.StringVal(x.String()), nil
	}
	return cty.DynamicVal, function.NewArgErrorf(0, "holds a map with keys that are not text")
}
